"""The source of BLAS and LAPACK: SciPy, or a library that the module is linked to."""

from __future__ import annotations


def _openblas_in_memory() -> set[str]:
    """Returns the OpenBLAS shared objects in this process."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line}
    except OSError:
        return set()
    return {path for path in paths if path.rsplit("/", 1)[-1].startswith("libopenblas")}


# Libraries before the module is loaded, which may load its own.
_before = _openblas_in_memory()

from . import _core  # noqa: E402


def configure() -> None:
    """Makes the module use SciPy's BLAS and LAPACK if it has none, as in a wheel.

    An OpenBLAS that was loaded with the module is configured for the CPU's instructions
    (configure_blas); one that other code uses too is left unchanged.
    """
    if hasattr(_core, "use_scipy"):
        from scipy.linalg import cython_blas, cython_lapack

        _core.use_scipy(cython_blas, cython_lapack)
    elif _openblas_in_memory() - _before:
        _core.configure_blas()
