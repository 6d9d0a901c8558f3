"""Replace a large matrix by a small approximation, and measure its error.

Every function takes arrays, SciPy sparse matrices and operators, and every result is a
`scipy.sparse.linalg.LinearOperator`::

    import matapprox as ma

    B = ma.truncated_svd(A, 20)
    y = B @ x
    ma.measure(A, B).relative_error
    print(ma.compare(A))
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

# The libraries that may share a BLAS with this one are loaded before it.
import numpy as _numpy  # noqa: F401
import scipy.sparse.linalg as _sparse_linalg  # noqa: F401

from . import _blas  # isort: skip
from . import _core, _measurement, _methods
from ._approximation import Approximation, Factor, Storage
from ._comparison import Comparison
from ._core import Certificate, CertifiedBound, Measurement, __version__
from ._errors import (
    BudgetTooSmall,
    Error,
    FileError,
    FitInterrupted,
    Interrupted,
    InvalidArgument,
    NotAvailable,
    NumericalError,
)
from ._fits import compare, measure
from ._methods import *  # noqa: F403
from ._operators import Cost, LinearOperator, aslinearoperator, covariance, kernel
from ._threads import set_threads, threads

_blas.configure()
_measurement.configure()
_atexit.register(_core.end)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core.forget_other_threads)

__all__ = [
    "Approximation",
    "BudgetTooSmall",
    "Certificate",
    "CertifiedBound",
    "Comparison",
    "Cost",
    "Error",
    "Factor",
    "FileError",
    "FitInterrupted",
    "Interrupted",
    "InvalidArgument",
    "LinearOperator",
    "Measurement",
    "NotAvailable",
    "NumericalError",
    "Storage",
    "__version__",
    "aslinearoperator",
    "compare",
    "covariance",
    "kernel",
    "measure",
    "set_threads",
    "threads",
]
__all__ += _methods.__all__
