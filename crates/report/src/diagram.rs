//! Steps as boxes from top to bottom, with arcs to those that read from further up.

use crate::plot::WIDTH;
use crate::svg::{Anchor, Canvas, Drawing, Ink, TICK, num, path, shorten, text_width};

/// Height of a box, and the space to the next one.
const BOX: f64 = 26.0;
const GAP: f64 = 15.0;
/// Left edge of the boxes.
const LEFT: f64 = 12.0;
/// Where arrows from box to box are.
const FLOW: f64 = 26.0;
/// Room of a frame above its first box (for its name) and below its last.
const ABOVE: f64 = 24.0;
const BELOW: f64 = 4.0;
/// How far the first arc reaches out, and every further one beside it.
const REACH: f64 = 18.0;
const LANE: f64 = 12.0;

/// A box.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is.
    pub text: String,
    /// What comes out, at the right.
    pub note: String,
    /// The boxes before it that it reads.
    pub reads: Vec<usize>,
}

/// A frame around boxes in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The first.
    pub first: usize,
    /// The last.
    pub last: usize,
    /// What is said of them.
    pub label: String,
}

/// What is computed after what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// Heading.
    pub title: String,
    /// In the order of computation.
    pub steps: Vec<Step>,
    /// None of them within another.
    pub frames: Vec<Frame>,
}

/// An arc from a box to a later one that is not the next.
struct Arc {
    from: usize,
    to: usize,
    /// 0 for the one nearest to the boxes.
    lane: usize,
}

impl Diagram {
    /// Draws it.
    pub fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let heading = 10.0 + canvas.heading(2.0, 6.0, WIDTH - 4.0, &self.title) + 10.0;
        let (tops, bottom) = self.places(heading);
        let arcs = self.arcs();
        let lanes = arcs.iter().map(|arc| arc.lane + 1).max().unwrap_or(0);
        let reach = REACH + LANE * lanes as f64;
        let right = (WIDTH - 8.0 - reach).max(WIDTH / 2.0);
        for frame in &self.frames {
            let (Some(first), Some(last)) = (tops.get(frame.first), tops.get(frame.last)) else {
                continue;
            };
            let (top, end) = (first - ABOVE, last + BOX + BELOW + 4.0);
            canvas.raw(&format!(
                "<rect x=\"3\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"none\" class=\"axis\" \
                 stroke=\"#57606a\" stroke-width=\"1\" stroke-dasharray=\"4 3\"/>",
                num(top),
                num(WIDTH - 6.0),
                num(end - top),
            ));
            let label = shorten(&frame.label, TICK, WIDTH - 54.0);
            let at = (FLOW + 10.0, top + TICK + 4.0);
            canvas.text(at, TICK, Anchor::Start, Ink::Muted, &label);
        }
        for (i, (step, top)) in self.steps.iter().zip(&tops).enumerate() {
            self.draw_box(&mut canvas, step, *top, right);
            if i > 0 && step.reads.contains(&(i - 1)) {
                let from = tops[i - 1] + BOX;
                canvas.axis_line((FLOW, from), (FLOW, top - 3.0));
                arrow(&mut canvas, (FLOW, *top), (0.0, 1.0));
            }
        }
        canvas.raw("<g class=\"s0\" color=\"#0072b2\">");
        let lane_width = LANE.min((WIDTH - 8.0 - right - REACH) / lanes.max(1) as f64);
        for arc in &arcs {
            // Out of the lower part of a box, into the upper part of another.
            let (from, to) = (tops[arc.from] + 0.7 * BOX, tops[arc.to] + 0.3 * BOX);
            let out = right + REACH + lane_width * arc.lane as f64;
            let bend = 10.0;
            let (x, y, end, turn) = (num(right), num(from), num(to), num(out));
            canvas.raw(&format!(
                "<path d=\"M{x} {y}H{} Q{turn} {y} {turn} {}V{}Q{turn} {end} {} {end}H{}\" fill=\"none\" \
                 stroke=\"currentColor\" stroke-width=\"1.5\"/>",
                num(out - bend),
                num(from + bend),
                num(to - bend),
                num(out - bend),
                num(right + 3.0),
            ));
            arrow(&mut canvas, (right, to), (-1.0, 0.0));
        }
        canvas.raw("</g>");
        canvas.finish(&self.title, WIDTH, bottom + 10.0)
    }

    /// Upper edges of the boxes, and where the last thing ends.
    fn places(&self, top: f64) -> (Vec<f64>, f64) {
        let mut y = top;
        let mut tops = Vec::with_capacity(self.steps.len());
        for i in 0..self.steps.len() {
            if self.frames.iter().any(|frame| frame.first == i) {
                y += ABOVE;
            }
            tops.push(y);
            y += BOX + GAP;
            if self.frames.iter().any(|frame| frame.last == i) {
                y += BELOW;
            }
        }
        (tops, y - GAP)
    }

    /// Short arcs lie inside of those that go around them; those that share no height share a lane.
    fn arcs(&self) -> Vec<Arc> {
        let steps = self.steps.iter().enumerate();
        let skips = steps.flat_map(|(to, step)| step.reads.iter().map(move |&from| (from, to)));
        let mut skips: Vec<(usize, usize)> = skips.filter(|(from, to)| from + 1 < *to).collect();
        skips.sort_by_key(|(from, to)| (to - from, *from));
        let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
        let mut arcs = Vec::with_capacity(skips.len());
        for (from, to) in skips {
            let free =
                |lane: &Vec<(usize, usize)>| lane.iter().all(|(a, b)| to <= *a || *b <= from);
            let lane = lanes.iter().position(free).unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push((from, to));
            arcs.push(Arc { from, to, lane });
        }
        arcs
    }

    fn draw_box(&self, canvas: &mut Canvas, step: &Step, top: f64, right: f64) {
        canvas.raw(&format!(
            "<g class=\"s0\" color=\"#0072b2\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" \
             fill=\"currentColor\" fill-opacity=\"0.09\" stroke=\"currentColor\" stroke-opacity=\"0.45\" \
             stroke-width=\"1\"/></g>",
            num(LEFT),
            num(top),
            num(right - LEFT),
            num(BOX),
        ));
        let baseline = top + BOX / 2.0 + TICK * 0.35;
        let note = shorten(&step.note, TICK, (right - LEFT) / 2.0);
        let room = right - LEFT - 22.0 - text_width(&note, TICK);
        let text = shorten(&step.text, TICK, room);
        let at = (LEFT + 8.0, baseline);
        canvas.text(at, TICK, Anchor::Start, Ink::Strong, &text);
        canvas.text(
            (right - 8.0, baseline),
            TICK,
            Anchor::End,
            Ink::Muted,
            &note,
        );
    }
}

