#!/usr/bin/env python3
"""Reading a MatrixMarket file of 2,000,000 entries, compared with SciPy's mmread.

Runs the library's reader (benchmark parse_coordinate of matapprox_bench: a text of that size in memory)
and scipy.io.mmread of a file of that size in the page cache, in turn. Prints SciPy's version, since
SciPy has a new reader since 1.12. Needs numpy and scipy.
Usage: matrix_market.py [bench program] [rounds] [threads] [--small] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program", nargs="?", default='build/default/bin/matapprox_bench')
parser.add_argument("rounds", nargs="?", default=5, type=int)
parser.add_argument("threads", nargs="?", default='1')
parser.add_argument("--json", help="also write the results to this file")
parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
options = parser.parse_args()
program, rounds, threads = options.program, options.rounds, options.threads

import numpy as np
import scipy
import scipy.io

ENTRIES, ORDER = (20000, 2000) if options.small else (2000000, 200000)


def write(path):
    random = np.random.default_rng(1)
    rows = np.sort(random.integers(1, ORDER + 1, ENTRIES))
    columns = random.integers(1, ORDER + 1, ENTRIES)
    values = random.standard_normal(ENTRIES)
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{ORDER} {ORDER} {ENTRIES}\n")
        for i, j, a in zip(rows, columns, values.tolist()):
            file.write(f"{i} {j} {a!r}\n")


def our_rate():
    """Returns the MB/s of our reader."""
    run = subprocess.run(
        [program, f"--benchmark_filter=parse_coordinate/entries:{ENTRIES}/threads:{threads}/",
         "--benchmark_format=json"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["benchmarks"][0]["bytes_per_second"] / 1e6


def their_rate(path):
    start = time.perf_counter()
    scipy.io.mmread(path)
    return os.path.getsize(path) / 1e6 / (time.perf_counter() - start)


def main():
    try:  # SciPy's newer reader uses all CPUs by default
        import scipy.io._fast_matrix_market as fast
        fast.PARALLELISM = int(threads)
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "entries.mtx")
        write(path)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(our_rate())
            theirs.append(their_rate(path))
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"{ENTRIES} entries, {threads} thread(s), medians of {rounds}: matapprox {ours:.0f} MB/s, "
          f"scipy {scipy.__version__} {theirs:.0f} MB/s, ratio {ours / theirs:.1f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"ours": ours, "theirs": theirs, "scipy": scipy.__version__}, file, indent=1)


if __name__ == "__main__":
    main()
