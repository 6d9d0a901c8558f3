"""What the library raises. Each is also the built-in exception that a caller would expect."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of every exception that the library raises on purpose."""


class InvalidArgument(Error, ValueError):
    """An argument is outside of its documented range."""


class BudgetTooSmall(InvalidArgument):
    """Nothing fits into the budget.

    Attributes
    ----------
    least_bytes : float
        What the method needs at least; 0 where that is not known.
    """

    def __init__(self, message: str, least_bytes: float = 0.0) -> None:
        super().__init__(message)
        self.least_bytes = least_bytes


class FileError(Error, OSError):
    """A file is missing, unreadable, malformed, or could not be written."""


class MissingFile(FileError, FileNotFoundError):
    """There is no such file; with errno and filename."""


class NumericalError(Error, ArithmeticError):
    """The mathematics failed: NaN or Inf met, a factorization broke down."""


class NotAvailable(Error, NotImplementedError):
    """This build or this machine lacks what the call needs; the message names it."""


class Interrupted(Error, TimeoutError):
    """`max_seconds` had passed before there was any result."""


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C during a fit.

    Attributes
    ----------
    approximation : Approximation, Comparison, Measurement or None
        The best so far, where the method has one; of `compare`, the rows so far.
    """

    def __init__(self, message: str, approximation: Any = None) -> None:
        super().__init__(message)
        self.approximation = approximation
