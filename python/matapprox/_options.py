"""Functions generated from the library's options: signature, docstring and conversion to text.

An option is a tuple (name, type, default, choices, help), as the library lists it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._check import choice, real_number, storage_budget
from ._errors import InvalidArgument

Option = tuple[str, str, str, list[str], str]

# Name of each type in a docstring, and its annotation in a stub.
_WORDS = {
    "text": "str",
    "integer": "int",
    "number": "float",
    "flag": "bool",
    "integers": "sequence of int",
    "budget": "int or str",
}
# Name of each type in a sentence.
_KINDS = {
    "text": "a str",
    "integer": "an int",
    "flag": "a bool",
    "integers": "a sequence of int",
}
_ANNOTATIONS = {
    "text": "str",
    "integer": "int",
    "number": "float",
    "flag": "bool",
    "integers": "Sequence[int]",
    "budget": "int | str",
}


def default_of(option: Option) -> Any:
    """Returns the default as a Python value; None if the library decides."""
    name, kind, text, _, _ = option
    if text == "" or (name == "rank" and text == "0"):
        return None
    if kind == "integer":
        return int(text)
    if kind == "number":
        return float(text)
    if kind == "flag":
        return text == "true"
    if kind == "integers":
        return tuple(int(part) for part in text.split(","))
    return text


def annotation_of(option: Option) -> str:
    """Returns the annotation of the parameter in a stub."""
    _, kind, _, choices, _ = option
    if kind == "choice":
        words = "Literal[" + ", ".join(f'"{choice}"' for choice in choices) + "]"
    else:
        words = _ANNOTATIONS[kind]
    return words if default_of(option) is not None else f"{words} | None"


def text_of(function: str, option: Option, value: Any) -> str:
    """Returns the value in the form that the library reads."""
    name, kind, _, choices, _ = option
    try:
        if kind == "flag":
            if not isinstance(value, (int, np.integer, np.bool_)) or value not in (0, 1):
                raise TypeError
            return "true" if value else "false"
        if kind == "integer":
            number = int(value.__index__())
            if name == "rank" and number == 0:
                raise InvalidArgument(
                    f"{function}: rank 0; None, the default, lets the method decide"
                )
            return str(number)
        if kind == "number":
            return repr(real_number(function, name, value))
        if kind == "integers":
            if np.ma.isMaskedArray(value) or isinstance(value, (str, bytes)):
                raise TypeError
            numbers = ",".join(str(int(part.__index__())) for part in value)
            if not numbers:
                raise InvalidArgument(f"{function}: {name} is empty; None is the default")
            return numbers
        if kind == "budget":
            return storage_budget(function, value)
        if kind == "choice":
            return choice(function, name, value, choices)
        if not isinstance(value, str):
            raise TypeError
    except (AttributeError, TypeError):
        raise InvalidArgument(f"{function}: {name} = {value!r} is not {_KINDS[kind]}") from None
    if not value:
        raise InvalidArgument(f"{function}: {name} is empty; None is the default")
    return value


def texts_of(
    function: str, options: Sequence[Option], given: dict[str, Any]
) -> list[tuple[str, str]]:
    """Returns the given values that are not None, in the form that the library reads."""
    known = {option[0]: option for option in options}
    return [
        (name, text_of(function, known[name], value))
        for name, value in given.items()
        if value is not None
    ]


def parameters_of(
    options: Sequence[Option], positional: Sequence[str] = ()
) -> list[inspect.Parameter]:
    """Returns a parameter for each option; all but `positional` are keyword-only."""
    positional_kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    keyword_kind = inspect.Parameter.KEYWORD_ONLY
    first = [option for option in options if option[0] in positional]
    rest = [option for option in options if option[0] not in positional]
    return [
        inspect.Parameter(option[0], kind, default=default_of(option))
        for chosen, kind in ((first, positional_kind), (rest, keyword_kind))
        for option in chosen
    ]


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


def _quoted(help_text: str, choices: Sequence[str]) -> str:
    """Returns the help text with the choices that it explains in quotes: "psd": C W^+ C^T."""
    for chosen in choices:
        help_text = re.sub(
            rf"(^|[:;,] ){re.escape(chosen)}(?=[:;,])",
            lambda found: f'{found[1]}"{found[0].removeprefix(found[1])}"',
            help_text,
        )
    return help_text


def documentation_of(options: Sequence[Option], skip: Sequence[str] = ()) -> str:
    """Returns the options as a section of a docstring in NumPy style."""
    lines: list[str] = []
    for option in options:
        name, kind, _, choices, help_text = option
        if name in skip:
            continue
        words = (
            "{" + ", ".join(f'"{choice}"' for choice in choices) + "}"
            if kind == "choice"
            else _WORDS[kind]
        )
        default = default_of(option)
        given = "optional" if default is None else f"default={_shown(default)}"
        lines.append(f"{name} : {words}, {given}")
        sentence = _quoted(help_text, choices)
        sentence = sentence[0].upper() + sentence[1:]
        sentence = sentence.rstrip(".") + "."
        lines.extend(textwrap.wrap(sentence, 92, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


def finish(
    function: Callable[..., Any], name: str, parameters: Sequence[inspect.Parameter], doc: str
) -> Any:
    """Sets the name, signature and documentation of a function that takes **options."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = "matapprox"
    function.__doc__ = doc
    function.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
    return function
