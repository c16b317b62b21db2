//! Whether the weights can follow a motion: θ ↦ θ_g, a reordering of entries, with f(gx; θ_g) = f(x; θ) for all x and θ.
//!
//! Node by node: if the inputs of a layer move by known reorderings, so does its output, once its weights are moved along.
//! A window slides over reordered positions as over the others if they carry its grid onto itself: tap σβ of position πp
//! reads where what tap β of p reads has gone, padding for padding. Behind a flatten the columns of W move.
//! A convolution over a group slides over its elements too, and where the motion is one of them no weight moves.
//!
//! Entries of a tensor that change places are exchangeable under every initial distribution that there is: independent and
//! alike, or the columns of a uniform frame. So θ_g is as likely as θ, and every optimiser commutes with reordering.

use std::collections::BTreeMap;

use polariscope_graph::{Graph, Group, Node, Op, Padding, ParamId, Shape, Window};
use polariscope_network::Weights;
use polariscope_report::counted;

use super::super::grid::{Grid, source, turned};
use super::motion::Motion;

/// Weights that follow a motion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Entry i of a parameter goes to place order[i]; those that stay are left out.
    moved: BTreeMap<usize, Vec<usize>>,
}

impl Followed {
    /// Whether no weight moves: every single network gives gx the output of x.
    pub fn by_every_network(&self) -> bool {
        self.moved.is_empty()
    }

    /// θ_g.
    pub fn apply(&self, weights: &Weights<f64>) -> Weights<f64> {
        let mut out = weights.clone();
        for (&param, order) in &self.moved {
            let from = &weights.values[param];
            for (&value, &place) in from.iter().zip(order) {
                out.values[param][place] = value;
            }
        }
        out
    }
}

/// Where a motion is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Name of the layer.
    pub layer: String,
    /// Why, to be read after its name.
    pub why: String,
}

/// The weights that follow a motion, or the first layer where none do.
///
/// ```
/// use polariscope_graph::{ZooOptions, zoo};
/// use polariscope_kernels::symmetry::{Axis, Motion, follow};
/// let gap = zoo("cnn-gap", &ZooOptions::default())?;
/// // Circular convolutions carry shifts to the pool, which forgets them; a flip reverses their taps.
/// let shift = Motion::Shift { axis: Axis::Across, by: 1 };
/// assert!(follow(&gap, shift).unwrap().by_every_network());
/// assert!(!follow(&gap, Motion::Flip(Axis::Across)).unwrap().by_every_network());
/// # Ok::<(), polariscope_graph::GraphError>(())
/// ```
pub fn follow(graph: &Graph, motion: Motion) -> Result<Followed, Lost> {
    let input = Grid::of(graph.input());
    let order = motion.order([input.height, input.width]);
    let order = order.ok_or_else(|| Lost {
        layer: "the input".into(),
        why: "is not square".into(),
    })?;
    let mut walk = Walk {
        graph,
        motion,
        orders: vec![order],
        moved: BTreeMap::new(),
    };
    for node in graph.nodes.iter().skip(1) {
        let order = walk.through(node).map_err(|why| Lost {
            layer: node.layer.clone(),
            why,
        })?;
        walk.orders.push(order);
    }
    let last = walk.orders.last().zip(graph.nodes.last());
    match last {
        Some((order, node)) if !is_still(order) => Err(Lost {
            layer: node.layer.clone(),
            why: "is the output, whose numbers would move too".into(),
        }),
        _ => Ok(Followed { moved: walk.moved }),
    }
}

fn is_still(order: &[usize]) -> bool {
    order.iter().enumerate().all(|(i, &to)| i == to)
}

/// What has been followed so far.
struct Walk<'a> {
    graph: &'a Graph,
    motion: Motion,
    /// Of every node, where its positions go; the numbers of a vector are its positions.
    orders: Vec<Vec<usize>>,
    moved: BTreeMap<usize, Vec<usize>>,
}

