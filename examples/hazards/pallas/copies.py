"""Copies within one step and across steps."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


@tried
def early_read(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref, buf.at[0], sem.at[0])
        c.start()
        if not bug:
            c.wait()
        y_ref[...] = buf[0]
        if bug:
            c.wait()
    return by_hand(body)


@tried
def early_store_to_target(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref, buf.at[0], sem.at[0])
        c.start()
        if bug:
            buf[0, 0:1] = jnp.zeros((1, 128))
        c.wait()
        buf[0, 0:1] = jnp.zeros((1, 128))
        y_ref[...] = buf[0]
    return by_hand(body)


@tried
def source_overwritten(bug):
    def body(x_ref, y_ref, z_ref, buf, sem):
        buf[...] = x_ref[...]
        c = copy(buf, y_ref, sem.at[0])
        c.start()
        if not bug:
            c.wait()
        buf[...] = x_ref[...] * 2
        if bug:
            c.wait()
        d = copy(buf, z_ref, sem.at[0])
        d.start()
        d.wait()
    return copies_out(body, 2)


def ring(bug, kind):
    """Each step copies ahead for the next."""
    def kernel(x_ref, y_ref, buf, sem):
        i, n = pl.program_id(0), pl.num_programs(0)
        slot = i % 2
        block = lambda i, slot: copy(x_ref.at[pl.ds(i * 8, 8)], buf.at[slot], sem.at[slot])
        first = (i == 1) if bug and kind == "first" else (i == 0)
        pl.when(first)(lambda: block(i, slot).start())
        if bug and kind == "last":
            block((i + 1) % n, 1 - slot).start()
        else:
            pl.when(i < n - 1)(lambda: block(i + 1, 1 - slot).start())
        block(i, slot).wait()
        y_ref[...] = buf[1 - slot if bug and kind == "slot" else slot]
    parallel = bug and kind == "parallel"
    return call(kernel, [x(40)], shape(40), grid=(5,), ins=[FAR], outs=rows_of(),
                scratch=[VMEM((2, 8, 128), F32), DMA((2,))],
                semantics=("parallel",) if parallel else ("arbitrary",))


@tried
def wrong_slot(bug):
    return ring(bug, "slot")


@tried
def last_prefetch_wraps(bug):
    return ring(bug, "last")


@tried
def first_copy_not_started(bug):
    return ring(bug, "first")


@tried
def carried_over_parallel_steps(bug):
    return ring(bug, "parallel")


@tried
def two_copies_one_target(bug):
    def body(x_ref, y_ref, buf, sem):
        c, d = (copy(x_ref, buf.at[0], sem.at[k]) for k in range(2))
        c.start()
        if not bug:
            c.wait()
        d.start()
        if bug:
            c.wait()
        d.wait()
        y_ref[...] = buf[0]
    return by_hand(body)


@tried
def copied_out_early(bug):
    def kernel(x_ref, y_ref, buf, sem):
        c, d = copy(x_ref, buf, sem.at[0]), copy(buf, y_ref, sem.at[1])
        c.start()
        if not bug:
            c.wait()
        d.start()
        if bug:
            c.wait()
        d.wait()
    return call(kernel, [x(8)], shape(8), ins=[FAR], outs=FAR, scratch=[VMEM((8, 128), F32), DMA((2,))])


@tried
def one_wait_for_two(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref.at[0:8], buf.at[0], sem.at[0])
        d = copy(x_ref.at[8:16], buf.at[1], sem.at[0 if bug else 1])
        c.start()
        d.start()
        c.wait()
        y_ref[0:8] = buf[0]
        d.wait()
        y_ref[8:16] = buf[1]
    return by_hand(body, rows=16, bufs=2)


@tried
def wait_forgotten(bug):
    def body(x_ref, y_ref, buf, sem):
        buf[...] = x_ref[...] + 1
        c = copy(buf, y_ref, sem.at[0])
        c.start()
        if not bug:
            c.wait()
    return copies_out(body)


@tried
def wait_of_another_size(bug):
    def body(x_ref, y_ref, buf, sem):
        buf[...] = x_ref[...] + 1
        copy(buf, y_ref, sem.at[0]).start()
        rows = 4 if bug else 8
        copy(buf.at[0:rows], y_ref.at[0:rows], sem.at[0]).wait()
    return copies_out(body)


@tried
def wait_on_wrong_semaphore(bug):
    def body(x_ref, y_ref, buf, sem):
        copy(x_ref, buf.at[0], sem.at[0]).start()
        copy(x_ref, buf.at[0], sem.at[1 if bug else 0]).wait()
        y_ref[...] = buf[0]
    return by_hand(body)


@tried
def waited_twice(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref, buf.at[0], sem.at[0])
        c.start()
        c.wait()
        if bug:
            c.wait()
        y_ref[...] = buf[0]
    return by_hand(body)


@tried
def wait_before_start(bug):
    def body(x_ref, y_ref, buf, sem):
        c = copy(x_ref, buf.at[0], sem.at[0])
        if not bug:
            c.start()
        c.wait()
        if bug:
            c.start()
        y_ref[...] = buf[0]
    return by_hand(body)


@tried
def started_on_condition_only(bug):
    def kernel(x_ref, y_ref, buf, sem):
        i = pl.program_id(0)
        c = copy(x_ref.at[pl.ds(i * 8, 8)], buf, sem)
        buf[...] = jnp.zeros((8, 128))
        pl.when(i % 2 == 0)(c.start)
        if bug:
            c.wait()
        else:
            pl.when(i % 2 == 0)(c.wait)
        y_ref[...] = buf[...]
    return call(kernel, [x()], shape(), grid=(4,), ins=[FAR], outs=rows_of(), scratch=[VMEM((8, 128), F32), DMA])


@tried
def block_changes_under_copy(bug):
    def kernel(x_ref, y_ref, sem):
        i = pl.program_id(0)
        c = copy(x_ref, y_ref.at[pl.ds(i * 8, 8)], sem)
        c.start()
        if bug:
            pl.when(i == 3)(copy(y_ref, y_ref, sem).wait)
        else:
            c.wait()
    return call(kernel, [x()], shape(), grid=(4,), ins=[rows_of()], outs=FAR, scratch=[DMA])


@tried
def stale_after_copy_out(bug):
    def body(y_ref, buf, sem):
        buf[0] = jnp.ones((8, 128))
        c = copy(buf.at[0], y_ref.at[0:8], sem.at[0])
        d = copy(y_ref.at[0:8], buf.at[1], sem.at[1])
        c.start()
        if not bug:
            c.wait()
        d.start()
        if bug:
            c.wait()
        d.wait()
        e = copy(buf.at[1], y_ref.at[8:16], sem.at[1])
        e.start()
        e.wait()
    return in_place(body, [VMEM((2, 8, 128), F32), DMA((2,))])


@tried
def semaphore_out_of_range(bug):
    def kernel(ids, x_ref, y_ref, buf, sem):
        c = copy(x_ref, buf, sem.at[ids[0]])
        c.start()
        c.wait()
        y_ref[...] = buf[...]
    return call(kernel, [jnp.array([2 if bug else 1]), x(8)], shape(8), tables=1, ins=[FAR],
                scratch=[VMEM((8, 128), F32), DMA((2,))])
