#!/usr/bin/env python3
"""Nystrom approximation of a Gaussian kernel matrix that is never formed, compared with scikit-learn.

50,000 points in 8 dimensions from 20 clusters (std 1, centers N(0, 16 I), seed 1), median bandwidth,
rank 500. Runs `matapprox approximate ... nystrom` and sklearn's Nystroem (fit and transform) in turn,
with the same number of threads and the same bandwidth. Prints times, the relative Frobenius error of
both on the same 1000 columns of the kernel matrix, and the peak memory of our process.
Needs numpy, scipy, scikit-learn, h5py and threadpoolctl. Usage: nystrom.py [program] [threads] [rounds] [points] [--small] [--json FILE]
"""
import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default='build/default/bin/matapprox')
parser.add_argument("threads", nargs="?", default=1, type=int)
parser.add_argument("rounds", nargs="?", default=3, type=int)
parser.add_argument("points", nargs="?", default=50000, type=int)
parser.add_argument("--json", help="also write the results to this file")
parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
options = parser.parse_args()
program, threads, rounds, count = options.program, options.threads, options.rounds, 500 if options.small else options.points

import h5py
import numpy as np
import sklearn
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

RANK, COLUMNS = (20, 50) if options.small else (500, 1000)


def points():
    random = np.random.default_rng(1)
    centers = 4 * random.standard_normal((20, 8))
    return centers[np.arange(count) % 20] + random.standard_normal((count, 8))


def ours(path, output, bandwidth):
    run = subprocess.run(
        [program, "approximate", path, "nystrom", "--as", "kernel", "--bandwidth", repr(float(bandwidth)),
         "--rank", str(RANK), "--threads", str(threads), "--quiet", "--force", "-o", output, "--json", "-"],
        capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["results"][0]


def factors(path):
    """Returns the factors of a saved approximation, leftmost first, as dense arrays."""
    with h5py.File(path) as file:
        result = []
        for k in range(1, int(file["factors"].attrs["count"]) + 1):
            attributes = file[f"factors/{k}"].attrs
            values = file[f"values/{attributes['value']}/values"][:]
            result.append(values.T if attributes["transposed"] else values)
    return result


def columns_of(chain, J):
    block = chain[-1][:, J]
    for factor in reversed(chain[:-1]):
        block = factor @ block
    return block


def median_distance(X):
    sample = X[np.random.default_rng(3).choice(count, min(count, 2000), replace=False)]
    return np.median(pdist(sample))


def main():
    X = points()
    J = np.random.default_rng(2).choice(count, COLUMNS, replace=False)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(threads):
        path, output = os.path.join(folder, "points.npy"), os.path.join(folder, "out.h5")
        np.save(path, X)
        h = median_distance(X)
        gamma = 1 / (2 * h * h)
        mine, theirs = [], []
        for round in range(rounds):
            row = ours(path, output, h)
            mine.append(row["fit_seconds"])
            start = time.perf_counter()
            embedding = Nystroem(gamma=gamma, n_components=RANK, random_state=1 + round).fit_transform(X)
            theirs.append(time.perf_counter() - start)
        exact = rbf_kernel(X, X[J], gamma=gamma)
        error = lambda block: np.linalg.norm(exact - block) / np.linalg.norm(exact)
        our_error = error(columns_of(factors(output), J))
        their_error = error(embedding @ embedding[J].T)
    middle = lambda times: sorted(times)[len(times) // 2]
    print(f"{count} points, rank {RANK}, bandwidth {h:g}, {threads} thread(s), {rounds} rounds")
    print(f"matapprox nystrom  median {middle(mine):6.2f} s  least {min(mine):6.2f} s  relative error on "
          f"{COLUMNS} columns {our_error:.3e}")
    print(f"sklearn Nystroem   median {middle(theirs):6.2f} s  least {min(theirs):6.2f} s  relative error on "
          f"{COLUMNS} columns {their_error:.3e}")
    gigabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    print(f"our process: relative error {row['relative_error']:.3e} (exact: {row['error_is_exact']}), peak memory "
          f"{gigabytes:.2f} GB")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ours": {"median_seconds": middle(mine), "error": our_error}, "peak_gigabytes": gigabytes,
                       "theirs": {"median_seconds": middle(theirs), "error": their_error},
                       "sklearn": sklearn.__version__}, file, indent=1)


if __name__ == "__main__":
    main()