impl Walk<'_> {
    /// Where the positions of a node's output go.
    fn through(&mut self, node: &Node) -> Result<Vec<usize>, String> {
        let orders: Vec<Vec<usize>> = (node.inputs.iter())
            .map(|id| self.orders[id.0].clone())
            .collect();
        let Some(own) = orders.first().cloned() else {
            return Err("reads nothing".into());
        };
        let read = node.inputs.first().map(|id| self.graph.nodes[id.0].shape);
        let read = read.unwrap_or(node.shape);
        let is_vector = |shape| matches!(shape, Shape::Vector { .. });
        let still = |shape: Shape| match shape {
            Shape::Vector { features } => (0..features).collect(),
            other => (0..Grid::of(other).positions()).collect(),
        };
        match &node.op {
            Op::Input => Ok(own),
            &Op::Dense { weight, .. } if is_vector(read) => {
                self.rows(weight, &own);
                Ok(still(node.shape))
            }
            Op::Conv { weight, window, .. } => {
                let (taps, places) = self.slide(window, read, node.shape, &own)?;
                self.rows(*weight, &taps);
                Ok(places)
            }
            Op::Local { weight, window, .. } => {
                let (taps, places) = self.slide(window, read, node.shape, &own)?;
                let (t, d) = (taps.len(), places.len());
                let both = (0..t * d).map(|k| taps[k / d] * d + places[k % d]);
                self.rows(*weight, &both.collect::<Vec<_>>());
                Ok(places)
            }
            Op::GroupConv {
                weight,
                window,
                group,
                ..
            } => {
                let lifts = self.graph.param(*weight).shape.len() == 4;
                let over = Over {
                    group: *group,
                    elements: if lifts { 1 } else { group.order() },
                    window,
                };
                let (taps, places) = self.over(&over, read, node.shape, &own)?;
                self.rows(*weight, &taps);
                Ok(places)
            }
            // The elements of a position must have gone to the same one.
            Op::GroupPool { .. } => {
                let d = Grid::of(node.shape).positions();
                let together = |(i, to): (usize, &usize)| to % d == own[i % d] % d;
                match own.iter().enumerate().all(together) {
                    true => Ok(own[..d].iter().map(|to| to % d).collect()),
                    false => Err("joins elements that moved in different ways".into()),
                }
            }
            Op::MaxPool(window) | Op::AvgPool(window) => {
                Ok(self.slide(window, read, node.shape, &own)?.1)
            }
            Op::GlobalAvgPool => Ok(still(node.shape)),
            Op::Flatten if is_vector(read) => Ok(own),
            Op::Flatten => Ok(numbers(read, &own)),
            &Op::Bias { bias, .. } if is_vector(read) => {
                self.rows(bias, &own);
                Ok(own)
            }
            &Op::LayerScale { weight } if is_vector(read) => {
                self.rows(weight, &own);
                Ok(own)
            }
            &Op::BatchNorm {
                weight,
                bias,
                running_mean,
                running_var,
                ..
            } if is_vector(read) => {
                for param in [weight, bias, running_mean, running_var] {
                    self.rows(param, &own);
                }
                Ok(own)
            }
            &Op::LayerNorm { weight, bias, .. } => {
                self.each_number(weight, read, &own);
                self.each_number(bias, read, &own);
                Ok(own)
            }
            &Op::RmsNorm { weight, .. } => {
                self.each_number(weight, read, &own);
                Ok(own)
            }
            Op::GroupNorm { .. } if is_vector(read) && !is_still(&own) => {
                Err("normalises groups of numbers that change places".into())
            }
            Op::Add => match orders.windows(2).all(|two| two[0] == two[1]) {
                true => Ok(own),
                false => Err("adds what moved in different ways".into()),
            },
            Op::Gate => {
                let (second, channels) = match node.inputs.get(1) {
                    None => (Vec::new(), false),
                    Some(id) => (
                        self.orders[id.0].clone(),
                        is_vector(self.graph.nodes[id.0].shape) && !is_vector(read),
                    ),
                };
                match channels && is_still(&second) || !channels && second == own {
                    true => Ok(own),
                    false => Err("multiplies what moved in different ways".into()),
                }
            }
            Op::Concat if is_vector(node.shape) => {
                let mut all = Vec::new();
                for order in &orders {
                    let before = all.len();
                    all.extend(order.iter().map(|to| before + to));
                }
                Ok(all)
            }
            Op::Concat => match orders.windows(2).all(|two| two[0] == two[1]) {
                true => Ok(own),
                false => Err("puts beside each other what moved in different ways".into()),
            },
            Op::ClassToken { .. } => Ok(std::iter::once(0)
                .chain(own.iter().map(|to| to + 1))
                .collect()),
            &Op::Position { embedding } => {
                self.each_token(embedding, read, &own);
                Ok(own)
            }
            &Op::TakeToken { index } => match own.get(index) == Some(&index) {
                true => Ok(still(node.shape)),
                false => Err(format!("takes token {index}, which moves")),
            },
            Op::Dense { .. }
            | Op::Bias { .. }
            | Op::BatchNorm { .. }
            | Op::GroupNorm { .. }
            | Op::Scale { .. }
            | Op::LayerScale { .. }
            | Op::Dropout { .. }
            | Op::Activation(_)
            | Op::ToTokens
            | Op::ToImage
            | Op::Attention { .. } => Ok(own),
        }
    }

    /// Moves the entries of every run of `order.len()` in a parameter.
    fn rows(&mut self, param: ParamId, order: &[usize]) {
        if is_still(order) {
            return;
        }
        let count = self.graph.param(param).len();
        let n = order.len();
        let all = (0..count).map(|k| k / n * n + order[k % n]).collect();
        self.moved.insert(param.0, all);
    }

    /// Moves a parameter with an entry for each number that is normalised together: all of a vector or image, the
    /// coordinates of a token, which stay.
    fn each_number(&mut self, param: ParamId, read: Shape, order: &[usize]) {
        match read {
            Shape::Tokens { .. } => {}
            Shape::Vector { .. } => self.rows(param, order),
            Shape::Signal { .. } | Shape::Image { .. } => self.rows(param, &numbers(read, order)),
        }
    }

    /// Moves a parameter with an entry for each number of a sequence of tokens.
    fn each_token(&mut self, param: ParamId, read: Shape, order: &[usize]) {
        self.rows(param, &numbers(read, order));
    }

    /// Where the taps of a window and the positions that it makes go.
    fn slide(
        &self,
        window: &Window,
        read: Shape,
        made: Shape,
        order: &[usize],
    ) -> Result<(Vec<usize>, Vec<usize>), String> {
        let [kh, kw] = window.kernel;
        let Some(taps) = self.motion.taps(window.kernel) else {
            return Err(format!("has windows of {kh}x{kw}, which are not square"));
        };
        let (input, output) = (Grid::of(read), Grid::of(made));
        let reads = |p: usize, tap: usize| source(window, &input, &output, p, tap);
        let sizes = [input.positions(), output.positions()];
        let places = carried(reads, reads, sizes, &taps, order).ok_or_else(|| {
            let [sy, sx] = window.stride;
            format!(
                "slides windows of {kh}x{kw} with stride {sy}x{sx} over {}x{} positions{}, and the motion does not carry them \
                 onto each other",
                input.height,
                input.width,
                padded(window.padding)
            )
        })?;
        Ok((taps, places))
    }

    /// The same for a convolution over a group: weights and places have an element each, (h, t) and (g, p).
    fn over(
        &self,
        over: &Over,
        read: Shape,
        made: Shape,
        order: &[usize],
    ) -> Result<(Vec<usize>, Vec<usize>), String> {
        let [k, _] = over.window.kernel;
        let input = Grid::of_each(read, over.elements);
        let output = Grid::of_each(made, over.group.order());
        let [n, d, t] = [input.positions(), output.positions(), k * k];
        // Place (g, p) reads element gh through tap gt with the weight (h, t).
        let reads = |g: usize| {
            move |p: usize, weight: usize| {
                let from = source(over.window, &input, &output, p, turned(g, k, weight % t))?;
                Some(Group::product(g, weight / t) % over.elements * n + from)
            }
        };
        let sizes = [over.elements * n, d];
        let a = self.motion.element();
        let conjugate = |h: usize| Group::product(Group::product(a, h), Group::inverse(a));
        let places = |taps: &[usize], to: &dyn Fn(usize) -> usize| {
            let mut places = Vec::new();
            for g in 0..over.group.order() {
                let to = Some(to(g)).filter(|to| *to < over.group.order())?;
                let own = carried(reads(g), reads(to), sizes, taps, order)?;
                places.extend(own.iter().map(|p| to * d + p));
            }
            Some(places)
        };
        // A motion a of the group takes (g, p) to (ag, ap) and moves no weight. Any other takes element g to aga⁻¹, and
        // weight (h, t) to (aha⁻¹, at).
        let count = over.elements * t;
        let still: Vec<usize> = (0..count).collect();
        let moved: Vec<usize> = (0..count)
            .map(|w| conjugate(w / t) % over.elements * t + turned(a, k, w % t))
            .collect();
        let of_the_group = places(&still, &|g| Group::product(a, g)).map(|places| (still, places));
        let found =
            of_the_group.or_else(|| places(&moved, &conjugate).map(|places| (moved, places)));
        found.ok_or_else(|| {
            format!(
                "slides windows of {k}x{k} with stride {} over maps of {}x{}, and the motion does not carry them onto each other",
                over.window.stride[0], input.height, input.width
            )
        })
    }
}

