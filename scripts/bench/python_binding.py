#!/usr/bin/env python3
"""What the Python package costs: import, wrapping, a product, Ctrl-C, a fit beside the program's.

    scripts/bench/python_binding.py [--program build/default/bin/matapprox] [--json FILE]

Times are medians, those from Ctrl-C to the exception the longest. Needs numpy, scipy and matapprox;
same_bits_as_program needs a package that is linked with the LAPACK of the program.
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
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse.linalg

import matapprox as ma

INTERRUPTS = 12
LONGEST_WAIT = 4.0


def import_seconds(code):
    runs = []
    for _ in range(9):
        line = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        out = subprocess.run(
            [sys.executable, "-c", line], capture_output=True, text=True, check=True
        )
        runs.append(float(out.stdout))
    return median(runs)


def imports():
    scipy_alone = import_seconds("import numpy, scipy.sparse.linalg")
    both = import_seconds("import numpy, scipy.sparse.linalg, matapprox")
    return {"numpy_scipy_s": scipy_alone, "with_matapprox_s": both}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def wrapping():
    """A view of an array of 800 MB."""
    rows = []
    for order in ("C", "F"):
        A = np.ones((10000, 10000), order=order)
        before = resident_bytes()
        begin = time.perf_counter()
        operator = ma.aslinearoperator(A)
        took = time.perf_counter() - begin
        rows.append({"order": order, "bytes": resident_bytes() - before, "seconds": took})
        del operator
    return rows


def seconds_per_call(function, repeats=7, calls=2000):
    runs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        runs.append((time.perf_counter() - begin) / calls)
    return median(runs)


def overhead():
    """Of products of two numbers, which are nothing else, beside those of SciPy's operators."""
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
            "seconds": seconds_per_call(lambda call=call: call(A)),
            "scipy_seconds": seconds_per_call(lambda call=call: call(B)),
        }
        for name, call in calls.items()
    ]


def seconds_from_ctrl_c(function, wait):
    """From Ctrl-C after `wait` seconds to the exception; None if the fit ended before."""
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


def interrupts():
    """Ctrl-C at moments all over each method, of options with which it takes long."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the shell says so
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3000, 60))
    A = np.exp(-np.square(X[:, None, 0] - X[None, :, 0])) + X @ X.T / 60
    settings = [
        ("truncated_svd", {"rank": 900, "algorithm": "krylov"}),
        ("truncated_svd", {"rank": 900, "algorithm": "randomized"}),
        ("truncated_svd", {"rank": 900, "algorithm": "dense"}),
        ("nystrom", {"rank": 2500}),
        ("nystrom", {"rank": 1200, "form": "generalized"}),
        ("cur", {"rank": 1500}),
        ("cur", {"rank": 1500, "sampling": "deim"}),
        ("jl_projection", {"rank": 2900}),
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
        ends_before = seconds_from_ctrl_c(fit, LONGEST_WAIT) is None
        span = time.perf_counter() - begin if ends_before else LONGEST_WAIT
        waits = [span * (i + 0.5) / INTERRUPTS for i in range(INTERRUPTS)]
        waited = [seconds_from_ctrl_c(fit, wait) for wait in waits]
        kept = [seconds for seconds in waited if seconds is not None]
        text = ", ".join(f"{name}={value!r}" for name, value in options.items())
        rows.append({"method": method, "options": text, "asked": len(waits), "stopped": len(kept)})
        if kept:
            rows[-1] |= {"median_s": median(kept), "longest_s": max(kept)}
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def fits(program):
    """A fit as Python sees it beside the stopwatch around the same fit in C++.

    Besides, the pass over the entries that the first use of an array takes; the program makes it
    when it reads the file."""
    rng = np.random.default_rng(1)
    rows = []
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
    parser.add_argument("--json", help="also write the results to this file")
    options = parser.parse_args()
    document = {
        "versions": {package: version(package) for package in ("numpy", "scipy")},
        "import": imports(),
        "overhead": overhead(),
        "wrapping": wrapping(),
        "interrupts": interrupts(),
        "fits": fits(options.program),
    }
    text = json.dumps(document, indent=1)
    print(text)
    if options.json:
        Path(options.json).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
