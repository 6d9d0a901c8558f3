"""One function for each method of the library, `best` and `load`, generated from their options.

The stub beside this file is written by `tests/python/write_stub.py`.
"""

from __future__ import annotations

from . import _fits

_functions = {**_fits.method_functions(), "best": _fits.make_best(), "load": _fits.make_load()}
globals().update(_functions)
__all__ = list(_functions)
