"""Input matrices: arrays without a copy, sparse matrices, and objects that provide products."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from . import _core
from ._check import choice, real_number, whole_number
from ._errors import InvalidArgument

_DOUBLE = np.dtype(np.float64)
# Largest number of entries of a matrix, so that its bytes can be counted.
_LARGEST = 2**60
KERNELS = ("gaussian", "laplacian", "matern32", "matern52", "polynomial", "linear", "cosine")


class LinearOperator(scipy.sparse.linalg.LinearOperator):
    """A real matrix that is defined by its products.

    It is a `scipy.sparse.linalg.LinearOperator`, so that SciPy's solvers accept it, and it also
    provides the columns, rows, diagonal and cost that methods of this library use. Returned by
    `aslinearoperator`, `kernel`, `covariance` and `load`; results of fits are of the subclass
    `Approximation`.
    """

    def __init__(
        self,
        handle: _core.Operator,
        recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None,
    ) -> None:
        super().__init__(_DOUBLE, handle.shape)
        self._handle = handle
        # Function and arguments that make a copy, for pickle.
        self._recipe = recipe

    #: Operators that this one is composed of, as in SciPy's composed operators.
    args: tuple[Any, ...] = ()

    # Fast path for the usual case without SciPy's overhead; everything else as in SciPy.

    def matvec(self, x: Any) -> Any:
        """Return A x for a vector x of n numbers."""
        if type(x) is np.ndarray and x.dtype is _DOUBLE and x.ndim == 1:
            return self._vector(x, False)
        _refuse_mask(x, "the vector")
        return super().matvec(x)

    def rmatvec(self, x: Any) -> Any:
        """Return A^T x for a vector x of m numbers."""
        if type(x) is np.ndarray and x.dtype is _DOUBLE and x.ndim == 1:
            return self._vector(x, True)
        _refuse_mask(x, "the vector")
        return super().rmatvec(x)

    def __matmul__(self, other: Any) -> Any:
        if type(other) is np.ndarray and other.ndim == 1:
            return self.matvec(other)
        return super().__matmul__(other)

    def dot(self, x: Any) -> Any:
        """Return A x for a vector, a block, a number or another operator, like `@` and `*`."""
        _refuse_mask(x, "the block")
        return super().dot(x)

    def _vector(self, x: Any, transposed: bool) -> Any:
        if x.strides[0] % 8 or not x.flags.aligned:
            x = x.copy()
        y = np.empty(self.shape[transposed])
        self._handle.apply(x, y, transposed)
        return y

    def _product(self, X: Any, transposed: bool) -> Any:
        if scipy.sparse.issparse(X):
            X = X.toarray()
        _refuse_mask(X, "the block")
        X = np.asarray(X)
        if X.dtype.kind == "c":
            return self._product(X.real, transposed) + 1j * self._product(X.imag, transposed)
        X = _doubles(X, "the block")
        Y = np.empty((self.shape[transposed], X.shape[1]), order="F")
        self._handle.apply(X, Y, transposed)
        return Y

    def _matmat(self, X: Any) -> Any:
        return self._product(X, False)

    def _rmatmat(self, X: Any) -> Any:
        return self._product(X, True)

    def _matvec(self, x: Any) -> Any:
        return self._product(np.reshape(x, (-1, 1)), False)

    def _rmatvec(self, x: Any) -> Any:
        return self._product(np.reshape(x, (-1, 1)), True)

    def _transpose(self) -> LinearOperator:
        return LinearOperator(self._handle.transpose(), (_transpose_of, (self,)))

    _adjoint = _transpose

    def columns(self, J: Sequence[int]) -> Any:
        """Return A[:, J], in the order of J; repeats allowed."""
        return self._handle.columns(_indices(J, self.shape[1]))

    def rows(self, I: Sequence[int]) -> Any:
        """Return A[I, :], in the order of I; repeats allowed."""
        return self._handle.rows(_indices(I, self.shape[0])).T

    def diagonal(self) -> Any:
        """Return the main diagonal, min(m, n) numbers."""
        return self._handle.diagonal()[:, 0]

    def toarray(self) -> Any:
        """Return all entries, m n numbers."""
        return self.columns(range(self.shape[1]))

    @property
    def cost(self) -> Cost:
        """Storage of the operator and cost of its products."""
        return Cost(*self._handle.cost)

    @property
    def facts(self) -> dict[str, Any]:
        """Known properties: symmetric, nonzeros, frobenius_norm; None if unknown."""
        return self._handle.facts

    @property
    def description(self) -> str:
        """Short description: "sparse, 2018 stored entries"."""
        return self._handle.description

    def __reduce__(self) -> Any:
        if self._recipe is None:
            raise TypeError(
                f"a linear operator of this kind ({self.description}) cannot be pickled"
            )
        return self._recipe

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<{m} x {n} {type(self).__name__}: {self.description}>"


class Cost(tuple[int, int, float, float]):
    """Numbers and bytes stored, multiplications for A x and for one column."""

    __slots__ = ()

    def __new__(cls, numbers: int, nbytes: int, per_apply: float, per_column: float) -> Cost:
        return super().__new__(cls, (numbers, nbytes, per_apply, per_column))

    @property
    def numbers(self) -> int:
        """Number of floating-point values stored."""
        return self[0]

    @property
    def nbytes(self) -> int:
        """Size of those values and their indices, in bytes."""
        return self[1]

    @property
    def multiplications_per_apply(self) -> float:
        """Number of multiplications for A x with one vector."""
        return self[2]

    @property
    def multiplications_per_column(self) -> float:
        """Number of multiplications for one column of the matrix."""
        return self[3]


def _transpose_of(A: LinearOperator) -> LinearOperator:
    return A._transpose()


def _indices(indices: Sequence[int], size: int) -> list[int]:
    _refuse_mask(indices, "the array of indices")
    chosen = np.asarray(indices)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise InvalidArgument("indices must be a sequence of integers")
    return [int(i) + size if i < 0 else int(i) for i in chosen]


def _doubles(array: Any, what: str) -> Any:
    """Returns a float64 array; copies if it has another type, alignment or partial strides."""
    _refuse_mask(array, what)
    array = np.asarray(array)
    if array.dtype.kind not in "fiub":
        raise InvalidArgument(f"{what} has entries of type {array.dtype}; real numbers are needed")
    array = array.astype(np.float64, copy=False)
    whole = array.flags.aligned and all(stride % 8 == 0 for stride in array.strides)
    return array if whole else array.copy()


def _refuse_mask(array: Any, what: str) -> None:
    parts = array if isinstance(array, (list, tuple)) else (array,)
    if any(np.ma.isMaskedArray(part) for part in parts):
        raise InvalidArgument(
            f"{what} is a masked array, whose mask would be lost; use its .filled(value)"
        )


def _matrix(array: Any, what: str) -> Any:
    array = _doubles(array, what)
    if array.ndim != 2:
        raise InvalidArgument(
            f"{what} has {array.ndim} dimension{'' if array.ndim == 1 else 's'}; a matrix has 2"
        )
    return array


def _in_one_piece(array: Any) -> bool:
    """Returns true if the entries of each column, or of each row, are contiguous in memory."""
    (m, n), (down, across) = array.shape, array.strides
    columns = (down == 8 or m <= 1) and (across >= 8 * m or n <= 1)
    rows = (across == 8 or n <= 1) and (down >= 8 * n or m <= 1)
    return bool(columns or rows)


def _from_array(array: Any) -> LinearOperator:
    array = _matrix(array, "the array")
    if not _in_one_piece(array):
        array = np.ascontiguousarray(array)
    return LinearOperator(_core.view(array, array), (aslinearoperator, (array,)))


def _from_sparse(A: Any) -> LinearOperator:
    if len(A.shape) != 2:
        raise InvalidArgument(f"the sparse array has {len(A.shape)} dimension; a matrix has 2")
    _refuse_bad_structure(A)
    rows = A.tocsr()
    m, n = rows.shape
    values = np.ascontiguousarray(_doubles(rows.data, "the sparse matrix"))
    if values.ndim != 1:
        raise InvalidArgument(f"the sparse matrix has values of shape {values.shape}")
    starts, columns = _structure(rows)
    handle = _core.sparse(m, n, starts, columns, values)
    if handle is None:
        # A copy without the properties that SciPy caches for the original.
        count = int(starts[-1])
        parts = (values[:count].copy(), columns[:count].copy(), starts.copy())
        copy = scipy.sparse.csr_array(parts, shape=(m, n))
        copy.sum_duplicates()
        handle = _core.sparse(m, n, *_structure(copy), copy.data)
        assert handle is not None
    return LinearOperator(handle, (aslinearoperator, (A,)))


def _structure(A: Any) -> tuple[Any, Any]:
    """Returns the index arrays of compressed rows or columns, converted to one type."""
    kinds = np.result_type(A.indptr.dtype, A.indices.dtype)
    if kinds.kind not in "iu" or A.indptr.ndim != 1 or A.indices.ndim != 1:
        raise InvalidArgument(f"the sparse matrix has indices of type {kinds}")
    chosen = np.int32 if kinds == np.int32 else np.int64
    return np.ascontiguousarray(A.indptr, chosen), np.ascontiguousarray(A.indices, chosen)


def _refuse_bad_structure(A: Any) -> None:
    """Rejects invalid indices before SciPy converts A: SciPy would write out of bounds."""
    m, n = A.shape
    if A.format == "csc":
        _core.has_sorted_rows(n, m, *_structure(A))
    elif A.format == "bsr":
        height, width = A.blocksize
        _core.has_sorted_rows(m // height, n // width, *_structure(A))
        if len(A.data) < len(A.indices):
            raise InvalidArgument("the sparse matrix has fewer blocks than indices")
    elif A.format == "coo":
        for indices, size in zip((A.row, A.col), (m, n), strict=True):
            if len(indices) != len(A.data):
                raise InvalidArgument(
                    f"the sparse matrix has {len(A.data)} values and {len(indices)} indices"
                )
            if len(indices) and not 0 <= indices.min() <= indices.max() < size:
                raise InvalidArgument(
                    f"the sparse matrix has indices {indices.min()}..{indices.max()}, which are "
                    f"not all in 0..{size - 1}"
                )
    if A.format == "csc" and len(A.data) < len(A.indices):
        raise InvalidArgument("the sparse matrix has fewer values than indices")


def _from_products(A: Any) -> LinearOperator:
    """Returns an operator for any object with a shape and products."""
    try:
        m, n = (operator.index(size) for size in A.shape)
        if m < 0 or n < 0 or m * n >= _LARGEST:
            raise ValueError
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"shape {A.shape!r} of {type(A).__name__} is not that of a matrix: two nonnegative "
            f"integers whose product is below 2^60"
        ) from None
    dtype = getattr(A, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "f") not in "fiub":
        raise InvalidArgument(f"the operator has entries of type {dtype}; real numbers are needed")
    name = type(A).__name__

    def apply(X: Any) -> Any:
        return A.matmat(X) if hasattr(A, "matmat") else A @ X

    def apply_transpose(X: Any) -> Any:
        try:
            if hasattr(A, "rmatmat"):
                return A.rmatmat(X)
            if hasattr(A, "T"):
                return A.T @ X
        except (NotImplementedError, TypeError) as error:
            if not _lacks_transpose(A, error):
                raise
            raise InvalidArgument(
                f"{name} has no product with its transpose (rmatvec, rmatmat), which this method "
                "needs"
            ) from error
        raise InvalidArgument(f"{name} has neither rmatmat nor T, which this method needs")

    def product(X: Any, transposed: bool) -> Any:
        Y = apply_transpose(X) if transposed else apply(X)
        _refuse_mask(Y, f"the product with {name}")
        Y = np.asarray(Y)
        expected = (n if transposed else m, X.shape[1])
        if Y.shape != expected:
            raise InvalidArgument(
                f"{name}: the product with {'its transpose' if transposed else 'it'} has shape "
                f"{Y.shape}, expected {expected}"
            )
        return _doubles(Y, f"the product with {name}")

    return LinearOperator(_core.python_operator(m, n, product, name), (aslinearoperator, (A,)))


def _lacks_transpose(A: Any, error: Exception) -> bool:
    """Returns true if a product with the transpose failed because there is none."""
    if isinstance(error, NotImplementedError):
        return True
    # A SciPy operator with only a matvec reports this for vectors; for blocks, it fails by calling
    # None.
    if not isinstance(A, scipy.sparse.linalg.LinearOperator):
        return False
    try:
        A.rmatvec(np.zeros(A.shape[0]))
    except NotImplementedError:
        return True
    except Exception:
        return False
    return False


def aslinearoperator(A: Any) -> LinearOperator:
    """Convert a matrix to a linear operator.

    Parameters
    ----------
    A : array_like, sparse matrix or operator
        A float64 array in C or Fortran order is not copied, read-only or not, nor is a block of
        one. Do not change its entries while the operator is used, since its norm and symmetry are
        computed only once (pass `A.copy()` if they will change). Other arrays and lists are
        converted, SciPy's sparse matrices are copied. Any other object needs a shape and products:
        `matmat` or `@`, and for most methods `rmatmat` or `.T`.

    Returns
    -------
    LinearOperator
        `A` itself if it is an operator of this library.

    Raises
    ------
    InvalidArgument
        A has complex numbers or objects, or a number of dimensions other than 2. NaN and Inf are
        detected at the first use, which raises `NumericalError`.
    """
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, np.ndarray):
        return _from_array(A)
    if scipy.sparse.issparse(A):
        return _from_sparse(A)
    if hasattr(A, "matmat"):
        return _from_products(A)
    if hasattr(A, "__array__") or isinstance(A, (list, tuple)):
        _refuse_mask(A, "the array")
        return _from_array(np.asarray(A))
    if hasattr(A, "shape") and hasattr(A, "__matmul__"):
        return _from_products(A)
    raise InvalidArgument(
        f"{type(A).__name__} is neither an array nor an object with a shape and products"
    )


def kernel(
    points: Any,
    function: str = "gaussian",
    bandwidth: float | None = None,
    *,
    degree: int = 3,
    offset: float = 1.0,
) -> LinearOperator:
    """Return the matrix of a kernel function of all pairs of points, which is never formed.

    Parameters
    ----------
    points : array_like, shape (N, d)
        One point per row; copied.
    function : str, default="gaussian"
        "gaussian", exp(-r^2 / (2 h^2)) with r = |x - y|_2; "laplacian", exp(-|x - y|_1 / h);
        "matern32", "matern52", "polynomial", (x.y / d + offset)^degree; "linear" or "cosine".
    bandwidth : float, optional
        h; by default the median of the distances between points.
    degree : int, default=3
        Degree of the polynomial kernel.
    offset : float, default=1.0
        Offset of the polynomial kernel.

    Returns
    -------
    LinearOperator
        N x N; stores N d numbers.
    """
    points = _matrix(points, "the array of points")
    choice("kernel", "function", function, KERNELS)
    width = 0.0 if bandwidth is None else real_number("kernel", "bandwidth", bandwidth)
    if bandwidth is not None and not width > 0:
        raise InvalidArgument(
            f"kernel: bandwidth {bandwidth} is not positive; None uses the median rule"
        )
    degree = whole_number("kernel", "degree", degree)
    offset = real_number("kernel", "offset", offset)
    handle = _core.kernel(points, function, width, degree, offset)
    found = _core.bandwidth(handle)
    recipe = (_kernel_from, (np.array(points), function, found or None, degree, offset))
    return LinearOperator(handle, recipe)


def _kernel_from(
    points: Any, function: str, bandwidth: float | None, degree: int, offset: float
) -> LinearOperator:
    return kernel(points, function, bandwidth, degree=degree, offset=offset)


def covariance(X: Any, *, correlation: bool = False) -> LinearOperator:
    """Return the covariance of the columns of X, which is never formed.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One sample per row, at least two; copied.
    correlation : bool, default=False
        Divide each column by its standard deviation.

    Returns
    -------
    LinearOperator
        d x d; stores n d numbers.
    """
    X = _matrix(X, "the array of samples")
    recipe = (_covariance_from, (np.array(X), correlation))
    return LinearOperator(_core.covariance(X, correlation), recipe)


def _covariance_from(X: Any, correlation: bool) -> LinearOperator:
    return covariance(X, correlation=correlation)


def path_text(path: Any) -> str:
    """Returns a path as text."""
    text = os.fsdecode(os.fspath(path))
    if "\0" in text:
        raise InvalidArgument(f"the path {text!r} contains a NUL character")
    return text
