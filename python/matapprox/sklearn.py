"""Estimators with scikit-learn's parameter names."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import DataDimensionalityWarning
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.random_projection import johnson_lindenstrauss_min_dim
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot, svd_flip
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _fits
from ._operators import LinearOperator, _refuse_mask, kernel

__all__ = ["CUR", "Nystroem", "RandomProjection", "TruncatedSVD"]

_FLOATS = [np.float64, np.float32]
_SPARSE = ["csr", "csc"]
# Kernels of scikit-learn that this library supports: their matrices are never formed.
_KERNELS = ("rbf", "laplacian", "linear", "cosine")


def _choices(method: str, option: str) -> list[str]:
    """Returns the valid values of an option of a method."""
    return next(found[3] for found in _fits.METHODS[method][1] if found[0] == option)


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


class _Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Common base class of the estimators."""

    def _check(self, X: Any, *, reset: bool, **options: Any) -> Any:
        _refuse_mask(X, "X")
        return validate_data(self, X, accept_sparse=_SPARSE, dtype=_FLOATS, reset=reset, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TruncatedSVD(_Transformer):
    """Reduce dimensionality by the leading singular vectors, without centering.

    Parameters
    ----------
    n_components : int, default=2
        Number of singular triplets, at most min(n_samples, n_features).
    algorithm : {"randomized", "krylov", "arpack", "dense", "auto"}, default="randomized"
        Algorithm of the decomposition. "arpack" is another name of "krylov".
    n_iter : int, default=5
        Power iterations of the randomized algorithm.
    n_oversamples, power_iteration_normalizer
        Accepted as in scikit-learn, but without effect: the block Krylov space is orthogonalized in
        each step, and is wider than with any oversampling.
    random_state : int, RandomState instance or None, default=None
        Seed of the random start.
    tol : float, default=0.0
        Relative residual of each triplet with "krylov"; 0 means 1e-10.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Variance of the transformed samples, and its share of the variance of X.
    singular_values_ : ndarray of shape (n_components,)
    approximation_ : Approximation
        U S V^T of the training data.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"randomized", "krylov", "arpack", "dense", "auto"})],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        algorithm: str = "randomized",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        tol: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol

    def fit(self, X: Any, y: Any = None) -> TruncatedSVD:
        """Compute the components of X."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the components of X, and return the transformed X."""
        self._validate_params()
        X = self._check(X, reset=True, ensure_min_features=2)
        if self.n_components > min(X.shape):
            raise ValueError(
                f"n_components({self.n_components}) must be <= min(n_samples, n_features) = "
                f"{min(X.shape)}."
            )
        options = {
            "rank": self.n_components,
            "algorithm": "krylov" if self.algorithm == "arpack" else self.algorithm,
            "power_iterations": self.n_iter,
            "seed": _seed(self.random_state),
        }
        if self.tol > 0:
            options["tolerance"] = self.tol
        found = _fits.fit("truncated_svd", X, options)
        U, s, Vt = (factor.values for factor in found.factors)
        U, Vt = svd_flip(np.array(U), np.array(Vt), u_based_decision=False)
        self.approximation_ = found
        self.components_ = Vt.astype(X.dtype, copy=False)
        self.singular_values_ = np.array(s)
        transformed = safe_sparse_dot(X, self.components_.T)
        self.explained_variance_ = np.var(transformed, axis=0)
        self.explained_variance_ratio_ = self.explained_variance_ / _total_variance(X)
        return transformed

    def transform(self, X: Any) -> Any:
        """Return X V."""
        check_is_fitted(self)
        return safe_sparse_dot(self._check(X, reset=False), self.components_.T)

    def inverse_transform(self, X: Any) -> Any:
        """Return X in the original space."""
        check_is_fitted(self)
        return check_array(X, dtype=_FLOATS) @ self.components_

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def _total_variance(X: Any) -> float:
    """Returns the sum of the variances of the columns."""
    if not sp.issparse(X):
        return float(np.var(X, axis=0).sum())
    squares = X.multiply(X).mean(axis=0)
    return float(np.sum(squares) - np.sum(np.square(X.mean(axis=0))))


class Nystroem(_Transformer):
    """Approximate a kernel map by landmarks among the training data.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        Kernel, as in scikit-learn's `pairwise_kernels`.
    gamma, coef0, degree : float, default=None
        Parameters of the kernel.
    kernel_params : dict, default=None
        Further parameters of a callable kernel.
    n_components : int, default=100
        Number of landmarks, and of features; fewer if the kernel matrix has a lower rank.
    sampling : str, default="auto"
        Selection of the landmarks: a value of `matapprox.nystrom`'s option for positive
        semidefinite kernels; "uniform", as in scikit-learn, for any kernel. "auto":
        "pivoted_cholesky" for "rbf", "laplacian", "linear" and "cosine", else "uniform".
    random_state : int, RandomState instance or None, default=None
        Seed of the choice.
    n_jobs : int, default=None
        Number of jobs of `pairwise_kernels`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The landmarks.
    component_indices_ : ndarray of shape (n_components,)
        Indices of the landmarks in the training data.
    normalization_ : ndarray of shape (n_components, n_components)
        The inverse square root of the kernel matrix of the landmarks.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions({*PAIRWISE_KERNEL_FUNCTIONS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "coef0": [Interval(Real, None, None, closed="neither"), None],
        "degree": [Interval(Real, 1, None, closed="left"), None],
        "kernel_params": [dict, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions({"auto", *_choices("nystrom", "sampling")})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        sampling: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Nystroem:
        """Choose the landmarks."""
        self._validate_params()
        self._kernel_parameters()
        X = self._check(X, reset=True)
        count = min(self.n_components, X.shape[0])
        if count < self.n_components:
            warnings.warn(
                f"n_components({self.n_components}) > n_samples({count}). This is not possible: "
                "n_components was set to n_samples, which results in inefficient evaluation of the "
                "full kernel.",
                stacklevel=2,
            )
        chosen = self._landmarks(X, count)
        self.components_ = X[chosen]
        self.component_indices_ = chosen
        own = self._with_landmarks(self.components_)
        U, s, Vt = scipy.linalg.svd(own)
        self.normalization_ = U / np.sqrt(np.maximum(s, 1e-12)) @ Vt
        self._n_features_out = len(chosen)
        return self

    def transform(self, X: Any) -> Any:
        """Return features whose scalar products approximate the kernel."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        features = self._with_landmarks(X) @ self.normalization_.T
        return features.astype(X.dtype, copy=False)

    def _landmarks(self, X: Any, count: int) -> Any:
        random_state = check_random_state(self.random_state)
        sampling = self.sampling
        if sampling == "auto":
            known = isinstance(self.kernel, str) and self.kernel in _KERNELS
            sampling = "pivoted_cholesky" if known else "uniform"
        if sampling == "uniform":
            return random_state.permutation(X.shape[0])[:count]
        options = {
            "rank": count,
            "form": "psd",
            "sampling": sampling,
            "seed": _seed(random_state),
        }
        found = _fits.fit("nystrom", self._kernel_matrix(X), options)
        return np.array(found.summary["chosen_columns"])

    def _kernel_matrix(self, X: Any) -> Any:
        """Returns the whole kernel matrix; forms it only if the library lacks the kernel."""
        parameters = self._kernel_parameters()
        gamma = parameters.get("gamma")
        d = X.shape[1]
        if self.kernel == "precomputed":
            return X
        if sp.issparse(X) or gamma == 0:
            return self._kernel(X, X)
        if self.kernel == "rbf":
            return kernel(X, "gaussian", np.sqrt((d if gamma is None else 1 / gamma) / 2))
        if self.kernel == "laplacian":
            return kernel(X, "laplacian", float(d if gamma is None else 1 / gamma))
        if self.kernel in ("linear", "cosine"):
            return kernel(X, self.kernel)
        return self._kernel(X, X)

    def _with_landmarks(self, X: Any) -> Any:
        """Returns the kernel of samples and landmarks, or columns of a precomputed matrix."""
        if self.kernel != "precomputed":
            return self._kernel(X, self.components_)
        columns = X[:, self.component_indices_]
        return columns.toarray() if sp.issparse(columns) else columns

    def _kernel(self, X: Any, Y: Any) -> Any:
        parameters = self._kernel_parameters()
        return pairwise_kernels(
            X, Y, metric=self.kernel, filter_params=True, n_jobs=self.n_jobs, **parameters
        ).astype(np.float64, copy=False)

    def _kernel_parameters(self) -> dict[str, Any]:
        given = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree}
        if callable(self.kernel) or self.kernel == "precomputed":
            if any(value is not None for value in given.values()):
                raise ValueError(
                    "Don't pass gamma, coef0 or degree to Nystroem if using a callable or "
                    "precomputed kernel"
                )
            given = {}
        else:
            names = KERNEL_PARAMS[self.kernel]
            given = {
                name: value for name, value in given.items() if name in names and value is not None
            }
        return {**(self.kernel_params or {}), **given}


