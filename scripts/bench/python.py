#!/usr/bin/env python3
"""What the Python package costs: import, wrapping an array, a product, a fit beside the program's.

    scripts/bench/python.py [--program build/default/bin/matapprox]

Prints JSON lines. Times are medians.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import numpy as np

import matapprox as ma


def report(name, **values):
    print(json.dumps({"figure": name, **values}), flush=True)


def import_seconds(code):
    runs = []
    for _ in range(9):
        line = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        out = subprocess.run(
            [sys.executable, "-c", line], capture_output=True, text=True, check=True
        )
        runs.append(float(out.stdout))
    return median(runs)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def seconds_per_call(function, repeats=7, calls=2000):
    runs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        runs.append((time.perf_counter() - begin) / calls)
    return median(runs)


def imports():
    scipy = import_seconds("import numpy, scipy.sparse.linalg")
    both = import_seconds("import numpy, scipy.sparse.linalg, matapprox")
    report("import", numpy_scipy_ms=1e3 * scipy, with_matapprox_ms=1e3 * both)


def wrapping():
    for order in ("C", "F"):
        A = np.ones((10000, 10000), order=order)
        before = resident_bytes()
        begin = time.perf_counter()
        operator = ma.aslinearoperator(A)
        took = time.perf_counter() - begin
        report(f"wrap 800 MB, order {order}", bytes=resident_bytes() - before, ms=1e3 * took)
        del operator


def overhead():
    # Two numbers multiplied: all that is left is overhead.
    A = ma.aslinearoperator(np.ones((1, 1)))
    x = np.ones(1)
    X = np.ones((1, 2))
    report(
        "overhead",
        matvec_us=1e6 * seconds_per_call(lambda: A.matvec(x)),
        matmul_us=1e6 * seconds_per_call(lambda: A @ x),
        rmatvec_us=1e6 * seconds_per_call(lambda: A.rmatvec(x)),
        matmat_us=1e6 * seconds_per_call(lambda: A.matmat(X)),
    )


def interrupts():
    """From Ctrl-C to FitInterrupted, the longest of several, for each method that takes so long."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3000, 60))
    A = np.exp(-np.square(X[:, None, 0] - X[None, :, 0])) + X @ X.T / 60
    settings = {
        "truncated_svd": {"rank": 900, "algorithm": "krylov"},
        "nystrom": {"rank": 2500},
        "cur": {"rank": 1500},
        "jl_projection": {"rank": 2900},
        "chord": {},
        "hierarchical": {},
        "exact": {},
    }
    for method, options in settings.items():
        waited = []
        for wait in (0.02, 0.05, 0.1, 0.3, 0.7, 1.5):
            timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
            begin = time.perf_counter()
            timer.start()
            try:
                getattr(ma, method)(A, **options)
                timer.cancel()
            except ma.FitInterrupted:
                waited.append(time.perf_counter() - begin - wait)
            except KeyboardInterrupt:
                pass  # between the end of the fit and the cancellation
            timer.join()
        report(f"Ctrl-C, 3000 x 3000, {method}", seconds=max(waited, default=None), of=len(waited))


def fits(program):
    """A fit as Python sees it beside the stopwatch around the same fit in C++.

    Besides, the pass over the entries that the first use of an array takes; the program makes it
    when it reads the file."""
    rng = np.random.default_rng(1)
    for n, rank, order in ((600, 40, "C"), (2000, 60, "C"), (2000, 60, "F")):
        A = np.array(rng.standard_normal((n, n)) * 0.98 ** np.arange(n), order=order)
        python, inside, first = [], [], []
        for _ in range(15):
            operator = ma.aslinearoperator(A)
            begin = time.perf_counter()
            operator.facts  # noqa: B018
            used = time.perf_counter()
            B = ma.truncated_svd(operator, rank)
            python.append(time.perf_counter() - used)
            first.append(used - begin)
            inside.append(B.seconds)
        report(
            f"truncated_svd {n} x {n}, order {order}, rank {rank}",
            python_s=median(python),
            cpp_s=median(inside),
            ratio=median(python) / median(inside),
            first_use_s=median(first),
            same_bits_as_program=same_bits(program, A, B, rank),
        )


def same_bits(program, A, B, rank):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/a.npy", A)
        command = [
            program,
            "approximate",
            f"{folder}/a.npy",
            "truncated_svd",
            "-o",
            f"{folder}/b.h5",
        ]
        subprocess.run([*command, f"--rank={rank}", "--quiet"], capture_output=True, check=True)
        return bool(np.array_equal(ma.load(f"{folder}/b.h5").toarray(), B.toarray()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/default/bin/matapprox")
    program = parser.parse_args().program
    imports()
    overhead()
    wrapping()
    interrupts()
    fits(program)


if __name__ == "__main__":
    main()
