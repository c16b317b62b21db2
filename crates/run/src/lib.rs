//! The run directory: one place a run, readable by people and programs, safe against interruption.
//!
//! `run.toml` ([`Record`]) is written at the start with `status = "unfinished"` and replaced at the end.
//! Every file is written under a temporary name and renamed, so a reader never sees half of one.
//! Checkpoints live in `partial/` until the run is finished.
//!
//! The same command again:
//!
//! | at `--out` | without `--force` | with `--force` |
//! |---|---|---|
//! | nothing, or an empty folder | starts | starts |
//! | a folder with files and no `run.toml` | exit 2 | exit 2 |
//! | unfinished, same configuration and version | resumes | starts over |
//! | finished, same configuration | is left alone; its result is shown | starts over |
//! | another configuration, or unreadable | exit 2 | starts over |
//! | being written by another process | exit 2 | exit 2 |
//!
//! Starting over removes the files that the earlier run wrote, and nothing else.
//! Without `--out` the newest `runs/<verb>-<arch>-<n>` with the same configuration is treated so; if there
//! is none, or with `--force`, the next number is taken and nothing is replaced.

#![forbid(unsafe_code)]

mod error;
mod figures;
mod files;
mod record;

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use polariscope_report::Page;
use serde::Serialize;

pub use error::RunError;
pub use files::write_atomically;
pub use record::{Record, Status};

/// Where runs without `--out` go.
const RUNS: &str = "runs";
/// Holds checkpoints and the lock while a run is unfinished.
const PARTIAL: &str = "partial";

/// What a verb is about to compute.
#[derive(Clone, Debug)]
pub struct Request {
    /// The verb.
    pub verb: &'static str,
    /// Zoo name or file stem, for the default directory.
    pub architecture: String,
    /// Everything the result depends on, resolved; equal configurations give equal results.
    pub configuration: toml::Table,
}

impl Request {
    /// Names and values for the end of a report.
    pub fn settings(&self) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        flatten("", &self.configuration, &mut settings);
        settings.push(("version".into(), env!("CARGO_PKG_VERSION").into()));
        settings
    }
}

/// Tables inside a table as `outer.inner`.
fn flatten(path: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => flatten(&format!("{path}{key}."), inner, settings),
            toml::Value::String(text) => settings.push((format!("{path}{key}"), text.clone())),
            other => settings.push((format!("{path}{key}"), other.to_string())),
        }
    }
}

/// Where a run goes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The directory; else the next free one of its name in `runs/`.
    pub out: Option<PathBuf>,
    /// Whether an earlier run there is replaced.
    pub force: bool,
    /// Threads, for the record; the result does not depend on them.
    pub threads: usize,
    /// Width of the PNG that is written beside every figure, in pixels; none for the SVG alone. A finished run gets them
    /// too.
    pub png: Option<u32>,
}

/// What was found at the directory.
#[derive(Debug)]
pub enum Opened {
    /// There is work to do.
    Work(RunDirectory),
    /// The work was done before; here is its record.
    Finished(PathBuf, Record),
}

/// A directory that this process alone writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// What its figures are named after.
    subject: String,
    /// As in [`Options`].
    png: Option<u32>,
    record: Record,
    /// Seconds that earlier, interrupted processes worked.
    earlier: f64,
    started: Instant,
    resumed: bool,
    /// Whether there are checkpoints, of this or of an interrupted process.
    checkpoints: bool,
    /// Held until the end; `None` where the file system knows no locks.
    _lock: Option<File>,
}

/// Opens the directory of a run by the rules above.
pub fn open(request: &Request, options: &Options) -> Result<Opened, RunError> {
    match &options.out {
        Some(path) => open_at(path, request, options),
        None => open_default(Path::new(RUNS), request, options),
    }
}

/// `geometry-lenet`.
fn stem(request: &Request) -> String {
    format!(
        "{}-{}",
        request.verb,
        files::plain_name(&request.architecture)
    )
}

fn open_default(runs: &Path, request: &Request, options: &Options) -> Result<Opened, RunError> {
    let stem = stem(request);
    let mut numbers = files::numbered(runs, &stem);
    numbers.sort_unstable();
    if !options.force {
        for n in numbers.iter().rev() {
            let path = runs.join(format!("{stem}-{n}"));
            // Records that cannot be read are somebody else's: they are in nobody's way here.
            if let Ok(Some(record)) = Record::read(&path)
                && record.configuration == request.configuration
                && record.usable()
            {
                return open_at(&path, request, options);
            }
        }
    }
    fs::create_dir_all(runs).map_err(|e| RunError::unwritable(runs, e))?;
    let mut n = numbers.last().map_or(1, |n| n.saturating_add(1));
    loop {
        let path = runs.join(format!("{stem}-{n}"));
        match fs::create_dir(&path) {
            Ok(()) => return open_at(&path, request, options),
            // Another process took the number a moment ago.
            Err(e) if e.kind() == ErrorKind::AlreadyExists && n < u64::MAX => n += 1,
            Err(e) => return Err(RunError::unwritable(&path, e)),
        }
    }
}

