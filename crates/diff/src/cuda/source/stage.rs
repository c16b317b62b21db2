//! Images on their way to shared memory: as they lie, with rows of zeros above and below.

use super::THREADS;

/// Planes of images in shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    image: [usize; 2],
    above: usize,
    rows: usize,
    left: usize,
    line: usize,
}

impl Stage {
    /// Planes of h × w numbers with `above` rows of zeros before, and as many after as make `rows` of them.
    pub fn new(image: [usize; 2], above: usize, rows: usize) -> Self {
        Stage {
            image,
            above,
            rows,
            left: 0,
            line: image[1],
        }
    }

    /// With `left` zeros before each row, and as many after as make `line` numbers of it.
    pub fn beside(self, left: usize, line: usize) -> Self {
        Stage { left, line, ..self }
    }

    /// Numbers of a plane in shared memory.
    pub fn area(&self) -> usize {
        self.rows * self.line
    }

    /// Numbers that are copied at a time, where all of them lie so.
    fn wide(&self) -> usize {
        let [h, w] = self.image;
        match [h * w, self.area(), self.above * w]
            .iter()
            .all(|n| n.is_multiple_of(4))
        {
            true => 4,
            false => 1,
        }
    }

    /// Zeros around the images, if there are any, for `planes` of them; all threads must pass it.
    pub fn clear(&self, to: &str, planes: usize) -> String {
        if [self.rows, self.line] == self.image {
            return String::new();
        }
        format!(
            "for (int e = threadIdx.x; e < {}; e += {THREADS}) {to}[e] = (T)0;\n__syncthreads();\n",
            planes * self.area()
        )
    }

    /// Copies channels `first` to `first` + `some` of `all` of `count` samples, from the first sample at `from`. `Four` is a
    /// type of four numbers.
    pub fn copy(
        &self,
        to: &str,
        from: &str,
        count: &str,
        [some, all]: [usize; 2],
        first: &str,
    ) -> String {
        let wide = self.wide();
        let plane = self.image[0] * self.image[1] / wide;
        let (area, above) = (self.area() / wide, self.above * self.image[1] / wide);
        let kind = if wide == 4 { "Four" } else { "T" };
        let run = some * plane;
        // Where there are no gaps, numbers just follow each other.
        let at = match area == plane {
            true => "e".to_owned(),
            false => format!("e + e / {plane} * {} + {above}", area - plane),
        };
        let source = match some == all {
            true => "e".to_owned(),
            false => format!(
                "{first} * {plane} + e / {run} * {} + e",
                (all - some) * plane
            ),
        };
        format!(
            "#pragma unroll 8\n\
             for (int e = threadIdx.x; e < {count} * {run}; e += {THREADS}) {{\n\
             (({kind}*)({to}))[{at}] = ((const {kind}*)({from}))[{source}];\n\
             }}\n"
        )
    }

    /// Brings the gradients of max-pools of two by two to where they belong: as [`Stage::copy`], from the numbers and
    /// the places of the pools. `Two` is a type of two numbers.
    pub fn spread(
        &self,
        to: &str,
        [from, places]: [&str; 2],
        count: &str,
        [some, all]: [usize; 2],
        first: &str,
    ) -> String {
        let [h, w] = self.image.map(|n| n / 2);
        let (plane, line) = (h * w, self.line);
        let pair = |at: usize, tap: usize| {
            let of = |tap: usize| format!("tap == {tap} ? g : (T)0");
            match self.left.is_multiple_of(2) && line.is_multiple_of(2) {
                true => format!(
                    "*(Two*)(to + {at}) = {{{{{}, {}}}}};\n",
                    of(tap),
                    of(tap + 1)
                ),
                false => format!("to[{at}] = {}; to[{at} + 1] = {};\n", of(tap), of(tap + 1)),
            }
        };
        format!(
            "#pragma unroll 8\n\
             for (int e = threadIdx.x; e < {count} * {run}; e += {THREADS}) {{\n\
             const int at = e + {first} * {plane} + e / {run} * {skipped}, tap = (int){places}[at];\n\
             const T g = {from}[at];\n\
             T* const to = {to} + e / {plane} * {area} + (e / {w} % {h} * 2 + {above}) * {line} + e % {w} * 2 + {left};\n\
             {}{}\
             }}\n",
            pair(0, 0),
            pair(line, 2),
            run = some * plane,
            skipped = (all - some) * plane,
            area = self.area(),
            above = self.above,
            left = self.left,
        )
    }
}
