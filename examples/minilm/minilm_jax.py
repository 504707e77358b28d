"""all-MiniLM-L6-v2 in JAX: the independent implementation that examples/minilm is compared with.

    pip install jax==0.10.2 safetensors tokenizers numpy
    python examples/minilm/minilm_jax.py fixture   # writes fixture.safetensors beside this file
    python examples/minilm/minilm_jax.py bench     # sentences per second, batch 32, 128 tokens

It reads the model that `./x setup` fetched. The fixture is computed in f64.
"""

import os
import pathlib
import sys
import time

import numpy as np
import safetensors.numpy
import tokenizers

HERE = pathlib.Path(__file__).parent
SENTENCES = (HERE / "sentences.txt").read_text().splitlines()
HEADS = 12


def cache_dir():
    if "SYSTOLE_CACHE_DIR" in os.environ:
        return pathlib.Path(os.environ["SYSTOLE_CACHE_DIR"])
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "systole"


def load(dtype):
    folder = cache_dir() / "model/all-MiniLM-L6-v2"
    weights = safetensors.numpy.load_file(folder / "model.safetensors")
    weights = {name: w.astype(dtype) if w.dtype == np.float32 else w for name, w in weights.items()}
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return weights, tokenizer


def batch(tokenizer, sentences, s):
    ids = np.zeros((len(sentences), s), np.int32)
    mask = np.zeros((len(sentences), s), bool)
    for row, sentence in enumerate(sentences):
        tokens = tokenizer.encode(sentence).ids[:s]
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = True
    return ids, mask


def embed(w, ids, mask):
    import jax
    import jax.numpy as jnp

    def norm(x, name):
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    b, s = ids.shape
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][:s] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x, "embeddings.LayerNorm")
    for layer in range(6):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            dense(x, at + f"attention.self.{name}").reshape(b, s, HEADS, -1).transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]).astype(x.dtype)
        scores = jnp.where(mask[:, None, None, :], scores, -1e30)
        out = jax.nn.softmax(scores, -1) @ v
        out = out.transpose(0, 2, 1, 3).reshape(b, s, -1)
        x = norm(dense(out, at + "attention.output.dense") + x, at + "attention.output.LayerNorm")
        wide = jax.nn.gelu(dense(x, at + "intermediate.dense"), approximate=False)
        x = norm(dense(wide, at + "output.dense") + x, at + "output.LayerNorm")
    mask = mask[:, :, None].astype(x.dtype)
    mean = (x * mask).sum(1) / mask.sum(1)
    return mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)


def main(what):
    import jax

    if what == "fixture":
        jax.config.update("jax_enable_x64", True)
        weights, tokenizer = load(np.float64)
        ids, mask = batch(tokenizer, SENTENCES, 128)
        out = np.asarray(embed(weights, ids, mask))
        safetensors.numpy.save_file(
            {"embeddings": out.astype(np.float32)}, HERE / "fixture.safetensors"
        )
        print(out.shape, out[0, :4])
        return
    weights, tokenizer = load(np.float32)
    weights = {name: jax.device_put(w) for name, w in weights.items()}
    sentences = [SENTENCES[i % len(SENTENCES)] for i in range(32)]
    ids, mask = batch(tokenizer, sentences, 128)
    f = jax.jit(embed)
    start = time.perf_counter()
    f(weights, ids, mask).block_until_ready()
    print(f"first call {time.perf_counter() - start:.2f} s")
    times = []
    for _ in range(10):
        start = time.perf_counter()
        f(weights, ids, mask).block_until_ready()
        times.append(time.perf_counter() - start)
    times.sort()
    print(f"best {32 / times[0]:.1f}, median {32 / times[len(times) // 2]:.1f} sentences per second")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "bench")
