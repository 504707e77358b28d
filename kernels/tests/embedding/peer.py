"""Makes golden/partition.json: batches, and how jax-tpu-embedding packs them for SparseCores.

    pip install numpy && pip download --no-deps jax-tpu-embedding==0.1.0 && unzip jax_tpu_embedding-*.whl -d peer
    python peer.py peer ../golden/partition.json      # the golden file
    python peer.py peer                               # how long DLRM v2's batch takes it

Only the package's native library is used, so that neither JAX nor Flax is needed.
"""

import json
import os
import sys
import time
from types import SimpleNamespace

import numpy as np

DLRM = [(40000000, 3), (39060, 2), (17295, 1), (7424, 2), (20265, 6), (3, 1), (7122, 1), (1543, 1), (63, 1),
        (40000000, 7), (3067956, 3), (405282, 8), (10, 1), (2209, 6), (11938, 9), (155, 5), (4, 1), (976, 1), (14, 1),
        (40000000, 12), (40000000, 100), (40000000, 27), (590152, 10), (12973, 3), (108, 1), (36, 1)]


def load(folder):
    core = os.path.join(folder, "jax_tpu_embedding/sparsecore/lib/core")
    if os.environ.get("LD_LIBRARY_PATH") != core:
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "LD_LIBRARY_PATH": core})
    sys.path.insert(0, core)
    import pybind_input_preprocessing
    return pybind_input_preprocessing


def spec(name, rows, n_samples, max_ids, max_unique, combiner, buffer):
    """What the library reads of a feature: the fields of FeatureSpec and its table's specs."""
    limits = dict(max_ids_per_partition=max_ids, max_unique_ids_per_partition=max_unique,
                  suggested_coo_buffer_size_per_device=buffer, quantization_config=None, combiner=combiner)
    stacked = SimpleNamespace(stack_name=name, stack_vocab_size=rows, stack_embedding_dim=128,
                              total_sample_count=n_samples, **limits)
    setting = SimpleNamespace(stack_name=name, padded_vocab_size=rows, padded_embedding_dim=128,
                              row_offset_in_shard=0, shard_rotation=0)
    table = SimpleNamespace(name=name, vocabulary_size=rows, embedding_dim=128, stacked_table_spec=stacked,
                            _stacked_table_spec=stacked, setting_in_stack=setting, _setting_in_stack=setting, **limits)
    transformation = SimpleNamespace(row_offset=0, col_offset=0, col_shift=0)
    return SimpleNamespace(name=name, table_spec=table, input_shape=(n_samples, 1), output_shape=(n_samples, 128),
                           id_transformation=transformation, _id_transformation=transformation)


def preprocess(lib, features, weights, specs, n_local, n_global, per_device, drop):
    return lib.preprocess_sparse_dense_matmul_input(
        features, weights, specs, n_local, n_global, num_sc_per_device=per_device, allow_id_dropping=drop)


def case(lib, rng, n_global, per_device, rows, combiner, weighted, max_ids=None, max_unique=None):
    """One device's batch of 12 samples per core."""
    n_samples = 12 * per_device
    ids = [rng.integers(0, rows, rng.integers(0, 7)).tolist() for _ in range(n_samples)]
    weights = [(rng.integers(1, 16, len(bag)) / 8).tolist() for bag in ids]
    n_shards = n_global * per_device
    capacity = min(8 * 12 + 8 * n_shards, (max_ids or 4096) * n_shards)
    one = spec("t", rows, n_samples, max_ids or 4096, max_unique or 4096, combiner, capacity * per_device)
    feature = np.array([np.array(bag, np.int32) for bag in ids] + [None], object)[:-1]
    gains = np.array([np.array(bag if weighted else [1.0] * len(bag), np.float32) for bag in weights] + [None], object)[:-1]
    out = preprocess(lib, [feature], [gains], [one], 1, n_global, per_device, max_ids is not None)
    ends, packed_ids, samples, packed_gains = (np.asarray(out[i]["t"]).reshape(-1) for i in range(4))
    assert packed_ids.size == capacity * per_device, (packed_ids.size, capacity)
    # What lies beyond a core's last partition is not written by the library.
    used = [-(-int(end) // 8) * 8 for end in ends.reshape(per_device, -1)[:, n_shards - 1]]
    cut = lambda array: [array[core * capacity:][:n].tolist() for core, n in enumerate(used)]
    return dict(rows=rows, n_shards=n_shards, n_cores=per_device, combiner=combiner,
                max_ids=max_ids, max_unique=max_unique, capacity=capacity, bags=ids,
                weights=weights if weighted else None, ends=ends.tolist(), ids=cut(packed_ids), samples=cut(samples),
                gains=[[None if np.isnan(gain) else gain for gain in core] for core in cut(packed_gains)])


def golden(lib, path):
    rng = np.random.default_rng(1)
    cases = [
        case(lib, rng, 1, 2, 50, "sum", False),
        case(lib, rng, 2, 4, 50, "sum", True),
        case(lib, rng, 4, 4, 7, "mean", True),
        case(lib, rng, 1, 4, 1000, "sqrtn", True),
        case(lib, rng, 1, 1, 3, "mean", False),
        case(lib, rng, 1, 2, 9, "sum", True, max_ids=8, max_unique=8),
        case(lib, rng, 1, 2, 60, "sum", True, max_ids=16, max_unique=8),
    ]
    with open(path, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(one) for one in cases) + "\n]\n")


def bench(lib, n_samples=65536, n_devices=4, per_device=4):
    n_shards, rng = n_devices * per_device, np.random.default_rng(1)
    features = [np.minimum((rng.random((n_samples, hot)) ** 3 * rows).astype(np.int32), rows - 1) for rows, hot in DLRM]
    specs = [spec(f"t{i}", rows, n_samples, n_samples * hot // n_shards + 8, n_samples * hot // n_shards + 8, "sum",
                  8 * ((n_samples * hot * 11 // 10 // n_devices + 8 * n_shards * per_device) // 8))
             for i, (rows, hot) in enumerate(DLRM)]
    for _ in range(3):
        cpu, wall = time.process_time(), time.time()
        preprocess(lib, features, None, specs, n_devices, n_devices, per_device, True)
        print(f"partition over {n_shards}: {time.time() - wall:.3f} s, {time.process_time() - cpu:.3f} s of CPU")


if __name__ == "__main__":
    library = load(sys.argv[1])
    golden(library, sys.argv[2]) if len(sys.argv) > 2 else bench(library)
