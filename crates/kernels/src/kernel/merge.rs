//! The matrices of shards become those of one run.

use std::path::Path;

use polariscope_graph::Graph;
use polariscope_lens::{Dtype, Shard};
use polariscope_nngp::Kernel;

use super::job::{conclude, open};
use super::{Answer, Part, Question};
use crate::matrix::{Matrix, Symmetry, tiles};
use crate::{KernelsError, Number, Store};

/// What all shards are parts of.
#[derive(Clone, Debug)]
pub struct Whole<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// What was asked.
    pub question: &'a Question,
    /// What one of the shards computed.
    pub part: &'a Part,
    /// Whether columns are other samples than rows.
    pub two_lists: bool,
}

/// Joins the matrices in the folders of shards.
pub fn merge(
    whole: &Whole<'_>,
    shards: &[(Shard, &Path)],
    store: &Store,
) -> Result<Answer, KernelsError> {
    match whole.question.setup.dtype {
        Dtype::F32 => join::<f32>(whole, shards, store),
        Dtype::F64 => join::<f64>(whole, shards, store),
    }
}

fn join<T: Number>(
    whole: &Whole<'_>,
    shards: &[(Shard, &Path)],
    store: &Store,
) -> Result<Answer, KernelsError> {
    let engine = Kernel::new(whole.graph)?;
    let size = (whole.part.rows, whole.part.columns);
    let symmetry = match whole.two_lists {
        false => Symmetry::Symmetric,
        true => Symmetry::Rectangular,
    };
    let all = tiles(size.0, size.1, symmetry, whole.part.operations);
    let mut matrices = open::<T>(store, &whole.question.kind, size)?;
    for (kind, matrix) in &mut matrices {
        for (shard, folder) in shards {
            let mut from = Matrix::<T>::existing(&folder.join(kind.file()), size)?;
            for tile in &all[shard.range(all.len())] {
                let numbers = from.read(tile)?;
                matrix.write(tile, &numbers)?;
                if symmetry == Symmetry::Symmetric && !tile.on_diagonal() {
                    matrix.write_mirrored(tile, &numbers)?;
                }
            }
        }
        matrix.sync()?;
    }
    conclude(
        &whole.graph.name,
        matrices,
        size,
        symmetry,
        engine.approximations(),
    )
}
