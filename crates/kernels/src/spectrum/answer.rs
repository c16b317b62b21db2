//! What comes of it: eigenvalues, in numbers and words.

use polariscope_report::{Align, Table, counted, fill, grouped, pretty};
use serde::{Deserialize, Serialize};

/// A Gram spectrum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// In words and a few numbers.
    pub summary: Summary,
    /// Of the Gram matrix over m, largest first.
    pub eigenvalues: Vec<f64>,
}

/// The spectrum in words and a few numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The finding.
    pub words: String,
    /// The architecture.
    pub name: String,
    /// NNGP or NTK.
    pub kernel: String,
    /// Samples.
    pub samples: usize,
    /// Σ λ = mean of K(x, x).
    pub trace: f64,
    /// (Σλ)²/Σλ²: how many directions share the kernel.
    pub effective: f64,
    /// Directions that hold half, 90 % and 99 % of the trace.
    pub directions: [usize; 3],
    /// The largest over the smallest eigenvalue, where that is above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<f64>,
    /// What is approximate beyond infinite width.
    #[serde(default)]
    pub approximations: Vec<String>,
}

impl Summary {
    pub(super) fn new(
        name: &str,
        kind: &str,
        eigenvalues: &[f64],
        approximations: Vec<String>,
    ) -> Self {
        let trace: f64 = eigenvalues.iter().sum();
        let squares: f64 = eigenvalues.iter().map(|l| l * l).sum();
        let holding = |share: f64| {
            let mut sum = 0.0;
            let enough = |l: &f64| {
                sum += l;
                sum >= share * trace
            };
            eigenvalues
                .iter()
                .position(enough)
                .map_or(eigenvalues.len(), |i| i + 1)
        };
        let (first, last) = (eigenvalues[0], eigenvalues[eigenvalues.len() - 1]);
        let mut found = Self {
            words: String::new(),
            name: name.to_string(),
            kernel: kind.to_uppercase(),
            samples: eigenvalues.len(),
            trace,
            effective: trace * trace / squares,
            directions: [0.5, 0.9, 0.99].map(holding),
            condition: (last > 0.0).then(|| first / last),
            approximations,
        };
        found.words = found.say(first);
        found
    }

    fn say(&self, first: f64) -> String {
        let [half, most, all] = self.directions;
        let mut text = format!(
            "Of the {} of {} on {}, {} hold half of the trace, {} hold 90 % and {} hold 99 %. Gradient flow at rate η finds the \
             first after ηt = {}; a direction of eigenvalue λ takes 1/λ.",
            self.kernel,
            self.name,
            counted(self.samples as u64, "sample"),
            counted(half as u64, "direction"),
            grouped(most as u64),
            grouped(all as u64),
            pretty(1.0 / first)
        );
        if 10 * all > 9 * self.samples {
            text += " The spectrum reaches to the last sample: more samples would show more directions.";
        }
        if !self.approximations.is_empty() {
            text += &format!("\n\nApproximate: {}.", self.approximations.join("; "));
        }
        text
    }

    /// For people, in tables of at most `width` columns.
    pub fn text(&self, width: usize) -> String {
        let mut text = self.table().to_text(width);
        for paragraph in self.words.split("\n\n") {
            text.push('\n');
            text += &fill(paragraph);
        }
        text
    }

    /// The numbers.
    pub(super) fn table(&self) -> Table {
        let mut table = Table::new([("quantity", Align::Left), ("value", Align::Right)]);
        let [half, most, all] = self.directions;
        table.push(["trace, mean of K(x, x)".into(), self.trace.into()]);
        table.push([
            "effective number of directions".into(),
            self.effective.into(),
        ]);
        table.push(["directions with 50 % of the trace".into(), half.into()]);
        table.push(["with 90 %".into(), most.into()]);
        table.push(["with 99 %".into(), all.into()]);
        table.push(["condition number".into(), self.condition.into()]);
        table
    }
}
