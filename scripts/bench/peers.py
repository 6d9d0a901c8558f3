#!/usr/bin/env python3
"""Our programs compared with Python packages that do the same, in turn and with the same number of threads: the table of peers in
docs/benchmarks.md.

    peers.py CASE [--program build/default/bin/matapprox] [--threads 1] [--rounds 3] [--folder DIR] [--small] [--json FILE]

  nystrom        Gaussian kernel of 50,000 points in 8 dimensions from 20 clusters (std 1, centers N(0, 16 I)), median bandwidth,
                 rank 500, never formed; scikit-learn's Nystroem, fit and transform. Errors are relative, in the Frobenius norm, on
                 the same 1000 columns of the kernel matrix.
  truncated_svd  A dense matrix, n = 2048, sigma_k = 1/k, rank 50; scikit-learn's randomized_svd. Errors are relative to the least
                 possible error of that rank.
  scale_free     Rank 20 of a graph of 1,000,000 nodes and 5,000,000 edges, grown by preferential attachment; SciPy's svds, whose
                 sparse product uses one thread.
  whole_command  From the file to the saved factors, each as a separate process: a 12,000 x 12,000 matrix (1.15 GB) from .npy and
                 HDF5, SVD of rank 50 and the exact error; the Gaussian kernel of 100,000 points in 8 dimensions, Nystroem of rank
                 1000, and the error on as many columns as ours is estimated from. 7 GB of memory; the files take 3 GB of DIR.
  matrix_market  Our reader (benchmark parse_coordinate of matapprox_bench, which --program names, on a text in memory) and SciPy's
                 mmread of a file in the page cache, 2,000,000 entries.

Needs numpy, scipy, scikit-learn, h5py and threadpoolctl. All random data have a fixed seed.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time
from statistics import median

from common import benchmarks, command_json, parser, write

arguments = parser(__doc__, program="matapprox", rounds=3)
arguments.add_argument("case", choices=["nystrom", "truncated_svd", "scale_free", "whole_command", "matrix_market"])
arguments.add_argument("--threads", default=1, type=int)
arguments.add_argument("--folder", help="folder of the temporary files")
options = arguments.parse_args()
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(options.threads)

import h5py
import numpy as np
import scipy
import scipy.io
import scipy.sparse
import sklearn
from scipy.sparse.linalg import svds
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits


def timed(function, *given, **settings):
    """Returns the seconds that a function takes, and its result."""
    begin = time.perf_counter()
    result = function(*given, **settings)
    return time.perf_counter() - begin, result


def approximate(file, method, output, *settings):
    """Returns the result of our command, which saves the factors."""
    return command_json(options.program, "approximate", file, method, *settings, "--threads", options.threads, "--force", "-o", output)["results"][0]


def factors(path):
    """Returns the factors of a saved approximation, leftmost first, as dense arrays."""
    with h5py.File(path) as file:
        result = []
        for k in range(1, int(file["factors"].attrs["count"]) + 1):
            attributes = file[f"factors/{k}"].attrs
            values = file[f"values/{attributes['value']}/values"][:]
            result.append(values.T if attributes["transposed"] else values)
    return result


def nystrom(folder):
    count, rank, columns = (500, 20, 50) if options.small else (50000, 500, 1000)
    random = np.random.default_rng(1)
    centers = 4 * random.standard_normal((20, 8))
    X = centers[np.arange(count) % 20] + random.standard_normal((count, 8))
    J = np.random.default_rng(2).choice(count, columns, replace=False)
    bandwidth = float(np.median(pdist(X[np.random.default_rng(3).choice(count, min(count, 2000), replace=False)])))
    gamma = 1 / (2 * bandwidth * bandwidth)
    np.save(f"{folder}/points.npy", X)
    mine, theirs = [], []
    for seed in range(1, 1 + options.rounds):
        row = approximate(f"{folder}/points.npy", "nystrom", f"{folder}/out.h5", "--as", "kernel", "--bandwidth", repr(bandwidth),
                          "--rank", rank)
        mine.append(row["fit_seconds"])
        seconds, embedding = timed(Nystroem(gamma=gamma, n_components=rank, random_state=seed).fit_transform, X)
        theirs.append(seconds)
    exact = rbf_kernel(X, X[J], gamma=gamma)
    *left, right = factors(f"{folder}/out.h5")
    block = right[:, J]
    for factor in reversed(left):
        block = factor @ block

    def error(found):
        return float(np.linalg.norm(exact - found) / np.linalg.norm(exact))

    return {"ours": {"median_seconds": median(mine), "error": error(block)},
            "theirs": {"median_seconds": median(theirs), "error": error(embedding @ embedding[J].T)},
            "peak_gigabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6, "sklearn": sklearn.__version__}


def truncated_svd(folder):
    n, rank = (100, 10) if options.small else (2048, 50)
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.standard_normal((n, n)))[0] for _ in range(2))
    A = (left / np.arange(1, n + 1)) @ right.T
    np.save(f"{folder}/harmonic.npy", A)

    def ours(*settings):
        found = command_json(options.program, "compare", f"{folder}/harmonic.npy", "--methods", "truncated_svd", "--rank", rank, "--threads",
                    options.threads, *(part for text in settings for part in ("--set", f"truncated_svd.{text}")), "--exact-error")
        row = next(row for row in found["results"] if row["method"] == "truncated_svd")
        return row["fit_seconds"], row["error_frobenius"]

    def theirs(iterations):
        seconds, (U, S, Vt) = timed(randomized_svd, A, rank, n_iter=iterations, random_state=1)
        return seconds, np.linalg.norm(A - (U * S) @ Vt)

    calls = {"matapprox": lambda: ours(), "matapprox q=5 b=20": lambda: ours("power_iterations=5", "block_size=20"),
             "matapprox q=3 b=25": lambda: ours("power_iterations=3", "block_size=25"),
             "sklearn n_iter=2": lambda: theirs(2), "sklearn n_iter=auto": lambda: theirs("auto")}
    runs = {}
    for _ in range(options.rounds):
        for name, call in calls.items():
            runs.setdefault(name, []).append(call())
    best = np.sqrt(np.sum(1.0 / np.arange(rank + 1, n + 1) ** 2))
    return {"runs": {name: {"median_seconds": median(seconds for seconds, _ in found),
                            "error_over_best": float(max(error for _, error in found) / best)} for name, found in runs.items()}}


def grown_graph(nodes, links):
    """Returns a graph. Edge e connects node e // links + 1 to a node drawn with probability proportional to its degree: a random
    end of an earlier edge, where end 2 f is the source of edge f and 2 f + 1 its target."""
    edges = np.arange(links * (nodes - 1))
    source = edges // links + 1
    drawn = (np.random.default_rng(1).random(edges.size) * np.maximum(2 * links * (source - 1), 1)).astype(np.int64)
    drawn[:links] = -1
    end = drawn.copy()
    while (odd := (end > 0) & (end % 2 == 1)).any():
        end[odd] = drawn[end[odd] // 2]
    target = np.where(end < 0, 0, source[np.maximum(end, 0) // 2])
    A = scipy.sparse.coo_matrix((np.ones(edges.size), (source, target)), shape=(nodes, nodes)).tocsr()
    A = A + A.T
    A.data[:] = 1.0
    return A


def scale_free(folder):
    nodes, rank = 2000 if options.small else 1000000, 20
    A = grown_graph(nodes, 5)
    lower = scipy.sparse.tril(A).tocoo()
    with open(f"{folder}/graph.mtx", "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern symmetric\n{nodes} {nodes} {lower.nnz}\n")
        np.savetxt(file, np.column_stack((lower.row + 1, lower.col + 1)), fmt="%d")
    mine, theirs, differences = [], [], []
    for _ in range(options.rounds):
        mine.append(approximate(f"{folder}/graph.mtx", "truncated_svd", f"{folder}/out.h5", "--rank", rank)["fit_seconds"])
        seconds, found = timed(svds, A, k=rank, return_singular_vectors=True, random_state=1)
        theirs.append(seconds)
        wanted = np.sort(found[1])[::-1]
        with h5py.File(f"{folder}/out.h5") as file:
            diagonal = next(value["values"][:] for value in file["values"].values() if value.attrs["kind"] in (b"diagonal", "diagonal"))
        differences.append(float(np.max(np.abs(np.sort(np.abs(diagonal))[::-1] - wanted) / wanted)))
    return {"ours": median(mine), "theirs": median(theirs), "difference": max(differences), "scipy": scipy.__version__}


WHOLE_SVD = """
import sys, numpy as np, h5py
from sklearn.utils.extmath import randomized_svd
path, out, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
A = np.load(path) if path.endswith(".npy") else h5py.File(path)["A"][:]
U, s, Vt = randomized_svd(A, n_components=rank, random_state=1)
US, square = U * s, 0.0
for j in range(0, A.shape[1], 512):
    square += np.linalg.norm(A[:, j:j + 512] - US @ Vt[:, j:j + 512]) ** 2
