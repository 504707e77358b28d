"""Lowers kernels of JAX's own library and small ones for a TPU, and runs them on the CPU.

usage: python pallas.py FOLDER [CASE ..]

For every `pallas_call` that a case makes, FOLDER gets two files:
  CASE.mlir         the StableHLO module of that call alone, lowered for a TPU
  CASE.safetensors  the arrays that it was given (arg0, arg1, ..) and what JAX's interpreter gave (out0, ..)
A case with several calls makes CASE, CASE.1, .. No TPU and no libtpu are needed.

The same in little, for tests without JAX, is in two files of all cases:
  cases.json          per case: how each operand is made, or that it is stored; sizes of the results
  cases.safetensors   stored operands, axes along which nothing changes with size 1, and a sample of the results
"""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# One case sends data around a ring.
N_DEVICES = 4
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={N_DEVICES}"

import dataclasses
import functools
import json
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.extend.core import Literal
from jax.sharding import AbstractDevice, AbstractMesh, Mesh, PartitionSpec, use_abstract_mesh
from safetensors.numpy import save_file

VERSION = "0.10.2"

# Modules name source files, which lie elsewhere on each machine.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/(site-packages|python/[^/]+|tests/import)/")

# Some kernels ask what chip they are lowered for.
CHIP = AbstractMesh(
    (1,), ("chip",), abstract_device=AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")
)


def values(jaxpr, consts, args, record):
    """Runs a jaxpr op by op; calls of kernels go through `record`."""
    known = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    read = lambda v: v.val if isinstance(v, Literal) else known[v]
    for eqn in jaxpr.eqns:
        operands = [read(v) for v in eqn.invars]
        inner = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if eqn.primitive.name == "pallas_call":
            results = record(eqn, operands)
        elif inner is not None and eqn.primitive.name in ("jit", "pjit", "custom_vjp_call", "custom_jvp_call", "closed_call"):
            results = values(inner.jaxpr, inner.consts, operands, record)
        else:
            results = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(eqn.params))
            results = results if eqn.primitive.multiple_results else [results]
        known |= dict(zip(eqn.outvars, results))
    return [read(v) for v in jaxpr.outvars]


# Per case: modules and arrays in little.
RECORDED, ARRAYS = {}, {}
# So many elements of a result are recorded.
SAMPLE = 400


def numbers(seed, n):
    """Numbers of mean 0 and variance 1 that any language makes alike: sums of four uniform ones, of a hash's bits."""
    u = np.uint64
    x = (np.arange(n, dtype=u) + (u(seed) << u(32))) * u(0x9E3779B97F4A7C15)
    x = (x ^ (x >> u(30))) * u(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> u(27))) * u(0x94D049BB133111EB)
    x = x ^ (x >> u(31))
    parts = sum(((x >> u(16 * part)) & u(0xFFFF)).astype(np.int64) for part in range(4))
    return (parts - 131070) / 37837.0


# The arrays that `normal` made, with its arguments.
MADE = []


def normal(seed, shape, dtype=jnp.float32, scale=1.0):
    array = (numbers(seed, np.prod(shape)) * scale).astype(np.float32).astype(dtype).reshape(shape)
    MADE.append((array, seed, scale))
    return jnp.asarray(array)


def same_bits(x, y):
    return x.dtype == y.dtype and x.size == y.size and x.tobytes() == y.tobytes()


