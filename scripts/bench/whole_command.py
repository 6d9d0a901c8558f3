#!/usr/bin/env python3
"""Whole commands, from the file to the saved factors, compared with Python scripts that do the same.

  dense   a 12,000 x 12,000 matrix (1.15 GB), truncated SVD of rank 50, from .npy and from HDF5:
          np.load or h5py, sklearn's randomized_svd, the exact relative error by panels, HDF5
  kernel  the Gaussian kernel of 100,000 points in 8 dimensions, Nystrom of rank 1000: sklearn's
          Nystroem (fit and transform), the error on as many columns as ours is estimated from, HDF5

Each is a separate process, ours and theirs in turn, with the same number of threads; the files are in
the page cache. Prints median and least seconds of wall time and the CPU seconds of the median run.
Needs numpy, scikit-learn and h5py; 7 GB of memory.
Usage: whole_command.py [program] [threads] [rounds] [folder] [--small] [--json FILE]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

DENSE = """
import sys, numpy as np, h5py
from sklearn.utils.extmath import randomized_svd
path, out, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
A = np.load(path) if path.endswith(".npy") else h5py.File(path)["A"][:]
U, s, Vt = randomized_svd(A, n_components=rank, random_state=1)
US, square = U * s, 0.0
for j in range(0, A.shape[1], 512):
    square += np.linalg.norm(A[:, j:j + 512] - US @ Vt[:, j:j + 512]) ** 2
print("relative error", np.sqrt(square) / np.linalg.norm(A))
with h5py.File(out, "w") as f:
    f["U"], f["s"], f["Vt"] = U, s, Vt
"""

KERNEL = """
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
print("relative error", np.sqrt(error / norm))
with h5py.File(out, "w") as f:
    f["F"] = F
"""


def timed(command):
    """Returns the wall and CPU seconds of a process, and its output."""
    before, start = os.times(), time.perf_counter()
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return wall, cpu, output


def compare(name, title, ours, theirs, rounds):
    runs = {"matapprox": [], "Python": []}
    for _ in range(rounds):
        runs["matapprox"].append(timed(ours))
        runs["Python"].append(timed(theirs))
    kept = {"name": name}
    for who, all_runs in runs.items():
        wall, cpu, output = sorted(all_runs)[len(all_runs) // 2]
        if who == "matapprox":
            row = json.loads(output)["results"][0]
            basis = row["error_basis"] if row["error_is_exact"] else f"{row['error_samples']} {row['error_basis']}"
            said = f"relative error {row['relative_error']:.4e} ({basis}), fit {row['fit_seconds']:.2f} s"
            kept["ours"] = {"seconds": wall, "error": row["relative_error"], "fit_seconds": row["fit_seconds"],
                            "samples": row["error_samples"]}
        else:
            said = output.strip()
            kept["theirs"] = {"seconds": wall, "error": float(said.split()[-1])}
        print(f"{title:22} {who:10} median {wall:6.2f} s  least {min(all_runs)[0]:6.2f} s  {cpu:6.2f} CPU s  {said}",
              flush=True)
    return kept


def make_files(folder, order, points):
    import h5py
    import numpy as np

    random, n, k = np.random.default_rng(0), order, 300
    A = (random.standard_normal((n, k)) / np.arange(1, k + 1)) @ random.standard_normal((k, n)) / np.sqrt(n)
    A += 0.01 * random.standard_normal((n, n))
    np.save(f"{folder}/dense.npy", A)
    with h5py.File(f"{folder}/dense.h5", "w") as f:
        f["A"] = A
    np.save(f"{folder}/points.npy", random.standard_normal((points, 8)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/default/bin/matapprox")
    parser.add_argument("threads", nargs="?", default="2")
    parser.add_argument("rounds", nargs="?", default=3, type=int)
    parser.add_argument("folder", nargs="?", help="folder of the files, which take 3 GB")
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
    options = parser.parse_args()
    program, threads, rounds, results = options.program, options.threads, options.rounds, []
    order, rank, points, landmarks = (300, 10, 1000, 20) if options.small else (12_000, 50, 100_000, 1000)
    bandwidth = "3.7865"
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = threads
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        make_files(folder, order, points)
        common = ["--threads", threads, "--quiet", "--force", "--json", "-", "-o", f"{folder}/ours.h5"]
        for kind in ("npy", "h5"):
            path = f"{folder}/dense.{kind}"
            results.append(compare(kind, f"SVD from .{kind}",
                                   [program, "approximate", path, "truncated_svd", "--rank", str(rank), *common],
                                   [sys.executable, "-c", DENSE, path, f"{folder}/theirs.h5", str(rank)], rounds))
        path = f"{folder}/points.npy"
        results.append(compare("kernel", f"Nystrom, {points:,} points",
                               [program, "approximate", path, "nystrom", "--as", "kernel", "--bandwidth", bandwidth,
                                "--rank", str(landmarks), *common],
                               [sys.executable, "-c", KERNEL, path, f"{folder}/theirs.h5", bandwidth, "256", str(landmarks)],
                               rounds))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rows": results}, file, indent=1)


if __name__ == "__main__":
    main()
