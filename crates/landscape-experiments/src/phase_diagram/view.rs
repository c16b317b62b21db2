//! Words and figures.

use polariscope_experiment::{Answers, Curves, Grid, Pivot, Table, View};
use polariscope_report::{Axis, ColourMap, Contour, HeatMap, Section, Stroke};

use super::lines::Plane;
use super::{ENTRY, FEATURE, LAZY, NETS, PhaseDiagram, WIDE, at};
use crate::lazy::{called, winner};

/// ‖ΔΘ‖/‖Θ₀‖ of the contours.
const LEVELS: [f64; 5] = [0.1, 1.0, 10.0, 100.0, 1000.0];

impl View for PhaseDiagram {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn title(&self) -> String {
        format!("Phases of training on {}", called(&self.lab.data))
    }

    fn asked(&self) -> String {
        "Where in the plane of width h and α̃ = √h α do networks fit at all, where does their kernel move, and where do they generalise?"
            .into()
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "The smallest width that fits hardly depends on α̃; at large widths the kernel moves by its norm at one α̃, which rises towards \
             small widths, so that networks that just fit learn features; at fixed α̃ the error of the mean hardly depends on the width.",
            "Not as expected: the smallest width that fits depends on α̃, the α̃ at which the kernel moves by its norm depends on the width \
             where it is large and does not rise towards small ones, and the error of the mean depends on the width.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let wide = WIDE[1];
        let said = [format!("at α̃ = {LAZY}"), format!("at α̃ = {FEATURE}")];
        let verdict = winner(
            table,
            &format!("For the mean of {NETS} networks of width {wide}"),
            (&at(wide, LAZY), &said[0]),
            (&at(wide, FEATURE), &said[1]),
        );
        verdict.unwrap_or_default()
    }

    fn summary(&self, table: &Table) -> Grid {
        let errors = self.errors("error").grid(table);
        let mut columns = errors.columns;
        columns[0] = "error %: α̃ \\ h".into();
        Grid { columns, ..errors }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let plane = Plane::of(table, None);
        let mut heights: Vec<String> = Self::controls();
        heights.reverse();
        let widths = Self::widths();
        let map = |measure: &str, unit: f64, log: bool| -> Vec<Vec<f64>> {
            let value = |h: &String, c: &String| {
                let select = polariscope_experiment::Select::of(&[("h", h), ("control", c)]);
                let whole = table
                    .mean(&select, "fitted")
                    .is_some_and(|f| f.value >= 1.0);
                let mean = table.mean(&select, measure).filter(|_| whole);
                let value = mean.map_or(f64::NAN, |m| m.value / unit);
                if log { value.log10() } else { value }
            };
            let row = |c: &String| widths.iter().map(|h| value(h, c)).collect();
            heights.iter().map(row).collect()
        };
        let heat = |title: &str, value: &str, rows| HeatMap {
            title: title.into(),
            x: "width h".into(),
            y: "α̃ = √h α".into(),
            value: value.into(),
            rows,
            row_names: heights.clone(),
            column_names: widths.clone(),
            colours: ColourMap::Sequential,
        };
        let contours = self.contours(&plane);
        let error = heat(
            &format!("Test error of the mean of {NETS} networks"),
            "test error in %",
            map("error", 0.01, false),
        );
        let kernel = heat(
            "How far the kernel moves",
            "log₁₀ ‖ΔΘ‖/‖Θ₀‖",
            map("kernel", 1.0, true),
        );
        vec![
            Section::new("The plane of width and α̃")
                .prose(format!(
                    "Grey: under-parametrised, some network did not bring every training sample beyond the margin within {} steps. The right \
                     edge at a fixed α̃ is the mean-field limit; along the dashed line, α = 1, larger widths lead to the NTK limit. Networks \
                     learn features below the bold line and are lazy above it.",
                    polariscope_report::grouped(self.budget())
                ))
                .figure("phase error", error.draw_under(&contours), "Means over runs.")
                .figure(
                    "phase kernel",
                    kernel.draw_under(&contours),
                    "Geometric means over networks, on the first test samples.",
                ),
            Curves {
                pivot: self.errors("error"),
                title: "Error of the mean against α̃".into(),
                x: Axis::log("α̃ = √h α"),
                y: Axis::linear("test error in %"),
                caption: "A line a width, where all networks fit.".into(),
            }
            .section(table),
            Curves {
                pivot: self.errors("single"),
                title: "Error of single networks against α̃".into(),
                x: Axis::log("α̃ = √h α"),
                y: Axis::linear("test error in %"),
                caption: "Mean test error of the single networks.".into(),
            }
            .section(table),
        ]
    }
}

impl PhaseDiagram {
    fn errors(&self, measure: &'static str) -> Pivot<'static> {
        Pivot {
            rows: "control",
            columns: "h",
            fixed: Vec::new(),
            measure,
            unit: 0.01,
        }
    }

    /// Lines over the plane, in places of its cells: widths to the right, α̃ upwards.
    fn contours(&self, plane: &Plane) -> Vec<Contour> {
        let top = plane.controls.len() as f64 - 1.0;
        // The place of an α̃ among those of the rows, which are even in the logarithm but for rounding.
        let height = |control: f64| {
            let next = plane.controls.iter().position(|&c| c >= control);
            let next = next
                .unwrap_or(plane.controls.len())
                .clamp(1, plane.controls.len() - 1);
            let (a, b) = (plane.controls[next - 1].ln(), plane.controls[next].ln());
            top - (next as f64 - 1.0 + (control.ln() - a) / (b - a))
        };
        if plane.controls.len() < 2 {
            return Vec::new();
        }
        let level = |level: f64| {
            let points = (0..plane.widths.len()).filter_map(|i| {
                let control = plane.crossing(i, level)?;
                Some((i as f64, height(control)))
            });
            Contour {
                label: match level {
                    1.0 => "‖ΔΘ‖/‖Θ₀‖ = 1; thin: 0.1, 10, 100, 1000".into(),
                    _ => String::new(),
                },
                stroke: if level == 1.0 {
                    Stroke::Bold
                } else {
                    Stroke::Thin
                },
                points: points.collect(),
            }
        };
        let mut contours: Vec<Contour> = LEVELS.map(level).into();
        let unit = plane.widths.iter().enumerate();
        contours.push(Contour {
            label: "α = 1: towards the NTK limit".into(),
            stroke: Stroke::Dashed,
            points: unit.map(|(i, h)| (i as f64, height(h.sqrt()))).collect(),
        });
        let [few, all] = [self.budget() / 8, self.budget()];
        for budget in [few, all] {
            contours.push(Contour {
                label: match budget == all {
                    true => {
                        let [few, all] = [few, all].map(polariscope_report::grouped);
                        format!("all networks fit in {few} steps, in {all}")
                    }
                    false => String::new(),
                },
                stroke: Stroke::Dotted,
                points: self.jamming(plane, budget as f64),
            });
        }
        contours
    }

    /// The left edge of what fits within some steps, as a staircase.
    fn jamming(&self, plane: &Plane, budget: f64) -> Vec<(f64, f64)> {
        let top = plane.controls.len() as f64 - 1.0;
        let steps = (0..plane.controls.len()).flat_map(|c| {
            // Where nothing fits the line lies at the right edge.
            let jam = plane.jam(c, budget).unwrap_or(plane.widths.len());
            let (x, y) = (jam as f64 - 0.5, top - c as f64);
            [(x, y + 0.5), (x, y - 0.5)]
        });
        steps.collect()
    }
}
