# Written by tests/python/write_stub.py.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ._approximation import Approximation
from ._operators import LinearOperator

Progress = bool | Callable[[int, float | None, float | None], Any] | None

__all__ = [
    "truncated_svd",
    "nystrom",
    "jl_projection",
    "cur",
    "chord",
    "hierarchical",
    "exact",
    "best",
    "load",
]

def truncated_svd(
    A: Any,
    rank: int | None = None,
    *,
    budget: int | str | None = None,
    frobenius_tolerance: float = 0.0,
    spectral_tolerance: float = 0.0,
    algorithm: Literal["auto", "dense", "krylov", "randomized", "spectra"] = "auto",
    symmetric_storage: bool = False,
    power_iterations: int = 5,
    block_size: int = 0,
    tolerance: float = 1e-10,
    seed: int = 1,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def nystrom(
    A: Any,
    rank: int | None = None,
    *,
    budget: int | str | None = None,
    form: Literal["auto", "psd", "generalized"] = "auto",
    sampling: Literal["pivoted_cholesky", "uniform", "leverage", "kmeans"] = "pivoted_cholesky",
    landmarks: Sequence[int] | None = None,
    pseudo_inverse_tolerance: float = 1e-10,
    oversampling: float = 1.5,
    seed: int = 1,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def jl_projection(
    A: Any,
    rank: int | None = None,
    *,
    budget: int | str | None = None,
    kind: Literal["gaussian", "rademacher", "sparse", "srht"] = "gaussian",
    seed: int = 1,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def cur(
    A: Any,
    rank: int | None = None,
    *,
    budget: int | str | None = None,
    sampling: Literal["pivoted_qr", "deim", "leverage", "norms", "uniform"] = "pivoted_qr",
    seed: int = 1,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def chord(
    A: Any,
    *,
    pattern: Literal["alternating", "mixed_radix", "auto", "reference", "paper", "torch"] = "alternating",
    symmetrize: bool = False,
    order: Literal["default", "natural", "shift", "rcm", "spectral", "hop", "auto"] = "default",
    offsets: str | None = None,
    factors: int = 0,
    budget: int | str | None = None,
    effort: Literal["fast", "default", "high"] = "default",
    optimizer: Literal["adam", "bfgs"] = "adam",
    start: Literal["mixed", "paper"] = "mixed",
    starts: int = -1,
    adam_steps: int = -1,
    max_iterations: int = -1,
    newton_steps: int = -1,
    columns_per_step: int = -1,
    memory: int = 20,
    tolerance: float = 1e-07,
    solver: Literal["own", "ceres"] = "own",
    seed: int = 1,
    warm_start: Approximation | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def hierarchical(
    A: Any,
    *,
    budget: int | str | None = None,
    frobenius_tolerance: float = 0.0,
    order: Literal["auto", "natural", "points", "rcm", "spectral"] = "auto",
    leaf: int = 0,
    widths: Sequence[int] = (3, 4, 6, 8, 12, 16, 32, 64),
    seed: int = 1,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def exact(
    A: Any,
    *,
    form: Literal["auto", "dense", "integers", "sparse"] = "auto",
    budget: int | str | None = None,
    precision: Literal["double", "float", "float16", "bfloat16", "packed"] = "double",
    target_error: float | None = None,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def best(
    A: Any,
    budget: int | str | None = None,
    target_error: float | None = None,
    *,
    norm: Literal["frobenius", "spectral"] = "frobenius",
    confidence: float = 0.99,
    effort: Literal["default", "high"] = "default",
    methods: str | Sequence[str] | None = None,
    seed: int = 1,
    progress: Progress = None,
    max_seconds: float | None = None,
) -> Approximation: ...
def load(
    path: str | os.PathLike[str],
    *,
    kind: Literal["matrix", "gradient", "image_laplacian", "adjacency", "laplacian", "normalized_laplacian", "kernel", "covariance", "correlation", "inverse"] = "matrix",
    variable: str | None = None,
    kernel: str = "gaussian",
    bandwidth: float = 0.0,
    degree: int = 3,
    offset: float = 1.0,
    directed: bool = False,
    keep_explicit_zeros: bool = False,
    skip_columns: str | None = None,
) -> LinearOperator: ...
