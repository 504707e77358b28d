"""Semaphores that the kernel signals itself."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from call import *  # noqa: F403


def with_semaphores(body, n=2, grid=(), semantics=None):
    def kernel(x_ref, y_ref, sem):
        y_ref[...] = x_ref[...]
        body(sem)
    spec = {"ins": [rows_of()], "outs": rows_of()} if grid else {}
    return call(kernel, [x()], shape(), grid=grid, scratch=[REGULAR((n,))], semantics=semantics, **spec)


def signal(sem, n=1):
    pl.semaphore_signal(sem, n)


def wait(sem, n=1):
    pl.semaphore_wait(sem, n)


@tried
def signal_left(bug):
    def body(sem):
        signal(sem.at[0], 2)
        wait(sem.at[0], 1 if bug else 2)
    return with_semaphores(body)


@tried
def signal_left_in_one_step(bug):
    def body(sem):
        signal(sem.at[0])
        pl.when(pl.program_id(0) < (3 if bug else 4))(lambda: wait(sem.at[0]))
    return with_semaphores(body, grid=(4,))


@tried
def waits_for_more(bug):
    def body(sem):
        signal(sem.at[0])
        wait(sem.at[0], 2 if bug else 1)
    return with_semaphores(body)


@tried
def waits_before_it_signals(bug):
    def body(sem):
        if not bug:
            signal(sem.at[0])
        wait(sem.at[0])
        if bug:
            signal(sem.at[0])
    return with_semaphores(body)


@tried
def crossed_waits(bug):
    def body(sem):
        if not bug:
            signal(sem.at[0])
        wait(sem.at[0])
        signal(sem.at[1])
        wait(sem.at[1])
        if bug:
            signal(sem.at[0])
    return with_semaphores(body)


@tried
def signals_another(bug):
    def body(sem):
        signal(sem.at[0])
        wait(sem.at[1 if bug else 0])
    return with_semaphores(body)


@tried
def signals_next_parallel_step(bug):
    def body(sem):
        i = pl.program_id(0)
        pl.when(i > 0)(lambda: wait(sem.at[0]))
        pl.when(i < 3)(lambda: signal(sem.at[0]))
    return with_semaphores(body, grid=(4,), semantics=("parallel",) if bug else ("arbitrary",))


@tried
def signal_by_less_than_nothing(bug):
    def kernel(by, x_ref, y_ref, sem):
        signal(sem, by[0])
        y_ref[...] = x_ref[...]
        wait(sem, by[0])
    return call(kernel, [jnp.array([-1 if bug else 1]), x()], shape(), tables=1, scratch=[REGULAR])


@tried
def polls_what_nobody_signals(bug):
    def body(sem):
        polled = 1 if bug else 0
        signal(sem.at[0])
        jax.lax.while_loop(lambda n: pl.semaphore_read(sem.at[polled]) < 1, lambda n: n + 1, 0)
        wait(sem.at[0])
    return with_semaphores(body)
