//! Images in folders: every kind of file decodes to the numbers that it stands for, sizes change by known weights,
//! each class is split in its share, and what is wrong is named by its path.

use png::{BitDepth, ColorType};
use polariscope_data::{DataError, Dataset, Labels};

use crate::common::{Scratch, encode, grey, jpeg, picture};

fn message(result: Result<Dataset, DataError>) -> String {
    let text = result.err().unwrap().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn near(found: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(found.len(), want.len());
    for (found, want) in found.iter().zip(want) {
        assert!(
            (f64::from(*found) - want).abs() <= tolerance,
            "{found} {want}"
        );
    }
}

/// The only image of a folder of two classes, as planes of `size` × `size`.
fn decoded(name: &str, bytes: &[u8], size: usize) -> Vec<f32> {
    let scratch = Scratch::new(&format!("decoded-{name}"));
    scratch.put("a/1", bytes);
    scratch.put("b/1", &grey(1, &[0]));
    let spec = format!(
        "folder:{}?size={size}&test=0&classes=0",
        scratch.0.display()
    );
    let data = Dataset::load(&spec).unwrap();
    assert_eq!(data.train.len(), 1);
    data.train.x
}

/// Two by two pixels of every kind, by hand.
#[test]
fn every_kind_of_png() {
    let eight = [0, 51, 102, 255].map(|b| f64::from(b) / 255.0);
    let thrice = |plane: &[f64]| [plane, plane, plane].concat();
    near(
        &decoded("grey", &grey(2, &[0, 51, 102, 255]), 2),
        &thrice(&eight),
        1e-7,
    );

    // Red, green, blue and a mixture, then the same with a quarter, all, none and a fifth of it seen on white.
    let colours = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [51, 102, 204]];
    let kind = (ColorType::Rgb, BitDepth::Eight);
    let rgb = decoded("rgb", &encode(2, kind, colours.as_flattened(), |_| {}), 2);
    let planes = [
        [1.0, 0.0, 0.0, 0.2],
        [0.0, 1.0, 0.0, 0.4],
        [0.0, 0.0, 1.0, 0.8],
    ];
    near(&rgb, planes.as_flattened(), 1e-7);
    let alpha = [51, 255, 0, 102];
    let pixels = colours.iter().zip(alpha);
    let rgba: Vec<u8> = pixels.flat_map(|(c, a)| [c[0], c[1], c[2], a]).collect();
    let kind = (ColorType::Rgba, BitDepth::Eight);
    let over = planes.map(|plane| {
        let seen = [0.2, 1.0, 0.0, 0.4];
        [0, 1, 2, 3].map(|i| seen[i] * plane[i] + 1.0 - seen[i])
    });
    near(
        &decoded("rgba", &encode(2, kind, &rgba, |_| {}), 2),
        over.as_flattened(),
        1e-6,
    );
    let kind = (ColorType::GrayscaleAlpha, BitDepth::Eight);
    let half = decoded("grey-alpha", &encode(1, kind, &[51, 102], |_| {}), 1);
    near(&half, &[0.68; 3], 1e-6);

    // Two bits a pixel: places 0 to 3 of a palette.
    let kind = (ColorType::Indexed, BitDepth::Two);
    let palette = encode(2, kind, &[0b0001_0000, 0b1011_0000], |e| {
        e.set_palette(colours.as_flattened().to_vec());
    });
    near(
        &decoded("palette", &palette, 2),
        planes.as_flattened(),
        1e-7,
    );

    // Sixteen bits, and one.
    let kind = (ColorType::Grayscale, BitDepth::Sixteen);
    let wide = [0, 1, 0x1234, 0xffff].map(|n: u16| n.to_be_bytes());
    let deep = decoded("deep", &encode(2, kind, wide.as_flattened(), |_| {}), 2);
    let want = [0.0, 1.0, 4660.0, 65535.0].map(|n| n / 65535.0);
    near(&deep, &thrice(&want), 1e-7);
    let kind = (ColorType::Grayscale, BitDepth::One);
    let bits = decoded(
        "bits",
        &encode(2, kind, &[0b0100_0000, 0b1000_0000], |_| {}),
        2,
    );
    near(&bits, &thrice(&[0.0, 1.0, 1.0, 0.0]), 0.0);
}

