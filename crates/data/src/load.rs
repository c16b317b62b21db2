//! From a specification to samples.

use crate::choose::{Choice, Rows};
use crate::dataset::{Dataset, Split};
use crate::error::DataError;
use crate::files::cifar;
use crate::source::Source;
use crate::spec::{ANIMALS, DataSource, Spec};

impl Dataset {
    /// Makes the data set that a specification names; see [`crate::help`].
    pub fn load(spec: &str) -> Result<Dataset, DataError> {
        Dataset::from_spec(&Spec::parse(spec)?)
    }

    /// Makes the data set of a checked specification.
    pub fn from_spec(spec: &Spec) -> Result<Dataset, DataError> {
        let Source {
            shape,
            names,
            train,
            test,
        } = Source::new(spec)?;
        let (test_x, test_y) = test.map(|set| (set.x, set.y)).unzip();
        let choice = Choice::new(names, train.y, test_y);
        let (names, rows) = choice.follow(&spec.transforms, limits(spec), &spec.text)?;
        let [train_rows, test_rows] = rows;
        let [train_x, test_x] = match test_x {
            Some(test_x) => [
                train.x.into_rows(shape, &train_rows.rows, &spec.text)?,
                test_x.into_rows(shape, &test_rows.rows, &spec.text)?,
            ],
            None => [
                train.x.rows(shape, &train_rows.rows, &spec.text)?,
                train.x.rows(shape, &test_rows.rows, &spec.text)?,
            ],
        };
        let split = |x: Vec<f32>, rows: Rows| Split { x, y: rows.y };
        let mut data = Dataset {
            name: spec.text.clone(),
            shape,
            classes: names.len(),
            class_names: match &spec.source {
                DataSource::Cifar10(_) if spec.transforms.group == ANIMALS => {
                    cifar::KINDS.map(str::to_owned).into()
                }
                _ => names,
            },
            train: split(train_x, train_rows),
            test: split(test_x, test_rows),
        };
        spec.transforms.apply(&mut data, spec.seed)?;
        data.check()?;
        Ok(data)
    }
}

/// How many samples of each set are kept at most.
fn limits(spec: &Spec) -> [Option<usize>; 2] {
    match &spec.source {
        // The pair's last samples are held out before anything is chosen.
        DataSource::Npy { test: None, .. } => [spec.train, None],
        // As many as asked for were drawn; `balanced` and `classes` keep what they can of them.
        DataSource::Generator { .. } if spec.transforms.selects() => [None, None],
        _ => [spec.train, spec.test],
    }
}
