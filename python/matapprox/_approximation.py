"""The result of a fit: factors whose product approximates a matrix."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from . import _core
from ._errors import InvalidArgument
from ._operators import LinearOperator, path_text


class Factor(NamedTuple):
    """One factor of a product."""

    name: str
    #: A read-only array: two-dimensional, or one-dimensional for a diagonal matrix; a sparse
    #: array; or a `LinearOperator` for other kinds of factors (a Chord chain, blocks, packed
    #: values, a random projection, a permutation).
    values: Any


class Storage(NamedTuple):
    """Storage of an approximation."""

    numbers: int
    nbytes: int
    #: "double", "float", "float16", "bfloat16" or "packed"
    precision: str


def is_saved_name(path: str) -> bool:
    """Returns true if a file with this name is read as HDF5."""
    return path.lower().endswith((".h5", ".hdf5"))


def _values(content: Any, transposed: bool) -> Any:
    if isinstance(content, _core.Operator):
        factor = LinearOperator(content)
        return factor.T if transposed else factor
    if isinstance(content, tuple):
        m, n, values, columns, starts = content
        content = scipy.sparse.csr_array((values, columns, starts), shape=(m, n), copy=False)
    return content.T if transposed and content.ndim == 2 else content


def _plain_factor(arrays: Any, number: int) -> Any:
    """Returns one factor of an exported .npz file."""
    name = f"factor_{number}"
    if name in arrays:
        return arrays[name]
    parts = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return scipy.sparse.csr_matrix(tuple(parts), shape=tuple(arrays[f"{name}_shape"]))


class Approximation(LinearOperator):
    """A product of factors that approximates a matrix; a `scipy.sparse.linalg.LinearOperator`.

    Attributes
    ----------
    summary : dict
        Report of the method on its run: method, form, rank, termination, message, iterations,
        seed, options, history.
    seconds, passes : float or None
        Run time of the fit, and its number of passes over the matrix; None after loading.
    measurement : Measurement or None
        Error of the approximation, for a result of `best`.
    candidates : list of dict
        Candidates that were tried, for a result of `best`.
    """

    _handle: _core.ApproximationOperator

    def __init__(
        self,
        handle: _core.ApproximationOperator,
        seconds: float | None = None,
        passes: float | None = None,
        measurement: _core.Measurement | None = None,
        candidates: list[dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(handle)
        self.summary: dict[str, Any] = handle.summary
        self.seconds = seconds
        self.passes = passes
        self.measurement = measurement
        self.candidates = candidates or []

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, first to last; arrays are read-only views.

        Their product is the approximation, or half of it and its transpose if `symmetrized`.
        """
        return tuple(
            Factor(name, _values(content, transposed))
            for name, transposed, content in self._handle.factors
        )

    @property
    def symmetrized(self) -> bool:
        """True if the approximation is (P + P^T) / 2, P the product of the factors."""
        return self._handle.symmetrized

    @property
    def rank(self) -> int | None:
        """The rank, if the method has one."""
        rank: int | None = self.summary["rank"]
        return rank

    @property
    def storage(self) -> Storage:
        """Numbers and bytes of the factors."""
        return Storage(*self._handle.storage)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one HDF5 file, which `load` and the command line program read back exactly.

        Parameters
        ----------
        path : str or path
            A name that ends in .h5 or .hdf5.

        Raises
        ------
        InvalidArgument
            The name has another ending, so `load` would not recognize the file.
        FileError
            The file cannot be written.
        """
        name = path_text(path)
        if not is_saved_name(name):
            raise InvalidArgument(
                f"save: {name} does not end in .h5, so `load` would not recognize it"
            )
        self._handle.save(name)

    def export(self, path: str | os.PathLike[str]) -> list[str]:
        """Write the factors for other programs, as `matapprox export` does.

        Parameters
        ----------
        path : str or path
            out.mat is for MATLAB and FAuST, out.npz for NumPy; out.mtx becomes a MatrixMarket file
            for each factor, out_1.mtx, out_2.mtx and so on. A Chord chain is one sparse matrix for
            each of its factors; the product of what is written is the approximation.

        Returns
        -------
        list of str
            The files written.

        Raises
        ------
        InvalidArgument
            The extension is a different one.
        FileError
            A file cannot be written.
        """
        return self._handle.write_plain_factors(path_text(path))

    def to_faust(self) -> Any:
        """Convert the factors to a `pyfaust.Faust`; pyfaust has to be installed.

        A Chord chain becomes one sparse matrix for each of its factors. Packed values and blocks
        are converted to dense float64 matrices, since a Faust supports no other type.
        """
        from pyfaust import Faust

        with tempfile.TemporaryDirectory(prefix="matapprox-") as folder:
            path = os.path.join(folder, "factors.npz")
            self.export(path)
            with np.load(path) as arrays:
                count = arrays["factors"].item()
                return Faust([_plain_factor(arrays, k + 1) for k in range(count)])

    def __reduce__(self) -> Any:
        state = (self.seconds, self.passes, self.candidates, self.measurement)
        return _from_bytes, (self._file_bytes(), *state)

    def _file_bytes(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="matapprox-") as folder:
            path = os.path.join(folder, "approximation.h5")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def _rows_of_table(self) -> list[tuple[str, str]]:
        m, n = self.shape
        storage = self.storage
        rows = [
            ("method", " ".join(filter(None, (self.summary["method"], self.summary["form"])))),
            ("shape", f"{m} x {n}"),
            ("factors", ", ".join(factor.name for factor in self.factors)),
            ("stored", f"{storage.numbers} numbers, {storage.nbytes} bytes, {storage.precision}"),
            ("share", f"{100 * storage.nbytes / max(8 * m * n, 1):.3g} % of {8 * m * n} bytes"),
        ]
        if self.rank is not None:
            rows.insert(1, ("rank", str(self.rank)))
        if self.measurement is not None and self.measurement.relative_error is not None:
            rows.append(("relative error", f"{self.measurement.relative_error:.4g}"))
        if self.seconds is not None:
            rows.append(("seconds", f"{self.seconds:.3g}"))
        if self.summary["message"]:
            rows.append(("note", self.summary["message"]))
        return rows

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._rows_of_table()
        )
        return f"<table>{rows}</table>"

    def __repr__(self) -> str:
        m, n = self.shape
        rank = "" if self.rank is None else f" of rank {self.rank}"
        method, nbytes = self.summary["method"], self.storage.nbytes
        return f"<{m} x {n} Approximation by {method}{rank}, {nbytes} bytes>"


def _from_bytes(
    content: bytes,
    seconds: float | None,
    passes: float | None,
    candidates: list[dict[str, Any]],
    measurement: _core.Measurement | None = None,
) -> Approximation:
    with tempfile.TemporaryDirectory(prefix="matapprox-") as folder:
        path = os.path.join(folder, "approximation.h5")
        with open(path, "wb") as file:
            file.write(content)
        return Approximation(
            _core.load_approximation(path), seconds, passes, measurement, candidates
        )
