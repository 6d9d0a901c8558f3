#!/usr/bin/env python3
"""`hierarchical` and `best` compared with Python packages for dense matrices, at equal bytes.

For each matrix and share of 8 m n bytes: the relative Frobenius error and the seconds of ours (the fit; `best` including its
measurement of the error) and of each peer, each with the setting whose bytes are closest from below. Values and indices are
counted: 8 or 4 bytes per value of a low-rank factor, 8 + 4 bytes per nonzero and 4 per row of a sparse factor (CSR), the stream
of a compressor. Peers with a tolerance as setting are timed at the tolerance that was found, without the search for it.
Needs numpy, scipy, scikit-learn, threadpoolctl, pillow, zfpy, pysz and pyfaust.
Usage: packed_peers.py PROGRAM THREADS ROUNDS [FILE ...] [--small] [--json FILE]; FILE: .mtx or .png, matrices beside those made here
"""
import json
import math
import os
import sys
import tempfile
import time
import warnings
from statistics import median

from common import command_json, parser, write

arguments = parser(__doc__)
arguments.add_argument("program")
arguments.add_argument("threads", type=int)
arguments.add_argument("rounds", type=int)
arguments.add_argument("files", nargs="*")
options = arguments.parse_args()
# Set before NumPy reads it.
os.environ["OMP_NUM_THREADS"] = str(options.threads)
warnings.simplefilter("ignore")

from importlib.metadata import version

import numpy as np
import pyfaust
import scipy.io
import zfpy
from PIL import Image
from pyfaust.fact import palm4msa
from pyfaust.factparams import ParamsPalm4MSA, StoppingCriterion
from pyfaust.proj import sp
from pysz import sz, szConfig, szErrorBoundMode
from scipy.linalg import interpolative
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

SHARES = [0.1] if options.small else [0.01, 0.03]
POINTS = 128 if options.small else 2048
PALM_STEPS = 100
# palm4msa is slow: skipped for larger matrices.
PALM_LARGEST = 1100
FACTORS = 3


def halved(points, indices):
    """Returns the order of a tree of clusters, each halved at the median of its longest side."""
    if len(indices) <= 32:
        return list(indices)
    axis = np.argmax(np.ptp(points[indices], axis=0))
    order = indices[np.argsort(points[indices, axis], kind="stable")]
    half = (len(order) + 1) // 2
    return halved(points, order[:half]) + halved(points, order[half:])


def matern_kernel():
    points = np.random.default_rng(1).random((POINTS, 2))
    points = points[halved(points, np.arange(POINTS))]
    scaled = math.sqrt(3) * np.linalg.norm(points[:, None] - points[None], axis=2) / 0.1
    return (1 + scaled) * np.exp(-scaled)


def read(file):
    if file.endswith(".png"):
        return np.asarray(Image.open(file).convert("L"), dtype=float)
    found = scipy.io.mmread(file)
    return np.asarray(found.todense() if hasattr(found, "todense") else found, dtype=float)


def ours(path, command, *settings):
    document = command_json(options.program, command, path, *settings, "--threads", options.threads)
    if command == "best":
        return document["seconds"], document["result"]["relative_error"]
    row = next(row for row in document["results"] if row["method"] == "hierarchical")
    return row["fit_seconds"], row["relative_error"]


def low_rank(A, limit, bytes_of_value):
    m, n = A.shape
    rank = int(limit / (bytes_of_value * (m + n)))
    if rank < 1:
        return None
    kind = np.float64 if bytes_of_value == 8 else np.float32

    def run():
        U, s, Vt = randomized_svd(A, rank, random_state=1)
        return (U * s).astype(kind), Vt.astype(kind)

    return run, lambda found: found[0].astype(float) @ found[1].astype(float)


