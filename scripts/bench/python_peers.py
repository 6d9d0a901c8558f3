#!/usr/bin/env python3
"""The Python package compared with scikit-learn, fbpca, SciPy, primme, pyfaust: seconds and error.

    scripts/bench/python_peers.py [--rounds 5] [--small] [--json FILE]

Inputs are generated from a seed. All libraries get the same array in the same process, one thread
each, and take turns; seconds are the median of the rounds. Every result is converted to two dense
factors L and R, and the same function sums |A - L R|_F / |A|_F over the same panels of rows; a
chain of sparse factors is multiplied out first. Settings are the defaults of each library, seed 1.
Needs numpy, scipy, scikit-learn, threadpoolctl, fbpca, primme, pyfaust and matapprox.
"""

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from statistics import median

# One thread each, set before a library reads them: some contain their own OpenMP.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from importlib.metadata import version

import fbpca
import numpy as np
import primme
import pyfaust
import scipy.fft
import scipy.sparse as sp
from common import parser, write
from pyfaust.fact import hierarchical
from pyfaust.factparams import ParamsHierarchical, StoppingCriterion
from pyfaust.proj import sp as sparse
from scipy.sparse.linalg import svds
from scipy.spatial.distance import cdist
from sklearn.decomposition import TruncatedSVD
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_info, threadpool_limits

import matapprox as ma
import matapprox.sklearn

THREADS = 1
ROWS, COLUMNS = 2000, 1500
NODES, EDGES = 10000, 100000
FORMED_POINTS, POINTS, BANDWIDTH = 2500, 10000, 0.2
ORDER = 128
PALM_STEPS = 200
PANEL = 500
PACKAGES = ("numpy", "scipy", "scikit-learn", "fbpca", "primme", "pyfaust")

# Inputs


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.standard_normal((rows, columns)))[0]


def decaying():
    """Returns a matrix with singular values 1 / k."""
    rng = np.random.default_rng(1)
    U, V = orthonormal(rng, ROWS, COLUMNS), orthonormal(rng, COLUMNS, COLUMNS)
    return U / np.arange(1, COLUMNS + 1) @ V.T


def flat():
    """Returns a matrix with thirty equal singular values and noise of about half their size."""
    rng = np.random.default_rng(2)
    signal = orthonormal(rng, ROWS, 30) @ orthonormal(rng, COLUMNS, 30).T
    noise = rng.standard_normal((ROWS, COLUMNS)) / (np.sqrt(ROWS) + np.sqrt(COLUMNS))
    return signal + 0.5 * noise


def graph():
    """Returns the adjacency matrix of a graph whose expected degrees follow a power law."""
    rng = np.random.default_rng(3)
    weights = np.arange(1, NODES + 1) ** -0.5
    ends = rng.choice(NODES, size=(2, EDGES), p=weights / weights.sum())
    half = sp.csr_array((np.ones(EDGES), ends), shape=(NODES, NODES))
    A = ((half + half.T) > 0).astype(np.float64)
    A.setdiag(0)
    A.eliminate_zeros()
    return A.tocsr()


def points(count):
    return np.random.default_rng(4).random((count, 3))


def gaussian(X, Y, bandwidth=BANDWIDTH):
    return np.exp(-cdist(X, Y, "sqeuclidean") / (2 * bandwidth**2))


def helix():
    """Returns the kernel of points along a helix: high rank, with structure along the diagonal."""
    t = np.arange(ORDER) / 4
    X = np.column_stack([np.cos(t), np.sin(t), t / 8])
    return gaussian(X, X, 0.3)


# Methods that are measured. A low-rank result is returned as its two factors, a chain as itself.


def our_svd(A, rank, algorithm="auto"):
    U, s, Vt = (factor.values for factor in ma.truncated_svd(A, rank, algorithm=algorithm).factors)
    return U * s, Vt


def triplets(found):
    U, s, Vt = found
    return np.asarray(U) * s, np.asarray(Vt)


def sklearn_class(A, rank):
    model = TruncatedSVD(rank, random_state=1)
    return model.fit_transform(A), model.components_


SVD = {
    "matapprox": our_svd,
    "matapprox, randomized": lambda A, rank: our_svd(A, rank, "randomized"),
    "sklearn randomized_svd": lambda A, rank: triplets(randomized_svd(A, rank, random_state=1)),
    "sklearn TruncatedSVD": sklearn_class,
    "fbpca pca": lambda A, rank: triplets(fbpca.pca(A, rank, raw=True)),
    "scipy svds": lambda A, rank: triplets(svds(A, rank, rng=np.random.default_rng(1))),
    "primme svds": lambda A, rank: triplets(primme.svds(A, rank)),
}


def our_nystrom(X, rank):
    C, T, *_ = (f.values for f in ma.nystrom(ma.kernel(X, bandwidth=BANDWIDTH), rank).factors)
    features = C @ T
    return features, features.T


def features_of(estimator, X, rank):
    model = estimator(gamma=1 / (2 * BANDWIDTH**2), n_components=rank, random_state=1)
    features = model.fit_transform(X)
    return features, features.T


NYSTROM = {
    "matapprox": our_nystrom,
    "matapprox Nystroem": lambda X, rank: features_of(matapprox.sklearn.Nystroem, X, rank),
    "sklearn Nystroem": lambda X, rank: features_of(Nystroem, X, rank),
}