/// A finished run of this request: at `out`, else the newest one where runs without `--out` go.
pub fn find(request: &Request, out: Option<&Path>) -> Option<PathBuf> {
    let stem = stem(request);
    let runs = Path::new(RUNS);
    let mut numbers = files::numbered(runs, &stem);
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let places = match out {
        Some(out) => vec![out.to_path_buf()],
        None => numbers
            .iter()
            .map(|n| runs.join(format!("{stem}-{n}")))
            .collect(),
    };
    places.into_iter().find(|path| {
        let record = Record::read(path).ok().flatten();
        record.is_some_and(|r| {
            r.status == Status::Finished && r.configuration == request.configuration
        })
    })
}

fn open_at(path: &Path, request: &Request, options: &Options) -> Result<Opened, RunError> {
    // A first look without the lock, so that a finished run can be shown from a read-only place.
    if !options.force
        && let Some(record) = Record::read(path)?
    {
        record.check(path, request)?;
        if record.status == Status::Finished {
            return figures::finished(path, record, options.png);
        }
    }
    if let Some(found) = files::of_others(path, PARTIAL, record::FILE) {
        return Err(RunError::Occupied {
            path: path.into(),
            found,
            instead: stem(request),
        });
    }
    let partial = path.join(PARTIAL);
    fs::create_dir_all(&partial).map_err(|e| RunError::unwritable(path, e))?;
    let lock = lock(path, &partial.join("lock"))?;
    // Another process may have finished while we waited for the lock.
    let found = match Record::read(path) {
        Ok(found) => found,
        Err(_) if options.force => None,
        Err(e) => return Err(e),
    };
    let (record, earlier) = match found {
        Some(old) if options.force => {
            files::remove_listed(path, &old.files)?;
            files::empty_except_lock(&partial)?;
            (Record::begin(request, options), None)
        }
        Some(old) => {
            old.check(path, request)?;
            if old.status == Status::Finished {
                drop(lock);
                files::remove_dir(&partial)?;
                return figures::finished(path, old, options.png);
            }
            let earlier = old.wall_seconds;
            (old, Some(earlier))
        }
        None => {
            files::empty_except_lock(&partial)?;
            (Record::begin(request, options), None)
        }
    };
    let run = RunDirectory {
        path: path.to_path_buf(),
        subject: files::plain_name(&request.architecture),
        png: options.png,
        record,
        earlier: earlier.unwrap_or(0.0),
        started: Instant::now(),
        resumed: earlier.is_some(),
        checkpoints: earlier.is_some() && files::holds_more_than_lock(&partial),
        _lock: lock,
    };
    run.save()?;
    Ok(Opened::Work(run))
}

fn lock(directory: &Path, path: &Path) -> Result<Option<File>, RunError> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|e| RunError::unwritable(directory, e))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy {
            directory: directory.into(),
        }),
        // Some network file systems have no locks; working there unguarded beats not working.
        Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => Ok(None),
        Err(TryLockError::Error(e)) => Err(RunError::unwritable(directory, e)),
    }
}

impl RunDirectory {
    /// Whether an interrupted process had begun.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a result file; `name` may hold a folder, as in `figures/loss.svg`.
    pub fn write(&mut self, name: &str, content: &[u8]) -> Result<(), RunError> {
        if !self.record.files.iter().any(|f| f == name) {
            // Listed first: a later `--force` must find every file that may exist.
            self.record.files.push(name.to_string());
            self.save()?;
        }
        files::write_atomically(&self.path.join(name), content)
    }

