//! `experiment`: a tiny grid on planted data, its verdicts, and that interruptions and threads change nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{directory, program, refused, run, succeed};
use crate::planted;
use polariscope::verbs::experiment::registry::entries;
use polariscope_data::npy;
use polariscope_diff::Place;
use polariscope_experiment::{Data, Entry, Outcome, Settings, Study};
use polariscope_random::Stream;
use serde_json::Value;

const COUNT: usize = 200;
const DIM: usize = 3 * 4 * 4;

/// Normal images of 3x4x4; the class is the sign of the product of the first channel at two neighbouring positions.
fn planted(dir: &Path) {
    planted_samples(dir, COUNT);
}

fn planted_samples(dir: &Path, count: usize) {
    let mut x = vec![0.0_f32; count * DIM];
    Stream::new(1, 0, "planted").normal(1.0, &mut x);
    let class = |x: &[f32]| i64::from(x[0] * x[1] > 0.0);
    let y: Vec<i64> = x.chunks_exact(DIM).map(class).collect();
    fs::write(dir.join("x.npy"), npy::encode(&[count, 3, 4, 4], &x)).unwrap();
    fs::write(dir.join("y.npy"), npy::encode(&[count], &y)).unwrap();
}

const DATA: &str = "npy:x.npy,y.npy?test=80";

fn rotations<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "experiment",
        "rotations",
        "--data",
        DATA,
        "--train",
        "60",
        "--test",
        "60",
        "--runs",
        "2",
        "--dtype",
        "f64",
        "--out",
        out,
    ];
    [&args[..], more].concat()
}

