"""Grids and blocks."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def add(x_ref, y_ref):
    y_ref[...] += x_ref[...]


def sums(bug, semantics=None, start=True, n=4):
    def kernel(x_ref, y_ref):
        if start:
            @pl.when(pl.program_id(0) == 0)
            def _():
                y_ref[...] = jnp.zeros((8, 128))
        add(x_ref, y_ref)
    return call(kernel, [x()], shape(8), grid=(n,), ins=[rows_of()], outs=rows_of(index=lambda i: (0, 0)),
                semantics=semantics)


@tried
def parallel_write_clash(bug):
    return sums(bug, ("parallel",) if bug else ("arbitrary",))


@tried
def sum_without_a_start(bug):
    return sums(bug, start=not bug)


def with_table(x_ref_first):
    return lambda ids, *refs: x_ref_first(*refs)


def scatter(ids, rows, semantics):
    return call(with_table(to), [jnp.array(ids), x()], shape(rows), tables=1, grid=(4,), ins=[rows_of()],
                outs=rows_of(index=lambda i, ids: (ids[i], 0)), semantics=semantics)


@tried
def parallel_write_clash_by_table(bug):
    return scatter([0, 1, 1, 3] if bug else [3, 1, 0, 2], 32, ("parallel",))


@tried
def bad_revisit_by_table(bug):
    return scatter([0, 1, 0, 2] if bug else [0, 0, 1, 2], 24, ("arbitrary",))


@tried
def parallel_windows_overlap(bug):
    by = 8 if bug else 16
    window = pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i: (i * by, 0))
    return call(to, [x()], shape(16 + by), grid=(2,), ins=[rows_of(16)], outs=window, semantics=("parallel",))


@tried
def bad_revisit(bug):
    def kernel(x_ref, y_ref):
        @pl.when(pl.program_id(0 if bug else 1) == 0)
        def _():
            y_ref[...] = jnp.zeros((8, 128))
        add(x_ref, y_ref)
    block = lambda i, l: l * 2 + i
    order = (lambda f: lambda l, i: (f(i, l), 0)) if bug else (lambda f: lambda i, l: (f(i, l), 0))
    return call(kernel, [x()], shape(16), grid=(2, 2), ins=[rows_of(index=order(block))],
                outs=rows_of(index=order(lambda i, l: i)))


@tried
def grid_too_short(bug):
    return call(to, [x()], shape(), grid=(3 if bug else 4,), ins=[rows_of()], outs=rows_of())


@tried
def block_partly_written(bug):
    def kernel(x_ref, y_ref):
        rows = 7 if bug else 8
        y_ref[0:rows] = x_ref[0:rows]
    return call(kernel, [x()], shape(), grid=(4,), ins=[rows_of()], outs=rows_of())


@tried
def block_written_in_some_steps(bug):
    def kernel(x_ref, y_ref):
        pl.when((pl.program_id(0) == 3) if bug else (pl.program_id(0) >= 0))(lambda: to(x_ref, y_ref))
    return call(kernel, [x()], shape(), grid=(4,), ins=[rows_of()], outs=rows_of())


@tried
def block_past_the_end(bug):
    ahead = 1 if bug else 0
    return call(to, [x()], shape(), grid=(4,), ins=[rows_of(index=lambda i: (i + ahead, 0))], outs=rows_of())


def gather(ids, n=2, block=None):
    block = block or rows_of(index=lambda i, ids: (ids[i], 0))
    return call(lambda ids, x_ref, y_ref: y_ref.__setitem__(..., x_ref[0:8]), [jnp.array(ids), x()], shape(8 * n),
                tables=1, grid=(n,), ins=[block], outs=rows_of())


@tried
def block_past_the_end_by_table(bug):
    return gather([0, 4 if bug else 3])


@tried
def negative_block_by_table(bug):
    return gather([0, -1 if bug else 1])


@tried
def table_too_short(bug):
    return gather([0] if bug else [0, 2])


@tried
def stencil_past_the_end(bug):
    return gather([0, 32 if bug else 16],
                  block=pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i, ids: (ids[i], 0)))


def dynamic(n):
    def run(n):
        return call(add2, [x()], shape(8), grid=(n,), ins=[rows_of()], outs=rows_of(index=lambda i: (0, 0)))
    def add2(x_ref, y_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            y_ref[...] = jnp.zeros((8, 128))
        add(x_ref, y_ref)
    return jax.block_until_ready(jax.jit(run)(n))


@tried
def extent_of_nothing(bug):
    return dynamic(0 if bug else 4)


@tried
def extent_too_long(bug):
    return dynamic(5 if bug else 4)


@tried
def empty_grid(bug):
    return sums(bug, n=0 if bug else 4)


@tried
def writes_its_table(bug):
    def kernel(ids, x_ref, y_ref):
        if bug:
            ids[pl.program_id(0)] = -1
        y_ref[...] = x_ref[...] * ids[pl.program_id(0)].astype(F32)
    return call(kernel, [jnp.array([1, 2]), x(16)], shape(16), tables=1, grid=(2,), ins=[rows_of()], outs=rows_of())
