#!/usr/bin/env python3
"""Products of a packed 8192 x 8192 matrix and of a sum of blocks with one vector, compared with dgemv of the same size
in doubles (ours and SciPy's) and with the time to read the bytes.

Runs matapprox_bench and SciPy in turn; the results are medians. The peers' OpenBLAS gets the core type that fits the CPU.
Needs numpy and scipy.
Usage: packed_product.py [--program build/default/bin/matapprox_bench] [--rounds 5] [--threads 1,2] [--small] [--json FILE]
"""
import statistics
import time

from common import benchmarks, parser, set_blas_core, write

arguments = parser(__doc__, program="matapprox_bench", rounds=5)
arguments.add_argument("--threads", default="1,2")
options = arguments.parse_args()
set_blas_core()

import numpy  # noqa: E402
import scipy.linalg.blas  # noqa: E402
import threadpoolctl  # noqa: E402

N = 64 if options.small else 8192
PACKED = {bits: f"packed_product/n:{N}/bits:{bits}/transposed:0" for bits in (3, 4, 6, 8, 12, 16)}
OURS = f"packed_dense_product/n:{N}/transposed:0"
BLOCKS = {digits: f"packed_blocks_product/n:{64 if options.small else 4096}/digits:{digits}" for digits in (2, 4)}
READ = f"packed_read/m:{1000 if options.small else 67108864}"


def scipy_dgemv(A, x):
    """Returns the least time of five calls, in milliseconds."""
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        scipy.linalg.blas.dgemv(1.0, A, x)
        taken.append(time.perf_counter() - begin)
    return 1e3 * min(taken)


A = numpy.asfortranarray(numpy.random.default_rng(1).random((N, N)))
x = numpy.random.default_rng(2).random(N)
rows = []
for threads in map(int, options.threads.split(",")):
    rounds, dgemv = [], []
    with threadpoolctl.threadpool_limits(threads):
        for _ in range(options.rounds):
            rounds.append(benchmarks(options.program, [*PACKED.values(), OURS, READ, *BLOCKS.values()], threads,
                                     0.001 if options.small else 0.2))
            dgemv.append(scipy_dgemv(A, x))
    found = {name: {"ms": 1e-6 * statistics.median(each[name]["real_time"] for each in rounds),
                    "rate": statistics.median(each[name]["bytes/s"] for each in rounds)} for name in rounds[0]}
    rows.append({"threads": threads, "dgemv": {"own": found[OURS]["ms"], "scipy": statistics.median(dgemv)},
                 "read_rate": found[READ]["rate"], "packed": {bits: found[name] for bits, name in PACKED.items()},
                 "blocks": {digits: found[name] for digits, name in BLOCKS.items()}})
write(options, {"n": N, "rows": rows, "versions": {"scipy": scipy.__version__}})
