//! Valid files to read and to damage: a small Parquet writer, PNG and JPEG images, IDX and CIFAR records.

use std::io::Write;

/// Thrift values of the compact protocol.
pub enum T {
    Int(i64),
    Bytes(Vec<u8>),
    List(Vec<T>),
    Struct(Vec<(u8, T)>),
}

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

impl T {
    fn text(text: &str) -> T {
        T::Bytes(text.as_bytes().to_vec())
    }

    fn kind(&self) -> u8 {
        match self {
            T::Int(_) => 6,
            T::Bytes(_) => 8,
            T::List(_) => 9,
            T::Struct(_) => 12,
        }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            T::Int(n) => varint(((n << 1) ^ (n >> 63)) as u64, out),
            T::Bytes(b) => {
                varint(b.len() as u64, out);
                out.extend(b);
            }
            T::List(items) => {
                out.push(0xf0 | items.first().map_or(12, T::kind));
                varint(items.len() as u64, out);
                items.iter().for_each(|i| i.write(out));
            }
            T::Struct(fields) => {
                let mut last = 0;
                for (id, value) in fields {
                    out.push((id - last) << 4 | value.kind());
                    last = *id;
                    value.write(out);
                }
                out.push(0);
            }
        }
    }
}

/// How a test table is stored.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// 0 none, 1 snappy, 2 gzip, 6 zstd.
    pub codec: i64,
    /// Values as indices into a dictionary.
    pub dictionary: bool,
    /// Page version 2.
    pub v2: bool,
}

pub const LAYOUTS: [Layout; 6] = [
    Layout {
        codec: 0,
        dictionary: false,
        v2: false,
    },
    Layout {
        codec: 1,
        dictionary: false,
        v2: false,
    },
    Layout {
        codec: 2,
        dictionary: true,
        v2: false,
    },
    Layout {
        codec: 6,
        dictionary: true,
        v2: true,
    },
    Layout {
        codec: 1,
        dictionary: true,
        v2: true,
    },
    Layout {
        codec: 6,
        dictionary: false,
        v2: false,
    },
];

fn pack(bytes: &[u8], codec: i64) -> Vec<u8> {
    match codec {
        1 => snap::raw::Encoder::new().compress_vec(bytes).unwrap(),
        2 => {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            gz.write_all(bytes).unwrap();
            gz.finish().unwrap()
        }
        6 => ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest),
        _ => bytes.to_vec(),
    }
}

/// One column's pages from PLAIN values; `levels` is the definition level of every value (0: no levels).
fn column(values: &[Vec<u8>], level: u8, layout: Layout, out: &mut Vec<u8>) {
    let mut page = |header: Vec<(u8, T)>, prefix: &[u8], body: Vec<u8>| {
        let packed = pack(&body, layout.codec);
        let sizes = [body.len() + prefix.len(), packed.len() + prefix.len()];
        let kind = match header[0].0 {
            5 => 0,
            7 => 2,
            _ => 3,
        };
        let mut fields = vec![
            (1, T::Int(kind)),
            (2, T::Int(sizes[0] as i64)),
            (3, T::Int(sizes[1] as i64)),
        ];
        fields.extend(header);
        T::Struct(fields).write(out);
        out.extend(prefix);
        out.extend(packed);
    };
    let count = values.len() as i64;
    let mut body = values.concat();
    if layout.dictionary {
        let header = T::Struct(vec![(1, T::Int(count)), (2, T::Int(0))]);
        page(vec![(7, header)], &[], body);
        // Indices 0, 1, … as runs of one, in 8 bits.
        body = vec![8];
        body.extend((0..values.len()).flat_map(|i| [2, i as u8]));
    }
    let encoding = if layout.dictionary { 8 } else { 0 };
    let mut levels = Vec::new();
    if level > 0 {
        varint(2 * count as u64, &mut levels);
        levels.push(level);
    }
    if layout.v2 {
        let header = T::Struct(vec![
            (1, T::Int(count)),
            (2, T::Int(0)),
            (3, T::Int(count)),
            (4, T::Int(encoding)),
            (5, T::Int(levels.len() as i64)),
            (6, T::Int(0)),
        ]);
        page(vec![(8, header)], &levels, body);
    } else {
        if level > 0 {
            let mut with = (levels.len() as u32).to_le_bytes().to_vec();
            with.extend(&levels);
            with.extend(body);
            body = with;
        }
        let header = T::Struct(vec![
            (1, T::Int(count)),
            (2, T::Int(encoding)),
            (3, T::Int(3)),
            (4, T::Int(3)),
        ]);
        page(vec![(5, header)], &[], body);
    }
}

