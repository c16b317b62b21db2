//! Where the positions of a layer's map go when those of the input move.

use polariscope_data::{Action, Resample};
use polariscope_graph::{Graph, Group, NodeId, Reach, Shape, Support, reaches};

use crate::layers::Layer;

/// What a transformation of the input is to the values of a layer.
pub(super) enum Along {
    /// Positions move along.
    Moves(Resample),
    /// The values stay as they are, if the layer does not mind.
    Stays,
    /// Nothing can be expected: tokens are in no grid.
    Unknown,
}

/// The grid of a layer's map.
pub(super) struct Grid {
    /// Channels.
    pub channels: usize,
    /// Rows and columns: of each map, where a group has one for every element.
    sizes: [usize; 2],
    /// The group that maps are over.
    group: Option<Group>,
    /// Pixels between neighbours.
    jump: [f64; 2],
    /// What a position sees.
    reach: [Reach; 2],
    /// Rows and columns of the input.
    input: [usize; 2],
    /// Whether positions are in no grid.
    tokens: bool,
}

impl Grid {
    /// The grids of layers, one after the other.
    pub fn of(graph: &Graph, layers: &[Layer]) -> Vec<Grid> {
        let reaches = reaches(graph);
        let jumps = jumps(graph);
        let input = plane(graph.input()).1;
        let grid = |layer: &Layer| {
            let shape = graph.nodes[layer.node].shape;
            let (channels, [height, width]) = plane(shape);
            let group = graph.group(NodeId(layer.node));
            Grid {
                channels,
                sizes: [height / group.map_or(1, Group::order), width],
                group,
                jump: jumps[layer.node],
                reach: reaches[layer.node],
                input,
                tokens: matches!(shape, Shape::Tokens { .. }),
            }
        };
        layers.iter().map(grid).collect()
    }

    /// Positions of a channel, of all elements of a group.
    pub fn positions(&self) -> usize {
        self.elements() * self.sizes[0] * self.sizes[1]
    }

    fn elements(&self) -> usize {
        self.group.map_or(1, Group::order)
    }

    /// What the transformation is here.
    pub fn along(&self, action: &Action) -> Along {
        if !action.moves() {
            return Along::Stays;
        }
        if self.tokens {
            return Along::Unknown;
        }
        match (self.positions(), action.on_grid(self.sizes, self.jump)) {
            (2.., Some(resample)) => Along::Moves(match self.group {
                None => resample,
                Some(group) => {
                    // L_a: (h, p) → (ah, ap), the regular representation; what is no element of the group moves positions alone.
                    let element = element(group, action).unwrap_or(0);
                    let to = (0..group.order()).map(|h| Group::product(element, h));
                    resample.stacked(&to.collect::<Vec<_>>())
                }
            }),
            _ => Along::Stays,
        }
    }

    /// Positions that saw nothing but the image, before a translation and after it: neither a border nor what came in from outside.
    pub fn interior(&self, action: &Action) -> Option<Vec<bool>> {
        let (Action::Cyclic { across, down } | Action::Shift { across, down }) = *action else {
            return None;
        };
        let inside = |axis: usize, by: i32, p: usize| match (by, self.reach[axis]) {
            (0, _) => true,
            (_, Reach::Whole) => false,
            (by, Reach::Local { first, last, jump }) => {
                let (by, n) = (i64::from(by), self.input[axis] as i64);
                let at = jump.saturating_mul(p as i64);
                let (low, high) = (first.saturating_add(at), last.saturating_add(at));
                low.min(low - by) >= 0 && high.max(high - by) < n
            }
        };
        let [height, width] = self.sizes;
        let inside = (0..self.positions())
            .map(|p| inside(0, down, p / width % height) && inside(1, across, p % width));
        Some(inside.collect())
    }
}

/// The element of a group that a transformation is, if it is one.
fn element(group: Group, action: &Action) -> Option<usize> {
    // A square of 3 × 3 tells all of them apart.
    let moved = action.on_grid([3, 3], [1.0, 1.0])?;
    let is = |a: &usize| {
        moved.rows().enumerate().all(|(place, taps)| {
            let goes = |p: usize| Group::place(*a, 3, [p / 3, p % 3]) == [place / 3, place % 3];
            matches!(taps, [tap] if tap.weight == 1.0 && goes(tap.at))
        })
    };
    (0..group.order()).find(is)
}

/// Channels, and rows and columns; what has no positions is one.
fn plane(shape: Shape) -> (usize, [usize; 2]) {
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => (channels, [height, width]),
        other => (other.len(), [1, 1]),
    }
}

/// Pixels between neighbours of every node: the product of the strides before it.
fn jumps(graph: &Graph) -> Vec<[f64; 2]> {
    let mut jumps: Vec<[f64; 2]> = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let before = node.inputs.first().map_or([1.0, 1.0], |id| jumps[id.0]);
        jumps.push(match node.op.facts().support {
            Support::Window(window) => [0, 1].map(|a| before[a] * window.stride[a] as f64),
            _ => before,
        });
    }
    jumps
}

#[cfg(test)]
mod tests {
    use polariscope_graph::{ZooOptions, zoo};

    use super::*;
    use crate::layers::layers;

    /// LeNet on 32×32: after its first pool, position p sees pixels 2p to 2p + 5.
    #[test]
    fn lenets_first_pool() {
        let graph = zoo("lenet", &ZooOptions::default()).unwrap();
        let grids = Grid::of(&graph, &layers(&graph));
        assert_eq!((grids[1].sizes, grids[1].jump), ([14, 14], [2.0, 2.0]));
        let shift: Action = "shift:2".parse().unwrap();
        let inside = grids[1].interior(&shift).unwrap();
        // Position 0 now shows what came in; the last saw pixels 26 to 31, and 24 to 29 before.
        assert!(
            inside[..14]
                .iter()
                .enumerate()
                .all(|(p, &inside)| inside == (p > 0))
        );
        assert!(grids[1].interior(&"flip".parse().unwrap()).is_none());
    }

    #[test]
    fn transformations_are_elements_of_groups() {
        let of = |group, action: &str| element(group, &action.parse().unwrap());
        // Elements turn counterclockwise, actions clockwise.
        assert_eq!(of(Group::P4, "turn:90"), Some(3));
        assert_eq!(of(Group::P4, "turn:180"), Some(2));
        assert_eq!(
            (of(Group::P4, "flip"), of(Group::P4m, "flip")),
            (None, Some(4))
        );
        assert!(of(Group::P4m, "transpose").is_some_and(|a| a > 4));
        assert_eq!(
            (of(Group::P4m, "turn:15"), of(Group::P4m, "shift:1")),
            (None, None)
        );
    }
}