def interpolative_decomposition(A, limit):
    m, n = A.shape
    rank = max((k for k in range(1, min(m, n)) if 8 * (k * m + k * (n - k)) + 4 * n <= limit), default=0)
    if rank < 1:
        return None

    def run():
        order, rest = interpolative.interp_decomp(A, rank, rng=np.random.default_rng(1))
        return A[:, order[:rank]], order, rest

    return run, lambda found: interpolative.reconstruct_matrix_from_id(*found)


def at_bytes(limit, size_of):
    """Returns the smallest tolerance, to 2 %, whose stream fits; None if none does."""
    low, high = 1e-16, 1e3
    if size_of(high) > limit:
        return None
    while high / low > 1.02:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if size_of(middle) <= limit else (middle, high)
    return high


def zfp(A, limit):
    largest = np.abs(A).max()
    tolerance = at_bytes(limit, lambda t: len(zfpy.compress_numpy(A, tolerance=t * largest)))
    return tolerance and (lambda: zfpy.compress_numpy(A, tolerance=tolerance * largest), zfpy.decompress_numpy)


def sz3(A, limit):
    def packed(tolerance):
        config = szConfig()
        config.errorBoundMode = szErrorBoundMode.ABS
        config.absErrorBound = tolerance * np.abs(A).max()
        return sz.compress(A, config)[0]

    tolerance = at_bytes(limit, lambda t: packed(t).nbytes)
    return tolerance and (lambda: packed(tolerance), lambda found: sz.decompress(found, A.dtype, A.shape)[0])


def sparse_factors(A, limit):
    if max(A.shape) > PALM_LARGEST or A.shape[0] != A.shape[1]:
        return None
    n = A.shape[0]
    nonzeros = int((limit / FACTORS - 4 * (n + 1)) / 12)
    if nonzeros < n:
        return None

    def run():
        constraints = [sp((n, n), nonzeros) for _ in range(FACTORS)]
        return palm4msa(A, ParamsPalm4MSA(constraints, StoppingCriterion(num_its=PALM_STEPS)))

    return run, lambda found: found.toarray()


PEERS = {"randomized SVD, fp64": lambda A, limit: low_rank(A, limit, 8), "randomized SVD, fp32": lambda A, limit: low_rank(A, limit, 4),
         "interpolative": interpolative_decomposition, "zfp": zfp, "SZ3": sz3, "palm4msa": sparse_factors}


def one_row(name, A, path, share):
    limit = int(share * 8 * A.size)
    calls = {"hierarchical": lambda: ours(path, "compare", "--methods", "hierarchical", "--budget", f"{limit}B", "--exact-error"),
             "best": lambda: ours(path, "best", "--budget", f"{limit}B")}
    for peer, prepare in PEERS.items():
        prepared = prepare(A, limit)
        if prepared is None:
            continue

        def timed(run=prepared[0], back=prepared[1]):
            start = time.perf_counter()
            found = run()
            seconds = time.perf_counter() - start
            return seconds, float(np.linalg.norm(back(found) - A) / np.linalg.norm(A))

        calls[peer] = timed
    results = {}
    for _ in range(options.rounds):
        for each, call in calls.items():
            results.setdefault(each, []).append(call())
    row = {"matrix": name, "n": A.shape[0], "share": share,
           "results": {each: {"seconds": median(r[0] for r in found), "error": max(r[1] for r in found)}
                       for each, found in results.items()}}
    print(json.dumps(row), file=sys.stderr)
    return row


def main():
    inputs = [("Matérn-3/2 kernel", matern_kernel())]
    inputs += [(os.path.basename(file).rsplit(".", 1)[0], read(file)) for file in options.files]
    rows = []
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(options.threads):
        for name, A in inputs:
            path = os.path.join(folder, "matrix.npy")
            np.save(path, A)
            rows += [one_row(name, A, path, share) for share in SHARES]
    write(options, {"rows": rows,
                    "versions": {package: version(package) for package in ("scipy", "scikit-learn", "zfpy", "pysz", "pyfaust")}})


if __name__ == "__main__":
    main()