/// Path, physical type, PLAIN values, definition level.
type Stored = (&'static [&'static str], i64, Vec<Vec<u8>>, u8);

/// A table img{bytes, path}, label: images optional twice over, labels int64 and optional.
pub fn parquet(images: &[Vec<u8>], labels: &[i64], layout: Layout) -> Vec<u8> {
    let mut out = b"PAR1".to_vec();
    let string = |b: &Vec<u8>| [&(b.len() as u32).to_le_bytes(), &b[..]].concat();
    let columns: [Stored; 3] = [
        (&["img", "bytes"], 6, images.iter().map(string).collect(), 2),
        (
            &["img", "path"],
            6,
            images.iter().map(|_| string(&b"a.jpg".to_vec())).collect(),
            2,
        ),
        (
            &["label"],
            2,
            labels.iter().map(|y| y.to_le_bytes().to_vec()).collect(),
            1,
        ),
    ];
    let mut chunks = Vec::new();
    for (path, kind, values, level) in columns {
        let start = out.len() as i64;
        column(&values, level, layout, &mut out);
        let size = out.len() as i64 - start;
        let mut meta = vec![
            (1, T::Int(kind)),
            (2, T::List(vec![T::Int(0)])),
            (3, T::List(path.iter().map(|p| T::text(p)).collect())),
            (4, T::Int(layout.codec)),
            (5, T::Int(values.len() as i64)),
            (6, T::Int(size)),
            (7, T::Int(size)),
            (9, T::Int(start)),
        ];
        if layout.dictionary {
            meta.push((11, T::Int(start)));
        }
        chunks.push(T::Struct(vec![(2, T::Int(start)), (3, T::Struct(meta))]));
    }
    let leaf = |name: &str, kind: i64| {
        T::Struct(vec![(1, T::Int(kind)), (3, T::Int(1)), (4, T::text(name))])
    };
    let group = |name: &str, children: i64| {
        T::Struct(vec![
            (3, T::Int(1)),
            (4, T::text(name)),
            (5, T::Int(children)),
        ])
    };
    let schema = vec![
        group("schema", 2),
        group("img", 2),
        leaf("bytes", 6),
        leaf("path", 6),
        leaf("label", 2),
    ];
    let rows = labels.len() as i64;
    let groups = vec![T::Struct(vec![
        (1, T::List(chunks)),
        (2, T::Int(0)),
        (3, T::Int(rows)),
    ])];
    let footer = T::Struct(vec![
        (1, T::Int(2)),
        (2, T::List(schema)),
        (3, T::Int(rows)),
        (4, T::List(groups)),
    ]);
    let start = out.len();
    footer.write(&mut out);
    let length = (out.len() - start) as u32;
    out.extend(length.to_le_bytes());
    out.extend(b"PAR1");
    out
}

/// A smooth 32×32 colour image, pixel by pixel.
pub fn picture(k: usize) -> Vec<u8> {
    let pixel =
        |i: usize| [(i / 32 * 7 + k * 40) % 256, i % 32 * 7, 255 - i / 32 * 5].map(|v| v as u8);
    (0..1024).flat_map(pixel).collect()
}

pub fn jpeg(k: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut out, 95);
    encoder
        .encode(&picture(k), 32, 32, jpeg_encoder::ColorType::Rgb)
        .unwrap();
    out
}

/// An 8-bit colour PNG.
pub fn png(k: usize) -> Vec<u8> {
    let kind = (png::ColorType::Rgb, png::BitDepth::Eight);
    encode(32, kind, &picture(k), |_| {})
}

/// A PNG of any kind; `set` may give it a palette.
pub fn encode(
    width: u32,
    (colour, depth): (png::ColorType, png::BitDepth),
    rows: &[u8],
    set: impl Fn(&mut png::Encoder<&mut Vec<u8>>),
) -> Vec<u8> {
    let stride = (width as usize * colour.samples() * depth as usize).div_ceil(8);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, (rows.len() / stride) as u32);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    set(&mut encoder);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(rows).unwrap();
    writer.finish().unwrap();
    out
}

/// An 8-bit grey PNG.
pub fn grey(width: u32, pixels: &[u8]) -> Vec<u8> {
    let kind = (png::ColorType::Grayscale, png::BitDepth::Eight);
    encode(width, kind, pixels, |_| {})
}

pub fn idx(shape: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0, 0, 8, shape.len() as u8];
    out.extend(shape.iter().flat_map(|d| d.to_be_bytes()));
    out.extend(bytes);
    out
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    pack(bytes, 2)
}

/// A directory that goes when the test ends.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("polariscope-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
