//! From a specification to samples.

use crate::choose::{Choice, Rows};
use crate::dataset::{Dataset, Split};
use crate::error::DataError;
use crate::files::cifar;
use crate::source::{Set, Source};
use crate::spec::{ANIMALS, DataSource, EVEN, Spec};

impl Dataset {
    /// Makes the data set that a specification names; see [`crate::help`].
    pub fn load(spec: &str) -> Result<Dataset, DataError> {
        Dataset::from_spec(&Spec::parse(spec)?)
    }

    /// Makes the data set of a checked specification.
    pub fn from_spec(spec: &Spec) -> Result<Dataset, DataError> {
        let source = Source::new(spec)?;
        let mut data = match spec.transforms.pooled {
            true => pooled(source, spec)?,
            false => {
                let mut data = chosen(source, spec, limits(spec))?;
                spec.transforms.change_inputs(&mut data, spec.seed)?;
                data
            }
        };
        spec.transforms.change_labels(&mut data, spec.seed);
        data.check()?;
        Ok(data)
    }
}

/// The samples that a specification keeps, as they come from their source.
fn chosen(source: Source, spec: &Spec, limits: [Option<usize>; 2]) -> Result<Dataset, DataError> {
    let Source {
        shape,
        names,
        train,
        test,
    } = source;
    let (test_x, test_y) = test.map(|set| (set.x, set.y)).unzip();
    let choice = Choice::new(names, train.y, test_y);
    let (names, rows) = choice.follow(&spec.transforms, limits, &spec.text)?;
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
    Ok(Dataset {
        name: spec.text.clone(),
        shape,
        classes: names.len(),
        class_names: match (&spec.source, &spec.transforms.group[..]) {
            (DataSource::Cifar10(_), group) if group == ANIMALS => {
                cifar::KINDS.map(str::to_owned).into()
            }
            (DataSource::Mnist(_), group) if group == EVEN => {
                ["odd", "even"].map(str::to_owned).into()
            }
            _ => names,
        },
        train: split(train_x, train_rows),
        test: split(test_x, test_rows),
    })
}

/// Both sets of a source as one, whose inputs are changed before samples are chosen: statistics are those of all.
fn pooled(source: Source, spec: &Spec) -> Result<Dataset, DataError> {
    let Source {
        shape,
        names,
        train,
        test,
    } = source;
    let held = test.as_ref().map(|set| set.y.len());
    let all = |set: Set| {
        let rows: Vec<usize> = (0..set.y.len()).collect();
        let x = set.x.into_rows(shape, &rows, &spec.text)?;
        Ok::<_, DataError>(Split { x, y: set.y })
    };
    let mut whole = all(train)?;
    if let Some(test) = test {
        whole.append(all(test)?);
    }
    let mut data = Dataset {
        name: spec.text.clone(),
        shape,
        classes: names.len(),
        class_names: names.clone(),
        test: whole.select(shape.len(), &[]),
        train: whole,
    };
    spec.transforms.change_inputs(&mut data, spec.seed)?;
    let source = Source {
        shape: data.shape,
        names,
        train: data.train.into(),
        test: None,
    };
    // As many are held out as the source has for testing.
    let limits = [limits(spec)[0], spec.test.or(held)];
    chosen(source, spec, limits)
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
