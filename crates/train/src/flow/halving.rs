//! When a loss has halved.

/// Follows a loss that falls.
#[derive(Clone, Copy, Debug)]
pub struct Halving {
    first: f64,
    last: (f64, f64),
    /// When it was half of the first, between two looks on the line through them.
    pub time: Option<f64>,
}

impl Halving {
    /// From the loss at time 0.
    pub fn new(loss: f64) -> Self {
        Halving {
            first: loss,
            last: (0.0, loss),
            time: None,
        }
    }

    /// The loss at a later time.
    pub fn look(&mut self, time: f64, loss: f64) {
        let half = self.first / 2.0;
        if self.time.is_none() && loss <= half {
            let (t, l) = self.last;
            self.time = Some(t + (time - t) * (l - half) / (l - loss));
        }
        self.last = (time, loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 → 6 → 2 at times 0, 1, 3: half of 8 is passed in the middle of the second step, and only once.
    #[test]
    fn between_two_looks() {
        let mut halving = Halving::new(8.0);
        halving.look(1.0, 6.0);
        assert_eq!(halving.time, None);
        halving.look(3.0, 2.0);
        assert_eq!(halving.time, Some(2.0));
        halving.look(4.0, 1.0);
        assert_eq!(halving.time, Some(2.0));
    }
}
