"""Where BLAS and LAPACK come from: from SciPy, or from a library that the module is linked to."""

from __future__ import annotations


def _openblas_in_memory() -> set[str]:
    """Shared objects of an OpenBLAS in this process."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "/" in line}
    except OSError:
        return set()
    return {path for path in paths if path.rsplit("/", 1)[-1].startswith("libopenblas")}


# Seen before the module is loaded, which brings its own.
_before = _openblas_in_memory()

from . import _core  # noqa: E402


def configure() -> None:
    """Has the module use SciPy's where it has none, as in a wheel.

    An OpenBLAS that came with the module is told the CPU's instructions (configure_blas); one that
    somebody else uses too is left as it is.
    """
    if hasattr(_core, "use_scipy"):
        from scipy.linalg import cython_blas, cython_lapack

        _core.use_scipy(cython_blas, cython_lapack)
    elif _openblas_in_memory() - _before:
        _core.configure_blas()