class RandomProjection(_Transformer):
    """Reduce dimensionality by a random matrix that is a function of its seed.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of output features; "auto": the number required by the Johnson-Lindenstrauss lemma.
    kind : {"gaussian", "rademacher", "sparse", "srht"}, default="gaussian"
        Distribution of the matrix; "sparse": two thirds of its entries are 0.
    eps : float, default=0.1
        Epsilon of the lemma: largest relative change of squared distances.
    dense_output : bool, default=False
        Return dense features for sparse data with kind "sparse".
    compute_inverse_components : bool, default=False
        Compute the pseudo-inverse in `fit`.
    random_state : int, RandomState instance or None, default=None
        Seed of the matrix.

    Attributes
    ----------
    n_components_ : int
    components_ : ndarray or sparse array of shape (n_components, n_features)
    inverse_components_ : ndarray of shape (n_features, n_components)
        Pseudo-inverse of the matrix, if `compute_inverse_components`.
    operator_ : LinearOperator
        The matrix as the library stores it: five numbers.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "kind": [StrOptions(set(_choices("jl_projection", "kind")))],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "dense_output": ["boolean"],
        "compute_inverse_components": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        kind: str = "gaussian",
        eps: float = 0.1,
        dense_output: bool = False,
        compute_inverse_components: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kind = kind
        self.eps = eps
        self.dense_output = dense_output
        self.compute_inverse_components = compute_inverse_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomProjection:
        """Generate the matrix; only the shape of X is used."""
        self._validate_params()
        X = self._check(X, reset=True)
        self.n_components_ = self._size(*X.shape)
        seed = _seed(self.random_state)
        self.operator_ = _projection(self.kind, seed, self.n_components_, X.shape[1])
        components = self.operator_.toarray().astype(X.dtype, copy=False)
        self.components_ = sp.csr_array(components) if self.kind == "sparse" else components
        if self.compute_inverse_components:
            self.inverse_components_ = self._inverse()
        self._n_features_out = self.n_components_
        return self

    def _size(self, samples: int, features: int) -> int:
        if self.n_components != "auto":
            size = int(self.n_components)
            if size > features:
                warnings.warn(
                    "The number of components is higher than the number of features: "
                    f"n_features < n_components ({features} < {size})."
                    "The dimensionality of the problem will not be reduced.",
                    DataDimensionalityWarning,
                    stacklevel=3,
                )
            return size
        size = int(johnson_lindenstrauss_min_dim(samples, eps=self.eps))
        lead = f"eps={self.eps:f} and n_samples={samples} lead to a target dimension of {size}"
        if size <= 0:
            raise ValueError(f"{lead} which is invalid")
        if size > features:
            raise ValueError(
                f"{lead} which is larger than the original space with n_features={features}"
            )
        return size

    def transform(self, X: Any) -> Any:
        """Return X R^T."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return safe_sparse_dot(X, self.components_.T, dense_output=self.dense_output)

    def inverse_transform(self, X: Any) -> Any:
        """Return X in the original space, by the pseudo-inverse."""
        check_is_fitted(self)
        X = check_array(X, dtype=_FLOATS, accept_sparse=_SPARSE)
        inverse = self.inverse_components_ if self.compute_inverse_components else self._inverse()
        return X @ inverse.T

    def _inverse(self) -> Any:
        dense = self.components_.toarray() if sp.issparse(self.components_) else self.components_
        return scipy.linalg.pinv(dense, check_finite=False)


