"""What copies take and where to."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


@tried
def copy_of_another_shape(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref.at[0:16 if bug else 8], buf.at[0], sem.at[0])
        c.start()
        c.wait()
        y_ref[...] = jnp.zeros((32, 128))
    return by_hand(body, rows=32)


@tried
def copy_of_nothing(bug):
    def body(y_ref, buf, sem):
        buf[...] = jnp.ones((8, 128))
        rows = 0 if bug else 8
        c = copy(buf.at[0:rows], y_ref.at[0:rows], sem)
        c.start()
        c.wait()
    return in_place(body, [VMEM((8, 128), F32), DMA])


@tried
def copy_past_the_end(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref.at[pl.ds(32 if bug else 24, 8)], buf.at[0], sem.at[0])
        c.start()
        c.wait()
        y_ref[...] = jnp.zeros((32, 128))
    return by_hand(body, rows=32)


@tried
def copy_onto_itself(bug):
    def body(y_ref, sem):
        c = copy(y_ref.at[0:8], y_ref.at[pl.ds(4 if bug else 8, 8)], sem)
        c.start()
        c.wait()
    return in_place(body, [DMA])


@tried
def copy_onto_itself_by_table(bug):
    def kernel(by, _, y_ref, sem):
        c = copy(y_ref.at[0:8], y_ref.at[pl.ds(by[0], 8)], sem)
        c.start()
        c.wait()
    return call(kernel, [jnp.array([4 if bug else 8]), x()], shape(), tables=1, ins=[FAR], outs=FAR,
                scratch=[DMA], alias={1: 0})


@tried
def copy_cuts_a_tile(bug):
    def kernel(x_ref, y_ref, buf, sem):
        c = copy(x_ref.at[pl.ds(2 if bug else 4, 8)], buf, sem)
        c.start()
        c.wait()
        y_ref[...] = buf[...]
    return call(kernel, [x(columns=256)], shape(8, 256), ins=[FAR], scratch=[VMEM((8, 256), F32), DMA])


def copy_by_table(ids, make):
    def kernel(ids_ref, x_ref, y_ref, buf, sem):
        c = copy(x_ref.at[make(ids_ref, pl.program_id(0))], buf, sem)
        c.start()
        c.wait()
        y_ref[...] = buf[...]
    return call(kernel, [jnp.array(ids), x()], shape(8 * len(ids)), tables=1, grid=(len(ids),), ins=[FAR],
                outs=rows_of(), scratch=[VMEM((8, 128), F32), DMA])


@tried
def copy_from_unknown_row(bug):
    return copy_by_table([1], lambda ids, i: pl.ds(ids[i] if bug else ids[i] * 8, 8))


@tried
def copy_breaks_its_promise(bug):
    return copy_by_table([12 if bug else 16], lambda ids, i: pl.ds(pl.multiple_of(ids[i], 8), 8))


@tried
def copy_out_of_bounds_by_table(bug):
    return copy_by_table([0, 4 if bug else 3], lambda ids, i: pl.ds(ids[i] * 8, 8))


@tried
def copy_from_before_the_start(bug):
    return copy_by_table([0, 1], lambda ids, i: pl.ds(((i - 1) if bug else jnp.maximum(i - 1, 0)) * 8, 8))


@tried
def copies_race_in_hbm(bug):
    def kernel(x_ref, y_ref, sem):
        i = pl.program_id(0)
        c = copy(x_ref.at[pl.ds(i * 8, 8)], y_ref.at[pl.ds(0 if bug else i * 8, 8)], sem)
        c.start()
        c.wait()
    return call(kernel, [x()], shape(), grid=(4,), ins=[FAR], outs=FAR, scratch=[DMA], semantics=("parallel",))


@tried
def owned_copies_clash_in_hbm(bug):
    def body(y_ref, buf, sem):
        buf[0], buf[1] = jnp.ones((8, 128)), jnp.ones((8, 128)) * 2
        c = copy(buf.at[0], y_ref.at[0:8], sem.at[0])
        d = copy(buf.at[1], y_ref.at[pl.ds(0 if bug else 8, 8)], sem.at[1])
        c.start()
        d.start()
        c.wait()
        d.wait()
    return in_place(body, [VMEM((2, 8, 128), F32), DMA((2,))])


@tried
def half_of_hbm_never_written(bug):
    def kernel(x_ref, y_ref, sem):
        rows = 16 if bug else 32
        c = copy(x_ref.at[0:rows], y_ref.at[0:rows], sem)
        c.start()
        c.wait()
    return call(kernel, [x()], shape(), ins=[FAR], outs=FAR, scratch=[DMA])


@tried
def undefined_buffer_copied_out(bug):
    def body(x_ref, y_ref, buf, sem):
        rows = 4 if bug else 8
        buf[0:rows] = x_ref[0:rows]
        c = copy(buf, y_ref, sem.at[0])
        c.start()
        c.wait()
    return copies_out(body)


@tried
def slot_not_filled_in_some_steps(bug):
    def kernel(x_ref, y_ref, buf, sem):
        i = pl.program_id(0)
        c = copy(x_ref.at[pl.ds(i * 8, 8)], buf, sem)
        if not bug:
            buf[...] = jnp.zeros((8, 128))
        pl.when(i % 2 == 1)(c.start)
        pl.when(i % 2 == 1)(c.wait)
        y_ref[...] = buf[...]
    return call(kernel, [x()], shape(), grid=(4,), ins=[FAR], outs=rows_of(), scratch=[VMEM((8, 128), F32), DMA],
                semantics=("parallel",))
