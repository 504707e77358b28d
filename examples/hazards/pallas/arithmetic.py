"""Indices and numbers."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def load_at(at, make=lambda at: pl.ds(at, 8)):
    def kernel(at_ref, x_ref, y_ref):
        y_ref[...] = x_ref[make(at_ref[0])]
    return call(kernel, [jnp.array([at]), x()], shape(8), tables=1)


@tried
def load_past_the_end(bug):
    return load_at(28 if bug else 24)


@tried
def load_before_the_start(bug):
    return load_at(0, lambda at: pl.ds(at - 1 if bug else jnp.maximum(at - 1, 0), 8))


@tried
def store_past_the_end(bug):
    def kernel(x_ref, y_ref):
        def body(j, _):
            y_ref[pl.ds(j, 1)] = x_ref[0:1]
        jax.lax.fori_loop(0, 33 if bug else 32, body, None)
    return call(kernel, [x()], shape())


@tried
def table_read_past_the_end(bug):
    def kernel(ids, x_ref, y_ref):
        i = pl.program_id(0)
        same = ids[i] == ids[i + 1 if bug else jnp.minimum(i + 1, 3)]
        y_ref[...] = x_ref[...] * jnp.where(same, 1.0, 2.0)
    return call(kernel, [jnp.array([3, 1, 4, 1]), x()], shape(), tables=1, grid=(4,), ins=[rows_of()], outs=rows_of())


@tried
def promise_of_alignment_broken(bug):
    return load_at(4 if bug else 8, lambda at: pl.ds(pl.multiple_of(at, 8), 8))


@tried
def index_wraps_around(bug):
    return load_at(1 << 20 if bug else 0, lambda at: pl.ds(at * 4096, 8))


@tried
def index_beyond_32_bits(bug):
    def kernel(x_ref, y_ref):
        y_ref[...] = x_ref[pl.ds(pl.program_id(0) * (1 << 30 if bug else 8), 8)]
    return call(kernel, [x()], shape(), grid=(4,), ins=[pl.BlockSpec((32, 128), lambda i: (0, 0))], outs=rows_of())


@tried
def log_of_zero(bug):
    return call(lambda x_ref, y_ref: y_ref.__setitem__(..., jnp.log(x_ref[...] - (1 if bug else 0))), [x()], shape())


@tried
def exp_overflows(bug):
    def kernel(x_ref, y_ref):
        s = x_ref[...]
        e = jnp.exp(s if bug else s - jnp.max(s, 1, keepdims=True))
        y_ref[...] = e / jnp.sum(e, 1, keepdims=True)
    return call(kernel, [x()], shape())


@tried
def row_masked_out_of_softmax(bug):
    def kernel(x_ref, y_ref):
        kept = jax.lax.broadcasted_iota(I32, (32, 128), 1) < (0 if bug else 1)
        s = jnp.where(kept, x_ref[...], -jnp.inf)
        e = jnp.exp(s - jnp.max(s, 1, keepdims=True))
        y_ref[...] = e / jnp.sum(e, 1, keepdims=True)
    return call(kernel, [x()], shape())


@tried
def assertion_fails(bug):
    def kernel(ids, x_ref, y_ref):
        expert = ids[pl.program_id(0)]
        pl.debug_check(expert < 8, "expert number")
        y_ref[...] = x_ref[...] * expert.astype(F32)
    with pl.enable_debug_checks(True):
        return call(kernel, [jnp.array([0, 9 if bug else 3]), x(16)], shape(16), tables=1, grid=(2,), ins=[rows_of()],
                    outs=rows_of())
