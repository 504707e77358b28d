"""Pallas on the questions of benches/paged_cycles.rs: writes the modules that it compiles.

`python paged_cycles.py FOLDER` writes one StableHLO module per kernel, case and config, for the bench to
compile beside its own. Needs jax (`pip install jax==0.10.2`), no libtpu.

Kernels: `upstream` is jax.experimental.pallas.ops.tpu.paged_attention; `by_hand` has the structure of the
Rust kernel (one copy for a page with keys and values of every head, a ring of chunks, a semaphore per
page). As in the twin of the Rust kernel, lengths and page tables are constants of one call: libtpu's model
does not know what stands in scalar memory.
"""

import dataclasses
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.pallas.mosaic import tpu_info
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

CHIPS = {"v5e": "TPU v5 lite", "v6e": "TPU v6 lite"}
BF16, F32, I32 = jnp.bfloat16, jnp.float32, jnp.int32
LOG2_E = 1.4426950408889634

# b, h, kv_h, d, page, entries; every sequence is as long as the table allows.
CASES = {
    "b8_h8_kv2_k4096_d128_p128": (8, 8, 2, 128, 128, 32),
    "b8_h8_kv8_k4096_d128_p128": (8, 8, 8, 128, 128, 32),
    "b8_h32_kv8_k2048_d128_p64": (8, 32, 8, 128, 64, 32),
    "b8_h8_kv2_k4096_d128_p16": (8, 8, 2, 128, 16, 256),
}


class Pinned:
    """A table of one call, read as a choice among its entries: runs that grow by a constant are one."""

    def __init__(self, values):
        values = np.asarray(values, np.int64)
        self.shape, self.dtype, self.runs = values.shape, np.dtype(np.int32), []
        flat, start = values.reshape(-1), 0
        while start < len(flat):
            step = int(flat[start + 1] - flat[start]) if start + 1 < len(flat) else 0
            end = start + 1
            while end < len(flat) and flat[end] - flat[end - 1] == step:
                end += 1
            self.runs.append((start, int(flat[start]) - step * start, step))
            start = end

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        at = 0
        for i, n in zip(index, self.shape):
            at = at * n + i
        return self.choose(self.runs, at)

    def choose(self, runs, at):
        if len(runs) == 1:
            _, base, step = runs[0]
            return np.int32(base) if step == 0 else jnp.asarray(base + step * at, I32)
        half = len(runs) // 2
        left, right = self.choose(runs[:half], at), self.choose(runs[half:], at)
        return jnp.where(at < runs[half][0], left, right)


def pinned(tables, function, *args):
    """Calls a function whose `pallas_call` gets these tables for the scalars of the same places."""
    real = pl.pallas_call

    def call(kernel, *rest, grid_spec, **options):
        n = grid_spec.num_scalar_prefetch
        chosen = [*tables, *[None] * (n - len(tables))]
        put = lambda scalars: [t if t is not None else s for t, s in zip(chosen, scalars)]

        def spec(s):
            if not isinstance(s, pl.BlockSpec) or s.index_map is None:
                return s
            return dataclasses.replace(s, index_map=lambda *a: s.index_map(*a[:-n], *put(a[-n:])))

        specs = lambda tree: jax.tree.map(spec, tree, is_leaf=lambda s: s is None or isinstance(s, pl.BlockSpec))
        new = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=n, grid=grid_spec.grid, in_specs=specs(grid_spec.in_specs),
            out_specs=specs(grid_spec.out_specs), scratch_shapes=grid_spec.scratch_shapes)
        return real(lambda *refs: kernel(*put(refs[:n]), *refs[n:]), *rest, grid_spec=new, **options)

    pl.pallas_call = call
    try:
        return function(*args)
    finally:
        pl.pallas_call = real


