"""Exceptions of the library. Each also derives from the matching built-in exception."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base class of the exceptions that the library raises."""


class InvalidArgument(Error, ValueError):
    """An argument is outside of its documented range."""


class BudgetTooSmall(InvalidArgument):
    """No approximation fits into the budget.

    Attributes
    ----------
    least_bytes : float
        Smallest budget that the method can use; 0 if it is not known.
    """

    def __init__(self, message: str, least_bytes: float = 0.0) -> None:
        super().__init__(message)
        self.least_bytes = least_bytes


class FileError(Error, OSError):
    """A file is missing, unreadable, malformed, or could not be written."""


class MissingFile(FileError, FileNotFoundError):
    """A file does not exist; errno and filename are set."""


class NumericalError(Error, ArithmeticError):
    """A computation failed: NaN or Inf occurred, or a factorization broke down."""


class NotAvailable(Error, NotImplementedError):
    """This build or machine does not support the call; the message names the reason."""


class Interrupted(Error, TimeoutError):
    """`max_seconds` had passed before there was any result."""


class FitInterrupted(KeyboardInterrupt):
    """Ctrl-C during a fit.

    Attributes
    ----------
    approximation : Approximation, Comparison, Measurement or None
        The best result so far, if there is one; for `compare`, the rows so far.
    """

    def __init__(self, message: str, approximation: Any = None) -> None:
        super().__init__(message)
        self.approximation = approximation
