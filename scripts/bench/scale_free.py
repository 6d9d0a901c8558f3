#!/usr/bin/env python3
"""Truncated SVD of rank 20 of a scale-free graph with 1,000,000 nodes and 5,000,000 edges, compared with SciPy.

The graph is grown by preferential attachment, 5 edges per node (seed 1). Runs `matapprox approximate` and
scipy.sparse.linalg.svds in turn, one thread each (SciPy's sparse product uses only one), and compares the
singular values. Needs numpy, scipy and h5py. Usage: scale_free.py [program] [rounds] [nodes] [threads] [--small] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default='build/default/bin/matapprox')
parser.add_argument("rounds", nargs="?", default=1, type=int)
parser.add_argument("nodes", nargs="?", default=1000000, type=int)
parser.add_argument("threads", nargs="?", default='1')
parser.add_argument("--json", help="also write the results to this file")
parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
options = parser.parse_args()
program, rounds, threads = options.program, options.rounds, options.threads
nodes = 2000 if options.small else options.nodes

import h5py
import numpy as np
import scipy
import scipy.sparse
from scipy.sparse.linalg import svds

RANK, LINKS = 20, 5


def graph():
    """Returns the graph. Edge e connects node e // 5 + 1 to a node drawn with probability proportional to its
    degree: a random end of an earlier edge, where end 2 f is the source of edge f and 2 f + 1 its target."""
    random = np.random.default_rng(1)
    edges = np.arange(LINKS * (nodes - 1))
    source = edges // LINKS + 1
    ends = np.maximum(2 * LINKS * (source - 1), 1)
    drawn = (random.random(edges.size) * ends).astype(np.int64)
    drawn[:LINKS] = -1
    end = drawn.copy()
    while (odd := (end > 0) & (end % 2 == 1)).any():
        end[odd] = drawn[end[odd] // 2]
    target = np.where(end < 0, 0, source[np.maximum(end, 0) // 2])
    A = scipy.sparse.coo_matrix((np.ones(edges.size), (source, target)), shape=(nodes, nodes)).tocsr()
    A = A + A.T
    A.data[:] = 1.0
    return A


def write(path, A):
    lower = scipy.sparse.tril(A).tocoo()
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern symmetric\n{nodes} {nodes} {lower.nnz}\n")
        np.savetxt(file, np.column_stack((lower.row + 1, lower.col + 1)), fmt="%d")
    return lower.nnz


def main():
    A = graph()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        path, output = os.path.join(folder, "graph.mtx"), os.path.join(folder, "out.h5")
        edges = write(path, A)
        print(f"{nodes} nodes, {edges} edges, largest degree {int(A.sum(axis=1).max())}, {threads} thread(s)",
              flush=True)
        for _ in range(rounds):
            run = subprocess.run(
                [program, "approximate", path, "truncated_svd", "--rank", str(RANK), "--threads", threads,
                 "--quiet", "--force", "-o", output, "--json", "-"],
                capture_output=True, text=True, check=True)
            row = json.loads(run.stdout)["results"][0]
            start = time.perf_counter()
            theirs = svds(A, k=RANK, return_singular_vectors=True, random_state=1)[1]
            seconds = time.perf_counter() - start
            with h5py.File(output) as file:
                for value in file["values"].values():
                    if value.attrs["kind"] in (b"diagonal", "diagonal"):
                        mine = np.sort(np.abs(value["values"][:]))[::-1]
            theirs = np.sort(theirs)[::-1]
            runs.append((row["fit_seconds"], seconds, float(np.max(np.abs(mine - theirs) / theirs))))
            print(f"matapprox {row['fit_seconds']:.2f} s   svds {seconds:.2f} s   ratio "
                  f"{seconds / row['fit_seconds']:.2f}   largest relative difference of the singular values "
                  f"{runs[-1][2]:.1e}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ours": statistics.median(run[0] for run in runs), "theirs": statistics.median(run[1] for run in runs),
                       "difference": max(run[2] for run in runs), "scipy": scipy.__version__}, file, indent=1)


if __name__ == "__main__":
    main()