/// JPEG within its loss, grey JPEG as three equal planes, and a name that says nothing.
#[test]
fn every_kind_of_jpeg() {
    let found = decoded("jpeg", &jpeg(1), 32);
    let want = picture(1);
    let error: f64 = (0..3072)
        .map(|i| f64::from(found[i]) - f64::from(want[i % 1024 * 3 + i / 1024]) / 255.0)
        .map(f64::abs)
        .sum();
    assert!(error / 3072.0 < 4.0 / 255.0, "{error}");
    let ramp: Vec<u8> = (0..64).map(|i| 4 * i as u8).collect();
    let mut file = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut file, 100);
    encoder
        .encode(&ramp, 8, 8, jpeg_encoder::ColorType::Luma)
        .unwrap();
    let found = decoded("luma", &file, 8);
    let want: Vec<f64> = ramp.iter().map(|&b| f64::from(b) / 255.0).collect();
    near(&found, &[&want[..], &want, &want].concat(), 3.0 / 255.0);
}

/// Same size: the same bits as the bytes over 255. Two to four: between pixels a quarter and three quarters. Four to
/// two: 3/7, 3/7 and 1/7 of the nearest three. Other shapes: the middle.
#[test]
fn sizes_by_hand() {
    let bytes: Vec<u8> = (0..=255).collect();
    let same = decoded("same", &grey(16, &bytes), 16);
    let want: Vec<f32> = bytes.iter().map(|&b| f32::from(b) / 255.0).collect();
    assert_eq!(same, [&want[..], &want, &want].concat());

    let outer = |[a, b, c, d]: [f64; 4], weights: &[f64]| -> Vec<f64> {
        let pixel =
            |y: f64, x: f64| (1.0 - y) * ((1.0 - x) * a + x * b) + y * ((1.0 - x) * c + x * d);
        let rows = weights
            .iter()
            .flat_map(|&y| weights.iter().map(move |&x| (y, x)));
        let plane: Vec<f64> = rows.map(|(y, x)| pixel(y, x)).collect();
        [&plane[..], &plane, &plane].concat()
    };
    let large = decoded("large", &grey(2, &[0, 51, 102, 255]), 4);
    near(
        &large,
        &outer([0.0, 0.2, 0.4, 1.0], &[0.0, 0.25, 0.75, 1.0]),
        1e-6,
    );

    // Rows alike, columns 0, 1, 0, 0: 3/7 and 1/7 of it.
    let small = decoded("small", &grey(4, &[0, 255, 0, 0].repeat(4)), 2);
    near(&small, &[3.0 / 7.0, 1.0 / 7.0].repeat(6), 1e-6);

    // Columns 1 and 2 of four, and of five: one more is cut on the right.
    let wide = decoded("wide", &grey(4, &[9, 51, 102, 9, 9, 153, 204, 9]), 2);
    near(&wide, &[0.2, 0.4, 0.6, 0.8].repeat(3), 1e-6);
    let wider = decoded("wider", &grey(5, &[9, 51, 102, 9, 9, 9, 153, 204, 9, 9]), 2);
    near(&wider, &[0.2, 0.4, 0.6, 0.8].repeat(3), 1e-6);
    let tall = decoded("tall", &grey(1, &[9, 51, 9]), 1);
    near(&tall, &[0.2; 3], 1e-7);
}

/// Classes of 20, 10 and 5 images of one pixel, each of its own grey.
fn three_classes(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    let mut value = 0;
    for (class, count) in [("dog", 10), ("ant", 20), ("cat", 5)] {
        for i in 0..count {
            scratch.put(&format!("{class}/{i}.png"), &grey(1, &[value]));
            value += 1;
        }
    }
    scratch.put("ant/.DS_Store", b"hidden");
    scratch.put("notes.txt", b"beside the folders");
    scratch
}