    /// Writes `report.html` and its figures, which are named after the architecture.
    pub fn write_page(&mut self, page: &Page) -> Result<(), RunError> {
        for (name, content) in page.files(&self.subject) {
            self.write(&name, content.as_bytes())?;
            if let Some((png, content)) = figures::png(&name, &content, self.png)? {
                self.write(&png, &content)?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint to `partial/`.
    pub fn checkpoint(&mut self, name: &str, content: &[u8]) -> Result<(), RunError> {
        files::write_atomically(&self.path.join(PARTIAL).join(name), content)?;
        self.checkpoints = true;
        self.save()
    }

    /// Whether there are checkpoints to go on from.
    pub fn has_checkpoints(&self) -> bool {
        self.checkpoints
    }

    /// Reads a checkpoint that this or an interrupted process wrote.
    pub fn restore(&self, name: &str) -> Result<Option<Vec<u8>>, RunError> {
        let path = self.path.join(PARTIAL).join(name);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RunError::Checkpoint { path, source }),
        }
    }

    /// Where a result that grows in place is kept until it is whole: in `partial/`, or at its name once adopted.
    pub fn growing(&self, name: &str) -> PathBuf {
        let whole = self.path.join(name);
        match whole.exists() {
            true => whole,
            false => self.path.join(PARTIAL).join(name),
        }
    }

    /// Makes a file that grew in `partial/` a result.
    pub fn adopt(&mut self, name: &str) -> Result<(), RunError> {
        let (from, to) = (self.growing(name), self.path.join(name));
        if from == to {
            return Ok(());
        }
        self.record.files.push(name.to_string());
        self.save()?;
        fs::rename(&from, &to).map_err(|source| RunError::Write { path: to, source })
    }

    /// Records the result, marks the run finished and removes its checkpoints.
    pub fn finish(mut self, result: &impl Serialize) -> Result<Record, RunError> {
        self.record.result = toml::Table::try_from(result).map_err(|e| RunError::Toml {
            what: "the result",
            reason: e.to_string(),
        })?;
        self.record.status = Status::Finished;
        self.save()?;
        files::remove_dir(&self.path.join(PARTIAL))?;
        let mut record = self.record;
        record.wall_seconds = self.earlier + self.started.elapsed().as_secs_f64();
        Ok(record)
    }

    /// Wall time so far, interrupted processes included.
    pub fn wall_seconds(&self) -> f64 {
        self.earlier + self.started.elapsed().as_secs_f64()
    }

    fn save(&self) -> Result<(), RunError> {
        let mut record = self.record.clone();
        record.wall_seconds = self.wall_seconds();
        record.write(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(out: &Path, force: bool) -> Options {
        Options {
            out: Some(out.into()),
            force,
            threads: 1,
            png: None,
        }
    }

    fn request(seed: i64) -> Request {
        let mut configuration = toml::Table::new();
        configuration.insert("seed".into(), seed.into());
        Request {
            verb: "train",
            architecture: "lenet".into(),
            configuration,
        }
    }

    /// A folder of this test's own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let name = format!("polariscope-{test}-{}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn work(runs: &Path, seed: i64, force: bool) -> RunDirectory {
        match open_default(runs, &request(seed), &at(runs, force)).unwrap() {
            Opened::Work(run) => run,
            Opened::Finished(path, _) => panic!("{} is finished", path.display()),
        }
    }

    #[test]
    fn default_directories_are_numbered_resumed_and_shown() {
        let folder = Folder::new("default");
        let runs = folder.0.join("runs");
        let mut first = work(&runs, 1, false);
        assert!(first.path().ends_with("runs/train-lenet-1"));
        first.checkpoint("state", b"half way").unwrap();
        // Killed: the lock goes with the process.
        drop(first);

        let other = work(&runs, 2, false);
        assert!(other.path().ends_with("runs/train-lenet-2"));
        assert_eq!(other.restore("state").unwrap(), None);
        let busy = open_default(&runs, &request(2), &at(&runs, false)).unwrap_err();
        assert!(busy.to_string().contains("another process"), "{busy}");

        let again = work(&runs, 1, false);
        assert!(again.has_checkpoints() && !other.has_checkpoints());
        assert!(again.path().ends_with("runs/train-lenet-1"));
        assert_eq!(
            again.restore("state").unwrap().as_deref(),
            Some(&b"half way"[..])
        );
        let before = again.wall_seconds();
        again
            .finish(&toml::Table::from_iter([("loss".to_string(), 0.5.into())]))
            .unwrap();
        match open_default(&runs, &request(1), &at(&runs, false)).unwrap() {
            Opened::Finished(path, record) => {
                assert!(path.ends_with("runs/train-lenet-1"));
                assert_eq!(record.result["loss"].as_float(), Some(0.5));
                assert!(record.wall_seconds >= before);
                assert!(!path.join(PARTIAL).exists());
            }
            Opened::Work(run) => panic!("{} was opened again", run.path().display()),
        }
        assert!(work(&runs, 1, true).path().ends_with("runs/train-lenet-3"));
    }

    #[test]
    fn folders_of_others_are_left_alone() {
        let folder = Folder::new("others");
        let out = folder.0.join("work");
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("thesis.tex"), "mine").unwrap();
        for force in [false, true] {
            let e = open(&request(1), &at(&out, force)).unwrap_err();
            let line = e.to_string();
            assert!(
                line.contains("thesis.tex") && line.contains("work/train-lenet"),
                "{line}"
            );
            assert!(e.is_usage());
            assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
        }
        // Killed before its first record was whole.
        fs::remove_file(out.join("thesis.tex")).unwrap();
        fs::create_dir(out.join(PARTIAL)).unwrap();
        fs::write(out.join(".run.toml.77.tmp"), "sta").unwrap();
        assert!(matches!(
            open(&request(1), &at(&out, false)),
            Ok(Opened::Work(_))
        ));
    }

    #[test]
    fn starting_over_forgets_checkpoints() {
        let folder = Folder::new("force");
        let out = folder.0.join("run");
        let open = |force: bool| match open(&request(1), &at(&out, force)).unwrap() {
            Opened::Work(run) => run,
            Opened::Finished(..) => panic!("finished"),
        };
        open(false).checkpoint("state", b"x").unwrap();
        assert!(open(false).restore("state").unwrap().is_some());
        assert!(open(true).restore("state").unwrap().is_none());
    }
}
