"""Methods, `best`, `measure`, `compare` and `load`, generated from the library's options."""

from __future__ import annotations

import errno
import inspect
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._approximation import Approximation, is_saved_name
from ._check import bound, choice, only_one, real_number, storage_budget, whole_number, words
from ._comparison import Comparison
from ._errors import FitInterrupted, InvalidArgument, MissingFile
from ._operators import LinearOperator, aslinearoperator, path_text
from ._options import Option, documentation_of, finish, parameters_of, texts_of
from ._progress import progress_callback

METHODS: dict[str, tuple[str, list[Option]]] = {
    name: (summary, options) for name, summary, options in _core.methods()
}
PRECISIONS = ("double", "float", "float16", "bfloat16", "packed")
_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

# Parameters of every fit in addition to its method's options: (name, default, annotation, text).
Control = tuple[str, Any, str, str]
CONTROLS: list[Control] = [
    (
        "precision",
        "double",
        'Literal["double", "float", "float16", "bfloat16", "packed"]',
        'precision : {"double", "float", "float16", "bfloat16", "packed"}, default="double"\n'
        '    How values are stored; "packed": bits per value chosen from the data.',
    ),
    (
        "target_error",
        None,
        "float | None",
        "target_error : float, optional\n"
        "    Instead of a rank or budget: the least storage with this relative Frobenius error.",
    ),
    (
        "progress",
        None,
        "Progress",
        "progress : bool or callable, optional\n"
        "    True: a progress bar, by tqdm if installed. A function is called with (iteration,\n"
        "    relative_error, fraction_done), None where unknown, at most 20 times a second; an\n"
        "    exception that it raises ends the fit and propagates to the caller.",
    ),
    (
        "max_seconds",
        None,
        "float | None",
        "max_seconds : float, optional\n"
        "    Time limit; returns the best result so far, or raises `Interrupted` if there is none.",
    ),
]
# Additional parameters of methods whose fits take minutes.
_CONTINUATION: list[Control] = [
    (
        "warm_start",
        None,
        "Approximation | None",
        "warm_start : Approximation, optional\n"
        "    A result of this method, from whose factors the fit starts.",
    ),
    (
        "checkpoint",
        None,
        "str | os.PathLike[str] | None",
        "checkpoint : str or path, optional\n"
        "    A file for the best result so far, saved about once a minute and when the fit is\n"
        "    stopped, with the state needed to continue; at the end it holds the result.",
    ),
    (
        "resume",
        False,
        "bool",
        "resume : bool, default=False\n"
        "    Continue the fit in `checkpoint`, with the same matrix and options; the result is\n"
        "    bit-identical to that of an uninterrupted fit.",
    ),
]
_RETURNS = "Approximation\n    The factors, and the method's report on its run."
_MATRIX = "A : array_like, sparse matrix or operator\n    The matrix; see `aslinearoperator`."


def _fit_controls(
    name: str, progress: Any, max_seconds: float | None, target_error: float | None
) -> Any:
    seconds = math.inf if max_seconds is None else real_number(name, "max_seconds", max_seconds)
    if seconds < 0:
        raise InvalidArgument(f"{name}: max_seconds {max_seconds} is negative")
    target = 0.0 if target_error is None else real_number(name, "target_error", target_error)
    if target_error is not None and not 0 < target < 1:
        raise InvalidArgument(f"{name}: target_error {target_error} is outside 0..1")
    return _core.FitControls(progress, seconds, target)


def _finished(name: str, outcome: tuple[Any, Any], made: Callable[[Any], Any]) -> Any:
    """Returns the result, or raises FitInterrupted with the result so far."""
    result, interrupt = outcome
    if interrupt is None:
        return made(result)
    if not isinstance(interrupt, KeyboardInterrupt):
        raise interrupt
    so_far = None if result is None else made(result)
    best = "with the best result so far in `approximation`"
    has = "without a result" if so_far is None else best
    raise FitInterrupted(f"{name}: interrupted {has}", so_far) from interrupt


