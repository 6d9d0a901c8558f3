#!/usr/bin/env python3
"""Chord kernels compared with dgemm, Eigen and SciPy chains of sparse matrices, and memory bandwidth.

Runs matapprox_bench (our kernels, our dgemm and OpenBLAS's, Eigen's chain, reading the weights) and
SciPy's CSR chain in turn. The results are medians and least times in ms, those of two threads beside one, and the growth of
time with N over a factor of 64 beside theory. The peers' OpenBLAS gets the core type that fits the CPU.
Needs numpy and scipy.
Usage: chord.py [--program build/default/bin/matapprox_bench] [--rounds 5] [--seconds 0.1]
                [--cpu] [--no-threads] [--no-large] [--small] [--json FILE]
--cpu measures CPU time instead of wall-clock time for runs on one thread, for a machine that others use.
"""
import math
import os
import statistics
import time

from common import benchmarks, parser, set_blas_core, write

arguments = parser(__doc__, program="matapprox_bench", rounds=5)
arguments.add_argument("--seconds", type=float, default=0.1)
arguments.add_argument("--cpu", action="store_true")
arguments.add_argument("--no-threads", action="store_true")
arguments.add_argument("--no-large", action="store_true")
options = arguments.parse_args()
if options.small:
    options.rounds, options.seconds, options.no_large = 1, 0.001, True
CORE = set_blas_core()
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse

OBJECTIVE = "chord_objective_rate<double>/n:%d/columns:%d"
PRODUCT = "chord_product<float>/n:%d/columns:%d/transposed:0"
FULL_ORDERS = [64, 128, 256, 512, 1024, 2048, 4096]
STEP_ORDERS = [256, 1024, 4096, 16384]
# Benchmarks by order, and the power of N in the theory of their time, N^power log^2 N.
GROWTH = {
    "product, 16 columns": ({n: PRODUCT % (n, 16) for n in STEP_ORDERS}, 1),
    "objective+gradient, all columns": ({n: OBJECTIVE % (n, 0) for n in FULL_ORDERS}, 2),
    "stochastic step, 32 columns": ({n: OBJECTIVE % (n, 32) for n in STEP_ORDERS}, 1),
}
VECTOR, BLOCK = PRODUCT % (16384, 1), PRODUCT % (16384, 64)
NAMES = {"gemm_rate/m:1024/n:1024/k:1024/transposed:0", "blas_gemm_rate/m:1024/n:1024/k:1024", VECTOR, BLOCK,
         "chord_read_values/n:16384", *(f"chord_eigen_product<float>/n:16384/columns:{columns}" for columns in (1, 64)),
         *(OBJECTIVE.replace("double", "float") % (n, 0) for n in (256, 1024, 4096)),
         *(name for names, _ in GROWTH.values() for name in names.values()),
         *([] if options.no_large else [PRODUCT % (1048576, 1), "chord_read_values/n:1048576"])}
THREADED = [] if options.no_threads else [OBJECTIVE % (256, 0), OBJECTIVE % (1024, 0), VECTOR, BLOCK]


def milliseconds(names, threads):
    """Returns the time of each benchmark, by name."""
    key = "cpu_time" if options.cpu and threads == 1 else "real_time"
    return {name: 1e-6 * row[key] for name, row in benchmarks(options.program, names, threads, options.seconds).items()}


class SciPyChain:
    """The reference pattern's chain of N x N factors in single precision."""

    def __init__(self, n):
        random = np.random.default_rng(1)
        links = [0] + [2**k for k in range(int(math.log2(n)))]
        rows = np.repeat(np.arange(n), len(links))
        columns = (rows + np.tile(links, n)) % n
        self.factors = []
        for _ in range(math.ceil(math.log2(n))):
            values = (0.4 * random.uniform(-1, 1, rows.size)).astype(np.float32)
            self.factors.append(scipy.sparse.csr_matrix((values, (rows, columns)), shape=(n, n)))

    def milliseconds(self, columns):
        x = np.ones(self.factors[0].shape[0] if columns == 1 else (self.factors[0].shape[0], columns), np.float32)
        clock = time.process_time if options.cpu else time.perf_counter
        taken = []
        start = time.perf_counter()
        while not taken or time.perf_counter() - start < options.seconds:
            begin = clock()
            y = x
            for W in reversed(self.factors):
                y = W @ y
            taken.append(1e3 * (clock() - begin))
        return statistics.mean(taken)


def slope(label, names, power, times):
    """Returns the slope of the logarithm of the least times against log N, and that of theory."""
    n = np.array(list(names), float)
    measured = [min(times[name]) for name in names.values()]
    slopes = [np.polyfit(np.log(n), np.log(values), 1)[0] for values in (measured, n**power * np.log2(n) ** 2)]
    return {"label": label, "measured": slopes[0], "theory": slopes[1]}


chain = SciPyChain(16384)
one, two, load = {}, {name: {1: [], 2: []} for name in THREADED}, []
for _ in range(options.rounds):
    load.append(os.getloadavg()[0])
    for name, value in milliseconds(sorted(NAMES), 1).items():
        one.setdefault(name, []).append(value)
    for columns in (1, 64):
        one.setdefault(f"SciPy {columns}", []).append(chain.milliseconds(columns))
    for name in THREADED:  # one and two threads in turn, wall-clock time
        for threads in (1, 2):
            two[name][threads].append(milliseconds([name], threads)[name])
write(options, {"core": CORE, "load": load, "cpu_time": options.cpu,
                "times": {name: {"median": statistics.median(each), "least": min(each)} for name, each in one.items()},
                "threads": {name: {"one": min(each[1]), "two": min(each[2])} for name, each in two.items()},
                "slopes": [slope(label, names, power, one) for label, (names, power) in GROWTH.items()]})
