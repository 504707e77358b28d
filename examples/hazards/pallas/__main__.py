"""What Pallas' own interpreter says of the bugs in this folder.

Writes `pallas.json` beside this folder. Each bug has a Pallas kernel here with the same mistake, and a
correct twin. Both run under `InterpretParams(detect_races=True)`, TRIES times per mode in MODES; a bug counts
as caught if in any of these an error is raised, a race is found, or a semaphore is said to be left, while the
twin is left alone. A process
that takes LIMIT seconds of processor time, or next to none for ASLEEP seconds, is stopped, which counts
as not caught: nothing was said. Bugs without a kernel here are judged by reading, and marked so. Names of
bugs as arguments try those alone. For Linux, whose `/proc` says what a process does.

    python -m venv v && v/bin/pip install "jax[cpu]==0.10.2" && v/bin/python examples/hazards/pallas
"""

import io
import json
import os
import pathlib
import re
import signal as signals
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

os.environ["JAX_PLATFORMS"] = "cpu"
# A wait of the interpreter blocks a thread of XLA's pool, which has one per core: on a small machine kernels
# that are right would hang too.
os.environ["NPROC"] = "16"
# The kernels are tiny: what takes time is to compile them.
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter  # noqa: E402

import arithmetic, body, chip, copies, grid, memory, semaphores, transfers  # noqa: E401, E402, F401
from call import MODE, TRIED  # noqa: E402

RECORD = pathlib.Path(__file__).parent.parent / "pallas.json"
LIMIT = 12
ASLEEP = 20
# Whether some races are found depends on when the interpreter's threads run.
TRIES = 3
MODES = [
    {"dma_execution_mode": "on_wait"},
    {"dma_execution_mode": "eager"},
    {"dma_execution_mode": "on_wait", "num_cores_or_threads": 2},
]

NOT_TRIED = {
    "copy_dropped": ("not expressible", "a copy has no handle that must be used; see wait_forgotten"),
    "waited_in_one_arm": ("not expressible", "a copy has no handle that must be used; see wait_forgotten"),
    "rotated_in_one_arm": ("not expressible", "copies are not values that loops carry"),
    "add_meets_plain_copy": ("not expressible", "local copies do not add on a TensorCore"),
    "no_semaphores": ("no", "shapes of semaphores are not checked"),
    "too_many_semaphores": ("no", "the size of semaphore memory is not modelled"),
    "two_walks_differ": ("not expressible", "the grid is given, not inferred from blocks"),
    "block_of_nothing": ("no", "block shapes are not checked by the interpreter"),
    "grid_overflow": ("no", "steps are a Python int; such a grid would run for days"),
    "vmem_overflow_by_blocks": ("no", "VMEM has no size; see vmem_overflow_by_scratch"),
    "vmem_fits_another_chip": ("no", "VMEM has no size; see vmem_overflow_by_scratch"),
    "own_vmem_limit": ("no", "vmem_limit_bytes is not read by the interpreter"),
    "vmem_limit_of_no_chip": ("no", "vmem_limit_bytes is not read by the interpreter"),
    "block_of_one_axis": ("no", "Mosaic's tiling is not checked; see block_cuts_lanes"),
    "int8_product_on_7x": ("no", "the interpreter knows no generation of chips"),
    "int8_product_on_v4": ("no", "the interpreter knows no generation of chips"),
    "three_buffers": ("no", "the interpreter does not pipeline blocks"),
    "two_sizes_of_one_name": ("not expressible", "dimensions have no names"),
    "array_of_another_type": ("not expressible", "references take the type of what is given"),
    "array_of_another_rank": ("not expressible", "references take the rank of what is given"),
    "empty_array": ("not expressible", "a kernel says nothing of its arrays' sizes"),
    "last_step_of_a_loop": ("not expressible", "a loop's index is a number like any other"),
    "loop_of_step_zero": ("not expressible", "fori_loop has no step"),
    "loop_step_from_a_table": ("not expressible", "fori_loop has no step"),
}


def attempt(f, bug, mode):
    """Runs in a process of its own; gives (verdict, words)."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        MODE.update(mode)
        said = io.StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                result = f(bug)
            races = interpreter.races is not None and interpreter.races.races_found
            has_nan = any(np.isnan(np.asarray(y, np.float64)).any() for y in jax.tree.leaves(result))
            # The one thing that it prints and does not raise.
            left = re.search(r"Semaphore \d+ has non-zero count .* at kernel exit.*", said.getvalue())
            if races:
                verdict = ("race", "a race is found")
            elif left:
                verdict = ("raised", left.group(0))
            else:
                verdict = ("silent", "the result holds NaN" if has_nan else "")
        except BaseException as e:  # noqa: BLE001: whatever is raised is what we ask for
            lines = [line.strip() for line in str(e).splitlines() if line.strip()]
            inner = [m.group(0) for line in lines if (m := re.match(r"(\w+Error|Exception): .*", line))]
            words = ": ".join([type(e).__name__, (inner or lines or [""])[-1 if inner else 0]])
            verdict = ("raised", re.sub(r"/\S*/", "", words)[:160])
        os.write(write, json.dumps(verdict).encode())
        os._exit(0)
    os.close(write)
    seconds, since, then = 0.0, time.monotonic(), 0.0
    while seconds < LIMIT:
        if os.waitpid(pid, os.WNOHANG)[0]:
            data = os.read(read, 1 << 16)
            os.close(read)
            return tuple(json.loads(data)) if data else ("died", "the process died")
        time.sleep(0.2)
        seconds = processor_seconds(pid)
        if seconds - then >= 0.2:
            since, then = time.monotonic(), seconds
        elif time.monotonic() - since > ASLEEP:
            break
    os.kill(pid, signals.SIGKILL)
    os.waitpid(pid, 0)
    os.close(read)
    return ("hangs", "it hangs, and nothing is said")


def processor_seconds(pid):
    """How much processor time a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge(f):
    """Whether a bug is caught in any mode in which its twin is not blamed."""
    said, blamed = [], []
    for mode in MODES * TRIES:
        verdict, words = attempt(f, True, mode)
        if verdict in ("raised", "race"):
            twin, twin_words = attempt(f, False, mode)
            if twin == "silent":
                return {"catches": "yes", "how": "tried", "what": words}
            if "NotImplementedError" in twin_words:
                return {"catches": "not expressible", "how": "tried", "what": twin_words}
            blamed.append(f"the correct twin is blamed too: {twin_words}")
        else:
            said.append(words or "nothing is said")
        if verdict == "hangs":
            break
    return {"catches": "no", "how": "tried", "what": "; ".join(sorted(set(said)) + sorted(set(blamed)))}


def write(bugs):
    for name, (catches, why) in NOT_TRIED.items():
        bugs[name] = {"catches": catches, "how": "read", "what": why}
    record = {"jax": jax.__version__, "options": "InterpretParams(detect_races=True)", "modes": MODES,
              "bugs": dict(sorted(bugs.items()))}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def main():
    only = sys.argv[1:]
    bugs = json.loads(RECORD.read_text())["bugs"] if only and RECORD.exists() else {}
    for name, f in TRIED.items():
        if only and name not in only:
            continue
        bugs[name] = judge(f)
        print(f"{name:32} {bugs[name]['catches']:4} {bugs[name]['what']}", flush=True)
        write(bugs)


if __name__ == "__main__":
    main()