def record(base, operands, results):
    """Keeps a case in little."""
    given = []
    for idx, x in enumerate(operands):
        made = [(seed, scale) for array, seed, scale in MADE if same_bits(array, x)]
        given.append(made[0] if made else None)
        if not made:
            for axis in range(x.ndim):
                first = np.take(x, [0], axis)
                x = first if (x == first).all() else x
            ARRAYS[f"{base}.arg{idx}"] = np.array(x, order="C")
    sizes = []
    for idx, x in enumerate(results):
        # An odd step comes to every lane.
        step = max(x.size // SAMPLE, 1) | 1
        sizes.append((x.size, step))
        ARRAYS[f"{base}.out{idx}"] = np.ascontiguousarray(x.reshape(-1)[::step])
    RECORDED[base] = {"operands": given, "results": sizes}


def write(folder, base, program, operands, results):
    with open(os.path.join(folder, base + ".mlir"), "w") as file:
        file.write(program)
    operands, results = [[np.asarray(x) for x in arrays] for arrays in (operands, results)]
    arrays = {f"arg{i}": x for i, x in enumerate(operands)} | {f"out{i}": x for i, x in enumerate(results)}
    save_file(arrays, os.path.join(folder, base + ".safetensors"))
    record(base, operands, results)


@dataclasses.dataclass
class Whole:
    """A program of one call that is lowered as it is, since tracing shows no `pallas_call` in it."""

    function: object
    args: tuple
    # What JAX's interpreter gives.
    results: list
    mesh: object = CHIP


def lowered(function, args, mesh):
    with use_abstract_mesh(mesh):
        return jax.jit(function).trace(*args).lower(lowering_platforms=("tpu",)).as_text()


def export(folder, name, function, args=(), reference=None):
    """Writes the files of a case; gives the number of its calls. A reference takes the interpreter's place."""
    n_calls = 0
    if isinstance(function, Whole):
        write(folder, name, lowered(function.function, function.args, function.mesh), function.args, function.results)
        return 1

    def call(eqn, operands):
        nonlocal n_calls
        bind = lambda *operands, **params: eqn.primitive.bind(*operands, **(eqn.params | params))
        if reference is None:
            # The plain interpreter is the better reference, but does not know all references.
            mode = pltpu.InterpretParams() if name in SIMULATED else True
            results = bind(*operands, interpret=mode)
        else:
            results = [reference(*args)]
        base = name if n_calls == 0 else f"{name}.{n_calls}"
        n_calls += 1
        write(folder, base, lowered(bind, operands, CHIP), operands, results)
        return results

    with use_abstract_mesh(CHIP):
        jaxpr = jax.make_jaxpr(function)(*args)
    values(jaxpr.jaxpr, jaxpr.consts, args, call)
    return n_calls


CASES = {}
# Cases of which the plain interpreter stops with an error of its own.
SIMULATED = {"pipeline", "prng"}


def case(make):
    CASES[make.__name__] = make
    return make


@case
def matmul():
    """Grid of three axes, an accumulator in scratch, conditions on the grid index."""

    def kernel(x, y, o, acc):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x[...], y[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o[...] = acc[...].astype(o.dtype)

    m, n, k, block = 256, 256, 384, 128
    call = pl.pallas_call(
        kernel,
        grid=(m // block, n // block, k // block),
        in_specs=[
            pl.BlockSpec((block, block), lambda i, j, l: (i, l)),
            pl.BlockSpec((block, block), lambda i, j, l: (l, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"), vmem_limit_bytes=64 << 20
        ),
        name="matmul",
    )
    return call, (normal(0, (m, k), jnp.bfloat16), normal(1, (k, n), jnp.bfloat16))


@case
def add():
    """An output that shares the memory of an input."""

    def kernel(x, y, o):
        o[...] = x[...] + y[...]

    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[block, block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
        input_output_aliases={0: 0},
        name="add",
    )
    return call, (normal(2, (256, 128)), normal(3, (256, 128)))


@case
def softmax():
    """Reductions, and a last block that reaches over the end of the array."""

    def kernel(x, o):
        v = x[...]
        e = jnp.exp(v - jnp.max(v, axis=-1, keepdims=True))
        o[...] = e / jnp.sum(e, axis=-1, keepdims=True)

    block = pl.BlockSpec((32, 256), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((122, 256), jnp.float32),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        name="softmax",
    )
    return call, (normal(4, (122, 256)),)


def attention_inputs(heads=2, length=256, width=128):
    shape = (1, heads, length, width)
    return tuple(normal(seed, shape, jnp.bfloat16) for seed in (5, 6, 7))


@case
def flash():
    from jax.experimental.pallas.ops.tpu import flash_attention as fa

    attend = lambda q, k, v: fa.flash_attention(q, k, v, causal=True, sm_scale=0.088)
    return attend, attention_inputs()


@case
def flash_backward():
    from jax.experimental.pallas.ops.tpu import flash_attention as fa

    def loss(q, k, v):
        return fa.flash_attention(q, k, v, causal=True, sm_scale=0.088).astype(jnp.float32).sum()

    return jax.grad(loss, argnums=(0, 1, 2)), attention_inputs(heads=1)


@case
def splash():
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as sk
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as sm

    length, width = 256, 128
    mask = sm.MultiHeadMask([sm.CausalMask((length, length))] * 2)
    attend = sk.make_splash_mha(mask, head_shards=1, q_seq_shards=1)
    q = normal(8, (2, length, width), jnp.bfloat16, 0.088)
    k, v = (normal(seed, (2, length, width), jnp.bfloat16) for seed in (9, 10))
    return (lambda q, k, v: attend(q, k, v)), (q, k, v)


@case
def grouped_matmul():
    """Tables in scalar memory that drive index maps, and an extent known at run time."""
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    multiply = lambda a, b, sizes: gmm(
        a, b, sizes, preferred_element_type=jnp.bfloat16, tiling=(128, 128, 128)
    )
    sizes = jnp.asarray([100, 156, 0, 256], jnp.int32)
    return multiply, (normal(11, (512, 256), jnp.bfloat16), normal(12, (4, 256, 128), jnp.bfloat16), sizes)


@case
def gather_by_table():
    """An index map that reads a table."""

    def kernel(idx, x, o):
        o[...] = x[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(16,),
        in_specs=[pl.BlockSpec((8, 256), lambda i, idx: (idx[i], 0))],
        out_specs=pl.BlockSpec((8, 256), lambda i, idx: (i, 0)),
    )
    call = pl.pallas_call(
        kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((128, 256), jnp.float32), name="gather_by_table"
    )
    idx = jnp.asarray(np.random.default_rng(13).integers(0, 64, 16), jnp.int32)
    return call, (idx, normal(14, (512, 256)))


@case
def gather_by_dma():
    """Copies of rows that a table names, two in flight."""

    def kernel(idx, x, o, buffers, done):
        i, n = pl.program_id(0), pl.num_programs(0)

        def copy(step, slot):
            rows = x.at[pl.ds(idx[step] * 8, 8), :]
            return pltpu.make_async_copy(rows, buffers.at[slot], done.at[slot])

        @pl.when(i == 0)
        def _():
            copy(0, 0).start()

        slot = jax.lax.rem(i, 2)

        @pl.when(i + 1 < n)
        def _():
            copy(i + 1, 1 - slot).start()

        copy(i, slot).wait()
        o[...] = buffers[slot] * 2.0

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(16,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 256), lambda i, idx: (i, 0)),
        scratch_shapes=[pltpu.VMEM((2, 8, 256), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
    )
    call = pl.pallas_call(
        kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((128, 256), jnp.float32), name="gather_by_dma"
    )
    idx = jnp.asarray(np.random.default_rng(15).integers(0, 64, 16), jnp.int32)
    return call, (idx, normal(16, (512, 256)))


@case
def paged_attention():
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

    batch, heads, kv_heads, width, pages, page, per_sequence = 4, 8, 2, 128, 32, 16, 8
    attend = lambda q, k, v, lengths, table: paged_attention(q, k, v, lengths, table, pages_per_compute_block=4)
    table = np.random.default_rng(17).permutation(pages)[: batch * per_sequence].reshape(batch, per_sequence)
    return attend, (
        normal(18, (batch, heads, width), jnp.bfloat16, 0.088),
        normal(19, (kv_heads, pages, page, width), jnp.bfloat16),
        normal(20, (kv_heads, pages, page, width), jnp.bfloat16),
        jnp.asarray([5, 64, 100, 128], jnp.int32),
        jnp.asarray(table, jnp.int32),
    )


@case
def ragged_paged_attention():
    """Neither of JAX's interpreters runs this kernel, so plain math is the reference: the tokens in use."""
    from jax.experimental.pallas.ops.tpu.ragged_paged_attention import (
        ragged_paged_attention,
        ref_ragged_paged_attention,
    )

    attend = functools.partial(
        ragged_paged_attention,
        num_kv_pages_per_block=4,
        num_queries_per_block=32,
        sm_scale=0.088,
        vmem_limit_bytes=64 << 20,
    )
    pages, per_sequence = 32, 8
    table = np.random.default_rng(21).permutation(pages).reshape(4, per_sequence)
    args = (
        normal(22, (64, 8, 128), jnp.bfloat16),
        normal(23, (pages, 16, 4, 128), jnp.bfloat16),
        jnp.asarray([40, 128, 33, 7], jnp.int32),
        jnp.asarray(table, jnp.int32),
        jnp.asarray([0, 10, 11, 43, 50], jnp.int32),
        jnp.asarray([4], jnp.int32),
    )
    return (lambda *args: attend(*args)), args, functools.partial(ref_ragged_paged_attention, sm_scale=0.088)


@case
def pipeline():
    """A software pipeline inside of a kernel."""

    def inner(x, y, o):
        o[...] = x[...] + y[...]

    def kernel(x, y, o):
        block = pl.BlockSpec((64, 128), lambda i: (i, 0))
        pltpu.emit_pipeline(inner, grid=(4,), in_specs=[block, block], out_specs=[block])(x, y, o)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    call = pl.pallas_call(
        kernel,
        in_specs=[anywhere, anywhere],
        out_specs=anywhere,
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
        name="pipeline_add",
    )
    return call, (normal(24, (256, 128)), normal(25, (256, 128)))


@case
def windows():
    """A single buffer, and a window of elements."""

    def kernel(x, y, o):
        o[...] = x[...] + y[...]

    block = lambda **mode: pl.BlockSpec((64, 128), lambda i: (i, 0), **mode)
    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[
            block(pipeline_mode=pl.Buffered(1)),
            pl.BlockSpec((pl.Element(64), pl.Element(128)), lambda i: (i * 32, 0)),
        ],
        out_specs=block(),
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
        compiler_params=pltpu.CompilerParams(has_side_effects=True),
        name="windows",
    )
    return call, (normal(26, (256, 128)), normal(27, (256, 128)))


@case
def int8_matmul():
    """Integers, the right operand transposed."""

    def kernel(x, y, o):
        dims = (((1,), (1,)), ((), ()))
        o[...] = jax.lax.dot_general(x[...], y[...], dims, preferred_element_type=jnp.int32)

    call = pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((128, 256), lambda i, j: (i, 0)), pl.BlockSpec((128, 256), lambda i, j: (j, 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.int32),
        name="int8_matmul",
    )
    # Truncated normal numbers, so that a recorded case can name them.
    ints = lambda seed: normal(seed, (256, 256), jnp.int8, 30.0)
    return call, (ints(28), ints(29))


@case
def dynamic_grid():
    """An extent known at run time that visits every block."""

    def kernel(x, o):
        o[...] = x[...] * 2.0

    def call(n, x):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            kernel, grid=(n,), in_specs=[block], out_specs=block, out_shape=x, name="dynamic_grid"
        )(x)

    return call, (jnp.asarray(8, jnp.int32), normal(30, (64, 128)))


@case
def roll():
    """A rotation, a repeated row, a message."""

    def kernel(x, o):
        pl.debug_print("step {}", pl.program_id(0))
        o[...] = pltpu.roll(x[...], 1, 1) + jnp.repeat(x[0:1, :], 64, axis=0)

    block = pl.BlockSpec((64, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
        name="roll",
    )
    return call, (normal(31, (256, 128)),)


@case
def elementwise():
    """Unsigned and narrow integers, truth values, and functions."""

    def kernel(x, n, o, p):
        v, u = x[...], n[...]
        chosen = jnp.where((v > 0.25) & (v < 0.75), jnp.exp(-v), jnp.tanh(v) * jax.lax.rsqrt(v * v + 1.0))
        o[...] = chosen + jnp.floor(v) - jnp.abs(jnp.sin(v)) + jnp.cos(v).astype(jnp.bfloat16).astype(jnp.float32)
        p[...] = (u >> 3) ^ jnp.maximum(u // 7, u % 5) | (u < 1000).astype(jnp.uint32)

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[block, block],
        out_specs=[block, block],
        out_shape=[jax.ShapeDtypeStruct((16, 128), jnp.float32), jax.ShapeDtypeStruct((16, 128), jnp.uint32)],
        name="elementwise",
    )
    unsigned = np.random.default_rng(33).integers(0, 1 << 32, (16, 128))
    return call, (normal(32, (16, 128)), jnp.asarray(unsigned, jnp.uint32))


@case
def loops():
    """A counted loop with carried tiles, a conditional loop, and strided rows."""

    def kernel(x, o):
        def add_rows(i, total):
            return total + x[pl.ds(i * 8, 8), :] * i.astype(jnp.float32)

        total = jax.lax.fori_loop(0, 4, add_rows, jnp.zeros((8, 128), jnp.float32))
        halvings, _ = jax.lax.while_loop(
            lambda state: state[1] > 1, lambda state: (state[0] + 1, state[1] // 2), (jnp.int32(0), jnp.int32(37))
        )
        o[...] = total + halvings.astype(jnp.float32) + x[pl.ds(0, 8, 4), :]

    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        name="loops",
    )
    return call, (normal(34, (32, 128)),)


@case
def prng():
    """Random bits of the core, of which JAX's interpreters make zeros."""

    def kernel(seed, o):
        pltpu.prng_seed(seed[0], pl.program_id(0))
        bits = pltpu.prng_random_bits((64, 128))
        o[...] = (pltpu.bitcast(bits, jnp.int32) & 0xFFFF).astype(jnp.float32)

    call = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
        name="prng",
    )
    return call, (jnp.asarray([7], jnp.int32),)


@case
def threefry():
    """Random bits that JAX makes of a key in the kernel, with integers alone."""

    def kernel(seed, o):
        key = jax.random.key(seed[0], impl="threefry2x32")
        o[...] = jax.random.bits(key, (8, 128), jnp.uint32)

    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.uint32),
        name="threefry",
    )
    return call, (jnp.asarray([42], jnp.int32),)


@case
def core_map():
    """A kernel on a mesh of cores, of which the chip has one, with copies that are waited for at once."""
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def double(interpret):
        @functools.partial(
            pl.kernel,
            out_type=jax.ShapeDtypeStruct((256, 128), jnp.float32),
            mesh=mesh,
            scratch_types=[pltpu.VMEM((256, 128), jnp.float32)],
            name="core_map",
            interpret=interpret,
        )
        def kernel(x, o, buffer):
            rows = pl.ds(jax.lax.axis_index("core") * 256, 256)
            pltpu.sync_copy(x.at[rows, :], buffer)
            buffer[...] = buffer[...] * 2.0
            pltpu.sync_copy(buffer, o.at[rows, :])

        return kernel

    x = normal(35, (256, 128))
    with use_abstract_mesh(CHIP):
        results = [double(pltpu.InterpretParams())(x)]
    return (Whole(double(False), (x,), results),)


@case
def remote():
    """Each device of a ring sends its part to the next one."""
    devices = Mesh(np.array(jax.devices()[:N_DEVICES]), ("x",))
    chips = AbstractMesh((N_DEVICES,), ("x",), abstract_device=CHIP.abstract_device)

    def send(interpret, mesh):
        def kernel(x, o, sent, received):
            me = jax.lax.axis_index("x")
            to = jax.lax.rem(me + 1, N_DEVICES)
            source = jax.lax.rem(me + N_DEVICES - 1, N_DEVICES)
            # Whoever sends to this device must know that it has begun.
            ready = pltpu.get_barrier_semaphore()
            pl.semaphore_signal(ready, device_id=(source,), device_id_type=pl.DeviceIdType.MESH)
            pl.semaphore_wait(ready, 1)
            copy = pltpu.make_async_remote_copy(
                src_ref=x,
                dst_ref=o,
                send_sem=sent,
                recv_sem=received,
                device_id=(to,),
                device_id_type=pl.DeviceIdType.MESH,
            )
            copy.start()
            copy.wait()

        call = pl.pallas_call(
            kernel,
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec(memory_space=pl.ANY),
            out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
            scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
            compiler_params=pltpu.CompilerParams(collective_id=0, has_side_effects=True),
            name="remote",
            interpret=interpret,
        )
        spec = PartitionSpec("x")
        return jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)

    x = normal(36, (8 * N_DEVICES, 128))
    results = [jax.jit(send(pltpu.InterpretParams(), devices))(x)]
    return (Whole(send(False, chips), (x,), results, chips),)