def _projection(kind: str, seed: int, rows: int, cols: int) -> LinearOperator:
    return LinearOperator(
        _core.random_projection(kind, seed, rows, cols), (_projection, (kind, seed, rows, cols))
    )


class CUR(_Transformer):
    """Reduce dimensionality by actual samples: X is approximately its features times rows of X.

    Parameters
    ----------
    n_components : int, default=2
        Number of columns and of rows, at most min(n_samples, n_features).
    sampling : str, default="pivoted_qr"
        Selection of columns and rows: a value of `matapprox.cur`'s option.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice.

    Attributes
    ----------
    components_ : ndarray or sparse array of shape (n_components, n_features)
        The chosen rows of X.
    row_indices_, column_indices_ : ndarray of shape (n_components,)
        Indices of the chosen rows, and of the chosen columns (features).
    approximation_ : Approximation
        C U R of the training data.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions(set(_choices("cur", "sampling")))],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_components: int = 2, *, sampling: str = "pivoted_qr", random_state: Any = None
    ) -> None:
        self.n_components = n_components
        self.sampling = sampling
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> CUR:
        """Choose columns and rows of X."""
        self._validate_params()
        X = self._check(X, reset=True)
        if self.n_components > min(X.shape):
            raise ValueError(
                f"n_components({self.n_components}) must be <= min(n_samples, n_features) = "
                f"{min(X.shape)}."
            )
        options = {
            "rank": self.n_components,
            "sampling": self.sampling,
            "seed": _seed(self.random_state),
        }
        self.approximation_ = _fits.fit("cur", X, options)
        self.column_indices_ = np.array(self.approximation_.summary["chosen_columns"])
        self.row_indices_ = np.array(self.approximation_.summary["chosen_rows"])
        self.components_ = X[self.row_indices_]
        dense = self.components_.toarray() if sp.issparse(X) else self.components_
        self._inverse = scipy.linalg.pinv(dense)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Any:
        """Return the coordinates Y for which Y @ components_ is closest to X."""
        check_is_fitted(self)
        return self._check(X, reset=False) @ self._inverse

    def inverse_transform(self, X: Any) -> Any:
        """Return X in the original space."""
        check_is_fitted(self)
        return check_array(X, dtype=_FLOATS) @ self.components_
