"""Matrices of order 1 to 60 with a structure that is hard for some algorithm, for properties.py.

generate(seed, index) gives matrix number `index`. Its position in KINDS gives its kind; a generator of its own draws
everything else, so that each matrix can be made without the others.
"""
import dataclasses

import numpy as np

# Decimal exponents of max |A|. The squares of the outer ones leave the range of doubles.
EXPONENTS = (0, 0, 0, 0, -300, 300, -200, 200, -155, 155, -100, 100, -77, 77, -30, 30, -307)


@dataclasses.dataclass
class Generated:
    seed: int
    index: int
    kind: str
    exponent: int  # decimal exponent of the scale
    A: np.ndarray

    @property
    def name(self):
        return f"seed {self.seed} index {self.index} {self.kind} {self.A.shape[0]}x{self.A.shape[1]} 1e{self.exponent}"

    @property
    def is_square(self):
        return self.A.shape[0] == self.A.shape[1]

    @property
    def is_symmetric(self):
        """True if A equals its transpose bit for bit."""
        return self.is_square and bool(np.array_equal(self.A, self.A.T))


def orthogonal(rng, n):
    return np.linalg.qr(rng.standard_normal((n, n)))[0]


def symmetric_part(B):
    """Symmetric bit for bit, because addition commutes."""
    return (B + B.T) / 2


def of_spectrum(rng, values):
    Q = orthogonal(rng, len(values))
    return symmetric_part((Q * values) @ Q.T)


def positive_definite(rng, n):
    return of_spectrum(rng, np.logspace(0, -rng.uniform(0, 8), n))


def indefinite(rng, n):
    return of_spectrum(rng, rng.uniform(0.1, 1, n) * rng.choice([-1, 1], n))


def general(rng, n):
    return rng.standard_normal((n, n))


def rectangular(rng, n):
    return rng.standard_normal((n, int(rng.integers(1, 61))))


def nearly_symmetric(rng, n):
    """Asymmetry that rounding does not explain, from 1e-14 to 1e-2 of the entries."""
    E = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-14, -2)
    return of_spectrum(rng, rng.uniform(0.5, 1, n)) + (E - E.T)


def rounded_symmetric(rng, n):
    """A symmetric product with the rounding errors of floating-point arithmetic."""
    Q = orthogonal(rng, n)
    return (Q * rng.uniform(0.5, 1, n)) @ Q.T


def one_asymmetric_pair(rng, n):
    A = of_spectrum(rng, rng.uniform(0.5, 1, n))
    if n > 1:
        A[0, n - 1] *= 1 + 10.0 ** rng.uniform(-13, 0)
    return A


def skew(rng, n):
    B = rng.standard_normal((n, n))
    return B - B.T


def convection(n):
    """Diffusion with convection: tridiagonal, not symmetric."""
    return 2 * np.eye(n) - 1.4 * np.eye(n, k=-1) - 0.6 * np.eye(n, k=1)


def penalty_rows(rng, n):
    """Boundary values imposed by a large entry of the diagonal."""
    A = convection(n)
    A[0, 0] = A[n - 1, n - 1] = 10.0 ** rng.integers(8, 17)
    return A


def symmetric_penalty(rng, n):
    A = path_laplacian(rng, n)
    A[0, 0] = 10.0 ** rng.integers(8, 17)
    return A


def large_entry(rng, n):
    """One entry far above an asymmetric rest."""
    A = rng.standard_normal((n, n))
    A[rng.integers(n), rng.integers(n)] = 10.0 ** rng.integers(6, 17)
    return A


def graded_symmetric(rng, n):
    d = np.logspace(0, -rng.uniform(2, 12), n)
    return symmetric_part(of_spectrum(rng, rng.uniform(0.5, 1, n)) * d[:, None] * d[None, :])


def graded_rows(rng, n):
    return np.logspace(0, -rng.uniform(2, 16), n)[:, None] * rng.standard_normal((n, n))


def graded_beyond_range(rng, n):
    """Rows whose last entries are far below the smallest double, relative to the first."""
    return np.logspace(0, -400, n)[:, None] * rng.standard_normal((n, n)) if n > 1 else np.ones((1, 1))


def path_laplacian(rng, n):
    A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    A[0, 0] = A[n - 1, n - 1] = 1
    return A if n > 1 else np.zeros((1, 1))


