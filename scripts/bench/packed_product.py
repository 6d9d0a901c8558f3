#!/usr/bin/env python3
"""Products of a packed 8192 x 8192 matrix and of a sum of blocks with one vector, compared with dgemv of the same size
in doubles (ours and SciPy's) and with the time to read the bytes.

Runs matapprox_bench and SciPy in turn, and prints medians and ratios. The peers' OpenBLAS gets the core type that fits
the CPU. Needs numpy and scipy.
Usage: packed_product.py [--program build/default/bin/matapprox_bench] [--rounds 5] [--threads 1,2] [--small] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--program", default="build/default/bin/matapprox_bench")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", default="1,2")
parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
parser.add_argument("--json")
options = parser.parse_args()

with open("/proc/cpuinfo", encoding="utf-8") as cpus:
    flags = next((line for line in cpus if line.startswith("flags")), "").split()
if "OPENBLAS_CORETYPE" not in os.environ and "avx512dq" in flags:
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"

import numpy  # noqa: E402
import scipy.linalg.blas  # noqa: E402
import threadpoolctl  # noqa: E402

N = 64 if options.small else 8192
BITS = [3, 4, 6, 8, 12, 16]
OURS = f"packed_dense_product/n:{N}/transposed:0"
BLOCKS = [f"packed_blocks_product/n:{64 if options.small else 4096}/digits:{digits}" for digits in (2, 4)]
READ = f"packed_read/m:{1000 if options.small else 67108864}"


def packed(bits):
    return f"packed_product/n:{N}/bits:{bits}/transposed:0"


def program(names, threads):
    """Returns the milliseconds, and bytes per second, of each benchmark."""
    pattern = "^(" + "|".join(names) + ")/real_time$"
    run = subprocess.run([options.program, "--benchmark_filter=" + pattern, "--benchmark_format=json", 
                         f"--benchmark_min_time={0.001 if options.small else 0.2}"],
                         env={**os.environ, "MATAPPROX_THREADS": str(threads)}, capture_output=True, text=True, check=True)
    return {each["name"].removesuffix("/real_time"): (each["real_time"] * 1e-6, each["bytes/s"]) for each in json.loads(run.stdout)["benchmarks"]}


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
    found, dgemv = {}, []
    with threadpoolctl.threadpool_limits(threads):
        for _ in range(options.rounds):
            for name, pair in program([packed(bits) for bits in BITS] + [OURS, READ, *BLOCKS], threads).items():
                found.setdefault(name, []).append(pair)
            dgemv.append(scipy_dgemv(A, x))
    ms = {name: statistics.median(pair[0] for pair in pairs) for name, pairs in found.items()}
    rate = {name: statistics.median(pair[1] for pair in pairs) for name, pairs in found.items()}
    rows.append({"threads": threads, "dgemv": {"own": ms[OURS], "scipy": statistics.median(dgemv)}, "read_rate": rate[READ],
                 "packed": {bits: {"ms": ms[packed(bits)], "rate": rate[packed(bits)]} for bits in BITS},
                 "blocks": {name[-1]: {"ms": ms[name], "rate": rate[name]} for name in BLOCKS}})
    least = min(rows[-1]["dgemv"].values())
    print(f"{threads} thread(s): dgemv {ms[OURS]:.1f} ms (ours), {statistics.median(dgemv):.1f} ms (SciPy); reading {rate[READ] / 1e9:.1f} GB/s")
    for bits in BITS:
        print(f"  {bits:2} bits {ms[packed(bits)]:6.2f} ms, {least / ms[packed(bits)]:.1f} x dgemv, {rate[packed(bits)] / 1e9:.1f} GB/s")
    for name in BLOCKS:
        print(f"  {name}: {ms[name]:.3f} ms, {rate[name] / 1e9:.2f} GB/s")
document = {"n": N, "rows": rows, "versions": {"scipy": scipy.__version__}}
if options.json:
    with open(options.json, "w", encoding="utf-8") as out:
        json.dump(document, out, indent=1)
