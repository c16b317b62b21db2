//! The computation: Gram matrices, then inference.

use std::time::Instant;

use polariscope_data::Dataset;
use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Observer, afford};
use polariscope_nngp::Kernel;

use super::gram::{self, Grams};
use super::{Answer, Learnt, Question, Summary, Targets};
use crate::{KernelsError, Number, Store};

/// A data set learnt with the kernel of an infinitely wide network.
pub fn answer(
    graph: &Graph,
    data: &Dataset,
    question: &Question,
    observer: &mut dyn Observer,
) -> Result<Answer, KernelsError> {
    Job::new(graph, data, question)?.answer(&Store::Memory, observer)
}

/// A question whose every refusal is behind it.
pub struct Job<'a> {
    graph: &'a Graph,
    data: &'a Dataset,
    question: Question,
    engine: Kernel,
    targets: Targets,
}

impl<'a> Job<'a> {
    /// Checks the question.
    pub fn new(
        graph: &'a Graph,
        data: &'a Dataset,
        question: &Question,
    ) -> Result<Self, KernelsError> {
        let question = question.resolve()?;
        let targets = Targets::new(data)?;
        let engine = Kernel::on(graph, question.setup.device)?;
        if data.shape.len() != engine.inputs() {
            return Err(KernelsError::Data(format!(
                "data '{}' has samples of {}, but {} reads {}",
                data.name,
                data.shape,
                graph.name,
                graph.input()
            )));
        }
        let bytes = match question.setup.dtype {
            Dtype::F32 => gram::bytes::<f32>(&engine, targets.samples()),
            Dtype::F64 => gram::bytes::<f64>(&engine, targets.samples()),
        };
        afford(bytes, "give fewer samples with ‹train› and ‹test›")?;
        Ok(Self {
            graph,
            data,
            question,
            engine,
            targets,
        })
    }

    /// Names of the matrices that a store holds meanwhile.
    pub fn files() -> [&'static str; 2] {
        gram::FILES
    }

    /// Learns.
    pub fn answer(
        self,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Answer, KernelsError> {
        match self.question.setup.dtype {
            Dtype::F32 => self.learn::<f32>(store, observer),
            Dtype::F64 => self.learn::<f64>(store, observer),
        }
    }

    fn learn<T: Number>(
        self,
        store: &Store,
        observer: &mut dyn Observer,
    ) -> Result<Answer, KernelsError> {
        let started = Instant::now();
        let grams = Grams::compute::<T>(&self.engine, self.data, &self.question, store, observer)?;
        let kernel_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let learnt = Learnt::new(&self.question, &grams, &self.targets, observer)?;
        let solve_seconds = started.elapsed().as_secs_f64();
        let approximations = self.engine.approximations().to_vec();
        let mut answer = Answer {
            network: self.graph.name.clone(),
            data: self.data.title().to_string(),
            summary: Summary {
                kernel_seconds,
                solve_seconds,
                ..Summary::new(&self.question, &self.targets, &learnt, approximations)
            },
            confusion: self.targets.confusion(&learnt.predictions),
            mistakes: super::mistakes::surest(self.data, &self.targets, &learnt.predictions),
            targets: self.targets,
            learnt,
        };
        answer.summary.words = answer.sentence();
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};
    use polariscope_lens::Quiet;

    use super::*;
    use crate::kernel::Kind;

    #[test]
    fn answers_go_through_serde() {
        let data = Dataset::load("stripe?train=12&test=6").unwrap();
        let options = ZooOptions {
            input: Some(data.shape),
            ..ZooOptions::default()
        };
        let graph = zoo("fcn", &options).unwrap();
        for kind in [Kind::Ntk, Kind::Nngp] {
            let question = Question {
                kind,
                ridge: 0.5,
                ..Question::default()
            };
            let found = answer(&graph, &data, &question, &mut Quiet).unwrap();
            let again: Answer = toml::from_str(&toml::to_string(&found).unwrap()).unwrap();
            assert_eq!(again.files(), found.files());
            assert_eq!(again.summary.words, found.summary.words);
            let pages =
                [again, found].map(|a| crate::regress::page(&a, "", Vec::new()).files("net"));
            assert_eq!(pages[0], pages[1]);
        }
    }

    #[test]
    fn data_of_another_shape_are_refused() {
        let data = Dataset::load("stripe?train=12&test=6").unwrap();
        let input = Some("7".parse().unwrap());
        let options = ZooOptions {
            input,
            ..ZooOptions::default()
        };
        let graph = zoo("fcn", &options).unwrap();
        let e = answer(&graph, &data, &Question::default(), &mut Quiet).unwrap_err();
        assert!(
            e.is_usage() && e.to_string().contains("but fcn reads 7"),
            "{e}"
        );
    }
}