def fit(
    method: str,
    A: Any,
    options: dict[str, Any],
    precision: str = "double",
    target_error: float | None = None,
    progress: Any = None,
    max_seconds: float | None = None,
    warm_start: Approximation | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> Approximation:
    """Runs one method by name."""
    if warm_start is not None and not isinstance(warm_start, Approximation):
        raise InvalidArgument(f"{method}: warm_start is not an Approximation")
    if resume and (checkpoint is None or warm_start is not None):
        raise InvalidArgument(
            f"{method}: resume needs a checkpoint and cannot be combined with warm_start"
        )
    start = None if warm_start is None else warm_start._handle
    path = "" if checkpoint is None else path_text(checkpoint)
    if checkpoint is not None and not path:
        raise InvalidArgument(f"{method}: checkpoint is empty; None is the default")
    texts = texts_of(method, METHODS[method][1], options)
    choice(method, "precision", precision, PRECISIONS)
    if not isinstance(resume, (bool, np.bool_)):
        raise InvalidArgument(f"{method}: resume = {resume!r} is not a bool")
    _refuse_contradictions(method, options, target_error, start is not None or bool(path))
    continuation = _core.Continuation(start, path, bool(resume))
    handle = aslinearoperator(A)._handle
    with progress_callback(method, progress) as callback:
        controls = _fit_controls(method, callback, max_seconds, target_error)
        outcome = _core.fit(handle, method, texts, precision, continuation, controls)
    approximation: Approximation = _finished(method, outcome, lambda result: Approximation(*result))
    return approximation


def _refuse_contradictions(
    method: str, options: dict[str, Any], target_error: float | None, goes_on: bool
) -> None:
    """Rejects combinations of sizes of which the method would use only one."""
    budget = options.get("budget")
    size = {name: options[name] for name in ("rank", "landmarks") if options.get(name) is not None}
    for name, value in size.items():
        only_one(method, **{name: value}, budget=budget)
        only_one(method, **{name: value}, target_error=target_error)
    tolerances = [
        name for name in ("frobenius_tolerance", "spectral_tolerance") if options.get(name)
    ]
    for name in tolerances:
        only_one(method, **{name: options[name]}, target_error=target_error)
    # These methods search for the target error within the budget.
    names = {option[0] for option in METHODS[method][1]}
    takes_both = "frobenius_tolerance" in names or not names & {"rank", "factors"}
    if method == "chord":
        takes_both = goes_on or options.get("pattern") in ("auto", "mixed_radix")
    if not takes_both:
        only_one(method, budget=budget, target_error=target_error)


def signature_parameters(options: Sequence[Option], controls: Sequence[Control]) -> Any:
    """Returns the parameters: A, the rank if there is one, then keywords."""
    names = {option[0] for option in options}
    return [
        inspect.Parameter("A", _POSITION),
        *parameters_of(options, ("rank",) if "rank" in names else ()),
        *(
            inspect.Parameter(name, _KEYWORD, default=default)
            for name, default, _, _ in controls
            if name not in names
        ),
    ]


def _document(
    title: str,
    options: Sequence[Option],
    controls: Sequence[Control],
    returns: str,
) -> str:
    sections = [_MATRIX, documentation_of(options)]
    sections += [
        text for name, _, _, text in controls if name not in {option[0] for option in options}
    ]
    return (
        f"{title}\n\nParameters\n----------\n"
        + "\n".join(sections)
        + f"\n\nReturns\n-------\n{returns}\n"
    )


def controls_of(name: str) -> list[Control]:
    """Returns the parameters of a method in addition to its options."""
    return [*_CONTINUATION, *CONTROLS] if name == "chord" else CONTROLS


def _make_method(name: str) -> Callable[..., Approximation]:
    summary, options = METHODS[name]
    parameters = signature_parameters(options, controls_of(name))
    controls = {control[0] for control in controls_of(name)}

    def function(*arguments: Any, **given: Any) -> Approximation:
        chosen = bound(name, parameters, arguments, given)
        A = chosen.pop("A")
        control = {key: chosen.pop(key) for key in list(chosen) if key in controls}
        return fit(name, A, chosen, **control)

    title = f"{summary[0].upper()}{summary[1:]}."
    doc = _document(title, options, controls_of(name), _RETURNS)
    made: Callable[..., Approximation] = finish(function, name, parameters, doc)
    return made


def method_functions() -> dict[str, Callable[..., Approximation]]:
    """Returns a function for each registered method."""
    return {name: _make_method(name) for name in METHODS}


BEST_OPTIONS: list[Option] = _core.best_options()
BEST_CONTROLS = [control for control in CONTROLS if control[0] in ("progress", "max_seconds")]


def best_parameters() -> list[inspect.Parameter]:
    """Returns the parameters: A, budget and target error, then keywords."""
    first = [option for option in BEST_OPTIONS if option[0] in ("budget", "target_error")]
    rest = [option for option in BEST_OPTIONS if option not in first]
    return [
        inspect.Parameter("A", _POSITION),
        *(inspect.Parameter(option[0], _POSITION, default=None) for option in first),
        *parameters_of(rest),
        *(inspect.Parameter(name, _KEYWORD, default=value) for name, value, _, _ in BEST_CONTROLS),
    ]


def make_best() -> Callable[..., Approximation]:
    parameters = best_parameters()

    def best(*arguments: Any, **given: Any) -> Approximation:
        chosen = bound("best", parameters, arguments, given)
        A = chosen.pop("A")
        progress, max_seconds = chosen.pop("progress", None), chosen.pop("max_seconds", None)
        if chosen.get("methods") is not None:
            chosen["methods"] = ",".join(words("best", "methods", chosen["methods"]))
        target_error = chosen.get("target_error")
        if target_error is not None and not real_number("best", "target_error", target_error) > 0:
            raise InvalidArgument(f"best: target_error {target_error} is outside 0..1")
        texts = texts_of("best", BEST_OPTIONS, chosen)
        handle = aslinearoperator(A)._handle
        with progress_callback("best", progress) as callback:
            outcome = _core.best(handle, texts, _fit_controls("best", callback, max_seconds, None))
        made: Approximation = _finished("best", outcome, lambda result: Approximation(*result))
        return made

    title = (
        "The smallest approximation with a given error, or the nearest one within a budget.\n\n"
        "Method, order, rank and bits are chosen automatically. `candidates` of the result lists\n"
        "what was tried, `measurement` has its error."
    )
    made: Callable[..., Approximation] = finish(
        best, "best", parameters, _document(title, BEST_OPTIONS, BEST_CONTROLS, _RETURNS)
    )
    return made


# `as` is a Python keyword; the option is the kind of matrix.
LOAD_OPTIONS: list[Option] = [
    ("kind" if option[0] == "as" else option[0], *option[1:]) for option in _core.load_options()
]


def load_parameters() -> list[inspect.Parameter]:
    """Returns the parameters: the path, then options by keyword."""
    return [inspect.Parameter("path", _POSITION), *parameters_of(LOAD_OPTIONS)]


def make_load() -> Callable[..., LinearOperator]:
    parameters = load_parameters()
    defaults = {parameter.name: parameter.default for parameter in parameters}

    def load(*arguments: Any, **given: Any) -> LinearOperator:
        chosen = bound("load", parameters, arguments, given)
        path = path_text(chosen.pop("path"))
        # Drops values that equal the default.
        chosen = {name: value for name, value in chosen.items() if value != defaults[name]}
        texts = texts_of("load", LOAD_OPTIONS, chosen)
        name = path.rsplit(":", 1)[0] if not os.path.exists(path) else path
        if not os.path.exists(name) and not os.path.exists(path):
            raise MissingFile(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if not texts and is_saved_name(path) and _core.is_saved_approximation(path):
            return Approximation(_core.load_approximation(path))
        named = [("as" if name == "kind" else name, text) for name, text in texts]
        return LinearOperator(_core.load(path, named), (_load_again, (path, tuple(chosen.items()))))

    doc = (
        "Read a matrix from a file, or a saved approximation.\n\nParameters\n----------\n"
        "path : str or path\n"
        "    .mtx .mat .npy .npz .csv .tsv .txt .h5 .png .jpg .pgm .net .edges, some with .gz.\n"
        f"{documentation_of(LOAD_OPTIONS)}\n\nReturns\n-------\nLinearOperator\n"
        "    An `Approximation` if the file is a saved one.\n\nRaises\n------\nFileError\n"
        "    Also a `FileNotFoundError` if the file is missing.\n"
    )
    made: Callable[..., LinearOperator] = finish(load, "load", parameters, doc)
    return made


def _load_again(path: str, options: tuple[tuple[str, Any], ...]) -> LinearOperator:
    return make_load()(path, **dict(options))


def measure(
    A: Any,
    B: Any,
    *,
    effort: str = "full",
    confidence: float | None = None,
    seed: int = 1,
    progress: Any = None,
    max_seconds: float | None = None,
) -> _core.Measurement:
    """Measure the error of B as an approximation of A, and the time of products with B.

    Parameters
    ----------
    A, B : array_like, sparse matrix or operator
        Two matrices of the same shape.
    effort : {"quick", "full"}, default="full"
        "full": exact if that takes fewer than 1e11 multiplications, else estimated from random
        vectors; "quick": estimated, or left out, if it would take long.
    confidence : float, optional
        Also certify upper bounds that hold with this probability.
    seed : int, default=1
        Seed of the random vectors.
    progress, max_seconds : optional
        See the methods; raises `Interrupted` after `max_seconds`.

    Returns
    -------
    Measurement
        Errors, their basis, and times of products.
    """
    choice("measure", "effort", effort, ("quick", "full"))
    seed = whole_number("measure", "seed", seed)
    if confidence is not None:
        confidence = real_number("measure", "confidence", confidence)
    a, b = aslinearoperator(A)._handle, aslinearoperator(B)._handle
    with progress_callback("measure", progress) as callback:
        controls = _fit_controls("measure", callback, max_seconds, None)
        outcome = _core.measure(a, b, effort, confidence, seed, controls)
    found: _core.Measurement = _finished("measure", outcome, lambda result: result)
    return found


def compare(
    A: Any,
    methods: str | Sequence[str] | None = None,
    budget: int | str | None = None,
    *,
    rank: int | None = None,
    target_error: float | None = None,
    seed: int = 1,
    progress: Any = None,
    max_seconds: float | None = None,
) -> Comparison:
    """Run several methods on A, one after the other, and measure each: the program's table.

    Parameters
    ----------
    A : array_like, sparse matrix or operator
        The matrix.
    methods : str or sequence of str, optional
        Names of methods, separated by commas in a str; all by default.
    budget : int or str, optional
        Storage of each: numbers, a share such as "10%", or bytes such as "4MB".
    rank : int, optional
        Rank of every method that has one, in place of a budget.
    target_error : float, optional
        In place of both: each method uses the least storage with this relative error.
    seed : int, default=1
        Seed of all methods.
    progress : bool or callable, optional
        See any method.
    max_seconds : float, optional
        Time limit of each method.

    Returns
    -------
    Comparison
        A row for each method, in the order given.

    Raises
    ------
    FitInterrupted
        Ctrl-C was pressed; `approximation` is the `Comparison` up to then, or None.
    """
    names = [] if methods is None else words("compare", "methods", methods)
    text = "" if budget is None else storage_budget("compare", budget)
    size = 0 if rank is None else whole_number("compare", "rank", rank, least=1)
    seed = whole_number("compare", "seed", seed)
    handle = aslinearoperator(A)._handle
    with progress_callback("compare", progress) as callback:
        controls = _fit_controls("compare", callback, max_seconds, target_error)
        outcome = _core.compare(handle, names, text, size, seed, controls)
    made: Comparison = _finished("compare", outcome, lambda result: Comparison(*result))
    return made