def low_rank(rng, n):
    k = max(1, n // 4)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, n))


def low_rank_symmetric(rng, n):
    k = max(1, n // 4)
    U = rng.standard_normal((n, k))
    return symmetric_part((U * rng.choice([-1.0, 1.0], k)) @ U.T)


def rows_of_zeros(rng, n):
    A = rng.standard_normal((n, n))
    A[rng.integers(n, size=max(1, n // 3))] = 0
    return A


def copies_of_rows(rng, n):
    few = rng.standard_normal((max(1, n // 5), n))
    return few[rng.integers(len(few), size=n)]


def copies_of_eigenvalues(rng, n):
    return of_spectrum(rng, rng.choice([1.0, 1.0, 2.0, -1.0, 0.0], n))


def copies_of_blocks(rng, n):
    """A block diagonal matrix of copies of one small symmetric block: each eigenvalue occurs n / k times."""
    k = int(rng.integers(1, 5))
    block = np.round(symmetric_part(rng.standard_normal((k, k))) * 8) / 8
    return np.kron(np.eye(max(1, n // k)), block)


def bipartite_components(rng, n):
    """The normalized Laplacian of isolated pairs: eigenvalues 0 and 2, each once per pair."""
    return np.kron(np.eye(max(1, n // 2)), np.array([[1.0, -1.0], [-1.0, 1.0]]))


def orthogonal_matrix(rng, n):
    return orthogonal(rng, n)


def permutation(rng, n):
    return np.eye(n)[rng.permutation(n)]


def ones(rng, n):
    return np.ones((n, n))


def zeros(rng, n):
    return np.zeros((n, n))


def hilbert(rng, n):
    i = np.arange(n)
    return 1.0 / (1 + i[:, None] + i[None, :])


def diagonal(rng, n):
    return np.diag(rng.choice([1.0, 1e-8, -1.0, 0.5, 0.0], n))


def integers(rng, n):
    return rng.integers(-100, 101, (n, n)).astype(float)


def sparse(rng, n):
    return np.where(rng.uniform(size=(n, n)) < 3.0 / n, rng.standard_normal((n, n)), 0.0)


def sparse_positive_definite(rng, n):
    B = sparse(rng, n)
    L = -np.abs(B + B.T) * (1 - np.eye(n))
    return L + np.diag(0.01 - L.sum(axis=0))


def jordan(rng, n):
    return np.eye(n) * rng.choice([0.0, 1.0]) + np.eye(n, k=1)


def flat_with_noise(rng, n):
    return np.ones((n, n)) + 1e-9 * rng.standard_normal((n, n))


def single_entry(rng, n):
    A = np.zeros((n, n))
    A[rng.integers(n), rng.integers(n)] = 1
    return A


def smooth_kernel(rng, n):
    x = np.sort(rng.uniform(size=n))
    return np.exp(-((x[:, None] - x[None, :]) ** 2) / 0.02)


KINDS = (positive_definite, penalty_rows, path_laplacian, nearly_symmetric, rectangular, skew, graded_symmetric,
         copies_of_eigenvalues, low_rank, hilbert, indefinite, one_asymmetric_pair, copies_of_rows, large_entry,
         bipartite_components, general, graded_rows, low_rank_symmetric, sparse_positive_definite, ones,
         rounded_symmetric, symmetric_penalty, rows_of_zeros, copies_of_blocks, orthogonal_matrix, permutation,
         graded_beyond_range, diagonal, integers, sparse, jordan, flat_with_noise, single_entry, smooth_kernel, zeros)


def generate(seed, index):
    rng = np.random.default_rng([seed, index])
    kind = KINDS[index % len(KINDS)]
    n = int(rng.choice([1, 2, 3, rng.integers(4, 17), rng.integers(17, 61), rng.integers(17, 61), 60]))
    A = np.asarray(kind(rng, n), np.float64)
    # Scaling by a power of two changes only the digits of subnormals.
    exponent = int(rng.choice(EXPONENTS))
    largest = np.abs(A).max(initial=0.0)
    if exponent != 0 and largest > 0:
        A = np.ldexp(A, int(np.floor(exponent * np.log2(10.0) - np.log2(largest))))
    return Generated(seed, index, kind.__name__, exponent, A)


def write_matrix_market(path, A, symmetric):
    """Writes the nonzero entries with all their digits; of a symmetric matrix only those of the lower triangle."""
    i, j = np.nonzero(np.tril(A) if symmetric else A)
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real {'symmetric' if symmetric else 'general'}\n")
        file.write(f"{A.shape[0]} {A.shape[1]} {len(i)}\n")
        for row, column in zip(i, j):
            file.write(f"{row + 1} {column + 1} {float(A[row, column])!r}\n")
