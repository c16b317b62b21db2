//! How spectra are shown.

use polariscope_experiment::{Answers, Grid, Select, Table, View, levels, shown};
use polariscope_report::{Axis, Mark, Plot, Section, Series, pretty};

use super::Spectra;

/// A level of a spectrum as the table has it.
struct Row {
    theory: f64,
    multiplicity: f64,
    found: Vec<f64>,
}

/// Levels of a spectrum, largest first.
fn spectrum(table: &Table, system: &str, p: &str) -> Vec<Row> {
    let rows = levels(table, "class").into_iter().filter_map(|class| {
        let at = Select::of(&[("system", system), ("p", p), ("class", &class)]);
        let first = |measure| table.values(&at, measure).first().map(|v| v.1);
        Some(Row {
            theory: first("theory")?,
            multiplicity: first("multiplicity")?,
            found: table
                .values(&at, "eigenvalue")
                .iter()
                .map(|v| v.1)
                .collect(),
        })
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|a, b| b.theory.total_cmp(&a.theory));
    rows
}

/// Steps of the exact eigenvalues against their index, and the estimates in the middle of each.
fn decay(table: &Table, p: &str) -> Plot {
    let mut series = Vec::new();
    let mut steps = Vec::new();
    for system in levels(table, "system") {
        let (mut line, mut points, mut index) = (Vec::new(), Vec::new(), 0.0);
        for row in spectrum(table, &system, p) {
            let (first, last) = (index + 1.0, index + row.multiplicity);
            line.extend([(first, row.theory), (last, row.theory), (last, f64::NAN)]);
            points.extend(row.found.iter().map(|&y| ((first * last).sqrt(), y)));
            index = last;
        }
        series.push(Series::scatter(format!("{system}, points"), points));
        steps.push(Series {
            mark: Mark::Reference,
            ..Series::line(String::new(), line)
        });
    }
    series.extend(steps);
    Plot {
        title: format!("Eigenvalues, p = {p}"),
        x: Axis::log("index"),
        y: Axis::log("eigenvalue"),
        series,
    }
}

/// An eigenvalue against p.
fn scaling(table: &Table, class: &str) -> Plot {
    let line = |system: String| {
        let points = levels(table, "p").into_iter().filter_map(|p| {
            let at = Select::of(&[("system", &system), ("p", &p), ("class", class)]);
            Some((p.parse().ok()?, table.mean(&at, "eigenvalue")?.value))
        });
        Series {
            mark: Mark::LinePoints,
            ..Series::line(system.clone(), points.collect())
        }
    };
    let theory = |system: String| {
        let points = levels(table, "p").into_iter().filter_map(|p| {
            let at = Select::of(&[("system", &system), ("p", &p), ("class", class)]);
            Some((p.parse().ok()?, table.mean(&at, "theory")?.value))
        });
        Series::reference(String::new(), points.collect())
    };
    let systems = levels(table, "system");
    let found = systems.iter().cloned().map(line);
    Plot {
        title: format!("Eigenvalue of degree {class} against p"),
        x: Axis::log("p"),
        y: Axis::log("eigenvalue"),
        series: found.chain(systems.iter().cloned().map(theory)).collect(),
    }
}

impl View for Spectra {
    fn name(&self) -> &'static str {
        "spectra"
    }

    fn title(&self) -> String {
        "Eigenvalue decay on products of spheres".into()
    }

    fn asked(&self) -> String {
        format!(
            "How fast do the eigenvalues of FCN, VEC and GAP fall with the degree of a function and with the dimension? ReLU \
             NTK of one hidden layer on p spheres of dimension {}, patches of {}, {} points a run.",
            self.sizes.d0, self.sizes.s, self.sizes.points
        )
    }

    fn answers(&self) -> Answers {
        Answers::new(
            "With the number p of patches, eigenvalues of degree r fall as p to the power −r for FCN and as 1/p for VEC and \
             GAP, and sampled ones are the exact ones but for sampling.",
            "They fall otherwise than as p to the power −r for FCN and as 1/p for VEC and GAP, and sampled ones are not the \
             exact ones.",
        )
    }

    fn words(&self, table: &Table) -> String {
        let patches = levels(table, "p");
        let (Some(first), Some(last)) = (patches.first(), patches.last()) else {
            return String::new();
        };
        let ratio = |system: &str, class: &str| {
            let at = |p: &str| {
                let select = Select::of(&[("system", system), ("p", p), ("class", class)]);
                table.mean(&select, "theory").map_or(f64::NAN, |m| m.value)
            };
            pretty(at(first) / at(last))
        };
        format!(
            "From p = {first} to {last} the exact eigenvalue of degree 2 falls by a factor of {} for FCN and {} for VEC and GAP; \
             that of degree 1 by {} and {}.",
            ratio("FCN", "2"),
            ratio("VEC", "2"),
            ratio("FCN", "1"),
            ratio("VEC", "1")
        )
    }

    fn summary(&self, table: &Table) -> Grid {
        let columns = ["level", "multiplicity", "exact", "found"];
        let mut rows = Vec::new();
        for system in levels(table, "system") {
            for p in levels(table, "p") {
                for class in levels(table, "class") {
                    let at = Select::of(&[("system", &system), ("p", &p), ("class", &class)]);
                    let Some(theory) = table.mean(&at, "theory") else {
                        continue;
                    };
                    let count = table.mean(&at, "multiplicity").map_or(0.0, |m| m.value);
                    rows.push(vec![
                        format!("{system} p = {p}, degrees {class}"),
                        pretty(count),
                        pretty(theory.value),
                        shown(table.mean(&at, "eigenvalue"), 1.0),
                    ]);
                }
            }
        }
        Grid {
            columns: columns.map(str::to_string).into(),
            rows,
        }
    }

    fn figures(&self, table: &Table) -> Vec<Section> {
        let patches = levels(table, "p");
        let ends = [patches.first(), patches.last()];
        let decays = ends
            .into_iter()
            .flatten()
            .map(|p| Section::new("").figure(format!("decay p {p}"), decay(table, p).draw(), ""));
        let scalings = ["1", "2"].map(|class| {
            Section::new("").figure(format!("degree {class}"), scaling(table, class).draw(), "")
        });
        vec![
            Section::new("Eigenvalue decay")
                .prose(
                    "Dashed steps: exact eigenvalues, as long as their multiplicity. Points: estimates from pairs of sampled \
                     points, one a run, in the middle of the step. VEC and GAP have the same eigenvalues; GAP has fewer \
                     functions to each.",
                )
                .columns(decays),
            Section::new("With the dimension")
                .prose(
                    "With the size of spheres and patches fixed, an eigenvalue of order r falls as p to the power −r for FCN \
                     and as 1/p for VEC and GAP: locality keeps high degrees learnable. Dashed: exact.",
                )
                .columns(scalings),
        ]
    }
}
