//! 3×3 convolutions at stride 1 with 2.25 times fewer products (Winograd's F(2×2, 3×3)):
//!
//! each 2×2 tile of the output is Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A, d the 4×4 pixels it sees, g the kernel.
//! Summed over channels, ⊙ becomes 16 matrix products M_ξ = U_ξ V_ξ, one for each entry ξ.
//!
//! Pixels are read from a padded image whose even and odd columns lie apart, so that the
//! transforms run along a row of tiles; V is written in the form that the products want.

use super::Number;
use super::gemm::{Left, Packing, Strided};
use super::image::{Layout, Product};
use super::simd::{Tile, stretches, vectorised};

/// Entries of a transformed tile.
const XI: usize = 16;

/// Fewest channels and tiles with which the transforms pay.
const CHANNELS: usize = 32;
const TILES: usize = 96;

/// Whether a product has the right window and is large enough.
pub fn pays(p: &Product, samples: usize) -> bool {
    let ((c, ..), (o, oh, ow)) = (p.from, p.to);
    let window = p.window;
    window.kernel == [3, 3]
        && window.stride == [1, 1]
        && window.dilation == [1, 1]
        && p.groups == 1
        && c.min(o) >= CHANNELS
        && samples * oh.div_ceil(2) * ow.div_ceil(2) >= TILES
}

/// Tiles that lie in one row of one sample.
struct Run {
    to: usize,
    length: usize,
    sample: usize,
    row: usize,
    column: usize,
}

/// y = left · patches of x with the window that [`pays`] wants; `left` is o × (c, tap).
pub fn correlate<T: Number>(
    p: &Product,
    x: &[T],
    y: &mut [T],
    left: &impl Left<T>,
    packing: &mut Packing<T>,
) {
    let kernels = T::kernels();
    let ((c, h, w), (o, oh, ow)) = (p.from, p.to);
    let (th, tw) = (oh.div_ceil(2), ow.div_ceil(2));
    let samples = y.len() / (o * oh * ow);
    let (nr, mr) = (kernels.nr, kernels.mr);

    let Packing {
        a,
        b,
        image,
        product,
    } = packing;
    // Distances between entries ξ, never a multiple of a page: 16 lines of one L1 set would evict each other.
    let (du, dv, dm) = (o * c + nr, (c + 1) * nr, (o + 1) * nr);
    let u = a.take(XI * du);
    transform_weights(left, o, c, mr, u, du, b.take(9 * c * mr));

    // Rows and columns rounded up to whole tiles.
    let mut window = p.window;
    window.stride = [1, 2];
    window.pad[0].1 = 2 * th + 2 - h - window.pad[0].0;
    window.pad[1].1 = 2 * tw + 2 - w - window.pad[1].0;
    let layout = Layout::new(window, h, w);
    let image = image.zeros(samples * layout.len(c));
    for (x, image) in x
        .chunks_exact(c * h * w)
        .zip(image.chunks_exact_mut(layout.len(c)))
    {
        layout.copy(x, image);
    }

    let (v, product) = (b.take(XI * dv), product.take(XI * dm));
    let tiles = samples * th * tw;
    for j0 in (0..tiles).step_by(nr) {
        let cols = nr.min(tiles - j0);
        let runs = runs(j0, cols, th, tw);
        for run in &runs {
            let sample = &image[run.sample * layout.len(c)..(run.sample + 1) * layout.len(c)];
            transform_inputs(sample, &layout, run, v, dv, nr);
        }
        for xi in 0..XI {
            let b = &v[xi * dv..(xi + 1) * dv];
            for i in (0..o).step_by(mr) {
                let rows = mr.min(o - i);
                let a = Strided {
                    data: &u[xi * du + i * c..],
                    row: 1,
                    col: rows,
                };
                let to = &mut product[xi * dm + i * nr..];
                kernels.tile(
                    Tile {
                        rows,
                        cols,
                        k: c,
                        a,
                        b,
                        add: false,
                    },
                    to,
                    nr,
                );
            }
        }
        for run in &runs {
            transform_outputs(product, dm, nr, run, y, (o, oh, ow));
        }
    }
}

/// Tiles `j0..j0+cols`, row by row.
fn runs(j0: usize, cols: usize, th: usize, tw: usize) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut to = 0;
    while to < cols {
        let j = j0 + to;
        let column = j % tw;
        let length = (tw - column).min(cols - to);
        runs.push(Run {
            to,
            length,
            sample: j / (th * tw),
            row: j / tw % th,
            column,
        });
        to += length;
    }
    runs
}

