//! Ops of programs on several devices: how values are split, functions that run on every device,
//! and what devices say to one another in them.

mod collective;
mod shard_map;

pub use collective::axis_index;
pub use shard_map::ShardMap;

use super::{Gradients, Op, OpError, Types, Value, Vjp};
use crate::diag::Diagnostics;
use crate::run::graph::Ty;
use crate::run::graph::emit::Emit;
use crate::run::mesh::{Axes, Split};
use crate::run::tensor::DynTensor;
use smallvec::smallvec;

/// The same value, split over the mesh as said.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Constrain {
    pub(crate) mesh: Axes,
    pub(crate) split: Split,
}

impl Op for Constrain {
    fn name(&self) -> &'static str {
        "partitioned"
    }

    fn infer(&self, inputs: &[&Ty]) -> Result<Types, OpError> {
        shard_map::outside(self.name())?;
        Ok(smallvec![inputs[0].clone()])
    }

    fn emit(&self, cx: &mut Emit, inputs: &[Value]) -> Result<Vec<Value>, Diagnostics> {
        cx.use_mesh(&self.mesh);
        Ok(vec![cx.out.sharding_constraint(&inputs[0], &self.split.text(&self.mesh))])
    }

    fn vjp(&self, vjp: &Vjp<'_>) -> Result<Gradients, OpError> {
        let back = |g: &DynTensor| g.partitioned(self.split.partition(&self.mesh));
        Ok(smallvec![vjp.cotangent().map(back)])
    }
}
