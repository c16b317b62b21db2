//! What a lens shows: tables, figures and one self-contained HTML page.
//!
//! Everything here turns numbers into text (SVG, HTML, CSV, aligned columns); nothing here touches
//! the disk. A [`Page`] hands out its files and the run directory writes them.
#![forbid(unsafe_code)]

mod axis;
mod bars;
mod contour;
mod diagram;
mod field;
mod gallery;
mod heatmap;
mod number;
mod page;
mod palette;
mod plot;
mod png;
mod sheet;
mod svg;
mod table;
mod words;

pub use axis::{Axis, Scale};
pub use bars::{BarChart, Bars};
pub use contour::{Contour, Stroke};
pub use diagram::{Diagram, Frame, Step};
pub use field::{Extent, Field};
pub use gallery::{Gallery, Picture, Tile};
pub use heatmap::HeatMap;
pub use number::{grouped, pretty};
pub use page::{Page, Section};
pub use palette::ColourMap;
pub use plot::{Mark, Plot, Series};
pub use sheet::{Place, Sheet, Tone};
pub use svg::Drawing;
pub use table::{Align, Cell, Table};
pub use words::{counted, duration, fill, memory};
