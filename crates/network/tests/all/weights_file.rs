//! Safetensors in and out: values kept, faults named, damage survived.

use std::path::Path;

use polariscope_graph::{Graph, Law, Node, Op, Param, Parametrisation, Role, Shape};
use polariscope_network::{Contents, Weights, WeightsError};
use polariscope_random::Stream;

fn graph() -> Graph {
    let param = |name: &str, shape: &[usize], role| Param {
        name: name.into(),
        shape: shape.to_vec(),
        law: Law::Normal { std: 1.0 },
        role,
    };
    Graph {
        name: "test".into(),
        nodes: vec![Node {
            layer: "input".into(),
            op: Op::Input,
            inputs: vec![],
            shape: Shape::Vector { features: 1 },
        }],
        params: vec![
            param("conv1.weight", &[2, 3, 2, 2], Role::Trainable),
            param("bn1.running_mean", &[2], Role::Buffer),
            param("fc.bias", &[2], Role::Trainable),
        ],
        parametrisation: Parametrisation::Pytorch,
    }
}

/// A file from (name, dtype, shape, bytes).
fn file(tensors: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let start = data.len();
        data.extend_from_slice(bytes);
        let end = data.len();
        header.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{start},{end}]}}"#
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn parse(bytes: &[u8]) -> Result<Weights<f64>, WeightsError> {
    Weights::parse(&graph(), bytes, Contents::Weights, "w.safetensors")
}

fn message(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().to_string()
}

#[test]
fn round_trip_is_exact_and_deterministic() {
    let g = graph();
    let single = Weights::<f32>::draw(&g, 1, 2);
    let bytes = single.to_bytes(&g);
    assert_eq!(bytes, single.clone().to_bytes(&g));
    assert_eq!(parse(&bytes).unwrap(), single.convert::<f64>());
    let double = single.map(|x| f64::from(x) / 3.0);
    assert_eq!(parse(&double.to_bytes(&g)).unwrap(), double);
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    assert_eq!(header % 8, 0);
}

