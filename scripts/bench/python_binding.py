#!/usr/bin/env python3
"""Overhead of the Python package: import, wrapping, a product, Ctrl-C, and a fit.

    scripts/bench/python_binding.py [--program build/default/bin/matapprox] [--small]
        [--json FILE]

Times are medians; for Ctrl-C also the longest time to the exception. Needs numpy, scipy and
matapprox; same_bits_as_program needs a package that is linked with the LAPACK of the program.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse.linalg
from common import command_json, parser, write

import matapprox as ma


@dataclass
class Sizes:
    """Sizes and numbers of repetitions of the measurements."""

    imports: int = 9
    wrapped: int = 10000
    calls: int = 2000
    interrupts: int = 12
    longest_wait: float = 4.0
    interrupted: int = 3000
    fits: tuple = ((600, 40, "C"), (2000, 60, "C"), (2000, 60, "F"))
    repeats: int = 15


SMALL = Sizes(1, 100, 10, 1, 0.2, 100, ((60, 5, "C"), (60, 5, "F")), 1)


def import_seconds(code, repeats):
    runs = []
    for _ in range(repeats):
        line = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        out = subprocess.run(
            [sys.executable, "-c", line], capture_output=True, text=True, check=True
        )
        runs.append(float(out.stdout))
    return median(runs)


def imports(sizes):
    scipy_alone = import_seconds("import numpy, scipy.sparse.linalg", sizes.imports)
    both = import_seconds("import numpy, scipy.sparse.linalg, matapprox", sizes.imports)
    return {"numpy_scipy_s": scipy_alone, "with_matapprox_s": both}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def wrapping(sizes):
    """Measures wrapping an array of 800 MB (unless small) without a copy."""
    rows = []
    for order in ("C", "F"):
        A = np.ones((sizes.wrapped, sizes.wrapped), order=order)
        before = resident_bytes()
        begin = time.perf_counter()
        operator = ma.aslinearoperator(A)
        took = time.perf_counter() - begin
        rows.append({"order": order, "bytes": resident_bytes() - before, "seconds": took})
        del operator
    return rows


def seconds_per_call(function, calls, repeats=7):
    runs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        runs.append((time.perf_counter() - begin) / calls)
    return median(runs)


def overhead(sizes):
    """Measures the overhead of products of two numbers, compared with SciPy's operators."""
    array, x, X = np.ones((1, 1)), np.ones(1), np.ones((1, 2))
    A, B = ma.aslinearoperator(array), scipy.sparse.linalg.aslinearoperator(array)
    calls = {
        "matvec": lambda operator: operator.matvec(x),
        "rmatvec": lambda operator: operator.rmatvec(x),
        "matmat": lambda operator: operator.matmat(X),
        "@": lambda operator: operator @ x,
    }
    return [
        {
            "call": name,
            "seconds": seconds_per_call(lambda call=call: call(A), sizes.calls),
            "scipy_seconds": seconds_per_call(lambda call=call: call(B), sizes.calls),
        }
        for name, call in calls.items()
    ]


def seconds_from_ctrl_c(function, wait):
    """Returns the time from Ctrl-C after `wait` seconds to the exception; None if the fit ended."""
    timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.perf_counter()
    try:
        timer.start()
        try:
            function()
        except ma.FitInterrupted:
            return time.perf_counter() - begin - wait
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:  # between the end of the fit and the cancellation
        pass
    return None


def interrupts(sizes):
    """Measures Ctrl-C at evenly spaced times of each method, with options for a long run."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the shell may have set it to ignored
    rng = np.random.default_rng(2)
    n = sizes.interrupted
    X = rng.standard_normal((n, 60))
    A = np.exp(-np.square(X[:, None, 0] - X[None, :, 0])) + X @ X.T / 60
    settings = [
        ("truncated_svd", {"rank": n * 3 // 10, "algorithm": "krylov"}),
        ("truncated_svd", {"rank": n * 3 // 10, "algorithm": "randomized"}),
        ("truncated_svd", {"rank": n * 3 // 10, "algorithm": "dense"}),
        ("nystrom", {"rank": n * 5 // 6}),
        ("nystrom", {"rank": n * 2 // 5, "form": "generalized"}),
        ("cur", {"rank": n // 2}),
        ("cur", {"rank": n // 2, "sampling": "deim"}),
        ("jl_projection", {"rank": n * 29 // 30}),
        ("hierarchical", {}),
        ("chord", {}),
        ("exact", {}),
        ("best", {}),
    ]
    rows = []
    for method, options in settings:

        def fit(method=method, options=options):
            return getattr(ma, method)(A, **options)

        begin = time.perf_counter()
        ends_before = seconds_from_ctrl_c(fit, sizes.longest_wait) is None
        span = time.perf_counter() - begin if ends_before else sizes.longest_wait
        waits = [span * (i + 0.5) / sizes.interrupts for i in range(sizes.interrupts)]
        waited = [seconds_from_ctrl_c(fit, wait) for wait in waits]
        kept = [seconds for seconds in waited if seconds is not None]
        text = ", ".join(f"{name}={value!r}" for name, value in options.items())
        rows.append({"method": method, "options": text, "asked": len(waits), "stopped": len(kept)})
        if kept:
            rows[-1] |= {"median_s": median(kept), "longest_s": max(kept)}
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def fits(program, sizes):
    """Measures the time of a fit in Python and the time of the same fit inside C++.

    Also measures the pass over the entries at the first use of an array; the program makes this
    pass when it reads the file."""
    rng = np.random.default_rng(1)
    rows = []
    for n, rank, order in sizes.fits:
        A = np.array(rng.standard_normal((n, n)) * 0.98 ** np.arange(n), order=order)
        python, inside, first = [], [], []
        for _ in range(sizes.repeats):
            operator = ma.aslinearoperator(A)
            begin = time.perf_counter()
            operator.facts  # noqa: B018
            used = time.perf_counter()
            B = ma.truncated_svd(operator, rank)
            python.append(time.perf_counter() - used)
            first.append(used - begin)
            inside.append(B.seconds)
        rows.append(
            {
                "n": n,
                "rank": rank,
                "order": order,
                "python_s": median(python),
                "cpp_s": median(inside),
                "first_use_s": median(first),
                "same_bits_as_program": same_bits(program, A, B, rank),
            }
        )
    return rows


def same_bits(program, A, B, rank):
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/a.npy", A)
        command = ["approximate", f"{folder}/a.npy", "truncated_svd", "-o", f"{folder}/b.h5"]
        command_json(program, *command, "--rank", rank)
        return bool(np.array_equal(ma.load(f"{folder}/b.h5").toarray(), B.toarray()))


def main():
    arguments = parser(__doc__, program="matapprox")
    options = arguments.parse_args()
    sizes = SMALL if options.small else Sizes()
    document = {
        "versions": {package: version(package) for package in ("numpy", "scipy")},
        "import": imports(sizes),
        "overhead": overhead(sizes),
        "wrapping": wrapping(sizes),
        "interrupts": interrupts(sizes),
        "fits": fits(options.program, sizes),
    }
    write(options, document)


if __name__ == "__main__":
    main()
