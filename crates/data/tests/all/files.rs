//! Files: what is written is read, each damage has its message.

use crate::common::{LAYOUTS, Scratch, gzip, idx, jpeg, parquet, picture, png};
use polariscope_data::npy::{self, Array, Numbers};
use polariscope_data::{DataError, Dataset, Labels, cifar};
use polariscope_graph::Shape;

fn message<T>(result: Result<T, DataError>) -> String {
    let text = result.err().unwrap().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn planes(interleaved: &[u8]) -> Vec<u8> {
    (0..3)
        .flat_map(|c| interleaved.iter().skip(c).step_by(3).copied())
        .collect()
}

#[test]
fn npy_round_trip() {
    let scratch = Scratch::new("npy");
    let path = scratch.0.join("a.npy");
    for shape in [&[6][..], &[2, 3], &[1, 2, 3, 1], &[0, 4], &[]] {
        let n = shape.iter().product();
        let data: Vec<f32> = (0..n).map(|i| i as f32 / 3.0).collect();
        npy::write(&path, shape, &data).unwrap();
        let want = Array {
            shape: shape.to_vec(),
            numbers: Numbers::F32(data),
        };
        assert_eq!(npy::read(&path).unwrap(), want);
    }
    npy::write(&path, &[2], &[i64::MIN, i64::MAX]).unwrap();
    assert_eq!(
        npy::read(&path).unwrap().numbers,
        Numbers::I64(vec![i64::MIN, i64::MAX])
    );
    npy::write(&path, &[1], &[1e300]).unwrap();
    assert_eq!(npy::read(&path).unwrap().numbers, Numbers::F64(vec![1e300]));
    // Numbers start at a multiple of 64, and only the file itself is left.
    assert_eq!((std::fs::read(&path).unwrap().len() - 8) % 64, 0);
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1);
}

/// A header as NumPy writes it, for each version.
fn raw(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"\x93NUMPY".to_vec();
    out.extend([version, 0]);
    if version == 1 {
        out.extend((header.len() as u16).to_le_bytes());
    } else {
        out.extend((header.len() as u32).to_le_bytes());
    }
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

#[test]
fn npy_types_orders_and_versions() {
    let bytes = [
        1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0,
    ];
    for version in 1..=3 {
        let header = "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n";
        let array = npy::parse(&raw(version, header, &bytes), "a").unwrap();
        // Columns (1 2), (3 4), (5 6).
        assert_eq!(array.numbers, Numbers::I64(vec![1, 3, 5, 2, 4, 6]));
    }
    let header = r#"{"shape":(3,),"fortran_order":False,"descr":"|b1"}"#;
    assert_eq!(
        npy::parse(&raw(1, header, &[0, 1, 1]), "a")
            .unwrap()
            .numbers,
        Numbers::I64(vec![0, 1, 1])
    );
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2)}";
    assert_eq!(
        npy::parse(&raw(1, header, &[255, 7]), "a").unwrap().numbers,
        Numbers::U8(vec![255, 7])
    );
}

#[test]
fn npy_damage_is_named() {
    let good = npy::encode(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0]);
    for n in 0..good.len() {
        assert!(message(npy::parse(&good[..n], "x.npy")).starts_with("x.npy: "));
    }
    let cases = [
        (
            "{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}",
            "'>f4' is not read",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
            "too many",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "'-1' is no size",
        ),
        ("{'descr': '<f4', 'shape': (1,)}", "no fortran_order"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
            "expected a quoted",
        ),
        ("[]", "no dictionary"),
    ];
    for (header, want) in cases {
        let got = message(npy::parse(&raw(1, header, &[0; 4]), "x.npy"));
        assert!(got.contains(want), "{got}");
    }
    assert!(message(npy::parse(&raw(9, "", &[]), "x")).contains("unknown version 9"));
}

