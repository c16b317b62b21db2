//! Tables as text: what is a header, what the labels are, where a cell is wrong.

use polariscope_data::{DataError, Dataset, Labels};

use crate::common::Scratch;

fn message(result: Result<Dataset, DataError>) -> String {
    let text = result.err().unwrap().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

/// All samples of a text in one set, sorted by their first number.
fn read(name: &str, text: &str, query: &str) -> Result<Dataset, DataError> {
    let scratch = Scratch::new(&format!("csv-{name}"));
    let file = scratch.put("t.csv", text.as_bytes());
    Dataset::load(&format!("csv:{file}?test=0{query}"))
}

/// Samples and class names, in the order of the samples' numbers.
fn rows(data: &Dataset) -> Vec<(Vec<f32>, String)> {
    let label = |i: usize| match &data.train.y {
        Labels::Classes(y) => data.class_names[y[i] as usize].clone(),
        Labels::Targets { values, .. } => values[i].to_string(),
    };
    let samples = data.train.x.chunks_exact(data.shape.len());
    let mut rows: Vec<_> = samples
        .enumerate()
        .map(|(i, x)| (x.to_vec(), label(i)))
        .collect();
    rows.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap());
    rows
}

fn check(name: &str, text: &str, query: &str, want: &[(&[f32], &str)]) {
    let found = rows(&read(name, text, query).unwrap());
    let want: Vec<_> = want
        .iter()
        .map(|(x, y)| (x.to_vec(), y.to_string()))
        .collect();
    assert_eq!(found, want, "{name}");
}

#[test]
fn cells_and_separators() {
    let want: &[(&[f32], &str)] = &[(&[1.5, -2.0], "no"), (&[3.0, 4e2], "yes")];
    check("comma", "1.5,-2,no\n3,4e2,yes\n", "", want);
    check("crlf", "\u{feff}1.5 , -2 ,no\r\n\r\n3,+4e2, yes", "", want);
    check("tab", "1.5\t-2\tno\n3\t400\tyes\n", "", want);
    check("semicolon", "1.5;-2;no\n3;400;yes\n", "", want);
    check("quotes", "\"1.5\",-2,\"no\"\n3, \"400\" ,yes\n", "", want);
    let words: &[(&[f32], &str)] = &[(&[1.0], "a, \"b\""), (&[2.0], "c")];
    check("inner", "1,\"a, \"\"b\"\"\"\n2,c\n", "", words);
}

#[test]
fn headers_and_label_columns() {
    let want: &[(&[f32], &str)] = &[(&[1.0, 2.0], "a"), (&[3.0, 4.0], "b")];
    check("names", "u,v,kind\n1,2,a\n3,4,b\n", "", want);
    check("none", "1,2,a\n3,4,b\n", "", want);
    check("by name", "u,kind,v\n1,a,2\n3,b,4\n", "&label=kind", want);
    check("by number", "a,1,2\nb,3,4\n", "&label=1", want);
    // Columns without names, as pandas numbers them: the label's is told by what it is called or by its numbers.
    check("called", "0,1,label\n1,2,a\n3,4,b\n", "", want);
    check(
        "no name",
        "0,1,y\n1,2,n\n3,4,y\n",
        "",
        &[(&[0.0, 1.0], "y"), (&[1.0, 2.0], "n"), (&[3.0, 4.0], "y")],
    );
    check("asked", "0,1,sort\n1,2,a\n3,4,b\n", "&label=sort", want);
    let numbers: &[(&[f32], &str)] = &[(&[1.0, 2.0], "7"), (&[3.0, 4.0], "9")];
    check("differs", "0,1,sort\n1,2,7\n3,4,9\n", "", numbers);
}

/// Words and whole numbers are classes, in the order of the alphabet and of the numbers; one fraction makes targets.
#[test]
fn what_labels_are() {
    let data = read("words", "1,b\n2,a\n3,b\n", "").unwrap();
    assert_eq!(
        (data.classes, &data.class_names[..]),
        (2, &["a", "b"].map(String::from)[..])
    );
    let data = read("whole", "1,10\n2,-1\n3,9.0\n4,1e1\n", "").unwrap();
    assert_eq!(data.class_names, ["-1", "9", "10"]);
    assert_eq!(
        rows(&data)
            .iter()
            .map(|(_, y)| y.as_str())
            .collect::<Vec<_>>(),
        ["10", "-1", "9", "10"]
    );
    let data = read("real", "1,10\n2,-1.5\n3,9\n", "").unwrap();
    assert_eq!((data.classes, data.class_names.len()), (0, 0));
    assert_eq!(
        rows(&data)
            .iter()
            .map(|(_, y)| y.as_str())
            .collect::<Vec<_>>(),
        ["10", "-1.5", "9"]
    );
    let kept = read("kept", "1,b\n2,a\n3,c\n", "&classes=2,1").unwrap();
    assert_eq!(kept.class_names, ["c", "b"]);
    assert_eq!(rows(&kept)[0].1, "b");
}

