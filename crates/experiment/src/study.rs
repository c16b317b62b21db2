//! An experiment that is ready to run: what is measured in it is nobody's business any more.

use polariscope_lens::{Observer, Work};
use polariscope_report::counted;

use crate::{
    Answer, Answers, Cell, Claim, Design, Experiment, Failure, Finding, Settings, Table, Verdict,
    View,
};

/// An experiment that is ready to run.
pub trait Study {
    /// As it is typed.
    fn name(&self) -> &'static str;

    /// What is asked, in a sentence.
    fn asked(&self) -> String;

    /// Everything that the result depends on beside seed, device and numbers.
    fn configuration(&self) -> &toml::Table;

    /// The grid: what is measured first.
    fn design(&self) -> Design;

    /// What is claimed.
    fn claims(&self) -> Vec<Claim>;

    /// The answers to the question where the claims agree.
    fn answers(&self) -> Answers;

    /// Measures what `kept` lacks, the table of an interrupted process, and judges. The observer is given the table after
    /// every cell.
    fn conduct(&self, kept: Option<&[u8]>, observer: &mut dyn Observer)
    -> Result<Finding, Failure>;

    /// What a table says.
    fn judge(&self, table: Table) -> Result<Finding, Failure>;
}

/// An experiment with its view and its settings.
pub struct Ready<E: ?Sized> {
    /// What is measured.
    pub experiment: Box<E>,
    /// Everything that the result depends on beside seed, device and numbers.
    pub configuration: toml::Table,
    /// Bytes that a cell needs, about.
    pub bytes: f64,
    only: Vec<String>,
}

impl<E: Experiment + View + Sync + ?Sized> Ready<E>
where
    Failure: From<E::Error>,
{
    /// With the conditions that the settings keep; refused where none is left.
    pub fn new(
        experiment: Box<E>,
        mut configuration: toml::Table,
        bytes: f64,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        let only = settings.only.clone();
        restricted(experiment.design(), &only)?;
        if !only.is_empty() {
            configuration.insert("only".into(), only.clone().into());
        }
        configuration.insert("experiment".into(), experiment.name().into());
        Ok(Ready {
            experiment,
            configuration,
            bytes,
            only,
        })
    }

    /// Measures the cells of a design that the table lacks.
    fn fill(
        &self,
        design: &Design,
        table: &mut Table,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let costs: Vec<f64> = design
            .missing(table)
            .into_iter()
            .map(|cell| self.experiment.cost(cell))
            .collect();
        let (rows, cells) = (table.rows.len(), costs.len() as u64);
        let first = design.cells.len() as u64 - cells;
        if cells == 0 {
            return Ok(());
        }
        observer.begin(Work {
            unit: "cells".into(),
            first,
            total: first + cells,
            words: counted(cells, "cell"),
            bytes: self.bytes,
        });
        let all: f64 = costs.iter().sum();
        design.fill(
            table,
            self.experiment.together(),
            |cell: &Cell| Ok::<_, Failure>(self.experiment.measure(cell)?),
            |_| {},
            |table| {
                let here = table.rows.len() - rows;
                let done: f64 = costs[..here].iter().sum();
                // Cells of average work, so that the time left can be told from them.
                let share = match here as u64 == cells {
                    true => cells,
                    false => (cells as f64 * done / all) as u64,
                };
                observer.advance(first + share, &|| Some(table.to_csv().into_bytes()))?;
                Ok(())
            },
        )?;
        observer.end();
        Ok(())
    }
}

impl<E: Experiment + View + Sync + ?Sized> Study for Ready<E>
where
    Failure: From<E::Error>,
{
    fn name(&self) -> &'static str {
        self.experiment.name()
    }

    fn asked(&self) -> String {
        self.experiment.asked()
    }

    fn configuration(&self) -> &toml::Table {
        &self.configuration
    }

    fn design(&self) -> Design {
        self.experiment.design()
    }

    fn claims(&self) -> Vec<Claim> {
        self.experiment.claims()
    }

    fn answers(&self) -> Answers {
        self.experiment.answers()
    }

    fn conduct(
        &self,
        kept: Option<&[u8]>,
        observer: &mut dyn Observer,
    ) -> Result<Finding, Failure> {
        let mut design = restricted(self.experiment.design(), &self.only)?;
        let mut table = Table::new(&design);
        if let Some(kept) = kept {
            restore(&mut table, kept)?;
        }
        let mut prepared = false;
        loop {
            if !prepared && !design.missing(&table).is_empty() {
                self.experiment.prepare()?;
                prepared = true;
            }
            self.fill(&design, &mut table, observer)?;
            match self.experiment.follow(&table) {
                Some(next) => design = next,
                None => break,
            }
        }
        self.judge(table)
    }

    fn judge(&self, table: Table) -> Result<Finding, Failure> {
        let scores = self.experiment.scores(&table)?;
        let shown = scores.as_ref().unwrap_or(&table);
        let claims = self.experiment.claims();
        let verdicts: Vec<Verdict> = claims.iter().map(|claim| claim.judge(shown)).collect();
        Ok(Finding {
            title: self.experiment.title(),
            asked: self.experiment.asked(),
            answer: Answer::new(&*self.experiment, shown, &verdicts),
            figures: self.experiment.figures(shown),
            table,
            scores,
        })
    }
}

/// The cells that are kept.
fn restricted(mut design: Design, only: &[String]) -> Result<Design, Failure> {
    for text in only {
        let wrong = |what: String| Failure::asked(format!("‹only '{text}'›: {what}"));
        let Some((factor, levels)) = text.split_once('=') else {
            return Err(wrong("it reads FACTOR=LEVEL,…, as in index=0,10".into()));
        };
        let levels: Vec<&str> = levels.split(',').collect();
        design = design
            .only(factor, &levels)
            .map_err(|e| wrong(e.to_string()))?;
    }
    match design.cells.is_empty() {
        true => Err(Failure::asked("‹only›: no condition is left")),
        false => Ok(design),
    }
}

fn restore(table: &mut Table, kept: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(kept).map_err(|e| Failure::Kept(e.into()))?;
    table.read_csv(text).map_err(|e| Failure::Kept(e.into()))
}