/// The head of an arrow, its tip at a point.
fn arrow(canvas: &mut Canvas, (x, y): (f64, f64), (dx, dy): (f64, f64)) {
    let (back, half) = (6.0, 3.2);
    let (bx, by) = (x - back * dx, y - back * dy);
    let corners = [
        (x, y),
        (bx - half * dy, by + half * dx),
        (bx + half * dy, by - half * dx),
    ];
    let d = path(corners);
    let colour = if dy > 0.0 {
        "class=\"muted\" fill=\"#57606a\""
    } else {
        "fill=\"currentColor\""
    };
    canvas.raw(&format!("<path d=\"{d}Z\" {colour}/>"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reads: &[usize]) -> Step {
        Step {
            text: "conv <64>".into(),
            note: "64x8x8".into(),
            reads: reads.to_vec(),
        }
    }

    /// A box, an arrow from box to box, an arc over one box, a frame with its name.
    #[test]
    fn everything_is_drawn() {
        let diagram = Diagram {
            title: "T".into(),
            steps: vec![step(&[]), step(&[0]), step(&[0]), step(&[2, 1])],
            frames: vec![Frame {
                first: 1,
                last: 3,
                label: "2 times".into(),
            }],
        };
        let svg = diagram.draw().standalone();
        assert_eq!(svg.matches("conv &lt;64&gt;").count(), 4);
        // 0 → 1 and 2 → 3 are arrows, 0 → 2 and 1 → 3 are arcs.
        assert_eq!(
            svg.matches("class=\"axis\" stroke=\"#57606a\" stroke-width=\"1\"/>")
                .count(),
            2
        );
        assert_eq!(svg.matches('Q').count(), 4);
        assert_eq!(svg.matches("stroke-dasharray").count(), 1);
        assert!(svg.contains("2 times"));
    }

    /// Arcs that overlap keep apart, others share a lane, and the shorter one is inside.
    #[test]
    fn arcs_keep_apart() {
        let diagram = Diagram {
            steps: vec![
                step(&[]),
                step(&[0]),
                step(&[1, 0]),
                step(&[2]),
                step(&[3, 2, 0]),
            ],
            ..Diagram::default()
        };
        let lanes = diagram.arcs().into_iter().map(|a| (a.from, a.to, a.lane));
        assert_eq!(lanes.collect::<Vec<_>>(), [(0, 2, 0), (2, 4, 0), (0, 4, 1)]);
    }

    #[test]
    fn odd_diagrams_still_draw() {
        let frames = vec![Frame {
            first: 3,
            last: 9,
            label: String::new(),
        }];
        let steps = (0..60).map(|i| step(&(0..i).collect::<Vec<_>>())).collect();
        for diagram in [
            Diagram::default(),
            Diagram {
                frames,
                ..Diagram::default()
            },
            Diagram {
                steps,
                ..Diagram::default()
            },
        ] {
            assert!(!diagram.draw().standalone().contains("NaN"));
        }
    }
}
