"""Writes numbers.txt, what ml_dtypes makes of narrow floats: python numbers.py > numbers.txt

Two sections per type: every code with the bits of its f32, and bits of f32 with the code they are
rounded to. The latter are all numbers of the type, what lies half way between neighbours, one bit
of f32 beside both, powers of two from the smallest subnormal f32 on, and what is no number.
"""

import ml_dtypes
import numpy as np

TYPES = {"f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}


def to_round(dtype):
    codes = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32)
    finite = np.unique(codes[np.isfinite(codes)])
    middles = (finite[1:] + finite[:-1]) / 2
    last = finite[-1] - finite[-2]
    beyond = np.float32([finite[-1] + last / 2, finite[-1] + last, 1e30, np.inf, np.nan])
    powers = np.float32(2.0) ** np.arange(-149, 128).astype(np.float32)
    values = np.concatenate([finite, middles, beyond, -beyond, powers, -powers, [-0.0]])
    bits = values.astype(np.float32).view(np.uint32)
    near = [bits, bits + np.uint32(1), bits - np.uint32(1)]
    return np.unique(np.concatenate(near))


with np.errstate(all="ignore"):
    for name, dtype in TYPES.items():
        numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32).view(np.uint32)
        print(f"{name} codes")
        for code, bits in enumerate(numbers):
            print(f"{code:02x} {bits:08x}")
        print(f"\n{name} rounding")
        bits = to_round(dtype)
        for bits, code in zip(bits, bits.view(np.float32).astype(dtype).view(np.uint8)):
            print(f"{bits:08x} {code:02x}")
        print()
