#!/usr/bin/env python3
"""Writes matapprox/_methods.pyi: the functions that are made from options, with their types.

tests/python/write_stub.py            writes it
tests/python/write_stub.py --check    checks whether it is up to date
"""

import inspect
import sys
from pathlib import Path

from matapprox import _fits
from matapprox._options import annotation_of

STUB = Path(__file__).parents[2] / "python" / "matapprox" / "_methods.pyi"
HEAD = """\
# Written by tests/python/write_stub.py.
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ._approximation import Approximation
from ._operators import LinearOperator

Progress = bool | Callable[[int, float | None, float | None], Any] | None

"""


def function_text(name, parameters, annotations, returns):
    lines = [f"def {name}("]
    keyword = False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword:
            lines.append("    *,")
            keyword = True
        words = annotations[parameter.name]
        if parameter.default is inspect.Parameter.empty:
            lines.append(f"    {parameter.name}: {words},")
        else:
            optional = parameter.default is None and "None" not in words and words != "Progress"
            # repr writes strings in single quotes, the formatter in double quotes.
            default = repr(parameter.default).replace("'", '"')
            lines.append(
                f"    {parameter.name}: {words}{' | None' if optional else ''} = {default},"
            )
    return "\n".join([*lines, f") -> {returns}: ...", ""])


def stub_text():
    controls = {name: words for name, _, words, _ in _fits.CONTROLS}
    functions = []
    for method, (_, options) in _fits.METHODS.items():
        own = {name: words for name, _, words, _ in _fits.controls_of(method)}
        annotations = {
            "A": "Any",
            **own,
            **{option[0]: annotation_of(option) for option in options},
        }
        parameters = _fits.signature_parameters(options, _fits.controls_of(method))
        functions.append((method, parameters, annotations, "Approximation"))
    best = {option[0]: annotation_of(option) for option in _fits.BEST_OPTIONS}
    best["methods"] = "str | Sequence[str] | None"
    functions.append(
        ("best", _fits.best_parameters(), {"A": "Any", **controls, **best}, "Approximation")
    )
    load = {"path": "str | os.PathLike[str]"}
    load |= {option[0]: annotation_of(option) for option in _fits.LOAD_OPTIONS}
    functions.append(("load", _fits.load_parameters(), load, "LinearOperator"))
    names = "".join(f'    "{name}",\n' for name, *_ in functions)
    return (
        HEAD
        + f"__all__ = [\n{names}]\n\n"
        + "".join(function_text(*function) for function in functions)
    )


def main():
    if sys.argv[1:] == ["--check"]:
        if STUB.read_text() != stub_text():
            sys.exit(f"{STUB} is not what tests/python/write_stub.py writes")
    else:
        STUB.write_text(stub_text())


if __name__ == "__main__":
    main()
