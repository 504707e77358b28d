"""Bodies and calls."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def unary(f, *, arg=None, out=None):
    return call(lambda x_ref, y_ref: y_ref.__setitem__(..., f(x_ref)), [x() if arg is None else arg], out or shape())


@tried
def shapes_that_do_not_add(bug):
    return unary(lambda x_ref: x_ref[...] + x_ref[0:16 if bug else 32])


@tried
def contraction_that_does_not_fit(bug):
    return unary(lambda x_ref: jnp.dot(x_ref[...], x_ref[...] if bug else x_ref[...].T), out=shape(32, 32))


@tried
def reshape_loses_elements(bug):
    return unary(lambda x_ref: x_ref[...].reshape(31 if bug else 32, 1, 128).reshape(32, 128))


@tried
def slice_past_the_end(bug):
    return unary(lambda x_ref: x_ref[pl.ds(0, 40 if bug else 32)])


@tried
def number_out_of_range(bug):
    return unary(lambda x_ref: x_ref[...] + (200 if bug else 100), arg=x(dtype=I8), out=shape(dtype=I8))


@tried
def division_by_zero(bug):
    return unary(lambda x_ref: x_ref[...] // (0 if bug else 2), arg=x(dtype=I32), out=shape(dtype=I32))


@tried
def carried_tile_grows(bug):
    def body(x_ref):
        step = lambda j, s: jnp.concatenate([s, x_ref[0:8]]) if bug else s + x_ref[0:8]
        return jnp.tile(jax.lax.fori_loop(0, 3, step, x_ref[0:8]), (4, 1))
    return unary(body)


@tried
def host_counter_in_a_loop(bug):
    def body(x_ref):
        turns = [0]
        def step(_, s):
            turns[0] += 1
            return s + 1.0
        s = jax.lax.fori_loop(0, 4, step, 0.0)
        return x_ref[...] * (turns[0] if bug else s)
    return unary(body)


@tried
def value_leaves_its_arm(bug):
    def body(x_ref):
        kept = [x_ref[...]]
        value = jax.lax.cond(x_ref[0, 0] > 0, lambda: kept.__setitem__(0, x_ref[...] * 2) or kept[0], lambda: x_ref[...])
        return kept[0] if bug else value
    return unary(body)


@tried
def state_behind_a_cell(bug):
    def body(x_ref):
        hidden = [0]
        def step(_, s):
            hidden[0] += 1
            return jnp.int32(hidden[0]) if bug else s + 1
        return x_ref[...] * jax.lax.fori_loop(0, 4, step, jnp.int32(0)).astype(F32)
    return unary(body)


@tried
def loop_never_ends(bug):
    def kernel(step, x_ref, y_ref):
        n = jax.lax.while_loop(lambda n: n < 100, lambda n: n + step[0], 0)
        y_ref[...] = x_ref[...] * n.astype(F32)
    return call(kernel, [jnp.array([0 if bug else 3]), x()], shape(), tables=1)