#[test]
fn exact_symmetries_hold() {
    let dir = directory("experiment-rotations");
    planted(&dir);
    let text = succeed(&dir, &rotations("run", &["--json"]));
    let result: Value = serde_json::from_str(&text).unwrap();
    let verdicts = result["verdicts"].as_array().unwrap();
    let exact: Vec<&Value> = verdicts
        .iter()
        .filter(|v| v["claim"].as_str().unwrap().contains("the same"))
        .collect();
    // FCN, LCN, VEC and GAP under their own groups, and LCN = VEC.
    assert_eq!(exact.len(), 5);
    for verdict in exact {
        assert_eq!(verdict["outcome"], "holds", "{verdict}");
        assert_eq!(verdict["statistic"].as_f64(), Some(0.0), "{verdict}");
    }
    let table = fs::read_to_string(dir.join("run/table.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("training,system,group,run,accuracy,mse"));
    assert_eq!(lines.count(), 4 * 7 * 2);
    let page = fs::read_to_string(dir.join("run/report.html")).unwrap();
    assert!(page.contains("O(3)^16") && page.contains("Claims and verdicts"));
    assert!(dir.join("run/figures/rotations-accuracy-ntk.svg").exists());
    // Finished: shown again, not computed again.
    let again = succeed(&dir, &rotations("run", &["--quiet"]));
    assert!(again.contains("NTK: LCN and VEC are the same"), "{again}");
}

/// Killed after its first cells, and on another number of threads: the same table.
#[test]
fn a_killed_run_ends_as_if_it_had_not_been() {
    let dir = directory("experiment-kill");
    planted(&dir);
    let more = ["--training", "ntk,nn", "--width", "8", "--steps", "60"];
    succeed(
        &dir,
        &rotations("whole", &[&more[..], &["--threads", "2"]].concat()),
    );
    let args = rotations("killed", &[&more[..], &["--threads", "1"]].concat());
    let mut child = program(&dir, &args).spawn().unwrap();
    let started = Instant::now();
    while !dir.join("killed/partial/table.csv").exists() && child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !dir.join("killed/table.csv").exists(),
        "killed too late to test anything"
    );
    let output = run(&dir, &args);
    let note = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{note}");
    assert!(note.contains("resuming"), "{note}");
    let table = |out: &str| fs::read(dir.join(out).join("table.csv")).unwrap();
    assert!(table("whole") == table("killed"));
    let result = |out: &str| {
        let text = fs::read_to_string(dir.join(out).join("run.toml")).unwrap();
        let record: toml::Table = toml::from_str(&text).unwrap();
        record["result"].clone()
    };
    assert_eq!(result("whole"), result("killed"));
    assert!(!dir.join("killed/partial").exists());
}

/// Few points on products of spheres: every level is listed and every claim has a statistic.
#[test]
fn spectra_need_no_data() {
    let dir = directory("experiment-spectra");
    let args = ["experiment", "spectra", "--runs", "2", "--train", "60"];
    let text = succeed(&dir, &[&args[..], &["--out", "run", "--json"]].concat());
    let result: Value = serde_json::from_str(&text).unwrap();
    let verdicts = result["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 9);
    assert!(dir.join("run/figures/spectra-decay-p-16.svg").exists());
    // Exact: λ of degree 1 of VEC is (s/p) c, so from p = 4 to 16 it falls by 4.
    assert!(
        result["words"]
            .as_str()
            .unwrap()
            .contains("that of degree 1 by"),
        "{text}"
    );
}

#[test]
fn bad_usage_is_one_line() {
    let dir = directory("experiment-usage");
    planted(&dir);
    let wrong = |args: &[&str], wanted: &str| {
        let line = refused(&dir, &[&["experiment"], args].concat());
        assert!(line.contains(wanted), "{line}");
    };
    wrong(&["rotations"], "--data 'cifar10:DIR");
    wrong(&["rotation"], "rotations");
    wrong(
        &["spectra", "--data", DATA],
        "--data is not an option of spectra",
    );
    wrong(&["dide", "--data", DATA, "--training", "nn"], "--training");
    wrong(&["rotations", "--data", DATA, "--training", "sgd"], "nn++");
    wrong(&["rotations", "--data", DATA, "--train", "500"], "120");
    wrong(&["rotations", "--data", "stripe?shape=5"], "images");
    wrong(&["rotations", "--systems", "mlp"], "lap8");
    wrong(
        &["rotations", "--data", DATA, "--width", "4,8"],
        "one width",
    );
    wrong(
        &["dide", "--data", DATA, "--train", "100", "--test", "60"],
        "256",
    );
    wrong(
        &["symmetry-breaking", "--data", DATA, "--width", "4"],
        "two",
    );
    wrong(&["nad-acuracy"], "did you mean nad-accuracy?");
    wrong(&["banana"], "it is one of g-gallery, doughnut");
    wrong(&["poison"], "--data cifar10:DIR");
    wrong(&["poison", "--data", DATA], "cifar10:DIR");
    wrong(&["pooling", "--data", "cifar10:DIR"], "leave it out");
    wrong(
        &["pooling", "--train", "5"],
        "--train is not an option of pooling",
    );
    wrong(&["pooling", "--dtype", "f64"], "f32");
    wrong(&["nad-accuracy", "lenett"], "did you mean `lenet`?");
    wrong(
        &["rotations", "lenet", "--data", DATA],
        "ARCH is not an option of rotations",
    );
    wrong(&["pooling", "--only", "size"], "FACTOR=LEVEL");
    wrong(
        &["nad-accuracy", "--only", "radius=3"],
        "network, sigma, index",
    );
    wrong(
        &["nad-accuracy", "--only", "index=0,7"],
        "there is no level '7'; the levels are 0, 10,",
    );
    wrong(&["radius"], "it has become which-geometry");
    // The old name is taken, and what is missing is said of the new one.
    wrong(&["evolution"], "--data cifar10:DIR");
    wrong(&["pooling", "--sigma", "1"], "not an option of pooling");
    wrong(&["which-geometry", "--sigma", "0"], "above 0");
    wrong(&["which-geometry", "--only", "direction=1"], "--sigma");
    wrong(&["which-geometry", "--accuracies", "x.csv"], "x.csv");
    wrong(&["list", "--runs", "2"], "--runs is not an option of list");
    wrong(&["list", "--out", "x"], "writes no files");
}

/// Whoever types the old name gets the experiment, and the new name in a line.
#[test]
fn an_experiment_goes_by_its_old_name_too() {
    let dir = directory("experiment-renamed");
    let said = |name: &str| {
        let args = [
            "experiment",
            name,
            "--data",
            "cifar10:nowhere",
            "--out",
            "e",
        ];
        let said = String::from_utf8(run(&dir, &args).stderr).unwrap();
        assert!(said.contains("nowhere"), "{said}");
        said.lines().next().unwrap_or_default().to_string()
    };
    assert_eq!(
        said("evolution"),
        "experiment evolution is called geometry-drift now"
    );
    assert!(!said("geometry-drift").contains("is called"));
    let record = fs::read_to_string(dir.join("e/run.toml")).unwrap();
    assert!(record.contains("geometry-drift"), "{record}");
}

/// Every registered experiment is listed and every listed one is registered, in the same order.
#[test]
fn the_list_is_the_registry() {
    let dir = directory("experiment-list");
    let registered: Vec<&str> = entries().map(|e| e.about().name).collect();
    let json = succeed(&dir, &["experiment", "list", "--json"]);
    let list: Vec<Value> = serde_json::from_str(&json).unwrap();
    let listed: Vec<&str> = list.iter().map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(listed, registered);
    let mut distinct = registered.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), registered.len());
    for (item, entry) in list.iter().zip(entries()) {
        assert_eq!(item["line"], entry.about().line);
        assert_eq!(item["images"], entry.about().images);
    }
    let text = succeed(&dir, &["experiment", "list"]);
    for name in registered {
        assert!(text.contains(&format!("{name} ")), "{name}: {text}");
    }
}

