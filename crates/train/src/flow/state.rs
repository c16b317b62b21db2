//! Where a gradient flow stands, and its checkpoint.

use polariscope_diff::Real;
use polariscope_network::Weights;

use super::FlowRow;
use crate::TrainError;
use crate::codec::{Reader, Writer};

const KIND: &[u8; 8] = b"PLR_FLOW";

/// What a flow carries from one step to the next; see [`crate::State`].
#[derive(Clone, Debug, PartialEq)]
pub struct FlowState<T> {
    /// Parameters and buffers.
    pub weights: Weights<T>,
    /// f₀ on the training set; empty for [`crate::Origin::Zero`].
    pub origin: Vec<T>,
    /// f₀ on the test set; empty for [`crate::Origin::Zero`] and where there is none.
    pub test_origin: Vec<T>,
    /// Flow time.
    pub time: f64,
    /// Next step to try.
    pub dt: f64,
    /// Steps accepted.
    pub accepted: u64,
    /// Steps refused.
    pub rejected: u64,
    /// Rows so far; the first is of time 0.
    pub history: Vec<FlowRow>,
}

impl<T: Real> FlowState<T> {
    /// The state as a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new::<T>(KIND);
        w.f64(self.time);
        w.f64(self.dt);
        w.u64(self.accepted);
        w.u64(self.rejected);
        w.u64(self.history.len() as u64);
        self.history.iter().for_each(|row| row.write(&mut w));
        w.tensors(&self.weights.values);
        w.tensor(&self.origin);
        w.tensor(&self.test_origin);
        w.finish()
    }

    /// Reads a checkpoint; [`crate::Flow::resume`] checks that it fits.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TrainError> {
        let mut r = Reader::new::<T>(KIND, bytes)?;
        let (time, dt, accepted, rejected) = (r.f64()?, r.f64()?, r.u64()?, r.u64()?);
        let rows = r.u64()?;
        let history = (0..rows).map(|_| FlowRow::read(&mut r));
        let history = history.collect::<Result<_, TrainError>>()?;
        let weights = Weights {
            values: r.tensors()?,
        };
        let (origin, test_origin) = (r.tensor()?, r.tensor()?);
        r.finish()?;
        Ok(FlowState {
            weights,
            origin,
            test_origin,
            time,
            dt,
            accepted,
            rejected,
            history,
        })
    }
}
