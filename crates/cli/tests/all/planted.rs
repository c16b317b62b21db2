//! Tables in which the claims of an experiment come out as wanted: numbers are nudged until they do.

use polariscope_experiment::{
    Cell, Claim, Design, Outcome, Scale, Select, Table, Test, Verdict, Wanted,
};

/// Rounds of nudges, and how far one goes.
const ROUNDS: usize = 2000;
const STEP: f64 = 0.02;
/// A column that holds the place of its row.
const PLACE: &str = "place";

/// Measures that a claim reads.
fn measures(test: &Test) -> Vec<&'static str> {
    match test {
        Test::Above { measure, .. }
        | Test::Equal { measure, .. }
        | Test::Trend { measure, .. }
        | Test::Contrast { measure, .. }
        | Test::Range { measure, .. }
        | Test::Certain { measure, .. }
        | Test::Scatter { measure, .. } => vec![measure],
        Test::Together { x, y, .. } => vec![x, y],
        Test::Orders { x, order } => vec![x, order.y],
        Test::OrdersBetter { x, other, order } => vec![x, other, order.y],
    }
}

/// What the claims come to without a single row.
pub fn open(design: &Design, claims: &[Claim]) -> Vec<Verdict> {
    let table = Table::new(design);
    claims.iter().map(|claim| claim.judge(&table)).collect()
}

/// What they come to in a table in which all should come out as `wanted`.
pub fn judged(design: &Design, claims: &[Claim], wanted: Outcome) -> Vec<Verdict> {
    let mut planted = Planted::new(design, claims);
    for _ in 0..ROUNDS {
        let wrong = |c: &&Claim| c.judge(&planted.table).outcome != wanted;
        let wrong: Vec<&Claim> = claims.iter().filter(wrong).collect();
        if wrong.is_empty() {
            break;
        }
        for claim in wrong {
            planted.nudge(&claim.test, wanted == Outcome::Holds);
        }
    }
    let verdicts = claims.iter().map(|claim| claim.judge(&planted.table));
    verdicts.collect()
}

struct Planted {
    table: Table,
    /// The measure that should order best.
    best: Option<&'static str>,
}

impl Planted {
    fn new(design: &Design, claims: &[Claim]) -> Self {
        let mut all = design.measures.clone();
        for measure in claims.iter().flat_map(|c| measures(&c.test)) {
            if !all.iter().any(|known| known == measure) {
                all.push(measure.into());
            }
        }
        all.push(PLACE.into());
        let width = all.len();
        let design = Design {
            measures: all,
            ..design.clone()
        };
        let mut table = Table::new(&design);
        let measure = |_: &Cell| Ok::<_, ()>(vec![0.5; width]);
        let filled = design.fill(&mut table, 1, measure, |_| {}, |_| Ok(()));
        filled.unwrap();
        for (i, row) in table.rows.iter_mut().enumerate() {
            row.values[width - 1] = i as f64;
        }
        let best = claims.iter().find_map(|c| match c.test {
            Test::OrdersBetter { x, .. } => Some(x),
            _ => None,
        });
        Planted { table, best }
    }

    /// Changes a measure in the selected rows.
    fn change(&mut self, measure: &str, at: &Select, new: impl Fn(f64) -> f64) {
        let places = self.table.values(at, PLACE);
        let column = self.table.measures().iter().position(|m| m == measure);
        for (_, place) in places {
            let value = &mut self.table.rows[place as usize].values[column.unwrap()];
            *value = new(*value);
        }
    }

    fn mean(&self, measure: &str, at: &Select) -> f64 {
        self.table.mean(at, measure).unwrap().value
    }

    /// Nudges conditions up along a list, or down.
    fn tilt(&mut self, measure: &str, along: &[Select], sign: f64) {
        let middle = (along.len() as f64 - 1.0) / 2.0;
        for (i, at) in along.iter().enumerate() {
            self.change(measure, at, |y| {
                y + sign * STEP * (i as f64 - middle) / middle.max(1.0)
            });
        }
    }