/// A name that is mistyped is put right, and an option that only others take is refused.
#[test]
fn every_experiment_refuses_what_is_not_its_own() {
    let dir = directory("experiment-refusals");
    let mut options: Vec<&str> = entries().flat_map(|e| e.about().options.to_vec()).collect();
    options.sort_unstable();
    options.dedup();
    for entry in entries() {
        let about = entry.about();
        let line = refused(&dir, &["experiment", &format!("{}x", about.name)]);
        let near = format!("did you mean {}?", about.name);
        assert!(line.contains(&near), "{line}");
        for option in options.iter().filter(|o| !about.options.contains(o)) {
            let mut settings = Settings::default();
            settings.options.insert(option.to_string(), true.into());
            let wrong = entry.make(&settings, Place::default()).err().unwrap();
            let wanted = format!("‹{option}› is not an option of {}", about.name);
            assert!(wrong.to_string().contains(&wanted), "{wrong}");
        }
    }
}

/// An experiment with what it needs and nothing more.
fn study(entry: &dyn Entry, images: &str) -> Box<dyn Study> {
    let about = entry.about();
    let mut settings = Settings::default();
    let mut set = |name: &str, value: toml::Value| {
        if about.options.contains(&name) {
            settings.options.insert(name.into(), value);
        }
    };
    set("runs", 3.into());
    set("sigma", 1.0.into());
    match about.data {
        Data::Own => {}
        Data::Cifar10 => set("data", "cifar10:elsewhere".into()),
        Data::Images => {
            set("data", images.into());
            set("train", 256.into());
            set("test", 100.into());
        }
    }
    if about.name == "stability-law" {
        // LeNet does not read images as small as those.
        set("architecture", "fc-2,fc-4,cnn,p4-cnn".into());
    }
    entry.make(&settings, Place::default()).unwrap()
}

/// The Answer of a page is a sentence, and it is another one where the claims hold, where they are shown wrong, where they
/// are open and where they differ.
#[test]
fn every_answer_follows_from_its_table() {
    let dir = directory("experiment-answers");
    planted_samples(&dir, 400);
    let [x, y] = ["x.npy", "y.npy"].map(|file| dir.join(file).display().to_string());
    let images = format!("npy:{x},{y}?test=120");
    for entry in entries() {
        let study = study(entry, &images);
        let (name, design, claims) = (study.name(), study.design(), study.claims());
        assert_eq!(name, entry.about().name);
        assert!(study.asked().contains('?'), "{name}: {}", study.asked());
        let holds = planted::judged(&design, &claims, Outcome::Holds);
        let fails = planted::judged(&design, &claims, Outcome::Fails);
        let open = planted::open(&design, &claims);
        for (verdicts, wanted) in [
            (&holds, Outcome::Holds),
            (&fails, Outcome::Fails),
            (&open, Outcome::Undecided),
        ] {
            for verdict in verdicts.iter() {
                assert_eq!(verdict.outcome, wanted, "{name}: {verdict:?}");
            }
        }
        let mut all = vec![holds.clone(), fails.clone(), open.clone()];
        if claims.len() > 1 {
            all.push([&holds[..1], &fails[1..]].concat());
            all.push([&holds[..1], &open[1..]].concat());
            all.push([&fails[..1], &open[1..]].concat());
        }
        let answers: Vec<String> = all.iter().map(|v| study.answers().sentence(v)).collect();
        for (i, answer) in answers.iter().enumerate() {
            assert!(
                answer.ends_with('.') && answer.len() > 20,
                "{name}: {answer}"
            );
            assert!(!answers[..i].contains(answer), "{name}: {answer}");
        }
        // What is shown wrong is named, and what is open too where it is little.
        for (verdicts, answer) in all.iter().zip(&answers).skip(3) {
            let of = |outcome| verdicts.iter().filter(move |v| v.outcome == outcome);
            let open = of(Outcome::Undecided).count();
            let named = of(Outcome::Undecided).take(if open <= 3 { open } else { 0 });
            for verdict in of(Outcome::Fails).chain(named) {
                assert!(answer.contains(&verdict.words), "{name}: {answer}");
            }
            assert!(open <= 3 || answer.contains(&format!("{open} stay open")));
        }
    }
}

/// The same question again is answered from what is there; the page holds the verdict.
#[test]
fn an_experiment_on_geometry() {
    let dir = directory("experiment-pooling");
    let args = ["experiment", "pooling", "--out", "p"];
    let first = succeed(&dir, &args);
    assert!(first.contains("5 of 5 claims hold"), "{first}");
    let page = std::fs::read_to_string(dir.join("p/report.html")).unwrap();
    assert!(page.contains("What a pool leaves of a frequency") && page.contains("holds"));
    assert_eq!(succeed(&dir, &args), first);
}
