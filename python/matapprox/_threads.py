"""Number of threads of the library."""

from __future__ import annotations

from . import _core
from ._check import whole_number


def set_threads(count: int) -> None:
    """Set the number of threads of the library, at least one; results do not depend on it."""
    _core.set_threads(whole_number("set_threads", "count", count, least=1))


def threads() -> int:
    """Return the number of threads of the library."""
    return _core.threads()
