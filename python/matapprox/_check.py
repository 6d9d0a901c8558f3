"""Checks of arguments; error messages name the argument that the library would not accept."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
from collections.abc import Sequence
from typing import Any

from ._errors import InvalidArgument


def whole_number(function: str, name: str, value: Any, least: int = 0) -> int:
    """Returns the value as an int; rejects 3.0 and "3"."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{function}: {name} = {value!r} is not an int") from None
    if not least <= number < 2**63:
        raise InvalidArgument(f"{function}: {name} {number} is outside {least}..{2**63 - 1}")
    return number


def real_number(function: str, name: str, value: Any) -> float:
    """Returns the value as a float; rejects a str and NaN."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{function}: {name} = {value!r} is not a float") from None
    if math.isnan(number):
        raise InvalidArgument(f"{function}: {name} is NaN")
    return number


def choice(function: str, name: str, value: Any, choices: Sequence[str]) -> str:
    """Returns the value, which must be one of `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    shown = f"'{value}'" if isinstance(value, str) else f"= {value!r}"
    near = near_match(value, choices)
    raise InvalidArgument(f"{function}: {name} {shown} is not one of {', '.join(choices)}{near}")


def words(function: str, name: str, value: Any) -> list[str]:
    """Returns names that are given as a sequence, or separated by commas."""
    found = value.split(",") if isinstance(value, str) else value
    try:
        names = list(found)
    except TypeError:
        names = [None]
    if not names or not all(isinstance(word, str) and word for word in names):
        raise InvalidArgument(
            f"{function}: {name} = {value!r} is not a sequence of str; None, the default: all names"
        )
    return names


def storage_budget(function: str, value: Any) -> str:
    """Returns the budget in the form that the library reads."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    try:
        return str(operator.index(value))
    except TypeError:
        raise InvalidArgument(
            f"{function}: budget = {value!r} is neither an int nor a str such as '10%' or '4MB'"
        ) from None


def only_one(function: str, **given: Any) -> None:
    """Rejects combinations of arguments of which the library would use only one."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InvalidArgument(f"{function}: give one of {' and '.join(names)}, not both")


def near_match(value: Any, names: Sequence[str]) -> str:
    """Returns a suggestion for a misspelled name, or an empty text."""
    near = difflib.get_close_matches(value, names, 1) if isinstance(value, str) else []
    return f"; did you mean '{near[0]}'?" if near else ""


def bound(
    function: str,
    parameters: Sequence[inspect.Parameter],
    arguments: tuple[Any, ...],
    given: dict[str, Any],
) -> dict[str, Any]:
    """Returns all arguments by name, bound to the signature."""
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            near = near_match(name, names)
            raise TypeError(f"{function}() has no argument '{name}'{near}")
    try:
        return dict(inspect.Signature(list(parameters)).bind(*arguments, **given).arguments)
    except TypeError as error:
        raise TypeError(f"{function}(): {error}") from None
