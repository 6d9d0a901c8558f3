"""Has the BLAS of this library use the CPU's instructions, unless somebody else uses it too."""

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
    """Calls configure_blas() where the library that it would change came with this module."""
    if _openblas_in_memory() - _before:
        _core.configure_blas()
