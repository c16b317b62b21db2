//! A data set and the network that it decides.

use polariscope_data::{self as data, Dataset, Split};
use polariscope_graph::Graph;
use polariscope_lens::fingerprint;

use crate::{Labels, Samples, samples_at_once};

/// What is to be learnt, and by what.
pub struct Problem {
    /// The network.
    pub graph: Graph,
    /// The data.
    pub data: Dataset,
}

impl Problem {
    /// What people call the data.
    pub fn data_name(&self) -> &str {
        self.data.title()
    }

    /// The label of a training sample, in words.
    pub fn label(&self, sample: usize) -> String {
        match &self.data.train.y {
            data::Labels::Classes(y) => self.data.class_names[y[sample] as usize].clone(),
            data::Labels::Targets { values, width } => {
                let own = &values[sample * width..][..*width];
                let own: Vec<String> = own.iter().map(f32::to_string).collect();
                own.join(" ")
            }
        }
    }

    /// What to learn from.
    pub fn train(&self) -> Samples<'_> {
        samples(&self.data.train)
    }

    /// What to judge by.
    pub fn test(&self) -> Option<Samples<'_>> {
        (!self.data.test.is_empty()).then(|| samples(&self.data.test))
    }

    /// Names the numbers, wherever they came from.
    pub fn fingerprint(&self) -> String {
        let split = |split: &Split| {
            let labels: Vec<u64> = match &split.y {
                data::Labels::Classes(y) => y.iter().map(|&y| u64::from(y)).collect(),
                data::Labels::Targets { values, .. } => bits(values).collect(),
            };
            [split.len() as u64].into_iter().chain(labels)
        };
        let (train, test) = (&self.data.train, &self.data.test);
        let labels = split(train).chain(split(test));
        fingerprint(labels.chain(bits(&train.x)).chain(bits(&test.x)))
    }

    /// Bytes, with numbers of `size` bytes, of the data, of `copies` of the weights (gradients and moments count as such), of a batch, and of
    /// its activations forth and back.
    pub fn memory(&self, size: usize, copies: usize, batch: usize) -> f64 {
        let graph = &self.graph;
        let weights: usize = graph.params.iter().map(|p| p.len()).sum();
        let activations: usize = graph.nodes.iter().map(|n| n.shape.len()).sum();
        let numbers = [
            (copies, weights),
            (batch, graph.input().len()),
            (2 * samples_at_once(graph, batch), activations),
        ];
        let numbers: f64 = numbers.iter().map(|&(a, b)| a as f64 * b as f64).sum();
        let data = 4 * (self.data.train.x.len() + self.data.test.x.len());
        data as f64 + numbers * size as f64
    }
}

fn bits(values: &[f32]) -> impl Iterator<Item = u64> + '_ {
    values.iter().map(|x| u64::from(x.to_bits()))
}

fn samples(split: &Split) -> Samples<'_> {
    let y = match &split.y {
        data::Labels::Classes(y) => Labels::Classes(y),
        data::Labels::Targets { values, width } => Labels::Targets {
            values,
            width: *width,
        },
    };
    Samples { x: &split.x, y }
}