/// U = G g Gᵀ with G = [1 0 0; ½ ½ ½; ½ −½ ½; 0 0 1], as XI × panels of (c × rows).
fn transform_weights<T: Number>(
    left: &impl Left<T>,
    o: usize,
    c: usize,
    mr: usize,
    u: &mut [T],
    du: usize,
    g: &mut [T],
) {
    for i in (0..o).step_by(mr) {
        let rows = mr.min(o - i);
        left.pack(i, rows, 0, 9 * c, g);
        transform_panel(&g[..9 * c * rows], rows, &mut u[i * c..], du);
    }
}

vectorised! {
    /// One panel of [`transform_weights`]: kernels as (c, tap, rows), the entries `stride` apart.
    fn transform_panel<T: Number>(g: &[T], rows: usize, u: &mut [T], stride: usize) {
        match rows {
            8 => panel::<T, 8>(g, u, stride),
            4 => panel::<T, 4>(g, u, stride),
            _ => panel_of(g, rows, u, stride),
        }
    }
}

/// Full panels: the rows of a panel are a vector.
#[inline(always)]
fn panel<T: Number, const R: usize>(g: &[T], u: &mut [T], stride: usize) {
    for (channel, g) in g.chunks_exact(9 * R).enumerate() {
        let c = [
            stretch(load::<T, R>(g, 0), load(g, 3 * R), load(g, 6 * R)),
            stretch(load(g, R), load(g, 4 * R), load(g, 7 * R)),
            stretch(load(g, 2 * R), load(g, 5 * R), load(g, 8 * R)),
        ];
        for r in 0..4 {
            let entries = stretch(c[0][r], c[1][r], c[2][r]);
            for s in 0..4 {
                u[(4 * r + s) * stride + channel * R..][..R].copy_from_slice(&entries[s]);
            }
        }
    }
}

/// The last panel, of any number of rows.
fn panel_of<T: Number>(g: &[T], rows: usize, u: &mut [T], stride: usize) {
    for i in 0..rows {
        let one: Vec<T> = g.iter().skip(i).step_by(rows).copied().collect();
        for (channel, g) in one.chunks_exact(9).enumerate() {
            let columns = [0, 1, 2].map(|t| stretch([g[t]], [g[3 + t]], [g[6 + t]]));
            for r in 0..4 {
                let entries = stretch(columns[0][r], columns[1][r], columns[2][r]);
                for (s, entry) in entries.iter().enumerate() {
                    u[(4 * r + s) * stride + channel * rows + i] = entry[0];
                }
            }
        }
    }
}

/// G(a, b, c)ᵀ = (a, (a+b+c)/2, (a−b+c)/2, c).
#[inline(always)]
fn stretch<T: Number, const R: usize>(a: [T; R], b: [T; R], c: [T; R]) -> [[T; R]; 4] {
    let sum = add(a, c);
    [a, halve(add(sum, b)), halve(sub(sum, b)), c]
}

#[inline(always)]
fn halve<T: Number, const R: usize>(mut a: [T; R]) -> [T; R] {
    for x in &mut a {
        *x *= T::from_f64(0.5);
    }
    a
}

vectorised! {
    /// V = Bᵀ d B with Bᵀ = [1 0 −1 0; 0 1 1 0; 0 −1 1 0; 0 1 0 −1], for the tiles of a run and every channel.
    fn transform_inputs<T: Number>(image: &[T], layout: &Layout, run: &Run, v: &mut [T], dv: usize, nr: usize) {
        for (channel, plane) in image.chunks_exact(layout.plane()).enumerate() {
            let rows = [0, 1, 2, 3].map(|r| layout.halves(plane, 2 * run.row + r));
            let to = channel * nr + run.to;
            stretches!(run.length, t => input_tiles(&rows, run.column + t, &mut v[to + t..], dv));
        }
    }
}

/// W tiles from column pair `t` on; the entries go `dv` apart.
#[inline(always)]
fn input_tiles<T: Number, const W: usize>(
    rows: &[(&[T], &[T]); 4],
    t: usize,
    v: &mut [T],
    dv: usize,
) {
    let d = [
        pixels::<T, W>(rows[0], t),
        pixels(rows[1], t),
        pixels(rows[2], t),
        pixels(rows[3], t),
    ];
    let c = [
        spread(d[0][0], d[1][0], d[2][0], d[3][0]),
        spread(d[0][1], d[1][1], d[2][1], d[3][1]),
        spread(d[0][2], d[1][2], d[2][2], d[3][2]),
        spread(d[0][3], d[1][3], d[2][3], d[3][3]),
    ];
    for r in 0..4 {
        let entries = spread(c[0][r], c[1][r], c[2][r], c[3][r]);
        for s in 0..4 {
            v[(4 * r + s) * dv..][..W].copy_from_slice(&entries[s]);
        }
    }
}