fn counts(y: &Labels, classes: usize) -> Vec<usize> {
    let Labels::Classes(y) = y else { panic!() };
    let count = |c| y.iter().filter(|&&y| y as usize == c).count();
    (0..classes).map(count).collect()
}

/// The greys of both sets, which name the files.
fn files(data: &Dataset) -> [Vec<u32>; 2] {
    [&data.train, &data.test].map(|split| {
        let first = split.x.chunks_exact(data.shape.len());
        first.map(|x| (255.0 * x[0]).round() as u32).collect()
    })
}

#[test]
fn each_class_is_split_in_its_share() {
    let scratch = three_classes("split");
    let load = |query: &str| {
        let spec = format!("folder:{}?size=1{query}", scratch.0.display());
        Dataset::load(&spec).unwrap()
    };
    let data = load("");
    assert_eq!(data.class_names, ["ant", "cat", "dog"]);
    assert_eq!((data.classes, data.shape.to_string()), (3, "3x1x1".into()));
    assert_eq!(counts(&data.test.y, 3), [4, 1, 2]);
    assert_eq!(counts(&data.train.y, 3), [16, 4, 8]);
    // Every image is in one set, with the class of its folder.
    let [train, test] = files(&data);
    let mut all = [&train[..], &test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..35).collect::<Vec<_>>());
    let Labels::Classes(y) = &data.train.y else {
        panic!()
    };
    for (file, &class) in train.iter().zip(y) {
        let want = match file {
            0..10 => 2,
            10..30 => 0,
            _ => 1,
        };
        assert_eq!(class, want);
    }
    // The same bits for the same seed, another split for another.
    assert_eq!(load(""), data);
    let [_, mut other] = files(&load("&seed=1"));
    let mut test = test;
    test.sort_unstable();
    other.sort_unstable();
    assert_ne!(other, test);

    let data = load("&test=14&train=7");
    assert_eq!(counts(&data.test.y, 3), [8, 2, 4]);
    assert_eq!(counts(&data.train.y, 3), [4, 1, 2]);
    let data = load("&balanced&test=3&train=6");
    assert_eq!(counts(&data.test.y, 3), [1, 1, 1]);
    assert_eq!(counts(&data.train.y, 3), [2, 2, 2]);
    let data = load("&classes=2,0");
    assert_eq!(data.class_names, ["dog", "ant"]);
    assert_eq!(counts(&data.test.y, 2), [2, 4]);
    let data = load("&group=0,1&grey&test=0");
    assert_eq!(data.class_names, ["dog", "ant+cat"]);
    assert_eq!(
        (counts(&data.train.y, 2), data.test.len()),
        (vec![10, 25], 0)
    );
    assert_eq!(data.shape.to_string(), "1x1x1");

    let spec = |query: &str| format!("folder:{}?{query}", scratch.0.display());
    let got = message(Dataset::load(&spec("test=35")));
    assert!(
        got.contains("test=35 leaves nothing to learn from: there are 35"),
        "{got}"
    );
    let got = message(Dataset::load(&spec("train=29")));
    assert!(
        got.contains("29 training samples asked for, 28 there"),
        "{got}"
    );
    let got = message(Dataset::load(&spec("size=0")));
    assert!(got.contains("expected 1 to 4096 pixels"), "{got}");
}

