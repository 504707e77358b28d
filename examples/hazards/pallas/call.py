"""How a Pallas kernel is run here, and what the kernels of several files share."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

F32, BF16, I32, I8 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.int8
VMEM, SMEM, HBM, ANY = pltpu.VMEM, pltpu.SMEM, pltpu.HBM, pl.ANY
DMA, REGULAR = pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR
TRIED = {}
MODE = {}


def tried(f):
    TRIED[f.__name__] = f
    return f


def x(rows=32, columns=128, dtype=F32):
    return (np.arange(rows * columns) % 100 + 1).reshape(rows, columns).astype(dtype)


def to(x_ref, y_ref):
    y_ref[...] = x_ref[...]


def call(kernel, args, out, *, grid=(), ins=None, outs=None, scratch=(), tables=0, semantics=None, alias=None):
    """Runs a kernel; `ins` and `outs` are block specs, whole arrays in VMEM if not given."""
    whole = pl.BlockSpec(memory_space=VMEM)
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=tables,
        grid=grid,
        in_specs=ins if ins is not None else [whole] * (len(args) - tables),
        out_specs=outs if outs is not None else whole,
        scratch_shapes=list(scratch),
    )
    params = pltpu.CompilerParams(dimension_semantics=semantics) if semantics else pltpu.CompilerParams()
    interpret = pltpu.InterpretParams(detect_races=True, **MODE)
    run = pl.pallas_call(kernel, out_shape=out, grid_spec=spec, compiler_params=params,
                         interpret=interpret, input_output_aliases=alias or {})
    return jax.block_until_ready(jax.jit(run)(*args))


def shape(rows=32, columns=128, dtype=F32):
    return jax.ShapeDtypeStruct((rows, columns), dtype)


def rows_of(block=8, index=lambda i, *_: (i, 0)):
    return pl.BlockSpec((block, 128), index)


FAR = pl.BlockSpec(memory_space=ANY)
ROWS = pl.ds


def copy(a, b, sem):
    return pltpu.make_async_copy(a, b, sem)


def by_hand(body, *, rows=8, n_sems=2, bufs=1):
    """One step with `x` in HBM, `y` in VMEM, buffers of 8 rows and semaphores."""
    def kernel(x_ref, y_ref, buf, sem):
        body(x_ref, y_ref, buf, sem)
    return call(kernel, [x(rows)], shape(rows), ins=[FAR],
                scratch=[VMEM((bufs, 8, 128), F32), DMA((n_sems,))])


def copies_out(body, n_outs=1):
    return call(body, [x(8)], [shape(8)] * n_outs, outs=[FAR] * n_outs,
                scratch=[VMEM((8, 128), F32), DMA((2,))])


def in_place(body, scratch):
    def kernel(_, y_ref, *refs):
        body(y_ref, *refs)
    return call(kernel, [x()], shape(), ins=[FAR], outs=FAR, scratch=scratch, alias={0: 0})