/// Columns 2t, 2t+1, 2t+2, 2t+3 of a row: even[t], odd[t], even[t+1], odd[t+1].
#[inline(always)]
fn pixels<T: Number, const W: usize>((even, odd): (&[T], &[T]), t: usize) -> [[T; W]; 4] {
    [
        load(even, t),
        load(odd, t),
        load(even, t + 1),
        load(odd, t + 1),
    ]
}

/// Bᵀ(a, b, c, d)ᵀ = (a−c, b+c, c−b, b−d).
#[inline(always)]
fn spread<T: Number, const W: usize>(a: [T; W], b: [T; W], c: [T; W], d: [T; W]) -> [[T; W]; 4] {
    [sub(a, c), add(b, c), sub(c, b), sub(b, d)]
}

vectorised! {
    /// Aᵀ m A with Aᵀ = [1 1 1 0; 0 1 −1 −1], for the tiles of a run and every output channel.
    fn transform_outputs<T: Number>(m: &[T], dm: usize, nr: usize, run: &Run, y: &mut [T], size: (usize, usize, usize)) {
        let (o, oh, ow) = size;
        let sample = &mut y[run.sample * o * oh * ow..(run.sample + 1) * o * oh * ow];
        for (channel, plane) in sample.chunks_exact_mut(oh * ow).enumerate() {
            let from = channel * nr + run.to;
            let (upper, lower) = plane[2 * run.row * ow..].split_at_mut(ow);
            // The last row of tiles may have no second line.
            let lower = lower.get_mut(..ow).unwrap_or_default();
            let column = 2 * run.column;
            stretches!(run.length, t => output_tiles(&m[from + t..], dm, column + 2 * t, upper, lower));
        }
    }
}

/// W tiles to column `at` on of two lines, of which the end may be missing.
#[inline(always)]
fn output_tiles<T: Number, const W: usize>(
    m: &[T],
    dm: usize,
    at: usize,
    upper: &mut [T],
    lower: &mut [T],
) {
    let c = [
        gather(
            load::<T, W>(m, 0),
            load(m, 4 * dm),
            load(m, 8 * dm),
            load(m, 12 * dm),
        ),
        gather(
            load(m, dm),
            load(m, 5 * dm),
            load(m, 9 * dm),
            load(m, 13 * dm),
        ),
        gather(
            load(m, 2 * dm),
            load(m, 6 * dm),
            load(m, 10 * dm),
            load(m, 14 * dm),
        ),
        gather(
            load(m, 3 * dm),
            load(m, 7 * dm),
            load(m, 11 * dm),
            load(m, 15 * dm),
        ),
    ];
    interleave(gather(c[0][0], c[1][0], c[2][0], c[3][0]), upper, at);
    interleave(gather(c[0][1], c[1][1], c[2][1], c[3][1]), lower, at);
}

/// Aᵀ(a, b, c, d)ᵀ = (a+b+c, b−c−d).
#[inline(always)]
fn gather<T: Number, const W: usize>(a: [T; W], b: [T; W], c: [T; W], d: [T; W]) -> [[T; W]; 2] {
    [add(add(a, b), c), sub(sub(b, c), d)]
}

#[inline(always)]
fn load<T: Number, const W: usize>(x: &[T], at: usize) -> [T; W] {
    let mut y = [T::ZERO; W];
    y.copy_from_slice(&x[at..at + W]);
    y
}

#[inline(always)]
#[allow(clippy::needless_range_loop)] // by index: iterators over two arrays hide the vectors from LLVM
fn add<T: Number, const W: usize>(mut a: [T; W], b: [T; W]) -> [T; W] {
    for i in 0..W {
        a[i] += b[i];
    }
    a
}

#[inline(always)]
#[allow(clippy::needless_range_loop)] // as above
fn sub<T: Number, const W: usize>(mut a: [T; W], b: [T; W]) -> [T; W] {
    for i in 0..W {
        a[i] -= b[i];
    }
    a
}

/// a₀ b₀ a₁ b₁ … from number `at` of a line, as far as it goes.
#[inline(always)]
fn interleave<T: Number, const W: usize>([a, b]: [[T; W]; 2], line: &mut [T], at: usize) {
    if let Some(to) = line.get_mut(at..at + 2 * W) {
        for (i, pair) in to.chunks_exact_mut(2).enumerate() {
            (pair[0], pair[1]) = (a[i], b[i]);
        }
        return;
    }
    for (i, y) in line.iter_mut().skip(at).enumerate() {
        *y = if i % 2 == 0 { a[i / 2] } else { b[i / 2] };
    }
}