#[test]
fn folders_may_hold_the_split() {
    for held in ["test", "val"] {
        let scratch = Scratch::new(&format!("held-{held}"));
        for (k, path) in ["train/a/1", "train/a/2", "train/b/1"].iter().enumerate() {
            scratch.put(path, &grey(1, &[k as u8]));
        }
        scratch.put(&format!("{held}/b/1"), &grey(1, &[7]));
        let spec = format!("folder:{}?size=1", scratch.0.display());
        let data = Dataset::load(&spec).unwrap();
        assert_eq!(data.class_names, ["a", "b"]);
        assert_eq!(counts(&data.train.y, 2), [2, 1]);
        assert_eq!(files(&data)[1], [7]);
        assert_eq!(data.test.y, Labels::Classes(vec![1]));
        scratch.put(&format!("{held}/c/1"), &grey(1, &[7]));
        let got = message(Dataset::load(&spec));
        assert!(got.contains(&format!("{held}/c: a class that")), "{got}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let scratch = Scratch::new("wrong");
    let load = || {
        message(Dataset::load(&format!(
            "folder:{}?size=2",
            scratch.0.display()
        )))
    };
    let is = |want: &str| {
        let got = load();
        assert!(got.starts_with(&scratch.0.display().to_string()), "{got}");
        assert!(got.contains(want), "{got}");
    };
    is(": no sub-folders; expected one of images for each class");
    scratch.put("a/1.png", &grey(2, &[1, 2, 3, 4]));
    is(": a single sub-folder, a/; expected");
    std::fs::create_dir(scratch.0.join("b")).unwrap();
    is("b: no images in this class folder");
    scratch.put("b/.hidden", b"");
    is("b: no images in this class folder");
    scratch.put("b/1.png", b"GIF89a");
    is("b/1.png: neither PNG nor JPEG");
    scratch.put("b/1.png", b"");
    is("b/1.png: neither PNG nor JPEG");
    let good = jpeg(0);
    scratch.put("b/1.png", &good[..good.len() - 100]);
    is("b/1.png: damaged JPEG");
    let good = grey(2, &[1, 2, 3, 4]);
    for n in 8..good.len() {
        scratch.put("b/1.png", &good[..n]);
        is("b/1.png: damaged PNG");
    }
    let mut flipped = good.clone();
    flipped[45] ^= 1;
    scratch.put("b/1.png", &flipped);
    is("b/1.png: damaged PNG");
    // Sixteen thousand pixels a side out of a hundred bytes, and more.
    for (side, want) in [
        (1 << 14, "more than its"),
        (1 << 15, "at most 16384 a side"),
    ] {
        let mut header = good[12..29].to_vec();
        header[4..8].copy_from_slice(&u32::to_be_bytes(side));
        header[8..12].copy_from_slice(&u32::to_be_bytes(side));
        let mut sum = flate2::Crc::new();
        sum.update(&header);
        let rest = &good[33..];
        let file = [&good[..12], &header, &sum.sum().to_be_bytes(), rest].concat();
        scratch.put("b/1.png", &file);
        is(want);
    }
    scratch.put("b/1.png", &good);
    scratch.put("b/more/1.png", &good);
    is("b/more: a folder within a class folder");
    std::fs::remove_dir_all(scratch.0.join("b/more")).unwrap();
    assert!(Dataset::load(&format!("folder:{}", scratch.0.display())).is_ok());
    let got = message(Dataset::load("folder:/no/such/place"));
    assert!(got.starts_with("cannot open /no/such/place: "), "{got}");
}

/// Smallest and largest number of the training set are black and white; other than three channels are grey.
#[test]
fn viewers_show_colours_and_greys() {
    let scratch = Scratch::new("viewer");
    let colours = [51, 102, 255, 255, 204, 153];
    let kind = (ColorType::Rgb, BitDepth::Eight);
    scratch.put("a/1", &encode(2, kind, &colours.repeat(2), |_| {}));
    scratch.put("b/1", &grey(1, &[153]));
    let load = |query: &str| {
        Dataset::load(&format!(
            "folder:{}?size=2&test=0{query}",
            scratch.0.display()
        ))
        .unwrap()
    };
    let data = load("&classes=0");
    let rows = data.viewer().unwrap().picture(&data.train.x);
    assert_eq!((rows.len(), rows[0].len()), (2, 2));
    for row in &rows {
        // (b − 51)/204 of each byte.
        let want = [[0.0, 0.25, 1.0], [1.0, 0.75, 0.5]];
        for (found, want) in row.as_flattened().iter().zip(want.as_flattened()) {
            assert!((found - want).abs() < 1e-6, "{found} {want}");
        }
    }
    let data = load("&classes=0&grey");
    let rows = data.viewer().unwrap().picture(&data.train.x);
    assert_eq!(rows[0], [[0.0; 3], [1.0; 3]]);
    assert_eq!(
        Dataset::load("stripe?train=4&test=4").unwrap().viewer(),
        None
    );
}
