//! Data of one's own through the real program: words of classes on the page, and whose shape decides.
//!
//! Bug class: classes shown under another's name, an architecture file that is silently used on another input.

use std::fs;

use crate::common::{directory, refused, succeed};

/// f(x) = w·x/√2, of any input.
const ANY: &str =
    "parametrisation = \"ntk\"\nlayers = [ { op = \"dense\", features = 1, bias = false } ]\n";

/// Two samples are learnt to the point, so that their copies are taken for what they were.
#[test]
fn words_of_a_table_name_the_classes() {
    let dir = directory("data-words");
    fs::write(dir.join("net.toml"), ANY).unwrap();
    fs::write(dir.join("train.csv"), "u,v,kind\n1,0,cat\n0,1,dog\n").unwrap();
    let page = |name: &str, test: &str| {
        fs::write(dir.join(format!("{name}.csv")), test).unwrap();
        let data = format!("csv:train.csv,{name}.csv");
        let args = ["regress", "net.toml", "--data", &data, "--out", name];
        succeed(&dir, &args);
        let read = |file: &str| fs::read_to_string(dir.join(name).join(file)).unwrap();
        (read("report.html"), read("confusion.csv"))
    };
    let (wrong, confusion) = page("wrong", "u,v,kind\n0,1,cat\n0,1,dog\n");
    assert!(wrong.contains("class cat taken for class dog, 1 of 1 times."));
    assert!(wrong.contains("How well does an infinitely wide net learn train?"));
    assert_eq!(confusion, "class,as_cat,as_dog\ncat,0,1\ndog,0,1\n");
    let (right, confusion) = page("right", "u,v,kind\n1,0,cat\n0,1,dog\n");
    assert!(right.contains("No test sample is put into a wrong class."));
    assert!(!right.contains("taken for class dog"));
    assert_eq!(confusion, "class,as_cat,as_dog\ncat,1,0\ndog,0,1\n");
}

#[test]
fn an_architecture_of_another_input_is_refused() {
    let dir = directory("data-input");
    fs::write(dir.join("t.csv"), "1,2,a\n3,5,b\n4,4,a\n5,5,b\n0,1,a\n").unwrap();
    fs::write(dir.join("other.toml"), format!("input = [3]\n{ANY}")).unwrap();
    fs::write(dir.join("same.toml"), format!("input = [2]\n{ANY}")).unwrap();
    let args = |net| ["train", net, "--data", "csv:t.csv", "--steps", "1"];
    let line = refused(&dir, &args("other.toml"));
    assert!(
        line.contains("other.toml states an input of 3, but data 'csv:t.csv' has samples of 2"),
        "{line}"
    );
    succeed(&dir, &args("same.toml"));
}
