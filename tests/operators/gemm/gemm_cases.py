"""GEMM cases: their data, descriptions, and expected results from float64 NumPy."""

from __future__ import annotations

import numpy as np

import dml
from harness import like, random, tensor


def product(a, b, ta, tb, alpha=1.0, c=None, beta=0.0):
    """Return the result in float64, and the sum of the magnitudes of its terms."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    a, b = a.swapaxes(-1, -2) if ta else a, b.swapaxes(-1, -2) if tb else b
    result, terms = alpha * (a @ b), abs(alpha) * (abs(a) @ abs(b))
    if c is not None:
        result, terms = result + beta * c.astype(np.float64), terms + abs(beta * c.astype(np.float64))
    return result, terms


def describe(a, b, out_sizes, ta=0, tb=0, c=None, alpha=1.0, beta=0.0, layouts=("packed",) * 4, activation=None):
    dtype = "FLOAT16" if a.dtype == np.float16 else "FLOAT32"
    return dml.DML_GEMM_OPERATOR_DESC(
        ATensor=like(a, layouts[0]),
        BTensor=like(b, layouts[1]),
        CTensor=None if c is None else like(c, layouts[2]),
        OutputTensor=tensor(dtype, out_sizes, layouts[3]),
        TransA=ta,
        TransB=tb,
        Alpha=alpha,
        Beta=beta,
        FusedActivation=activation,
    )


def make(dtype, batch, m, k, n, ta=0, tb=0, with_c=False, seed=0):
    rng = np.random.default_rng(seed)
    a = random(rng, dtype, (*batch, *((k, m) if ta else (m, k))))
    b = random(rng, dtype, (*batch, *((n, k) if tb else (k, n))))
    c = random(rng, dtype, (*batch, m, n)) if with_c else None
    inputs = {"ATensor": a, "BTensor": b}
    if c is not None:
        inputs["CTensor"] = c
    return a, b, c, inputs
