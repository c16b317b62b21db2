//! Input gradients while networks train.

use polariscope_data::Split;
use polariscope_graph::Graph;
use polariscope_network::{Network, Scalar, Weights};
use polariscope_random::Stream;
use polariscope_train::{Config, Control, Observer, Row, State};

use crate::cloud::Cloud;
use crate::learn::learn_watched;
use crate::{GeometryExperimentsError, Lab};

/// Points of N(0, I) at which gradients are taken, for each network.
const PROBES: usize = 16;

/// What was seen of an ensemble.
pub(crate) struct Watched {
    /// G^t as rows, at the epochs that were asked for.
    pub geometry: Vec<Cloud>,
    /// Training accuracy at the same epochs, averaged over networks; that of the start is 0.
    pub accuracy: Vec<f64>,
}

struct Eye<'a> {
    network: Network<f32>,
    x: Vec<f32>,
    epochs: &'a [u64],
    rows: Vec<Vec<f32>>,
    accuracy: Vec<f64>,
    error: Option<GeometryExperimentsError>,
}

impl Eye<'_> {
    fn look(&mut self, weights: &Weights<f32>) -> Result<(), GeometryExperimentsError> {
        let gradient = self
            .network
            .input_gradient(weights, &self.x, Scalar::Logit(0));
        self.rows
            .push(gradient.map_err(polariscope_geometry::GeometryError::from)?);
        Ok(())
    }
}

impl Observer<f32> for Eye<'_> {
    fn on_epoch(&mut self, row: &Row, state: &State<f32>) -> Control {
        if !self.epochs.contains(&row.epoch) {
            return Control::Continue;
        }
        self.accuracy.push(row.train_accuracy.unwrap_or(f64::NAN));
        match self.look(&state.weights) {
            Ok(()) => Control::Continue,
            Err(e) => {
                self.error = Some(e);
                Control::Stop
            }
        }
    }
}

/// Trains `networks` networks of a run and looks at them at the start (epoch 0) and after `epochs`. `None` where one
/// diverges.
pub(crate) fn watch(
    lab: &Lab,
    graph: &Graph,
    config: &Config,
    run: u64,
    train: &Split,
    (networks, epochs): (u64, &[u64]),
) -> Result<Option<Watched>, GeometryExperimentsError> {
    let dim = graph.input().len();
    let mut rows: Vec<Vec<f32>> = vec![Vec::new(); epochs.len()];
    let mut accuracy = vec![0.0; epochs.len()];
    for index in run * networks..(run + 1) * networks {
        let mut x = vec![0.0; PROBES * dim];
        Stream::new(lab.seed, index, "trial.probes").normal(1.0, &mut x);
        let mut eye = Eye {
            network: Network::on(graph.clone(), lab.place.device),
            x,
            epochs,
            rows: Vec::new(),
            accuracy: Vec::new(),
            error: None,
        };
        if epochs.first() == Some(&0) {
            eye.accuracy.push(0.0);
            eye.look(&Weights::draw(graph, lab.seed, index))?;
        }
        let config = Config {
            row_every: 1,
            ..config.clone()
        };
        let learnt = learn_watched(lab, graph, config, index, train, &mut eye)?;
        if let Some(e) = eye.error {
            return Err(e);
        }
        if learnt.is_none() {
            return Ok(None);
        }
        for (all, own) in rows.iter_mut().zip(eye.rows) {
            all.extend(own);
        }
        for (all, own) in accuracy.iter_mut().zip(eye.accuracy) {
            *all += own / networks as f64;
        }
    }
    Ok(Some(Watched {
        geometry: rows.into_iter().map(|r| Cloud::new(r, dim)).collect(),
        accuracy,
    }))
}
