//! What comes of it: temperatures, what fields do there, and images.

use polariscope_data::Viewer;
use polariscope_data::deform::{Convention, Interpolation, ModeRule};
use polariscope_report::{Align, Table, counted, fill, grouped, pretty};
use polariscope_stats::Estimate;
use serde::{Deserialize, Serialize};

/// Beyond so many standard errors two numbers are said to differ.
const APART: f64 = 3.0;

/// What was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// In a few numbers and words.
    pub summary: Summary,
    /// The limits of every cutoff.
    pub limits: Vec<Limit>,
    /// A mesh and images: as they are, then at every temperature.
    pub columns: Vec<Column>,
    /// How images are shown.
    pub viewer: Viewer,
    /// Numbers in an image.
    pub size: usize,
}

/// The finding in words and a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The finding.
    pub words: String,
    /// What was looked at.
    #[serde(flatten)]
    pub about: About,
    /// Lower limit, the one asked for, upper limit, beyond.
    pub temperatures: [Row; 4],
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Whose images.
    pub data: String,
    /// Pixels a side.
    pub n: usize,
    /// c.
    pub cutoff: usize,
    /// Which modes are below it.
    pub modes: ModeRule,
    /// How many.
    pub mode_count: usize,
    /// δ as asked.
    pub displacement: f64,
    /// What that is.
    pub displacement_is: Convention,
    /// Values between pixels.
    pub interpolation: Interpolation,
    /// Fields drawn at each temperature.
    pub fields: usize,
    /// Eqs. 8 and 14.
    pub range: [f64; 2],
}

/// Where a temperature lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Eq. 8.
    LowerLimit,
    /// As asked.
    Asked,
    /// Eq. 14.
    UpperLimit,
    /// Four times that, where displacements are twice as large.
    Beyond,
}

impl Stage {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Stage::LowerLimit => "lower limit",
            Stage::Asked => "asked",
            Stage::UpperLimit => "upper limit",
            Stage::Beyond => "4 × upper limit",
        }
    }
}

/// What fields do at a temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Which one.
    pub stage: Stage,
    /// T.
    pub t: f64,
    /// δ from the sum over modes.
    pub exact: f64,
    /// δ from the formula for many modes.
    pub nominal: f64,
    /// δ of the fields that were drawn.
    pub measured: Estimate,
    /// Median of max Ξ.
    pub median_xi: f64,
    /// Fields with max Ξ < 1.
    pub smooth: usize,
    /// Median of min det.
    pub median_det: f64,
    /// Fields with min det < 0.
    pub folded: usize,
}

/// The limits of a cutoff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// c.
    pub cutoff: usize,
    /// Eqs. 8 and 14.
    pub range: (f64, f64),
    /// T of displacements of ½, 1 and 2 pixels.
    pub at: [f64; 3],
}

/// A mesh and images, all deformed alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What was done to them.
    pub label: String,
    /// Grey, as many pixels a side as rows.
    pub mesh: Vec<Vec<f32>>,
    /// One after the other.
    pub images: Vec<f32>,
}

/// Displacements whose temperatures are drawn over cutoffs.
pub(super) const MARKED: [f64; 3] = [0.5, 1.0, 2.0];

impl Summary {
    pub(super) fn new(about: About, temperatures: [Row; 4]) -> Self {
        let mut summary = Summary {
            words: String::new(),
            about,
            temperatures,
        };
        summary.words = summary.say();
        summary
    }

    /// The temperature asked for.
    pub fn asked(&self) -> &Row {
        let [_, asked, ..] = &self.temperatures;
        asked
    }

    /// Exact displacements at the limits, rounded into the range.
    pub(super) fn reach(&self) -> [f64; 2] {
        let [low, _, high, _] = &self.temperatures;
        let hundred = |x: f64| 100.0 * x;
        [hundred(low.exact).ceil(), hundred(high.exact).floor()].map(|x| x / 100.0)
    }

    fn say(&self) -> String {
        let (about, asked) = (&self.about, self.asked());
        let (n, fields) = (about.n, about.fields as u64);
        let mut text = format!(
            "At a temperature of T = {} and a cutoff of {}, which keeps {} for the displacement along each axis, the pixels of {n}x{n} images move by {}, \
             the root of the mean square. The formula for many modes calls this {}.",
            pretty(asked.t),
            about.cutoff,
            counted(about.mode_count as u64, "mode"),
            pixels(asked.exact),
            pretty(asked.nominal),
        );
        let measured = asked.measured;
        let apart = (measured.value - asked.exact).abs() / measured.standard_error;
        text += &format!(
            "\n\n{} drawn at it move them by {}{}",
            counted(fields, "field"),
            measured.pair(),
            match apart < APART {
                true => ", as the sum over modes says.".to_string(),
                false => format!(": {apart:.1} standard errors from what the sum over modes says."),
            }
        );
        text += &format!(
            " That no direction is turned by a right angle or more anywhere, max Ξ < 1, holds for {}; {} the image over itself.",
            share(asked.smooth as u64, fields),
            match asked.folded as u64 {
                0 => "none of them folds".to_string(),
                n if n == fields => "all of them fold".to_string(),
                1 => "one of them folds".to_string(),
                n => format!("{} of them fold", grouped(n)),
            }
        );
        let [low, high] = self.reach();
        text += &format!(
            "\n\nWith this cutoff deformations have a range of {} to {} pixels: T from {}, where the formula for many modes says half a \
             pixel, to {}, where the usual largest Ξ of a field is estimated as 1.",
            pretty(low),
            pretty(high),
            pretty(about.range[0]),
            pretty(about.range[1]),
        );
        text
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let paragraphs: Vec<String> = self.words.split("\n\n").map(fill).collect();
        self.table().to_text(width) + "\n" + &paragraphs.join("\n")
    }