#[test]
fn npy_pairs() {
    let scratch = Scratch::new("pairs");
    let x: Vec<f64> = (0..24).map(f64::from).collect();
    let put = |name: &str, bytes: Vec<u8>| scratch.put(name, &bytes);
    let image = put("x.npy", npy::encode(&[3, 2, 2, 2], &x));
    let y = put("y.npy", npy::encode(&[3], &[0_i64, 2, 1]));
    let signs = put("s.npy", npy::encode(&[3], &[-1_i64, 1, 1]));
    let real = put("r.npy", npy::encode(&[3, 2], &[0.5_f32; 6]));
    let data = Dataset::load(&format!("npy:{image},{y}?test=1")).unwrap();
    assert_eq!(
        data.shape,
        Shape::Image {
            channels: 2,
            height: 2,
            width: 2
        }
    );
    assert_eq!(
        (data.classes, data.train.len(), &data.test.y),
        (3, 2, &Labels::Classes(vec![1]))
    );
    assert_eq!(data.test.x[0], 16.0);
    let data = Dataset::load(&format!("npy:{image},{signs},{image},{signs}")).unwrap();
    assert_eq!(
        (data.classes, &data.test.y),
        (2, &Labels::Classes(vec![0, 1, 1]))
    );
    let data = Dataset::load(&format!("npy:{image},{real}")).unwrap();
    assert_eq!(
        (data.classes, &data.train.y),
        (
            0,
            &Labels::Targets {
                values: vec![0.5; 6],
                width: 2
            }
        )
    );

    let nan = put("nan.npy", npy::encode(&[3, 1], &[0.0, f64::NAN, 1.0]));
    let empty = put("empty.npy", npy::encode::<f32>(&[0, 4], &[]));
    let none = put("none.npy", npy::encode::<i64>(&[0], &[]));
    let short = put("short.npy", npy::encode(&[2], &[0_i64, 1]));
    let below = put("below.npy", npy::encode(&[3], &[0_i64, -4, 1]));
    let flat = put("flat.npy", npy::encode(&[3], &[0.0_f32; 3]));
    let square = put("square.npy", npy::encode(&[3, 8, 8], &[0.0_f32; 192]));
    let signals = put("signals.npy", npy::encode(&[3, 4, 4], &[0.0_f32; 48]));
    let shape = Dataset::load(&format!("npy:{signals},{y}")).unwrap().shape;
    assert_eq!((shape.len(), shape.to_string().as_str()), (16, "4x4"));
    let cases = [
        (format!("npy:{square},{y}"), "save images as x[:, None]"),
        (format!("npy:{nan},{y}"), "NaN in sample 1"),
        (format!("npy:{image},{nan}"), "NaN in sample 1"),
        (format!("npy:{empty},{none}"), "no samples"),
        (format!("npy:{image},{short}"), "holds 3 samples but"),
        (
            format!("npy:{image},{below}"),
            "label -4 of sample 1 is out of range",
        ),
        (format!("npy:{flat},{y}"), "must be samples x features"),
        (format!("npy:{image},{y}?test=4"), "exceeds the 3 samples"),
        (format!("npy:{image},{y}?test=3"), "no samples"),
        (format!("npy:{image},{real}?noise=0.1"), "need class labels"),
        (
            format!("npy:{image},{y}?classes=5"),
            "no class 5; classes are 0 to 2",
        ),
        (format!("npy:{image}"), "expected npy:X,Y"),
    ];
    for (spec, want) in cases {
        let got = message(Dataset::load(&spec));
        assert!(got.contains(want), "{got}");
    }
}

/// What an array's dimensions and type make of it as samples.
#[test]
fn npy_layouts_and_bytes() {
    let array = |shape: &[usize], numbers: fn(usize) -> Numbers| Array {
        shape: shape.to_vec(),
        numbers: numbers(shape.iter().product()),
    };
    let real = |n| Numbers::F32(vec![0.5; n]);
    let fine = [
        (&[2, 5][..], "5"),
        (&[2, 5, 7], "5x7"),
        (&[2, 3, 32, 32], "3x32x32"),
        (&[2, 1, 28, 28], "1x28x28"),
        // Four last columns of images that begin with as many channels, or with three.
        (&[2, 16, 4, 4], "16x4x4"),
        (&[2, 4, 4, 4], "4x4x4"),
        (&[2, 3, 9, 3], "3x9x3"),
        (&[2, 64, 1, 1], "64x1x1"),
    ];
    for (shape, want) in fine {
        let samples = array(shape, real).samples("x.npy").unwrap();
        assert_eq!((samples.count, samples.shape.to_string()), (2, want.into()));
    }
    for shape in [[2, 24, 24, 3], [2, 28, 28, 1], [2, 32, 48, 4], [2, 2, 2, 1]] {
        let got = message(array(&shape, real).samples("x.npy"));
        assert!(got.starts_with("x.npy: shape 2x"), "{got}");
        assert!(got.contains("save x.transpose(0, 3, 1, 2)"), "{got}");
    }

    // Bytes of images are pixels, in f32 the same as those of other files; bytes of vectors are numbers.
    let image = array(&[1, 1, 16, 16], |_| Numbers::U8((0..=255).collect()));
    let scaled = image.samples("x.npy").unwrap().numbers.to_f32();
    let want: Vec<f32> = (0..=255_u8).map(|b| f32::from(b) / 255.0).collect();
    assert_eq!(scaled, want);
    let vector = array(&[1, 4], |_| Numbers::U8(vec![0, 1, 2, 255]));
    let kept = vector.samples("x.npy").unwrap().numbers;
    assert_eq!(kept.to_f32(), [0.0, 1.0, 2.0, 255.0]);
    let wide = array(&[1, 1, 1, 2], |_| Numbers::I64(vec![0, 255]));
    assert!(message(wide.samples("x.npy")).contains("save pixels of 0…255 as uint8"));
    let mask = array(&[1, 1, 1, 2], |_| Numbers::I64(vec![0, 1]));
    assert_eq!(mask.samples("x.npy").unwrap().numbers.to_f64(), [0.0, 1.0]);
}