def by_hand(q, kv, lengths, table, pages, buffers):
    b, h, d = q.shape
    _, _, kv_h, page, _ = kv.shape
    n_chunks, length = table.shape[1] // pages, pages * page
    steps, group, scale = b * n_chunks, h // kv_h, d**-0.5 * LOG2_E
    rows = next((r for r in range(group, h + 1, group) if h % r == 0 and r % 8 == 0), h)

    def kernel(lengths, table, q_ref, kv_ref, o_ref, ring, arrived, m_ref, l_ref, acc_ref):
        t = pl.program_id(0)
        row, chunk = t // n_chunks, t % n_chunks

        def fetch(step):
            slot = step % buffers
            for p in range(pages):
                at = table[step // n_chunks, step % n_chunks * pages + p]
                pltpu.make_async_copy(kv_ref.at[at], ring.at[slot, p], arrived.at[slot, p]).start()

        @pl.when(t == 0)
        def _():
            for step in range(min(buffers - 1, steps)):
                fetch(jnp.int32(step))

        def attend(first):
            slot = t % buffers
            own = lax.broadcasted_iota(I32, (rows, 1), 0) // group
            heads = range(first // group, (first + rows) // group)
            at = slice(first, first + rows)

            def each(product):
                result = None
                for j in heads:
                    x = product(j)
                    result = x if result is None else jnp.where(own == j - heads[0], x, result)
                return result

            loaded = lambda kind, j: ring[slot, :, kind, j].reshape(length, d)
            dot = lambda x, y, axis: lax.dot_general(x, y, (((1,), (axis,)), ((), ())), preferred_element_type=F32)
            s = each(lambda j: dot(q_ref[0, at], loaded(0, j), 1))
            seen = chunk * length + lax.broadcasted_iota(I32, s.shape, 1) < lengths[row]
            s = jnp.where(seen, s, -1e30)
            before = jnp.where(chunk == 0, -1e30, m_ref[at])
            m = jnp.maximum(before, jnp.max(s, 1, keepdims=True))
            fade = jnp.exp2((before - m) * scale)
            p = jnp.exp2((s - m[:, :1]) * scale)
            l = fade * jnp.where(chunk == 0, 0.0, l_ref[at]) + jnp.sum(p, 1, keepdims=True)
            p = p.astype(BF16)
            faded = jnp.broadcast_to(fade[:, :1], (rows, d)) * jnp.where(chunk == 0, 0.0, acc_ref[at])
            m_ref[at], l_ref[at] = m, l
            acc_ref[at] = faded + each(lambda j: dot(p, loaded(1, j), 0))
            o_ref[0, at] = (acc_ref[at] / l[:, :1]).astype(o_ref.dtype)

        def body(fetches):
            if fetches:
                fetch(t + buffers - 1)
            for p in range(pages):
                pltpu.make_async_copy(kv_ref.at[0], ring.at[t % buffers, p], arrived.at[t % buffers, p]).wait()
            for first in range(0, h, rows):
                attend(first)

        pl.when(t + buffers - 1 < steps)(lambda: body(True))
        pl.when(t + buffers - 1 >= steps)(lambda: body(False))

    one = pl.BlockSpec((1, h, d), lambda t, *_: (t // n_chunks, 0, 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2, grid=(steps,), in_specs=[one, pl.BlockSpec(memory_space=pltpu.HBM)], out_specs=one,
        scratch_shapes=[pltpu.VMEM((buffers, pages, 2, kv_h, page, d), BF16), pltpu.SemaphoreType.DMA((buffers, pages)),
                        pltpu.VMEM((h, 128), F32), pltpu.VMEM((h, 128), F32), pltpu.VMEM((h, d), F32)])
    params = pltpu.CompilerParams(dimension_semantics=("arbitrary",), vmem_limit_bytes=64 << 20)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((b, h, d), BF16), grid_spec=spec,
                          compiler_params=params)(lengths, table, q, kv)


def upstream(q, k, v, lengths, table, pages):
    # The scale is the caller's there, on `q`.
    return paged_attention(q, k, v, lengths, table, pages_per_compute_block=pages)


def modules():
    array = jax.ShapeDtypeStruct
    for case, (b, h, kv_h, d, page, entries) in CASES.items():
        tables = [Pinned(np.full(b, entries * page)), Pinned(np.arange(b * entries).reshape(b, entries))]
        flat = [tables[0], Pinned(np.arange(b * entries))]
        lengths, table, q = array((b,), I32), array((b, entries), I32), array((b, h, d), BF16)
        pool = array((kv_h, b * entries, page, d), BF16)
        kv = array((b * entries, 2, kv_h, page, d), BF16)
        for tokens in (512, 1024, 2048, 4096):
            pages = tokens // page
            if pages > entries:
                continue
            run = lambda *a: pinned(flat, upstream, *a, pages)
            yield case, "upstream", f"chunk{tokens}", run, (q, pool, pool, lengths, table)
            if tokens * kv_h * d * 4 * 2 > 48 << 20:
                continue
            for buffers in (2, 3):
                run = lambda *a: pinned(tables, by_hand, *a, pages, buffers)
                yield case, "by_hand", f"chunk{tokens}x{buffers}", run, (q, kv, lengths, table)


def main():
    folder = pathlib.Path(sys.argv[1])
    tpu_info.get_num_device_cores = lambda: 1
    for chip, kind in CHIPS.items():
        tpu_info.get_device_kind = lambda: kind
        for case, kernel, config, run, args in modules():
            jax.clear_caches()
            lowered = jax.jit(run).trace(*args).lower(lowering_platforms=("tpu",))
            (folder / f"{chip}.{case}.{kernel}.{config}.mlir").write_text(lowered.as_text())


main()