#[test]
fn a_file_is_replaced_whole() {
    let g = graph();
    let directory =
        std::env::temp_dir().join(format!("polariscope-weights-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("w.safetensors");
    for index in 0..2 {
        let weights = Weights::<f32>::draw(&g, 0, index);
        weights.write(&g, &path).unwrap();
        assert_eq!(
            Weights::<f32>::read(&g, &path, Contents::Weights).unwrap(),
            weights
        );
    }
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    let nowhere = directory.join("no/such/w.safetensors");
    assert!(Weights::<f32>::zeros(&g).write(&g, &nowhere).is_err());
    assert!(Weights::<f32>::read(&g, Path::new(&nowhere), Contents::Weights).is_err());
    std::fs::remove_dir_all(&directory).unwrap();
}

const ZERO24: [u8; 96] = [0; 96];
const ZERO2: [u8; 8] = [0; 8];

/// 1.5, −2⁻²⁴ and 65504 in F16; 1.5 and −2 in BF16.
#[test]
fn half_precisions() {
    let conv: Vec<u8> = [0x3E00_u16, 0x8001, 0x7BFF]
        .iter()
        .chain(&[0; 21])
        .flat_map(|b| b.to_le_bytes())
        .collect();
    let bytes = file(&[
        ("conv1.weight", "F16", "[2,3,2,2]", &conv),
        ("bn1.running_mean", "BF16", "[2]", &[0xC0, 0x3F, 0x00, 0xC0]),
        ("bn1.num_batches_tracked", "I64", "[]", &ZERO2),
        ("fc.bias", "F32", "[2]", &ZERO2),
    ]);
    let w = parse(&bytes).unwrap();
    assert_eq!(w.values[0][..4], [1.5, -(2.0_f64.powi(-24)), 65504.0, 0.0]);
    assert_eq!(w.values[1], [1.5, -2.0]);
}

#[test]
fn faults_are_named() {
    let conv = ("conv1.weight", "F32", "[2,3,2,2]", &ZERO24[..]);
    let mean = ("bn1.running_mean", "F32", "[2]", &ZERO2[..]);
    let bias = ("fc.bias", "F32", "[2]", &ZERO2[..]);
    let nan = [0, 0, 0, 0, 0, 0, 0xC0, 0x7F];
    let cases = [
        (
            vec![mean, bias],
            "tensor 'conv1.weight' is missing, expected with shape 2x3x2x2",
        ),
        (vec![conv], "(and 1 more)"),
        (
            vec![conv, mean, bias, ("fc.bios", "F32", "[2]", &ZERO2)],
            "did you mean 'fc.bias'?",
        ),
        (
            vec![conv, mean, ("fc.bias", "F32", "[1,2]", &ZERO2)],
            "has shape 1x2, the network expects 2",
        ),
        (
            vec![conv, mean, ("fc.bias", "F32", "[2]", &nan)],
            "'fc.bias' holds NaN at element 1",
        ),
        (
            vec![conv, mean, ("fc.bias", "I64", "[1]", &ZERO2)],
            "expected F16, BF16, F32 or F64",
        ),
        (
            vec![conv, mean, ("fc.bias", "F32", "[3]", &ZERO2)],
            "does not fill its 8 bytes",
        ),
    ];
    for (tensors, want) in cases {
        let got = message(&file(&tensors));
        assert!(
            got.contains(want) && got.starts_with("w.safetensors: "),
            "{got}"
        );
    }
    let good = file(&[conv, mean, bias]);
    assert!(parse(&good).is_ok());
    for n in 0..good.len() {
        let got = message(&good[..n]);
        assert!(got.contains("not a valid safetensors file"), "{got}");
    }
}

#[test]
fn a_tangent_covers_trainable_parameters() {
    let ones: Vec<u8> = [1.0_f32; 24].iter().flat_map(|x| x.to_le_bytes()).collect();
    let conv = ("conv1.weight", "F32", "[2,3,2,2]", &ones[..]);
    let mean = ("bn1.running_mean", "F32", "[2]", &ones[..8]);
    let bias = ("fc.bias", "F32", "[2]", &ones[..8]);
    for tensors in [&[conv, bias][..], &[conv, mean, bias]] {
        let tangent =
            Weights::<f32>::parse(&graph(), &file(tensors), Contents::Tangent, "v").unwrap();
        assert_eq!(tangent.values, [vec![1.0; 24], vec![0.0; 2], vec![1.0; 2]]);
    }
    let missing = Weights::<f32>::parse(&graph(), &file(&[conv, mean]), Contents::Tangent, "v");
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("'fc.bias' is missing")
    );
}

/// Mutated files: bytes changed, cut, inserted. None may panic; what is accepted has the network's shapes.
#[test]
fn damaged_files_are_refused_or_read() {
    let g = graph();
    let good = Weights::<f32>::draw(&g, 3, 0).to_bytes(&g);
    let mut cursor = Stream::new(0, 0, "mutations").cursor();
    let mut refused = 0;
    let cases = 25_000;
    for _ in 0..cases {
        let mut bytes = good.clone();
        for _ in 0..=cursor.below(4) {
            let at = cursor.below(bytes.len() as u64) as usize;
            match cursor.below(5) {
                0 => bytes[at] ^= 1 << cursor.below(8),
                1 => bytes[at] = b"0123456789{}[],:\"-\\\xff"[cursor.below(20) as usize],
                2 => bytes.truncate(at.max(1)),
                3 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, cursor.next_u32() as u8),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        match parse(&bytes) {
            Ok(w) => assert!(
                w.values
                    .iter()
                    .zip(&g.params)
                    .all(|(v, p)| v.len() == p.len())
            ),
            Err(e) => {
                refused += 1;
                assert!(!e.to_string().contains('\n'));
            }
        }
    }
    assert!(refused > cases / 4 && refused < cases);
}
