"""What memory holds."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def summed(init, semantics=None, every=False):
    def kernel(x_ref, y_ref, acc):
        if init:
            @pl.when(pl.program_id(0) == 0)
            def _():
                acc[...] = jnp.zeros((8, 128))
        acc[...] += x_ref[...]
        y_ref[...] = acc[...]
    index = (lambda i: (i, 0)) if every else (lambda i: (0, 0))
    return call(kernel, [x()], shape(32 if every else 8), grid=(4,), ins=[rows_of()], outs=rows_of(index=index),
                scratch=[VMEM((8, 128), F32)], semantics=semantics)


@tried
def scratch_not_initialised(bug):
    return summed(not bug)


@tried
def scratch_over_parallel_steps(bug):
    return summed(True, ("parallel",) if bug else ("arbitrary",), every=True)


def with_flag(bug, body):
    def kernel(x_ref, y_ref, flag):
        if not bug:
            flag[0] = 3
        body(x_ref, y_ref, flag)
    return call(kernel, [x()], shape(), scratch=[SMEM((4,), I32)])


@tried
def branch_on_undefined(bug):
    def body(x_ref, y_ref, flag):
        y_ref[...] = x_ref[...]
        @pl.when(flag[0] > 0)
        def _():
            y_ref[...] = x_ref[...] * 2
    return with_flag(bug, body)


@tried
def loop_over_undefined(bug):
    def body(x_ref, y_ref, flag):
        y_ref[...] = jax.lax.fori_loop(0, jnp.clip(flag[0], 0, 5), lambda _, s: s + x_ref[...], x_ref[...])
    return with_flag(bug, body)


@tried
def masked_store_leaves_holes(bug):
    def kernel(x_ref, y_ref, buf):
        if not bug:
            buf[...] = jnp.zeros((32, 128))
        mask = jax.lax.broadcasted_iota(I32, (32, 128), 0) < 5
        pltpu.store(buf, x_ref[...], mask=mask)
        y_ref[...] = buf[...]
    return call(kernel, [x()], shape(), scratch=[VMEM((32, 128), F32)])


@tried
def masked_load_leaks(bug):
    def kernel(x_ref, y_ref):
        mask = jax.lax.broadcasted_iota(I32, (32, 128), 0) < 5
        some = pltpu.load(x_ref, mask=mask)
        y_ref[...] = some if bug else jnp.where(mask, some, 0)
    return call(kernel, [x()], shape())


def column_sum(mend):
    def kernel(x_ref, y_ref):
        i = pl.program_id(0)
        @pl.when(i == 0)
        def _():
            y_ref[...] = jnp.zeros((1, 128))
        inside = jax.lax.broadcasted_iota(I32, (8, 128), 0) + i * 8 < 20
        y_ref[...] += jnp.sum(mend(x_ref[...], inside), 0, keepdims=True)
    return call(kernel, [x(20)], shape(1), grid=(3,), ins=[rows_of()], outs=pl.BlockSpec((1, 128), lambda i: (0, 0)))


@tried
def padding_in_a_sum(bug):
    return column_sum((lambda x, _: x) if bug else (lambda x, inside: jnp.where(inside, x, 0)))


@tried
def padding_times_zero(bug):
    zero = lambda x, inside: x * jnp.where(inside, 1.0, 0.0)
    return column_sum(zero if bug else (lambda x, inside: jnp.where(inside, x, 0)))


@tried
def padding_in_a_maximum(bug):
    def kernel(x_ref, y_ref):
        j = pl.program_id(0)
        inside = jax.lax.broadcasted_iota(I32, (8, 128), 1) + j * 128 < 200
        @pl.when(j == 0)
        def _():
            y_ref[...] = jnp.full((8, 1), -1e30)
        x = x_ref[...] if bug else jnp.where(inside, x_ref[...], -1e30)
        y_ref[...] = jnp.maximum(y_ref[...], jnp.max(x, 1, keepdims=True))
    return call(kernel, [x(8, 200)], shape(8, 1), grid=(2,), ins=[pl.BlockSpec((8, 128), lambda j: (0, j))],
                outs=pl.BlockSpec((8, 1), lambda j: (0, 0)))


@tried
def padding_in_a_product(bug):
    def kernel(a_ref, b_ref, y_ref):
        l = pl.program_id(0)
        @pl.when(l == 0)
        def _():
            y_ref[...] = jnp.zeros((8, 128))
        a, b = a_ref[...], b_ref[...]
        if not bug:
            a = jnp.where(jax.lax.broadcasted_iota(I32, a.shape, 1) + l * 128 < 200, a, 0)
            b = jnp.where(jax.lax.broadcasted_iota(I32, b.shape, 0) + l * 128 < 200, b, 0)
        y_ref[...] += jnp.dot(a, b, preferred_element_type=F32)
    return call(kernel, [x(8, 200), x(200, 128)], shape(8), grid=(2,),
                ins=[pl.BlockSpec((8, 128), lambda l: (0, l)), pl.BlockSpec((128, 128), lambda l: (l, 0))],
                outs=pl.BlockSpec((8, 128), lambda l: (0, 0)))