    /// A row a temperature.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("temperature", Left),
            ("T", Right),
            ("exact δ", Right),
            ("nominal δ", Right),
            ("measured δ", Right),
            ("max Ξ", Right),
            ("max Ξ < 1", Right),
            ("min det", Right),
        ]);
        let fields = self.about.fields;
        for row in &self.temperatures {
            let smooth = (1000.0 * row.smooth as f64 / fields as f64).round() / 10.0;
            table.push([
                row.stage.name().into(),
                row.t.into(),
                row.exact.into(),
                row.nominal.into(),
                row.measured.pair().into(),
                row.median_xi.into(),
                format!("{} %", pretty(smooth)).into(),
                row.median_det.into(),
            ]);
        }
        table
    }
}

fn pixels(displacement: f64) -> String {
    let noun = if displacement == 1.0 {
        "pixel"
    } else {
        "pixels"
    };
    format!("{} {noun}", pretty(displacement))
}

/// `all 1,000`, or `996 of 1,000 (99.6 ± 0.2 %)`.
fn share(count: u64, of: u64) -> String {
    if count == of || count == 0 {
        let word = if count == 0 { "none" } else { "all" };
        return format!("{word} of {}", grouped(of));
    }
    let p = count as f64 / of as f64;
    let percent = Estimate {
        value: 100.0 * p,
        standard_error: 100.0 * (p * (1.0 - p) / of as f64).sqrt(),
        samples: of,
    };
    format!(
        "{} of {} ({} %)",
        grouped(count),
        grouped(of),
        percent.pair()
    )
}

impl Answer {
    /// Tables, by the names of their files.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut limits = Table::new(
            [
                "cutoff",
                "lower limit",
                "upper limit",
                "half a pixel",
                "1 pixel",
                "2 pixels",
            ]
            .map(|name| (name, Align::Right)),
        );
        for Limit { cutoff, range, at } in &self.limits {
            let numbers = [range.0, range.1, at[0], at[1], at[2]];
            limits.push(
                [(*cutoff).into()]
                    .into_iter()
                    .chain(numbers.map(Into::into)),
            );
        }
        vec![
            (
                "temperatures.csv",
                self.summary.table().to_csv().into_bytes(),
            ),
            ("limits.csv", limits.to_csv().into_bytes()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(stage: Stage, t: f64) -> Row {
        Row {
            stage,
            t,
            exact: 22.9 * t.sqrt(),
            nominal: 30.0 * t.sqrt(),
            measured: Estimate {
                value: 22.9 * t.sqrt(),
                standard_error: 0.01,
                samples: 1000,
            },
            median_xi: 0.3,
            smooth: 1000,
            median_det: 0.7,
            folded: 0,
        }
    }

    /// What is said of the row that was asked for.
    fn said(change: impl Fn(&mut Row)) -> String {
        let about = About {
            data: "patterns".into(),
            n: 32,
            cutoff: 3,
            modes: ModeRule::Strict,
            mode_count: 4,
            displacement: 1.0,
            displacement_is: Convention::Exact,
            interpolation: Interpolation::Bilinear,
            fields: 1000,
            range: [3e-4, 1.3e-2],
        };
        let mut asked = row(Stage::Asked, 2e-3);
        change(&mut asked);
        let [low, high] = [row(Stage::LowerLimit, 3e-4), row(Stage::UpperLimit, 1.3e-2)];
        let rows = [low, asked, high, row(Stage::Beyond, 5.2e-2)];
        Summary::new(about, rows).words
    }

    #[test]
    fn agreement_is_said_where_it_holds() {
        let near = said(|row| row.measured.value += 0.029);
        assert!(near.contains(", as the sum over modes says."), "{near}");
        let far = said(|row| row.measured.value += 0.041);
        assert!(
            far.contains(": 4.1 standard errors from what the sum over modes says."),
            "{far}"
        );
        assert!(!far.contains("as the sum"));
    }

    #[test]
    fn folds_are_counted() {
        let none = said(|_| ());
        assert!(
            none.contains("holds for all of 1,000; none of them folds the image"),
            "{none}"
        );
        let some = said(|row| (row.smooth, row.folded) = (900, 20));
        assert!(
            some.contains("holds for 900 of 1,000 (90.0 ± 0.9 %); 20 of them fold"),
            "{some}"
        );
        let one = said(|row| (row.smooth, row.folded) = (0, 1));
        assert!(
            one.contains("holds for none of 1,000; one of them folds"),
            "{one}"
        );
        assert!(said(|row| row.folded = 1000).contains("all of them fold"));
    }

    /// √3·10⁻⁴ · 22.9 = 0.3966 and √1.3·10⁻² · 22.9 = 2.6110: rounded inwards.
    #[test]
    fn the_range_holds_what_it_says() {
        assert!(said(|_| ()).contains("a range of 0.4 to 2.61 pixels"));
    }
}