/// Gzipped and plain, under names that say nothing but which split; padding of two on each side.
#[test]
fn mnist() {
    let scratch = Scratch::new("mnist");
    let image = |k: u8| (0..784).map(move |i| (i % 251) as u8 ^ k);
    let train: Vec<u8> = (0..3).flat_map(image).collect();
    let labels = idx(&[3], &[7, 0, 9]);
    scratch.put("a", &gzip(&idx(&[3, 28, 28], &train)));
    scratch.put("b", &labels);
    scratch.put("c-t10k", &idx(&[1, 28, 28], &train[..784]));
    scratch.put("d-t10k", &gzip(&idx(&[1], &[4])));
    scratch.put("notes.txt", b"not data");
    let spec = format!("mnist:{}", scratch.0.display());
    let data = Dataset::load(&spec).unwrap();
    assert_eq!(
        data.shape,
        Shape::Image {
            channels: 1,
            height: 32,
            width: 32
        }
    );
    assert_eq!(data.train.y, Labels::Classes(vec![7, 0, 9]));
    assert_eq!(data.test.y, Labels::Classes(vec![4]));
    let pixel = |n: usize, i: usize, j: usize| data.train.x[n * 1024 + i * 32 + j];
    assert_eq!(pixel(1, 2, 2), f32::from(train[784]) / 255.0);
    assert_eq!(pixel(2, 29, 29), f32::from(train[3 * 784 - 1]) / 255.0);
    assert!((0..32).all(|j| pixel(0, 1, j) == 0.0 && pixel(0, j, 30) == 0.0));

    let faults: [(&str, Vec<u8>, &str); 5] = [
        ("b", idx(&[3], &[7, 10, 9]), "label 10 of sample 1"),
        ("b", idx(&[2], &[7, 0]), "holds 3 samples but"),
        (
            "a",
            gzip(&idx(&[3, 28, 27], &train[..3 * 28 * 27])),
            "expected Nx28x28",
        ),
        (
            "a",
            idx(&[3, 28, 28], &train[..1000]),
            "exceed what the file can hold",
        ),
        (
            "a",
            gzip(&idx(&[3, 28, 28], &train[..1000])),
            "2352 bytes declared, 1000 found (at byte 1016)",
        ),
    ];
    let good = std::fs::read(scratch.0.join("a")).unwrap();
    for (name, bytes, want) in faults {
        scratch.put("a", &good);
        scratch.put("b", &labels);
        scratch.put(name, &bytes);
        let got = message(Dataset::load(&spec));
        assert!(got.contains(want), "{got}");
    }
    scratch.put("b", &labels);
    scratch.put("a", &good[..good.len() / 2]);
    assert!(message(Dataset::load(&spec)).contains("cut short or damaged"));
    std::fs::remove_file(scratch.0.join("a")).unwrap();
    assert!(message(Dataset::load(&spec)).contains("expected MNIST's four IDX files"));
}

/// Sixty digits of 28x28 bytes that follow no rule, twenty of them for testing; digits are 0, 1, …, 9, 0, …
fn digits(scratch: &Scratch) {
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for (name, count) in [("train", 40u32), ("t10k", 20)] {
        let images: Vec<u8> = (0..784 * count).map(|_| byte()).collect();
        let labels: Vec<u8> = (0..count).map(|i| (i * i / 3 % 10) as u8).collect();
        scratch.put(&format!("{name}-images"), &idx(&[count, 28, 28], &images));
        scratch.put(&format!("{name}-labels"), &idx(&[count], &labels));
    }
}

