"""Times Pallas' interpreters on the two kernels of `interpreter.rs`, for a comparison in one run.

Needs jax (`pip install jax==0.10.2`). Prints one JSON object per line:
{"case": .., "mode": .., "best_ms": ..}, the best of at least 3 warm runs.
"""

import contextlib
import json
import os
import time

os.environ["JAX_PLATFORMS"] = "cpu"
# The interpreter's callbacks block threads of XLA's pool, which has one per core: few starve one another.
os.environ["NPROC"] = "16"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as upstream

BLOCK = 128


def matmul(x, y, interpret):
    """bf16 512^3 in blocks of 128: 64 grid steps."""

    def kernel(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    steps = 512 // BLOCK
    return pl.pallas_call(
        kernel,
        grid=(steps, steps, steps),
        in_specs=[
            pl.BlockSpec((BLOCK, BLOCK), lambda i, j, k: (i, k)),
            pl.BlockSpec((BLOCK, BLOCK), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((BLOCK, BLOCK), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((512, 512), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((BLOCK, BLOCK), jnp.float32)],
        interpret=interpret,
    )(x, y)


def flash(q, k, v, interpret):
    """jax's own TPU flash attention, causal, one head of 512 x 128."""
    sizes = upstream.BlockSizes(
        block_q=BLOCK, block_k_major=BLOCK, block_k=BLOCK, block_b=1
    )
    forced = contextlib.nullcontext()
    if not isinstance(interpret, bool):
        forced = pltpu.force_tpu_interpret_mode(interpret)
    with forced:
        return upstream.flash_attention(q, k, v, causal=True, sm_scale=0.0884, block_sizes=sizes)


def best_ms(function, arguments):
    compiled = jax.jit(function).lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))
    times = []
    end = time.time() + 10
    while len(times) < 3 or (len(times) < 20 and time.time() < end):
        start = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main():
    rng = np.random.default_rng(0)

    def array(*shape):
        return jnp.asarray(rng.standard_normal(shape), jnp.bfloat16)

    cases = {
        "matmul": (matmul, [array(512, 512) for _ in range(2)]),
        "flash": (flash, [array(1, 1, 512, 128) for _ in range(3)]),
    }
    modes = {
        "InterpretParams()": pltpu.InterpretParams(),
        "InterpretParams(detect_races=True)": pltpu.InterpretParams(detect_races=True),
    }
    for case, (function, arguments) in cases.items():
        for mode, interpret in modes.items():
            ms = best_ms(lambda *a: function(*a, interpret), arguments)
            print(json.dumps({"case": case, "mode": mode, "best_ms": ms}), flush=True)
            pltpu.reset_tpu_interpret_mode_state()


main()
