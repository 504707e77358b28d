"""JAX on the questions of benches/dispatch.rs, on the CPU. Needs `pip install jax==0.10.2`.

Prints the best and the median time of each, in microseconds.
"""

import time

import jax
import jax.numpy as jnp


def chain(x, n):
    y = x
    for step in range(n):
        y = one_op(y, x, step % 3)
    return y


def one_op(y, x, kind):
    if kind == 0:
        return y * 1.5
    if kind == 1:
        return y + x
    return jnp.tanh(y)


def measure(name, f, n):
    f()
    times = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(n):
            f()
        times.append((time.perf_counter() - start) / n * 1e6)
    times.sort()
    print(f"{name:45} best {times[0]:9.2f} us   median {times[len(times) // 2]:9.2f} us", flush=True)


def main():
    x = jnp.arange(4, dtype=jnp.float32) * 0.001
    y = x + 0.0
    measure("eager: add", lambda: x + y, 1000)
    measure("eager: add a number", lambda: x + 1.0, 1000)
    add = jax.jit(lambda x, y: x + y)
    measure("jit: call of add", lambda: add(x, y), 1000)
    measure("eager: 50 ops", lambda: chain(x, 50).block_until_ready(), 20)
    big = jnp.broadcast_to(jnp.arange(512, dtype=jnp.float32)[:, None], (512, 512)) * 0.001
    measure("chain of 150 on 512x512: eager", lambda: chain(big, 150).block_until_ready(), 2)
    jitted = jax.jit(lambda x: chain(x, 150))
    measure("chain of 150 on 512x512: jit", lambda: jitted(big).block_until_ready(), 2)


if __name__ == "__main__":
    main()