def palm(A, factors, numbers):
    """Returns factors with equally many nonzeros; the residual factor shrinks geometrically."""
    each = numbers // factors
    shrink = (each / A.size) ** (1 / (factors - 1))
    rest = [int(A.size * shrink**k) for k in range(1, factors)]
    stop = StoppingCriterion(num_its=PALM_STEPS)
    constraints = [sparse(A.shape, each)] * (factors - 1)
    return hierarchical(
        A, ParamsHierarchical(constraints, [sparse(A.shape, r) for r in rest], stop, stop)
    )


def hadamard(A, _):
    return hierarchical(A, "hadamard")


CHAINS = {
    "matapprox": lambda A, numbers: ma.chord(A, budget=numbers),
    "matapprox, auto": lambda A, numbers: ma.chord(A, budget=numbers, pattern="auto"),
    "pyfaust, 2 factors": lambda A, numbers: palm(A, 2, numbers),
    "pyfaust, 4 factors": lambda A, numbers: palm(A, 4, numbers),
}


def stored(chain):
    return int(chain.nnz_sum() if isinstance(chain, pyfaust.Faust) else chain.storage.numbers)


# Measurement


@contextlib.contextmanager
def output_to_stderr():
    """Redirects what libraries print from C++, so that it is not part of the JSON."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def dense(found):
    """Returns the factors L and R; a chain is multiplied out and its R is the identity."""
    if isinstance(found, tuple):
        return found
    M = np.asarray(found.toarray())
    return M, np.eye(M.shape[1])


def relative_error(panel, rows, found):
    """Returns |A - L R|_F / |A|_F, where panel(I) are the rows I of A."""
    L, R = dense(found)
    difference = norm = 0.0
    for first in range(0, rows, PANEL):
        I = slice(first, min(first + PANEL, rows))
        A = panel(I)
        difference += np.sum(np.square(A - L[I] @ R))
        norm += np.sum(np.square(A))
    return float(np.sqrt(difference / norm))


def one_row(title, given, size, panel, rows, calls, rounds):
    """Measures one input, the libraries in turn. `size` is the rank or the numbers of a chain."""
    seconds = {name: [] for name in calls}
    results = {}
    for round_ in range(rounds):
        for name, call in calls.items():
            with output_to_stderr():
                begin = time.perf_counter()
                found = call(given, size)
                seconds[name].append(time.perf_counter() - begin)
            if round_ == 0:
                results[name] = {"error": relative_error(panel, rows, found)}
                if not isinstance(found, tuple):
                    results[name]["numbers"] = stored(found)
    for name, result in results.items():
        result["seconds"] = median(seconds[name])
    row = {"matrix": title, "size": size, "results": results}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def svd_rows(rounds):
    dense_kernel = gaussian(points(FORMED_POINTS), points(FORMED_POINTS))
    inputs = [
        (f"dense, {ROWS} x {COLUMNS}, singular values 1 / k", decaying(), 40),
        (f"dense, {ROWS} x {COLUMNS}, 30 equal ones and noise", flat(), 30),
        (f"sparse, graph of {NODES:,} nodes", graph(), 20),
        (f"dense, Gaussian kernel of {FORMED_POINTS} points", dense_kernel, 60),
    ]
    for title, A, rank in inputs:

        def panel(I, A=A):
            return A[I].toarray() if sp.issparse(A) else A[I]

        yield one_row(title, A, rank, panel, A.shape[0], SVD, rounds)


def nystrom_rows(rounds):
    X = points(POINTS)
    for rank in (100, 300):
        title = f"Gaussian kernel of {POINTS:,} points"
        yield one_row(title, X, rank, lambda I: gaussian(X[I], X), POINTS, NYSTROM, rounds)


def chain_rows(rounds):
    # Numbers that the pattern of `chord` stores at this order.
    numbers = stored(ma.chord(np.eye(ORDER), effort="fast", adam_steps=1, max_iterations=1))
    walsh = np.asarray(pyfaust.wht(ORDER).toarray())
    inputs = [
        (f"Gaussian kernel along a helix, N = {ORDER}", helix(), CHAINS),
        (f"cosine transform, N = {ORDER}", scipy.fft.dct(np.eye(ORDER), norm="ortho"), CHAINS),
        (f"Hadamard matrix, N = {ORDER}", walsh, {**CHAINS, "pyfaust, as Hadamard": hadamard}),
    ]
    for title, A, calls in inputs:
        yield one_row(title, A, numbers, lambda I, A=A: A[I], ORDER, calls, min(rounds, 3))


def pools():
    """Returns the thread pools of the libraries, and the number of threads of each."""
    return [
        {"library": Path(pool["filepath"]).name, "threads": pool["num_threads"]}
        for pool in threadpool_info()
    ]


def use_tiny_sizes():
    """Sets tiny sizes, to check that the script runs."""
    global ROWS, COLUMNS, NODES, EDGES, FORMED_POINTS, POINTS, ORDER, PALM_STEPS
    ROWS, COLUMNS, NODES, EDGES = 160, 120, 300, 1000
    FORMED_POINTS, POINTS, ORDER, PALM_STEPS = 150, 350, 16, 2


def main():
    arguments = parser(__doc__, rounds=5)
    options = arguments.parse_args()
    if options.small:
        options.rounds = 1
        use_tiny_sizes()
    ma.set_threads(THREADS)
    with threadpool_limits(THREADS):
        document = {
            "threads": THREADS,
            "pools": pools(),
            "versions": {package: version(package) for package in PACKAGES},
            "svd": list(svd_rows(options.rounds)),
            "nystrom": list(nystrom_rows(options.rounds)),
            "chains": list(chain_rows(options.rounds)),
        }
    write(options, document)


if __name__ == "__main__":
    main()
