"""Methods, `best`, `measure`, `compare` and `load`, made from the options of the library."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._approximation import Approximation
from ._comparison import Comparison
from ._errors import FitInterrupted, InvalidArgument
from ._operators import LinearOperator, aslinearoperator, path_text
from ._options import Option, documentation_of, finish, parameters_of, texts_of
from ._progress import progress_callback

METHODS: dict[str, tuple[str, list[Option]]] = {
    name: (summary, options) for name, summary, options in _core.methods()
}
_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY

# Parameters that every fit has besides its method's options: (name, default, annotation, text).
Control = tuple[str, Any, str, str]
CONTROLS: list[Control] = [
    (
        "precision",
        "double",
        'Literal["double", "float", "float16", "bfloat16", "packed"]',
        'precision : {"double", "float", "float16", "bfloat16", "packed"}, optional\n'
        '    How values are stored; "packed": in as few bits as each is worth.',
    ),
    (
        "target_error",
        None,
        "float | None",
        "target_error : float, optional\n"
        "    In place of a rank or budget: the least storage with this relative Frobenius error.",
    ),
    (
        "progress",
        None,
        "Progress",
        "progress : bool or callable, optional\n"
        "    True: a bar, by tqdm if that is installed. A function is called with (iteration,\n"
        "    relative_error, fraction_done), None where unknown, at most 20 times a second; what\n"
        "    it raises ends the fit and comes through.",
    ),
    (
        "max_seconds",
        None,
        "float | None",
        "max_seconds : float, optional\n"
        "    The best so far after this time; `Interrupted` where the method has none yet.",
    ),
]
# And those of a fit that goes on for minutes.
_CONTINUATION: list[Control] = [
    (
        "warm_start",
        None,
        "Approximation | None",
        "warm_start : Approximation, optional\n"
        "    Of this method: the fit starts from its factors.",
    ),
    (
        "checkpoint",
        None,
        "str | os.PathLike[str] | None",
        "checkpoint : str or path, optional\n"
        "    A file that gets the best so far about once a minute and where the fit is stopped,\n"
        "    with what it takes to go on; at the end the result.",
    ),
    (
        "resume",
        False,
        "bool",
        "resume : bool, optional\n"
        "    Go on with the fit in `checkpoint`, of the same matrix and options: the same bits as\n"
        "    if it had not been stopped.",
    ),
]
_MATRIX = "A : array_like, sparse matrix or operator\n    The matrix; see `aslinearoperator`."


def _wishes(name: str, progress: Any, max_seconds: float | None, target_error: float | None) -> Any:
    if max_seconds is not None and not max_seconds >= 0:
        raise InvalidArgument(f"{name}: max_seconds {max_seconds} is negative")
    if target_error is not None and not 0 < target_error < 1:
        raise InvalidArgument(f"{name}: target_error {target_error} is outside 0..1")
    return _core.Wishes(
        progress_callback(name, progress),
        math.inf if max_seconds is None else float(max_seconds),
        0.0 if target_error is None else float(target_error),
    )


def _finished(name: str, outcome: tuple[Any, Any], made: Callable[[Any], Any]) -> Any:
    """The result, or FitInterrupted with what there is of it."""
    result, interrupt = outcome
    if interrupt is None:
        return made(result)
    if not isinstance(interrupt, KeyboardInterrupt):
        raise interrupt
    so_far = None if result is None else made(result)
    has = "without a result" if so_far is None else "with the best so far in `approximation`"
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
        raise InvalidArgument(f"{method}: warm_start is no Approximation")
    if resume and (checkpoint is None or warm_start is not None):
        raise InvalidArgument(f"{method}: resume needs a checkpoint, and no warm start")
    start = None if warm_start is None else warm_start._handle
    path = "" if checkpoint is None else path_text(checkpoint)
    texts = texts_of(method, METHODS[method][1], options)
    wishes = _wishes(method, progress, max_seconds, target_error)
    continuation = _core.Continuation(start, path, bool(resume))
    outcome = _core.fit(aslinearoperator(A)._handle, method, texts, precision, continuation, wishes)
    approximation: Approximation = _finished(method, outcome, lambda result: Approximation(*result))
    return approximation


def signature_parameters(options: Sequence[Option], controls: Sequence[Control]) -> Any:
    """A, the rank where there is one, then keywords."""
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


def _with_controls(
    parameters: list[inspect.Parameter], arguments: tuple[Any, ...], given: dict[str, Any]
) -> dict[str, Any]:
    """All arguments by name, as the signature has them."""
    return dict(inspect.Signature(parameters).bind(*arguments, **given).arguments)


def controls_of(name: str) -> list[Control]:
    """What a method takes besides its options."""
    return [*_CONTINUATION, *CONTROLS] if name == "chord" else CONTROLS


def _make_method(name: str) -> Callable[..., Approximation]:
    summary, options = METHODS[name]
    parameters = signature_parameters(options, controls_of(name))
    controls = {control[0] for control in controls_of(name)}

    def function(*arguments: Any, **given: Any) -> Approximation:
        chosen = _with_controls(parameters, arguments, given)
        A = chosen.pop("A")
        control = {key: chosen.pop(key) for key in list(chosen) if key in controls}
        return fit(name, A, chosen, **control)

    title = f"{summary[0].upper()}{summary[1:]}."
    doc = _document(title, options, controls_of(name), "Approximation")
    made: Callable[..., Approximation] = finish(function, name, parameters, doc)
    return made


def method_functions() -> dict[str, Callable[..., Approximation]]:
    """A function for each registered method."""
    return {name: _make_method(name) for name in METHODS}


BEST_OPTIONS: list[Option] = _core.best_options()
BEST_CONTROLS = [control for control in CONTROLS if control[0] in ("progress", "max_seconds")]


def best_parameters() -> list[inspect.Parameter]:
    """A, budget and target error, then keywords."""
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
        chosen = _with_controls(parameters, arguments, given)
        A = chosen.pop("A")
        wishes = _wishes(
            "best", chosen.pop("progress", None), chosen.pop("max_seconds", None), None
        )
        methods = chosen.get("methods")
        if methods is not None and not isinstance(methods, str):
            chosen["methods"] = ",".join(methods)
        texts = texts_of("best", BEST_OPTIONS, chosen)
        outcome = _core.best(aslinearoperator(A)._handle, texts, wishes)
        made: Approximation = _finished("best", outcome, lambda result: Approximation(*result))
        return made

    title = (
        "The smallest trustworthy replacement of a matrix, or the nearest one within a budget.\n\n"
        "Which method, order, rank and bits is decided here; `candidates` of the result has what\n"
        "was tried, `measurement` its error."
    )
    made: Callable[..., Approximation] = finish(
        best, "best", parameters, _document(title, BEST_OPTIONS, BEST_CONTROLS, "Approximation")
    )
    return made


# `as` is a word of the language; what it says is the kind of matrix.
LOAD_OPTIONS: list[Option] = [
    ("kind" if option[0] == "as" else option[0], *option[1:]) for option in _core.load_options()
]


def load_parameters() -> list[inspect.Parameter]:
    """The path, then options by keyword."""
    return [inspect.Parameter("path", _POSITION), *parameters_of(LOAD_OPTIONS)]


def make_load() -> Callable[..., LinearOperator]:
    parameters = load_parameters()

    def load(*arguments: Any, **given: Any) -> LinearOperator:
        chosen = _with_controls(parameters, arguments, given)
        path = path_text(chosen.pop("path"))
        texts = texts_of("load", LOAD_OPTIONS, chosen)
        if not texts and path.endswith((".h5", ".hdf5")) and _core.is_saved_approximation(path):
            return Approximation(_core.load_approximation(path))
        named = [("as" if name == "kind" else name, text) for name, text in texts]
        return LinearOperator(_core.load(path, named), (_load_again, (path, tuple(chosen.items()))))

    doc = (
        "Read a matrix from a file, or a saved approximation.\n\nParameters\n----------\n"
        "path : str or path\n"
        "    .mtx .mat .npy .npz .csv .tsv .txt .h5 .png .jpg .pgm .net .edges, some with .gz.\n"
        f"{documentation_of(LOAD_OPTIONS)}\n\nReturns\n-------\nLinearOperator\n"
        "    An `Approximation` where the file is a saved one.\n\nRaises\n------\nFileError\n"
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
    """How far B is from A, and what multiplying by B takes.

    Parameters
    ----------
    A, B : array_like, sparse matrix or operator
        Two matrices of one shape.
    effort : {"quick", "full"}, optional
        Full: exact where that takes fewer than 1e11 multiplications, else estimated from random
        vectors. Quick: estimated, or left out, where it would take long.
    confidence : float, optional
        Also certify upper bounds that hold with this probability.
    seed : int, optional
        Seed of the random vectors.
    progress, max_seconds : optional
        As of every method; after that time `Interrupted` is raised.

    Returns
    -------
    Measurement
    """
    wishes = _wishes("measure", progress, max_seconds, None)
    a, b = aslinearoperator(A)._handle, aslinearoperator(B)._handle
    found: _core.Measurement = _finished(
        "measure", _core.measure(a, b, effort, confidence, seed, wishes), lambda result: result
    )
    return found


def compare(
    A: Any,
    methods: Sequence[str] | None = None,
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
    methods : sequence of str, optional
        By default all.
    budget : int or str, optional
        What each may store: numbers, a share such as "10%", or bytes such as "4MB".
    rank : int, optional
        Of every method that has one, in place of a budget.
    target_error : float, optional
        In place of both: each method's least storage with this relative error.
    seed : int, optional
        Seed of all methods.
    progress : bool or callable, optional
        As of every method.
    max_seconds : float, optional
        Of each method.

    Returns
    -------
    Comparison
    """
    wishes = _wishes("compare", progress, max_seconds, target_error)
    names = [] if methods is None else [str(name) for name in methods]
    text = "" if budget is None else str(budget)
    handle = aslinearoperator(A)._handle
    outcome = _core.compare(handle, names, text, 0 if rank is None else int(rank), seed, wishes)
    made: Comparison = _finished("compare", outcome, lambda result: Comparison(*result))
    return made