/// A convolution over a group.
struct Over<'a> {
    group: Group,
    /// Elements of what it reads; 1 of an image.
    elements: usize,
    window: &'a Window,
}

/// Where the places go that read positions through taps, when positions (by `order`) and taps go to those that other places
/// read; nothing where none of those reads what has gone. `[n, d]` are positions and places.
fn carried(
    reads: impl Fn(usize, usize) -> Option<usize>,
    others: impl Fn(usize, usize) -> Option<usize>,
    [n, d]: [usize; 2],
    taps: &[usize],
    order: &[usize],
) -> Option<Vec<usize>> {
    // The other place whose tap reads a position, if one does.
    let mut reader = vec![None; taps.len() * n];
    for p in 0..d {
        for tap in 0..taps.len() {
            if let Some(from) = others(p, tap) {
                reader[tap * n + from] = Some(p);
            }
        }
    }
    let mut places = vec![None; d];
    let mut taken = vec![false; d];
    let mut blank = Vec::new();
    for (p, place) in places.iter_mut().enumerate() {
        let mut seen = (0..taps.len()).filter_map(|tap| Some((tap, reads(p, tap)?)));
        let Some((tap, from)) = seen.next() else {
            blank.push(p);
            continue;
        };
        let to = reader[taps[tap] * n + order[from]]?;
        let same = |tap: usize| others(to, taps[tap]) == reads(p, tap).map(|from| order[from]);
        if taken[to] || !(0..taps.len()).all(same) {
            return None;
        }
        taken[to] = true;
        *place = Some(to);
    }
    // Windows over nothing but padding are all alike.
    let mut free = (0..d).filter(|&p| !taken[p]);
    for p in blank {
        let to = free.next()?;
        if (0..taps.len()).any(|tap| others(to, tap).is_some()) {
            return None;
        }
        places[p] = Some(to);
    }
    places.into_iter().collect()
}

fn padded(padding: Padding) -> String {
    match padding {
        Padding::Valid | Padding::Zeros(0) => String::new(),
        Padding::Same => ", padded with zeros to the same size".into(),
        Padding::Circular => ", closed to a circle".into(),
        Padding::Zeros(p) => format!(", padded with {}", counted(p as u64, "zero")),
    }
}

/// Where the numbers of a sample go when its positions do.
fn numbers(shape: Shape, order: &[usize]) -> Vec<usize> {
    let grid = Grid::of(shape);
    let mut all = vec![0; grid.len()];
    for channel in 0..grid.channels {
        for (p, &place) in order.iter().enumerate() {
            all[grid.at(channel, p)] = grid.at(channel, place);
        }
    }
    all
}
