"""How many threads the library uses."""

from __future__ import annotations

from . import _core
from ._check import whole_number


def set_threads(count: int) -> None:
    """Have the library use that many threads, at least one; results do not depend on it."""
    _core.set_threads(whole_number("set_threads", "count", count, least=1))


def threads() -> int:
    """How many threads the library uses."""
    return _core.threads()