# Kernels of SparseCores, down here so that those above keep their lines, which modules name.
from jax.experimental.pallas import tpu_sc as plsc

# A chip with SparseCores: two, of 16 subcores with registers of 8 elements.
SPARSE_CHIP = AbstractMesh(
    (1,), ("chip",), abstract_device=AbstractDevice(device_kind="TPU v6 lite", num_cores=1, platform="tpu")
)


def sparse(make, args, results):
    """A kernel of SparseCores. JAX's interpreters do not run it, so NumPy's results are the reference."""
    with use_abstract_mesh(SPARSE_CHIP):
        kernel = make()
    return (Whole(kernel, tuple(jnp.asarray(x) for x in args), results, SPARSE_CHIP),)


def vector_kernel(name, out, scratch, num_cores=2, **params):
    """Marks the body of a kernel that runs on each vector subcore."""
    return pl.kernel(
        out_type=jax.ShapeDtypeStruct(out, jnp.float32),
        mesh=plsc.VectorSubcoreMesh(core_axis_name="c", subcore_axis_name="s", num_cores=num_cores),
        scratch_types=scratch,
        compiler_params=pltpu.CompilerParams(**params),
        name=name,
    )


@case
def sparse_gather():
    """Rows that a list names, fetched by the vector subcores of two SparseCores."""
    n, chunk, width = 512, 8, 128

    def make():
        buffers = [pltpu.VMEM((chunk,), jnp.int32), pltpu.VMEM((chunk, width), jnp.float32), pltpu.SemaphoreType.DMA]

        @vector_kernel("sparse_gather", (n, width), buffers)
        def kernel(table, ids, o, idx, rows, done):
            unit = jax.lax.axis_index("s") * 2 + jax.lax.axis_index("c")

            @pl.loop(0, n // 32 // chunk)
            def _(step):
                at = pl.ds(unit * (n // 32) + step * chunk, chunk)
                pltpu.sync_copy(ids.at[at], idx)
                pltpu.async_copy(table.at[idx], rows, done).wait()
                pltpu.sync_copy(rows, o.at[at])

        return kernel

    table = np.asarray(normal(37, (100, width)))
    ids = np.random.default_rng(38).integers(0, 100, n).astype(np.int32)
    return sparse(make, (table, ids), [table[ids]])


@case
def sparse_segments():
    """Sums of rows by segment in the memory that subcores share, between two barriers; some rows are in none."""
    n, segments, width = 256, 32, 128

    def make():
        scratch = [
            pltpu.VMEM((n // 16,), jnp.int32),
            pltpu.VMEM((n // 16, width), jnp.float32),
            pltpu.VMEM_SHARED((segments, width), jnp.float32),
        ]

        @vector_kernel("sparse_segments", (segments, width), scratch, num_cores=1)
        def kernel(x, zeros, ids, o, idx, rows, sums):
            s = jax.lax.axis_index("s")
            own, at = pl.ds(s * 2, 2), pl.ds(s * 16, 16)
            pltpu.sync_copy(zeros.at[own], sums.at[own])
            plsc.subcore_barrier()
            pltpu.sync_copy(ids.at[at], idx)
            pltpu.sync_copy(x.at[at], rows)
            pltpu.sync_copy(rows, sums.at[plsc.Indices(idx, ignored_value=-1)], add=True)
            plsc.subcore_barrier()
            pltpu.sync_copy(sums.at[own], o.at[own])

        return kernel

    # Whole numbers, of which sums are exact.
    rng = np.random.default_rng(39)
    x = rng.integers(-8, 9, (n, 1)).astype(np.float32) + np.zeros((1, width), np.float32)
    ids = rng.integers(-1, segments, n).astype(np.int32)
    sums = np.zeros((segments, width), np.float32)
    np.add.at(sums, ids[ids >= 0], x[ids >= 0])
    return sparse(make, (x, np.zeros((segments, width), np.float32), ids), [sums])


@case
def sparse_registers():
    """Loads and stores by index, scans, sorts and counts on registers."""
    lanes, width = 8, 128

    def make():
        scratch = [pltpu.VMEM((width,), jnp.int32), pltpu.VMEM((2, width), jnp.float32), pltpu.VMEM((width,), jnp.float32)]

        @vector_kernel("sparse_registers", (16, width), scratch, num_cores=1, needs_layout_passes=False)
        def kernel(x, ids, o, idx, rows, result):
            s = jax.lax.axis_index("s")
            pltpu.sync_copy(ids.at[s], idx)
            pltpu.sync_copy(x.at[pl.ds(s * 2, 2)], rows)

            @plsc.parallel_loop(0, width, step=lanes, unroll=2)
            def _(at):
                result[pl.ds(at, lanes)] = jnp.zeros((lanes,), jnp.float32)

            def put(row, value):
                result[pl.ds(row * lanes, lanes)] = value.astype(jnp.float32)

            i, v = idx[pl.ds(0, lanes)], rows[0, pl.ds(0, lanes)]
            mask = i > 60
            @pl.loop(0, 4)
            def _(step):
                at = idx[pl.ds(step * lanes, lanes)]
                plsc.addupdate_scatter(result, [at & 7], plsc.load_gather(rows, [at & 1, at]), mask=at > 20)

            put(1, plsc.cumsum(v))
            put(2, plsc.cummax(i - 64))
            counts, last = plsc.scan_count(i)
            put(3, counts * 2 + last.astype(jnp.int32))
            keys, sorted_values = plsc.sort_key_val(i - 64, v)
            put(4, keys)
            put(5, sorted_values)
            put(6, plsc.all_reduce_ffs(mask))
            put(7, plsc.all_reduce_population_count(mask))
            plsc.store_compressed(result.at[pl.ds(8 * lanes, lanes)], v, mask=mask)
            put(9, jnp.where(mask, plsc.load_expanded(rows.at[1, pl.ds(0, lanes)], mask=mask), 0.0))
            put(10, jnp.full((lanes,), jnp.sum(v)) + jnp.max(i).astype(jnp.float32))
            pltpu.sync_copy(result, o.at[s])

        return kernel

    rng = np.random.default_rng(40)
    x = rng.integers(-99, 100, (32, width)).astype(np.float32)
    ids = rng.integers(0, width, (16, width)).astype(np.int32)
    results = np.zeros((16, width), np.float32)
    for s, row in enumerate(results.reshape(16, -1, lanes)):
        pair, i, v = x[2 * s : 2 * s + 2], ids[s, :lanes], x[2 * s, :lanes]
        mask = i > 60
        for at in ids[s, : 4 * lanes]:
            row[0, at & 7] += pair[at & 1, at] if at > 20 else 0
        row[1] = np.cumsum(v)
        row[2] = np.maximum.accumulate(i - 64)
        row[3] = [2 * (i[: k + 1] == i[k]).sum() + (i[k] not in i[k + 1 :]) for k in range(lanes)]
        order = np.argsort(i, kind="stable")
        row[4], row[5] = i[order] - 64, v[order]
        row[6], row[7] = mask.argmax() if mask.any() else lanes, mask.sum()
        row[8, : mask.sum()] = v[mask]
        row[9, mask] = pair[1, : mask.sum()]
        row[10] = v.sum() + i.max()
    return sparse(make, (x, ids), [results])


@case
def sparse_scalar():
    """The scalar subcores of two SparseCores, with tables in their own memory."""
    width = 128

    def make():
        @pl.kernel(
            out_type=jax.ShapeDtypeStruct((2, width), jnp.int32),
            mesh=plsc.ScalarSubcoreMesh(axis_name="c", num_cores=2),
            scratch_types=[pltpu.SMEM((width,), jnp.int32), pltpu.SMEM((1, width), jnp.int32), pltpu.SemaphoreType.DMA],
            name="sparse_scalar",
        )
        def kernel(x, o, table, row, done):
            c = jax.lax.axis_index("c")
            pltpu.async_copy(x.at[c], table, done).wait()

            def add(at, total):
                total = total + table[at]
                row[0, at] = total * (c + 1)
                return total

            jax.lax.fori_loop(0, width, add, jnp.int32(0))
            pltpu.async_copy(row, o.at[pl.ds(c, 1)], done).wait()

        return kernel

    x = np.random.default_rng(41).integers(-99, 100, (2, width)).astype(np.int32)
    return sparse(make, (x,), [np.cumsum(x, axis=1, dtype=np.int32) * np.asarray([[1], [2]], np.int32)])


@case
def sparse_pipeline():
    """A software pipeline of the vector subcores of a SparseCore, with a gather in its body."""
    n, width = 512, 128

    def make():
        @vector_kernel("sparse_pipeline", (n, width), [], num_cores=1)
        def kernel(table, ids, o):
            def gather(idx, rows):
                pltpu.sync_copy(table.at[idx.at[0]], rows)

            pltpu.emit_pipeline(
                gather,
                grid=(n // 64,),
                in_specs=[pl.BlockSpec((1, 64), lambda i: (0, i))],
                out_specs=[pl.BlockSpec((64, width), lambda i: (i, 0))],
                core_axis_name="s",
                dimension_semantics=(pltpu.PARALLEL,),
            )(ids, o)

        return kernel

    table = np.asarray(normal(42, (100, width)))
    ids = np.random.default_rng(43).integers(0, 100, (1, n)).astype(np.int32)
    return sparse(make, (table, ids), [table[ids[0]]])


@case
def sparse_lanes():
    """Rows to and from places that registers name, sums in a register, and single elements of one."""
    lanes, width = 8, 128

    def make():
        scratch = [pltpu.VMEM((lanes, width), jnp.float32), pltpu.VMEM((16,), jnp.int32), pltpu.SemaphoreType.DMA((2,))]

        @vector_kernel("sparse_lanes", (256, width), scratch, num_cores=1, needs_layout_passes=False)
        def kernel(x, ids, o, rows, idx, done):
            pltpu.sync_copy(ids.at[pl.ds(jax.lax.axis_index("s") * 16, 16)], idx)
            for half in range(2):
                places = idx[pl.ds(half * lanes, lanes)]
                pltpu.async_copy(x.at[places], rows, done.at[half]).wait()

                @plsc.parallel_loop(0, width, step=lanes, carry=jnp.zeros((lanes,), jnp.float32))
                def total(at, so_far):
                    return so_far + rows[0, pl.ds(at, lanes)]

                @pl.when(half * lanes + places[3] > 64)
                def _():
                    plsc.addupdate(rows.at[1, pl.ds(0, lanes)], total)
                    plsc.addupdate_compressed(rows.at[2, pl.ds(8, lanes)], total, mask=total > 0)

                rows[3, pl.ds(0, lanes)] = jnp.flip(total) * total[2] - jnp.min(total)
                pltpu.async_copy(rows, o.at[places], done.at[1 - half]).wait()

        return kernel

    x = np.asarray(normal(44, (256, width)))
    ids = np.random.default_rng(45).permutation(256).astype(np.int32)
    result = x.copy()
    for unit, places in enumerate(ids.reshape(-1, lanes)):
        rows = x[places]
        total = sum(rows[0].reshape(-1, lanes), np.zeros(lanes, np.float32))
        if unit % 2 * lanes + places[3] > 64:
            rows[1, :lanes] += total
            kept = total[total > 0]
            rows[2, 8 : 8 + len(kept)] += kept
        rows[3, :lanes] = total[::-1] * total[2] - total.min()
        result[places] = rows
    return sparse(make, (x, ids), [result])


def main():
    if jax.__version__ != VERSION:
        sys.exit(f"this is jax {jax.__version__}, the cases are for {VERSION}")
    folder, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        n_calls = export(folder, name, *CASES[name]())
        print(f"{name}: {n_calls} calls", flush=True)
    with open(os.path.join(folder, "cases.json"), "w") as file:
        rows = [f"{json.dumps(name)}: {json.dumps(RECORDED[name])}" for name in sorted(RECORDED)]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")
    save_file(ARRAYS, os.path.join(folder, "cases.safetensors"))


if __name__ == "__main__":
    main()
