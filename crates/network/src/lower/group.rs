//! Convolutions over groups of turns and mirror images, as convolutions with one large kernel.

use polariscope_diff::{Conv, Id};
use polariscope_graph::{self as graph, Group, ParamId, Projection, Shape};

use super::Lowering;

impl Lowering<'_> {
    /// y(g, p) = Σ W(g⁻¹h, g⁻¹(q − p)) x(h, q): elements become channels, and are positions again behind.
    pub(super) fn group_conv(
        &mut self,
        x: Id,
        weight: ParamId,
        window: graph::Window,
        group: Group,
        shape: Shape,
    ) -> Id {
        let s = self.graph.param(weight).shape.clone();
        // An image is a map over no more than one element.
        let elements = if s.len() == 5 { s[2] } else { 1 };
        let [n, fields, height, width] = self.t.shape(x).to_vec()[..] else {
            unreachable!("group convolutions read images");
        };
        let x = self
            .t
            .reshape(x, &[n, fields * elements, height / elements, width]);
        let (x, window) = self.window(x, window, shape);
        let w = self.all_turns(weight, elements, group);
        let y = self.t.conv(x, w, Conv::new(window, 1));
        self.t.reshape(y, &super::dims(self.batch, shape))
    }

    /// The kernel of all elements: between (i, h) and (o, g) the weight at g⁻¹h, moved by g. Its channels run over (o, g)
    /// and (i, h), the elements fastest.
    fn all_turns(&mut self, weight: ParamId, elements: usize, group: Group) -> Id {
        let s = self.graph.param(weight).shape.clone();
        let (out, inputs, k) = (s[0], s[1], s[s.len() - 1]);
        let w = self.params[weight.0];
        let w = self.t.reshape(w, &[out, inputs, elements, k, k]);
        let copies: Vec<Id> = (0..group.order())
            .map(|g| {
                let moved = self.moved(w, Group::inverse(g));
                let from: Vec<usize> = (0..elements)
                    .map(|h| Group::product(Group::inverse(g), h) % elements)
                    .collect();
                let copy = self.reordered(moved, 2, &from);
                self.t.reshape(copy, &[out, 1, inputs * elements, k, k])
            })
            .collect();
        let all = self.t.concat(&copies, 1);
        self.t
            .reshape(all, &[out * group.order(), inputs * elements, k, k])
    }

    /// The taps of w (axes 3 and 4) read at the places that element a takes them to: K(t) = w(a t).
    fn moved(&mut self, w: Id, a: usize) -> Id {
        let k = self.t.shape(w)[3];
        // A motion of a square reverses axes and may exchange them; a corner and its neighbour tell which.
        let [corner, next] = [[0, 0], [0, 1]].map(|t| Group::place(a, 2, t));
        let reversed: Vec<usize> = (0..k).rev().collect();
        let mut w = w;
        for (axis, to) in [3, 4].into_iter().zip(corner) {
            if to != 0 {
                w = self.reordered(w, axis, &reversed);
            }
        }
        match corner[0] != next[0] {
            true => self.t.permute(w, &[0, 1, 2, 4, 3]),
            false => w,
        }
    }

    /// Entry i of an axis is entry from[i] of x: runs of neighbours, one after the other.
    fn reordered(&mut self, x: Id, axis: usize, from: &[usize]) -> Id {
        let runs: Vec<Id> = from
            .chunk_by(|a, b| a + 1 == *b)
            .map(|run| self.t.slice(x, axis, run[0], run.len()))
            .collect();
        self.t.concat(&runs, axis)
    }

    /// The largest or the mean over the elements of a group.
    pub(super) fn group_pool(
        &mut self,
        x: Id,
        group: Group,
        by: Projection,
        shape: &[usize],
    ) -> Id {
        let elements = group.order();
        let each = [shape[0], shape[1], elements, shape[2] * shape[3]];
        let x = self.t.reshape(x, &each);
        let y = match by {
            Projection::Max => {
                let window = polariscope_diff::Window {
                    kernel: [elements, 1],
                    stride: [elements, 1],
                    dilation: [1, 1],
                    pad: [(0, 0); 2],
                };
                self.t.max_pool(x, window)
            }
            Projection::Mean => self.mean(x, &[2]),
        };
        self.t.reshape(y, shape)
    }
}