print(np.sqrt(square) / np.linalg.norm(A))
with h5py.File(out, "w") as f:
    f["U"], f["s"], f["Vt"] = U, s, Vt
"""

WHOLE_KERNEL = """
import sys, numpy as np, h5py
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
path, out, h, columns, rank = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
X = np.load(path)
gamma = 1 / (2 * h * h)
F = Nystroem(gamma=gamma, n_components=rank, random_state=1).fit_transform(X)
J = np.random.default_rng(1).choice(len(X), columns, replace=False)
error = norm = 0.0
for j in range(0, columns, 64):
    K = rbf_kernel(X, X[J[j:j + 64]], gamma=gamma)
    norm += np.linalg.norm(K) ** 2
    error += np.linalg.norm(K - F @ F[J[j:j + 64]].T) ** 2
print(np.sqrt(error / norm))
with h5py.File(out, "w") as f:
    f["F"] = F
"""


def whole_command(folder):
    order, rank, points, landmarks = (300, 10, 1000, 20) if options.small else (12000, 50, 100000, 1000)
    random, k, bandwidth = np.random.default_rng(0), 300, "3.7865"
    A = (random.standard_normal((order, k)) / np.arange(1, k + 1)) @ random.standard_normal((k, order)) / np.sqrt(order)
    A += 0.01 * random.standard_normal((order, order))
    np.save(f"{folder}/dense.npy", A)
    with h5py.File(f"{folder}/dense.h5", "w") as file:
        file["A"] = A
    del A
    np.save(f"{folder}/points.npy", random.standard_normal((points, 8)))
    cases = [(kind, f"dense.{kind}", ["truncated_svd", "--rank", rank], WHOLE_SVD, [rank]) for kind in ("npy", "h5")]
    cases.append(("kernel", "points.npy", ["nystrom", "--as", "kernel", "--bandwidth", bandwidth, "--rank", landmarks], WHOLE_KERNEL,
                  [bandwidth, 256, landmarks]))
    rows = []
    for name, file, (method, *settings), code, given in cases:
        mine, theirs = [], []
        command = [sys.executable, "-c", code, f"{folder}/{file}", f"{folder}/theirs.h5", *map(str, given)]
        for _ in range(options.rounds):
            mine.append(timed(approximate, f"{folder}/{file}", method, f"{folder}/ours.h5", *settings))
            theirs.append(timed(subprocess.run, command, capture_output=True, text=True, check=True))
        seconds, row = sorted(mine, key=lambda each: each[0])[len(mine) // 2]
        their_seconds, done = sorted(theirs, key=lambda each: each[0])[len(theirs) // 2]
        rows.append({"name": name, "ours": {"seconds": seconds, "error": row["relative_error"], "fit_seconds": row["fit_seconds"],
                                            "samples": row["error_samples"]},
                     "theirs": {"seconds": their_seconds, "error": float(done.stdout)}})
    return {"rows": rows}


def matrix_market(folder):
    entries, order = (20000, 2000) if options.small else (2000000, 200000)
    random = np.random.default_rng(1)
    rows = np.sort(random.integers(1, order + 1, entries))
    columns = random.integers(1, order + 1, entries)
    path = f"{folder}/entries.mtx"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{order} {order} {entries}\n")
        for i, j, a in zip(rows, columns, random.standard_normal(entries).tolist()):
            file.write(f"{i} {j} {a!r}\n")
    try:  # SciPy has a new reader since 1.12, which uses all CPUs by default
        import scipy.io._fast_matrix_market as fast
        fast.PARALLELISM = options.threads
    except ImportError:
        pass
    name = f"parse_coordinate/entries:{entries}/threads:{options.threads}"
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(benchmarks(options.program, [name], options.threads, 0.5)[name]["bytes_per_second"] / 1e6)
        theirs.append(os.path.getsize(path) / 1e6 / timed(scipy.io.mmread, path)[0])
    return {"ours": median(ours), "theirs": median(theirs), "scipy": scipy.__version__}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch, threadpool_limits(options.threads):
        write(options, globals()[options.case](scratch))
