//! Fields behind an activation, and which of their pairs take the linear limit.

use polariscope_diff::{Id, Program};
use polariscope_graph::Activation;

use super::activation::{Collinear, Moments, kinked, of_kinked, of_smooth};
use super::fields::{Algebra, At};
use super::need::{Need, Needs};
use super::refusal::KernelRefusal;
use super::value::{Block, Field, Law};

impl Algebra<'_> {
    /// A block behind an activation.
    pub fn activated(
        &mut self,
        activation: Activation,
        layer: &str,
        block: &Block,
        needs: Needs,
    ) -> Result<Block, KernelRefusal> {
        if block.law != Law::Gaussian {
            return Err(KernelRefusal::NotGaussian {
                op: activation.name(),
                layer: layer.to_string(),
            });
        }
        let [between, first, second] = block.fields;
        let [p, q] = [first, second].map(|field| self.read(field, Need::Equal));
        let mut fields = [Field::Nothing; 3];
        let sides = [(between, p, q), (first, p, p), (second, q, q)];
        for ((made, need), (field, p, q)) in fields.iter_mut().zip(needs.each()).zip(sides) {
            let (Field::Equal(p), Field::Equal(q)) = (p, q) else {
                continue;
            };
            *made = match self.read(field, need) {
                Field::Nothing => Field::Nothing,
                Field::Equal(c) => {
                    Field::Equal(self.expectation(activation, layer, Moments { p, q, c })?)
                }
                Field::Pairs(c) => {
                    let n = self.t.shape(p)[0];
                    let p = self.t.reshape(p, &[n, 1]);
                    let q = self.t.reshape(q, &[1, n]);
                    Field::Pairs(self.expectation(activation, layer, Moments { p, q, c })?)
                }
            };
        }
        Ok(Block {
            law: Law::Other,
            fields,
            ..block.clone()
        })
    }

    /// E[φφ].
    fn expectation(
        &mut self,
        activation: Activation,
        layer: &str,
        m: Moments,
    ) -> Result<Id, KernelRefusal> {
        let Some(parts) = kinked(activation) else {
            return of_smooth(&mut self.t, activation, m).ok_or_else(|| {
                KernelRefusal::Activation {
                    op: activation.name(),
                    layer: layer.to_string(),
                }
            });
        };
        let shape = self.t.shape(m.c).to_vec();
        let mut masks = [Vec::new(), Vec::new()];
        if let At::Points(_) = self.at {
            let leaves: Vec<&[f64]> = self.leaves.iter().map(Vec::as_slice).collect();
            let values = Program::new(&self.t, &[m.p, m.q, m.c]).evaluate::<f64>(&leaves);
            if values.iter().flatten().any(|v| !v.is_finite()) {
                return Err(KernelRefusal::NotFinite);
            }
            let found = Collinear::new(&values[0], &values[1], &values[2]);
            let Some(Collinear { keep, sign }) = found else {
                return Err(KernelRefusal::Flat {
                    op: activation.name(),
                    layer: layer.to_string(),
                });
            };
            masks = [keep, sign];
        }
        let [keep, sign] = masks;
        // Usual where no pool follows: all pairs are equal positions.
        let keep = match !keep.is_empty() && keep.iter().all(|&k| k == 0.0) {
            true => self.t.constant(0.0, &shape),
            false => self.known(&shape, || keep),
        };
        let sign = self.known(&shape, || sign);
        Ok(of_kinked(&mut self.t, parts, m, keep, sign))
    }
}
