#!/usr/bin/env python3
"""Truncated SVD of a dense matrix, n = 2048, sigma_k = 1/k, rank 50, compared with scikit-learn.

Runs `matapprox compare` and sklearn.utils.extmath.randomized_svd in turn, with the same number of
threads, and prints times and errors (relative to the best possible error of that rank).
Needs numpy, scikit-learn and threadpoolctl. Usage: truncated_svd.py [program] [threads] [rounds] [--small] [--json FILE]
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default='build/default/bin/matapprox')
parser.add_argument("threads", nargs="?", default=1, type=int)
parser.add_argument("rounds", nargs="?", default=7, type=int)
parser.add_argument("--json", help="also write the results to this file")
parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
options = parser.parse_args()
program, threads, rounds = options.program, options.threads, options.rounds

import numpy as np
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

N, RANK = (100, 10) if options.small else (2048, 50)


def test_matrix():
    random = np.random.default_rng(0)
    left = np.linalg.qr(random.standard_normal((N, N)))[0]
    right = np.linalg.qr(random.standard_normal((N, N)))[0]
    return (left / np.arange(1, N + 1)) @ right.T


def ours(path, *settings):
    result = subprocess.run(
        [program, "compare", path, "--methods", "truncated_svd", "--rank", str(RANK),
         "--threads", str(threads), *(part for text in settings for part in ("--set", "truncated_svd." + text)),
         "--exact-error", "--quiet", "--json", "-"],
        capture_output=True, text=True, check=True)
    row = [r for r in json.loads(result.stdout)["results"] if r["method"] == "truncated_svd"][0]
    return row["fit_seconds"], row["error_frobenius"]


def peer(A, iterations):
    start = time.perf_counter()
    U, S, Vt = randomized_svd(A, RANK, n_iter=iterations, random_state=1)
    seconds = time.perf_counter() - start
    return seconds, np.linalg.norm(A - (U * S) @ Vt)


def main():
    A = test_matrix()
    best = np.sqrt(np.sum(1.0 / np.arange(RANK + 1, N + 1) ** 2))
    runs = {}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(threads):
        path = os.path.join(folder, "harmonic.npy")
        np.save(path, A)
        for _ in range(rounds):
            for name, call in (
                    ("matapprox", lambda: ours(path)),
                    ("matapprox q=5 b=20", lambda: ours(path, "power_iterations=5", "block_size=20")),
                    ("matapprox q=3 b=25", lambda: ours(path, "power_iterations=3", "block_size=25")),
                    ("sklearn n_iter=2", lambda: peer(A, 2)),
                    ("sklearn n_iter=auto", lambda: peer(A, "auto"))):
                runs.setdefault(name, []).append(call())
    print(f"n {N}, rank {RANK}, {threads} thread(s), {rounds} rounds")
    for name, results in runs.items():
        seconds = sorted(r[0] for r in results)
        print(f"{name:22s} median {1e3 * seconds[len(seconds) // 2]:8.1f} ms  least "
              f"{1e3 * seconds[0]:8.1f} ms  error / best {max(r[1] for r in results) / best:.7f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"runs": {name: {"median_seconds": sorted(r[0] for r in results)[len(results) // 2],
                                       "error_over_best": max(r[1] for r in results) / best}
                                for name, results in runs.items()}}, file, indent=1)


if __name__ == "__main__":
    main()
