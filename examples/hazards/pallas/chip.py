"""What a chip has. The interpreter is asked for no chip, so these are tried without one."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def doubled(rows, n, dtype=F32, columns=128, block_columns=None):
    block = pl.BlockSpec((rows, block_columns or columns), lambda i: (0, i) if block_columns else (i, 0))
    return call(lambda x_ref, y_ref: to(x_ref, y_ref), [x(32 if not block_columns else 8, columns, dtype)],
                shape(32 if not block_columns else 8, columns, dtype), grid=(n,), ins=[block], outs=block)


@tried
def block_cuts_sublanes(bug):
    return doubled(4 if bug else 8, 8 if bug else 4)


@tried
def block_cuts_lanes(bug):
    return doubled(8, 3 if bug else 2, columns=256, block_columns=100 if bug else 128)


@tried
def vmem_overflow_by_scratch(bug):
    def kernel(x_ref, y_ref, buf):
        buf[0:32] = x_ref[...]
        y_ref[...] = buf[0:32]
    return call(kernel, [x()], shape(), scratch=[VMEM(((1 << 19) if bug else 1024, 128), F32)])


@tried
def smem_overflow(bug):
    def kernel(ids, x_ref, y_ref):
        y_ref[...] = x_ref[...] * ids[0].astype(F32)
    return call(kernel, [jnp.ones((1 << 19 if bug else 1 << 10,), I32), x()], shape(), tables=1)


@tried
def smem_of_16_bits(bug):
    def kernel(x_ref, y_ref, factors):
        factors[0] = jnp.asarray(2, factors.dtype)
        y_ref[...] = x_ref[...] * factors[0].astype(F32)
    return call(kernel, [x()], shape(), scratch=[SMEM((2,), BF16 if bug else F32)])


@tried
def f16_on_a_tpu(bug):
    return doubled(8, 4, dtype=jnp.float16 if bug else BF16)


@tried
def int32_product(bug):
    dtype = I32 if bug else F32
    return call(lambda x_ref, y_ref: y_ref.__setitem__(..., jnp.dot(x_ref[...], x_ref[...])), [x(128, 128, dtype)],
                shape(128, 128, dtype))