#[test]
fn splits() {
    let line = |i: usize| format!("{i},{}\n", ["x", "y", "y"][i % 3]);
    let text: String = (0..30).map(line).collect();
    let scratch = Scratch::new("csv-splits");
    let file = scratch.put("t.csv", text.as_bytes());
    let load = |query: &str| Dataset::load(&format!("csv:{file}{query}")).unwrap();
    let data = load("");
    let count = |y: &Labels, class: u32| match y {
        Labels::Classes(y) => y.iter().filter(|&&y| y == class).count(),
        Labels::Targets { .. } => 0,
    };
    assert_eq!([count(&data.test.y, 0), count(&data.test.y, 1)], [2, 4]);
    assert_eq!([count(&data.train.y, 0), count(&data.train.y, 1)], [8, 16]);
    let Labels::Classes(y) = &data.train.y else {
        panic!()
    };
    for (x, &y) in data.train.x.iter().zip(y) {
        assert_eq!(y, u32::from(!(*x as usize).is_multiple_of(3)));
    }
    assert_eq!(load(""), data);
    assert_ne!(load("?seed=1").test.x, data.test.x);
    assert_eq!(load("?test=3").test.len(), 3);

    // Targets are held out as well, and a test file has the classes of the training file.
    let text: String = (0..10)
        .map(|i| format!("{i},{}\n", i as f32 / 4.0))
        .collect();
    let real = scratch.put("r.csv", text.as_bytes());
    let data = Dataset::load(&format!("csv:{real}")).unwrap();
    assert_eq!((data.train.len(), data.test.len()), (8, 2));
    let Labels::Targets { values, width: 1 } = &data.test.y else {
        panic!()
    };
    assert!(data.test.x.iter().zip(values).all(|(x, y)| y * 4.0 == *x));

    let test = scratch.put("e.csv", b"5,y\n6,y\n");
    let data = Dataset::load(&format!("csv:{file},{test}?train=12")).unwrap();
    assert_eq!(data.test.y, Labels::Classes(vec![1, 1]));
    assert_eq!([count(&data.train.y, 0), count(&data.train.y, 1)], [4, 8]);
    let cases = [
        (
            "5,yy\n",
            "e.csv, line 1: label 'yy' is none of the training classes",
        ),
        ("5,6,y\n", "e.csv, line 1: 3 columns, but"),
    ];
    for (text, want) in cases {
        let test = scratch.put("e.csv", text.as_bytes());
        let got = message(Dataset::load(&format!("csv:{file},{test}")));
        assert!(got.contains(want), "{got}");
    }
    let named = scratch.put("n.csv", b"u,kind\n1,x\n2,y\n");
    let other = scratch.put("o.csv", b"w,kind\n1,x\n2,y\n");
    let got = message(Dataset::load(&format!("csv:{named},{other}")));
    assert!(
        got.contains("o.csv, line 1: column 1 is 'w', but 'u' in"),
        "{got}"
    );
}

#[test]
fn mistakes_name_their_line_and_column() {
    let cases = [
        (
            "1,2,a\n3,x,b\n",
            "line 2: column 2: 'x'; expected a finite number",
        ),
        (
            "u,v,k\n1,2,a\n\n3,,b\n",
            "line 4: column 2 (v): an empty cell",
        ),
        (
            "1,2,a\n3,NaN,b\n",
            "line 2: column 2: 'NaN'; expected a finite",
        ),
        ("1,2,a\n3,-inf,b\n", "'-inf'; expected a finite"),
        ("1,2,a\n3,1e99,b\n", "'1e99'; expected a finite"),
        (
            "1;2;a\n3;4,5;b\n",
            "'4,5'; expected a finite number such as 1.5, with a decimal point",
        ),
        ("1,2,a\n3,4\n", "line 2: 2 columns, expected 3 as in line 1"),
        ("1,2,a\n3,4,\n", "line 2: column 3: no label"),
        ("1,2,a\n3,4,nan\n", "line 2: label 'nan' is not finite"),
        ("1,2,7\n3,4,b\n", "line 2: label 'b' beside '7' in line 1"),
        ("1,2,b\n3,4,b\n", "line 1: every label is 'b'"),
        ("1 2 a\n3 4 b\n", "line 1: one column only"),
        (
            ",u,k\n0,1,a\n1,2,b\n",
            "line 1: column 1 has no name; pandas",
        ),
        ("1,x,3,a\n1,2,3,b\n", "line 1: column 2: 'x'"),
        (
            "1,\"a\n2,b\n",
            "line 1: a quote that does not end on its line",
        ),
        ("1,\"a\"b\n2,b\n", "line 1: column 2: text after the quote"),
        ("", "t.csv: no samples"),
        ("u,k\n", "t.csv: no samples"),
    ];
    for (text, want) in cases {
        let got = message(read("mistakes", text, ""));
        assert!(got.contains(want), "{got}");
    }
    let got = message(read("mistakes", "width,kind\n1,a\n2,b\n", "&label=knd"));
    assert!(
        got.contains("no column is called 'knd'; did you mean 'kind'?"),
        "{got}"
    );
    let got = message(read("mistakes", "1,a\n2,b\n", "&label=3"));
    assert!(got.contains("or a number from 1 to 2"), "{got}");
    let prices: String = (0..50).map(|i| format!("{i},{}\n", 1000 + i)).collect();
    let got = message(read("mistakes", &prices, ""));
    assert!(
        got.contains("50 different labels of 50 samples are no classes"),
        "{got}"
    );
    let scratch = Scratch::new("csv-binary");
    let file = scratch.put("t.csv", b"1,a\n\xff\xfe,b\n");
    let got = message(Dataset::load(&format!("csv:{file}")));
    assert!(got.contains("t.csv, line 2: not UTF-8 text"), "{got}");
}