/// Statistics are of both sets, whatever is kept of them: the same samples come out for every train=N.
#[test]
fn pooled_sets() {
    let scratch = Scratch::new("pooled");
    digits(&scratch);
    let load =
        |query: &str| Dataset::load(&format!("mnist:{}?{query}", scratch.0.display())).unwrap();
    let whole = load("pooled&pca=3&whiten");
    assert_eq!((whole.train.len(), whole.test.len()), (40, 20));
    let all = [&whole.train.x[..], &whole.test.x[..]].concat();
    for k in 0..3 {
        let column = all.chunks(3).map(|x| f64::from(x[k]));
        let mean = column.clone().sum::<f64>() / 60.0;
        let variance = column.map(|x| (x - mean).powi(2)).sum::<f64>() / 60.0;
        assert!(
            mean.abs() < 1e-5 && (variance - 1.0).abs() < 1e-5,
            "{mean} {variance}"
        );
    }
    // The first are held out, in the order of the files.
    let Labels::Classes(y) = &whole.test.y else {
        panic!()
    };
    assert_eq!(y[..5], [0, 0, 1, 3, 5]);
    let few = load("pooled&pca=3&whiten&train=7&test=20");
    assert_eq!(few.train.x, whole.train.x[..21]);
    assert_eq!(few.test.x, whole.test.x);
    // Of the training set alone they would not be the same.
    let alone = load("pca=3&whiten&train=39");
    assert_ne!(alone.train.x[..21], load("pca=3&whiten").train.x[..21]);
    let many = message(Dataset::load(&format!(
        "mnist:{}?pooled&train=41",
        scratch.0.display()
    )));
    assert!(
        many.contains("41 training samples asked for, 40 there"),
        "{many}"
    );
}

/// A name for a recipe: the same bits as its parts, classes taking turns, on the sphere of radius √d.
#[test]
fn mnist_parity() {
    let scratch = Scratch::new("parity");
    digits(&scratch);
    let directory = scratch.0.display();
    let parity = |query: &str| Dataset::load(&format!("mnist-parity:{directory}{query}")).unwrap();
    let data = parity("?pca=4&train=20&test=10");
    let parts = "group=0,2,4,6,8&pooled&balanced&pca=4&whiten&normalise";
    let spelled = Dataset::load(&format!("mnist:{directory}?{parts}&train=20&test=10")).unwrap();
    assert_eq!((&data.train, &data.test), (&spelled.train, &spelled.test));
    assert_eq!(data.class_names, ["odd", "even"]);
    for split in [&data.train, &data.test] {
        let turns: Vec<u32> = (0..split.len() as u32).map(|i| i % 2).collect();
        assert_eq!(split.y, Labels::Classes(turns));
        for x in split.x.chunks(4) {
            let square: f64 = x.iter().map(|&x| f64::from(x).powi(2)).sum();
            assert!((square - 4.0).abs() < 1e-5, "{square}");
        }
    }
    // Even digits are class 1: the first even image of the files, 0, is the second of the test set.
    let images = parity("?test=10");
    assert_eq!(images.shape.to_string(), "1x32x32");
    let first = Dataset::load(&format!("mnist:{directory}?pooled&normalise&test=10")).unwrap();
    assert_eq!(images.test.x[1024..2048], first.test.x[..1024]);
}

/// MNIST's files with names for the classes.
#[test]
fn fashion_mnist() {
    let scratch = Scratch::new("fashion");
    digits(&scratch);
    let directory = scratch.0.display();
    let fashion = Dataset::load(&format!("fashion-mnist:{directory}")).unwrap();
    let digits = Dataset::load(&format!("mnist:{directory}")).unwrap();
    assert_eq!(
        (&fashion.train, &fashion.test),
        (&digits.train, &digits.test)
    );
    assert_eq!(fashion.class_names.len(), 10);
    assert_eq!(fashion.class_names[9], "ankle boot");
    let two = Dataset::load(&format!("fashion-mnist:{directory}?classes=7,9")).unwrap();
    assert_eq!(two.class_names, ["sneaker", "ankle boot"]);
}

