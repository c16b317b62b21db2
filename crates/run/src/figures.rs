//! Figures as PNG beside the SVG.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use polariscope_raster as raster;

use crate::{Opened, Record, RunError, files};

/// Name and content of the PNG that belongs to a figure, if there is to be one.
pub fn png(
    figure: &str,
    svg: &str,
    width: Option<u32>,
) -> Result<Option<(String, Vec<u8>)>, RunError> {
    let (Some(width), Some(stem)) = (width, figure.strip_suffix(".svg")) else {
        return Ok(None);
    };
    let content = raster::png(svg, width).map_err(|source| RunError::Figure {
        figure: figure.to_string(),
        source,
    })?;
    Ok(Some((format!("{stem}.png"), content)))
}

/// A finished run, its figures in pixels too if that is wanted: nobody should have to compute again for them.
pub fn finished(
    directory: &Path,
    mut record: Record,
    width: Option<u32>,
) -> Result<Opened, RunError> {
    let listed = record.files.clone();
    // A record is a file that anyone may have edited: names that lead out of the directory are passed over.
    let figures = listed.iter().filter(|f| files::is_inside(f));
    for figure in figures.filter(|f| width.is_some() && f.ends_with(".svg")) {
        let path = directory.join(figure);
        let svg = match fs::read_to_string(&path) {
            Ok(svg) => svg,
            // Removed by somebody who does not want it.
            Err(e) if e.kind() == ErrorKind::NotFound => continue,
            Err(source) => return Err(RunError::Read { path, source }),
        };
        let Some((name, content)) = png(figure, &svg, width)? else {
            continue;
        };
        if !record.files.contains(&name) {
            record.files.push(name.clone());
            record.write(directory)?;
        }
        files::write_atomically(&directory.join(name), &content)?;
    }
    Ok(Opened::Finished(directory.to_path_buf(), record))
}