    fn level(&mut self, measure: &str, along: &[Select]) {
        let sum: f64 = along.iter().map(|at| self.mean(measure, at)).sum();
        let mean = sum / along.len() as f64;
        along
            .iter()
            .for_each(|at| self.change(measure, at, |_| mean));
    }

    /// Towards what holds, or towards its opposite.
    fn nudge(&mut self, test: &Test, holds: bool) {
        let sign = if holds { 1.0 } else { -1.0 };
        match test {
            Test::Above {
                measure,
                upper,
                lower,
            } => {
                self.change(measure, upper, |y| y + sign * STEP);
                self.change(measure, lower, |y| y - sign * STEP);
            }
            Test::Equal {
                measure,
                conditions,
                tolerance,
            } => match (holds, conditions.split_last()) {
                (true, _) => self.level(measure, conditions),
                (false, Some((last, _))) => {
                    self.change(measure, last, |y| y + 2.0 * tolerance + STEP);
                }
                (false, None) => {}
            },
            Test::Trend {
                measure,
                along,
                sign: way,
            } => self.tilt(measure, along, sign * way),
            Test::Contrast {
                measure,
                scale,
                terms,
                wanted,
            } => self.contrast((measure, *scale), terms, (*wanted, sign)),
            Test::Range {
                measure,
                along,
                wanted,
            } => match (wanted, holds) {
                (Wanted::AtMost(_), true) | (Wanted::AtLeast(_), false) => {
                    self.level(measure, along);
                }
                _ => self.tilt(measure, along, 1.0),
            },
            Test::Certain {
                measure,
                at,
                wanted,
            } => {
                let value = match wanted {
                    Wanted::Positive => sign,
                    Wanted::AtLeast(v) => v + 0.1 * sign,
                    Wanted::AtMost(v) => v - 0.1 * sign,
                    Wanted::Near { value, tolerance } => {
                        value + if holds { 0.0 } else { 2.0 * tolerance }
                    }
                };
                self.change(measure, at, |_| value);
            }
            Test::Together { x, y, along, .. } => {
                // Eigenvalues fall along their index.
                for (i, at) in along.iter().enumerate() {
                    self.change(x, at, |_| -(i as f64));
                }
                self.tilt(y, along, -sign);
            }
            Test::Orders { x, order } => {
                let off = if self.best == Some(*x) { 0.0 } else { 6.0 };
                for (i, at) in order.along.iter().enumerate() {
                    let i = i as f64;
                    self.change(order.y, at, |_| i);
                    self.change(x, at, |_| sign * (i + off * (1.7 * i).sin()));
                }
            }
            // What orders best is set with what it orders.
            Test::OrdersBetter { .. } => {}
            Test::Scatter { measure, at } => {
                let z = if holds { 0.0 } else { 10.0 };
                self.change(measure, at, |_| z);
            }
        }
    }

    fn contrast(
        &mut self,
        (measure, scale): (&str, Scale),
        terms: &[(f64, Select)],
        (wanted, sign): (Wanted, f64),
    ) {
        let of = |y: f64| match scale {
            Scale::Linear => y,
            Scale::Log => y.ln(),
        };
        let sum: f64 = terms
            .iter()
            .map(|(w, at)| w * of(self.mean(measure, at)))
            .sum();
        let squares: f64 = terms.iter().map(|(w, _)| w * w).sum();
        let by = match wanted {
            Wanted::Positive | Wanted::AtLeast(_) => sign * STEP,
            Wanted::AtMost(_) => -sign * STEP,
            Wanted::Near { value, .. } if sign > 0.0 => value - sum,
            Wanted::Near { .. } => STEP,
        };
        for (w, at) in terms {
            let by = w * by / squares;
            self.change(measure, at, |y| match scale {
                Scale::Linear => y + by,
                Scale::Log => y * by.exp(),
            });
        }
    }
}