#[test]
fn cifar_binary() {
    let scratch = Scratch::new("cifar");
    let record = |label: u8, k: usize| [vec![label], planes(&picture(k))].concat();
    scratch.put("data_batch_1.bin", &[record(3, 0), record(8, 1)].concat());
    scratch.put("data_batch_2.bin", &record(2, 2));
    scratch.put("test_batch.bin", &record(9, 3));
    let directory = scratch.0.display();
    let data = Dataset::load(&format!("cifar10:{directory}")).unwrap();
    assert_eq!(data.train.y, Labels::Classes(vec![3, 8, 2]));
    assert_eq!(data.test.y, Labels::Classes(vec![9]));
    assert_eq!(data.class_names[3], "cat");
    // Sample 2, green, row 1, column 5.
    assert_eq!(data.train.x[2 * 3072 + 1024 + 32 + 5], 35.0 / 255.0);
    // Animals are class 1.
    let two = Dataset::load(&format!("cifar2:{directory}")).unwrap();
    assert_eq!(
        (two.classes, two.train.y),
        (2, Labels::Classes(vec![1, 0, 1]))
    );
    assert_eq!(two.class_names, ["vehicle", "animal"]);
    let names = |spec: &str| {
        let data = Dataset::load(&format!("cifar10:{directory}?{spec}")).unwrap();
        assert_eq!(data.class_names.len(), data.classes);
        data.class_names.join(" ")
    };
    assert_eq!(names("classes=8,3,9"), "ship cat truck");
    assert_eq!(names("classes=8,3,9&group=1"), "ship+truck cat");
    assert_eq!(names("group=8,9"), "airplane+automobile+6 more ship+truck");
    let grey = Dataset::load(&format!("cifar10:{directory}?grey&train=1")).unwrap();
    let p = picture(0);
    let want =
        (0.299 * f32::from(p[0]) + 0.587 * f32::from(p[1]) + 0.114 * f32::from(p[2])) / 255.0;
    assert!((grey.train.x[0] - want).abs() < 1e-6 && grey.train.x.len() == 1024);
    // Rows 2 and 3, columns 4 and 5 of green become row 1, column 2.
    let small = Dataset::load(&format!("cifar10:{directory}?pool=2&train=1")).unwrap();
    assert_eq!(small.shape.to_string(), "3x16x16");
    let pixels = [2 * 32 + 4, 2 * 32 + 5, 3 * 32 + 4, 3 * 32 + 5];
    let want: f32 = pixels.iter().map(|i| data.train.x[1024 + i]).sum();
    assert!((small.train.x[256 + 16 + 2] - want / 4.0).abs() < 1e-6);
    let got = message(Dataset::load(&format!("cifar10:{directory}?pool=3")));
    assert!(got.contains("whose sides 3 divides"), "{got}");

    scratch.put("data_batch_2.bin", &record(2, 2)[..3000]);
    let got = message(Dataset::load(&format!("cifar10:{directory}")));
    assert!(
        got.contains("no whole number of 3073-byte records"),
        "{got}"
    );
    scratch.put("data_batch_2.bin", &[record(2, 2), record(77, 2)].concat());
    let got = message(Dataset::load(&format!("cifar10:{directory}")));
    assert!(
        got.contains("label 77 of sample 1 is out of range; classes are 0 to 9"),
        "{got}"
    );
}

/// Every codec, encoding and page version; JPEG within its loss, PNG exactly.
#[test]
fn cifar_parquet() {
    for layout in LAYOUTS {
        let file = parquet(&[jpeg(0), png(1), jpeg(2)], &[3, 0, 9], layout);
        let images = cifar::parse_parquet(&file, "t.parquet").unwrap();
        assert_eq!(images.labels, [3, 0, 9], "{layout:?}");
        assert_eq!(images.pixels[3072..6144], planes(&picture(1)));
        // Quality 95, smooth image: chroma is halved in resolution, so allow a mean error of 4 levels.
        let error: i32 = images
            .pixels
            .iter()
            .zip(planes(&picture(0)))
            .take(3072)
            .map(|(a, b)| (i32::from(*a) - i32::from(b)).abs())
            .sum();
        assert!(error < 4 * 3072, "{error}");
        for n in 0..file.len() {
            message(cifar::parse_parquet(&file[..n], "t.parquet"));
        }
    }
    let plain = LAYOUTS[0];
    let cases = [
        (parquet(&[jpeg(0)], &[10], plain), "label 10 of sample 0"),
        (
            parquet(&[b"GIF89a".to_vec()], &[1], plain),
            "image of row 0: neither JPEG nor PNG",
        ),
        (
            parquet(&[jpeg(0)[..300].to_vec()], &[1], plain),
            "image of row 0",
        ),
        (
            parquet(&[jpeg(0)[..jpeg(0).len() - 100].to_vec()], &[1], plain),
            "image of row 0: damaged JPEG",
        ),
    ];
    for (file, want) in cases {
        let got = message(cifar::parse_parquet(&file, "t.parquet"));
        assert!(got.contains(want), "{got}");
    }
    let mut other = parquet(&[jpeg(0)], &[1], plain);
    let at = other.windows(5).position(|w| w == b"label").unwrap();
    other[at] = b'L';
    let got = message(cifar::parse_parquet(&other, "t.parquet"));
    assert!(
        got.contains("no column label; the file has img.bytes, img.path, Label"),
        "{got}"
    );
}
