"""Times Pallas' interpreter with races detected on the kernels of `races.rs`.

Needs jax (`pip install jax==0.10.2`). Prints one JSON object per line: {"case": .., "best_ms": ..}, the best of
at least 3 warm runs; each result is checked against NumPy.
"""

import json
import os
import time

os.environ["JAX_PLATFORMS"] = "cpu"
# A wait of the interpreter blocks a thread of XLA's pool, which has one per core: with 2 they starve one
# another, and everything takes 20 times as long or for ever.
os.environ["NPROC"] = "16"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import Mesh, PartitionSpec

F32 = jnp.float32
RACES = pltpu.InterpretParams(detect_races=True)
FAR = pl.BlockSpec(memory_space=pltpu.HBM)


def copy_pipeline(x):
    """Doubles [512, 256] by blocks of 16 rows: two buffers in, two out."""
    m, n = x.shape
    rows = 16
    steps = m // rows

    def kernel(x_ref, y_ref, fetched, made, arrived, left):
        i = pl.program_id(0)
        slot = lax.rem(i, 2)
        at = lambda step: pl.ds(step * rows, rows)
        fetch = lambda step, k: pltpu.make_async_copy(x_ref.at[at(step)], fetched.at[k], arrived.at[k])
        leave = lambda step, k: pltpu.make_async_copy(made.at[k], y_ref.at[at(step)], left.at[k])
        pl.when(i == 0)(lambda: fetch(i, slot).start())
        pl.when(i + 1 < steps)(lambda: fetch(i + 1, 1 - slot).start())
        fetch(i, slot).wait()
        pl.when(i > 1)(lambda: leave(i - 2, slot).wait())
        made[slot] = fetched[slot] * 2
        leave(i, slot).start()

        @pl.when(i == steps - 1)
        def _():
            leave(i - 1, 1 - slot).wait()
            leave(i, slot).wait()

    scratch = [pltpu.VMEM((2, rows, n), F32)] * 2 + [pltpu.SemaphoreType.DMA((2,))] * 2
    return pl.pallas_call(kernel, grid=(steps,), in_specs=[FAR], out_specs=FAR, scratch_shapes=scratch,
                          out_shape=jax.ShapeDtypeStruct(x.shape, F32), interpret=RACES)(x)


def matmul(x, y):
    """512^3 by blocks of 128: two buffers for each operand, filled by hand."""
    (m, k), (_, n), t = x.shape, y.shape, 128
    grid = (m // t, n // t, k // t)
    steps = grid[0] * grid[1] * grid[2]

    def kernel(x_ref, y_ref, o_ref, xs, ys, acc, arrived):
        i, j, l = (pl.program_id(axis) for axis in range(3))
        step = (i * grid[1] + j) * grid[2] + l
        slot = lax.rem(step, 2)

        def fetch(step, k):
            i, j, l = step // (grid[1] * grid[2]), step // grid[2] % grid[1], step % grid[2]
            at = lambda block: pl.ds(block * t, t)
            return (pltpu.make_async_copy(x_ref.at[at(i), at(l)], xs.at[k], arrived.at[0, k]),
                    pltpu.make_async_copy(y_ref.at[at(l), at(j)], ys.at[k], arrived.at[1, k]))

        pl.when(step == 0)(lambda: [c.start() for c in fetch(step, slot)] and None)
        pl.when(step + 1 < steps)(lambda: [c.start() for c in fetch(step + 1, 1 - slot)] and None)
        for c in fetch(step, slot):
            c.wait()

        @pl.when(l == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(xs[slot], ys[slot], preferred_element_type=F32)

        @pl.when(l == grid[2] - 1)
        def _():
            o_ref[...] = acc[...]

    scratch = [pltpu.VMEM((2, t, t), F32)] * 2 + [pltpu.VMEM((t, t), F32), pltpu.SemaphoreType.DMA((2, 2))]
    return pl.pallas_call(kernel, grid=grid, in_specs=[FAR, FAR], out_specs=pl.BlockSpec((t, t), lambda i, j, l: (i, j)),
                          scratch_shapes=scratch, out_shape=jax.ShapeDtypeStruct((m, n), F32), interpret=RACES)(x, y)


def ring_call(x):
    """All-gather of [64, 256] over a ring of 4: half of the rows each way."""
    d, (m, n) = 4, x.shape
    half = m // 2

    def kernel(x_ref, y_ref, own, sent, received):
        me = lax.axis_index("ring")
        peers = [lax.rem(me + 1, d), lax.rem(me + d - 1, d)]
        barrier = pltpu.get_barrier_semaphore()
        for peer in peers:
            pl.semaphore_signal(barrier, 1, device_id=(peer,), device_id_type=pl.DeviceIdType.MESH)
        pl.semaphore_wait(barrier, 2)
        mine = pltpu.make_async_copy(x_ref, y_ref.at[me], own)
        mine.start()
        for step in range(d - 1):
            copies = []
            for lane, back in enumerate((d - 1, 1)):
                chunk = lax.rem(me + step * back, d)
                rows = pl.ds(lane * half, half)
                to = y_ref.at[chunk, rows]
                copies.append(pltpu.make_async_remote_copy(
                    x_ref.at[rows] if step == 0 else to, to, sent.at[lane], received.at[lane, step],
                    device_id=(peers[lane],), device_id_type=pl.DeviceIdType.MESH))
                copies[-1].start()
            for c in copies:
                c.wait()
        mine.wait()

    scratch = [pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA((2,)), pltpu.SemaphoreType.DMA((2, d))]
    return pl.pallas_call(kernel, in_specs=[FAR], out_specs=FAR, scratch_shapes=scratch, interpret=RACES,
                          out_shape=jax.ShapeDtypeStruct((d, m, n), F32),
                          compiler_params=pltpu.CompilerParams(collective_id=0))(x)


def all_gather(x):
    mesh = Mesh(np.array(jax.devices()[:4]), ("ring",))
    spec = PartitionSpec("ring")
    return jax.shard_map(ring_call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x)


def best_ms(function, arguments, expected):
    compiled = jax.jit(function).lower(*arguments).compile()
    result = jax.block_until_ready(compiled(*arguments))
    assert np.abs(np.asarray(result) - expected).max() <= 1e-3
    times = []
    end = time.time() + 10
    while len(times) < 3 or (len(times) < 20 and time.time() < end):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - start)
    pltpu.reset_tpu_interpret_mode_state()
    return min(times) * 1e3


def main():
    rng = np.random.default_rng(0)
    array = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    x, a, b, shards = array(512, 256), array(512, 512), array(512, 512), array(256, 256)
    gathered = np.tile(shards.reshape(4, 64, 256), (4, 1, 1))
    cases = {
        "copy_pipeline": (copy_pipeline, [x], 2 * x),
        "matmul": (matmul, [a, b], a @ b),
        "all_gather": (all_gather, [shards], gathered),
    }
    for case, (function, arguments, expected) in cases.items():
        ms = best_ms(function, [jnp.asarray(x) for x in arguments], expected)
        print(json.dumps({"case": case, "best_ms": ms}), flush=True)


main()
