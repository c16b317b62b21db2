//! Damaged files and specifications by the ten thousand: none may panic, and none may take memory out of
//! proportion to its size.

use std::alloc::{GlobalAlloc, Layout as MemoryLayout, System};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{LAYOUTS, Scratch, grey, gzip, idx, jpeg, parquet, picture, png};
use polariscope_data::{DataSource, Dataset, Spec, cifar, npy};
use polariscope_random::{Cursor, Stream};

/// Counts live bytes and remembers the most.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: both methods hand over to the system allocator unchanged; only counters are added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: MemoryLayout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: MemoryLayout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a file of a few kilobytes may take at most: the decompressors' fixed allowance.
const MEMORY: usize = 128 << 20;

fn mutate(good: &[u8], cursor: &mut Cursor) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..=cursor.below(4) {
        if bytes.is_empty() {
            break;
        }
        // Headers and footers are short: aim at both ends half of the time.
        let n = bytes.len();
        let near = cursor.below(96.min(n as u64)) as usize;
        let at = match cursor.below(4) {
            0 => near,
            1 => n - 1 - near,
            _ => cursor.below(n as u64) as usize,
        };
        match cursor.below(8) {
            0 | 1 => bytes[at] ^= 1 << cursor.below(8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][cursor.below(5) as usize],
            3 => bytes[at] = cursor.next_u32() as u8,
            4 => bytes.truncate(at),
            5 => drop(bytes.drain(at..(at + 1 + cursor.below(8) as usize).min(n))),
            6 => bytes.insert(at, cursor.next_u32() as u8),
            _ => {
                let from = cursor.below(n as u64) as usize;
                let piece = bytes[from..(from + 8).min(n)].to_vec();
                let end = (at + piece.len()).min(n);
                bytes[at..end].copy_from_slice(&piece[..end - at]);
            }
        }
    }
    bytes
}

/// Runs `read` on mutations of the files; returns how many were refused.
fn run(name: &str, files: &[Vec<u8>], cases: usize, read: impl Fn(&[u8]) -> Result<(), String>) {
    let mut cursor = Stream::new(0, 0, name).cursor();
    let mut refused = 0;
    for case in 0..cases {
        let bytes = mutate(&files[case % files.len()], &mut cursor);
        PEAK.store(LIVE.load(Ordering::Relaxed), Ordering::Relaxed);
        let before = LIVE.load(Ordering::Relaxed);
        if let Err(message) = read(&bytes) {
            refused += 1;
            assert!(!message.contains('\n'), "{name}: {message:?}");
        }
        let used = PEAK.load(Ordering::Relaxed).saturating_sub(before);
        assert!(used < MEMORY, "{name} case {case}: {used} bytes");
    }
    assert!(
        refused > cases / 20,
        "{name}: only {refused} of {cases} refused"
    );
}

/// Set in the process that runs nothing but the cases.
const ALONE: &str = "POLARISCOPE_TEST_ALONE";

/// The memory counters are the process's, so this test starts one where no other test allocates.
#[test]
fn damaged_input_is_refused_cleanly() {
    if std::env::var_os(ALONE).is_none() {
        let alone = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "fuzz::damaged_input_is_refused_cleanly"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&alone.stdout);
        assert!(alone.status.success(), "{printed}");
        assert!(printed.contains("1 passed"), "{printed}");
        return;
    }
    let text = |e: polariscope_data::DataError| e.to_string();
    let npys = [
        npy::encode(&[3, 2], &[1.0_f32; 6]),
        npy::encode(&[4], &[1_i64, 2, 3, 4]),
        npy::encode(&[2, 1, 1, 2], &[0.5_f64; 4]),
    ];
    run("npy", &npys, 30_000, |b| {
        npy::parse(b, "f").map(drop).map_err(text)
    });

    let plain = idx(&[3, 28, 28], &[7; 3 * 784]);
    let idxs = [idx(&[5], &[1, 2, 3, 4, 5]), gzip(&plain), plain];
    run("idx", &idxs, 20_000, |b| {
        polariscope_data::idx::parse(b, "f").map(drop).map_err(text)
    });

    let binary = [[vec![3], picture(0)].concat()];
    run("cifar", &binary, 5_000, |b| {
        cifar::parse(b, "f").map(drop).map_err(text)
    });

    let images = [jpeg(0), png(1), jpeg(2)];
    let parquets: Vec<Vec<u8>> = LAYOUTS
        .iter()
        .map(|&l| parquet(&images, &[3, 0, 9], l))
        .collect();
    run("parquet", &parquets, 60_000, |b| {
        cifar::parse_parquet(b, "f").map(drop).map_err(text)
    });

    let scratch = Scratch::new("fuzz");
    scratch.put("images/a/1", &png(3));
    let folder = format!("folder:{}?size=4", scratch.0.join("images").display());
    let encoded = [grey(64, &[7; 4096]), jpeg(0), png(1)];
    run("image", &encoded, 3_000, |b| {
        scratch.put("images/b/1", b);
        Dataset::load(&folder).map(drop).map_err(text)
    });

    let tables = [
        "u,v,kind\n1,2,a\n3,\"4\",b\n".as_bytes().to_vec(),
        "1.5;2e3;-1\n2;3;1\n4;5;1".as_bytes().to_vec(),
    ];
    run("csv", &tables, 3_000, |b| {
        let file = scratch.put("t.csv", b);
        Dataset::load(&format!("csv:{file}"))
            .map(drop)
            .map_err(text)
    });

    let specs: Vec<Vec<u8>> = [
        "linear?shape=3x8x8&v=70&eps=1.5&sigma=3&train=40&test=10&seed=5",
        "isotropic?labeling=quadratic&b=0.5&u=3&shape=8&train=9&noise=0.25&standardise",
        "spheres?count=3&dimension=4&train=20&test=5&balanced&pca=2&whiten&normalise",
        "npy:a.npy,b.npy?classes=1,2,3&group=0&labels=random",
        "cifar2:/some/directory?grey&balanced&train=5000",
        "folder:/some/directory?size=64&group=1&test=100",
        "csv:a.csv,b.csv?label=kind&normalise&seed=3",
    ]
    .iter()
    .map(|s| s.as_bytes().to_vec())
    .collect();
    run("spec", &specs, 30_000, |b| {
        let text_of = String::from_utf8_lossy(b);
        let spec = Spec::parse(&text_of).map_err(text)?;
        // Make the small generated ones; files and large ones are only parsed.
        if let DataSource::Generator { shape, .. } = &spec.source
            && [spec.train, spec.test]
                .iter()
                .all(|n| n.is_some_and(|n| n * shape.len() < 100_000))
            && shape.len() < 512
        {
            Dataset::from_spec(&spec).map_err(text)?;
        }
        Ok(())
    });
}
