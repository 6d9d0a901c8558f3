#!/usr/bin/env python3
"""Chord kernels compared with dgemm, Eigen and SciPy chains of sparse matrices, and memory bandwidth.

Runs matapprox_bench (our kernels, our dgemm and OpenBLAS's, Eigen's chain, reading the weights) and
SciPy's CSR chain in turn, and prints medians, least times and ratios; then the growth of time with N
over a factor of 64 compared with theory. The peers' OpenBLAS gets the core type that fits the CPU.
Needs numpy and scipy.
Usage: chord.py [--program build/default/bin/matapprox_bench] [--rounds 5] [--seconds 0.1]
                [--cpu] [--no-threads] [--no-large] [--small] [--json FILE]
--cpu measures CPU time instead of wall-clock time for runs on one thread, for a machine that others use.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--program", default="build/default/bin/matapprox_bench")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=0.1)
parser.add_argument("--cpu", action="store_true")
parser.add_argument("--no-threads", action="store_true")
parser.add_argument("--no-large", action="store_true")
parser.add_argument("--small", action="store_true", help="one short round without the large chain, for a quick test")
parser.add_argument("--json")
options = parser.parse_args()
if options.small:
    options.rounds, options.seconds, options.no_large = 1, 0.001, True


def blas_core():
    """Returns the OpenBLAS core type for this CPU (OpenBLAS recognizes few of the newer CPUs by number)."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    if "avx512dq" in flags:
        return "SkylakeX"
    amd = "AuthenticAMD" in open("/proc/cpuinfo").read()
    return ("Zen" if amd else "Haswell") if "avx2" in flags else None


CORE = os.environ.get("OPENBLAS_CORETYPE") or blas_core()
if CORE:
    os.environ["OPENBLAS_CORETYPE"] = CORE
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse

OBJECTIVE = "chord_objective_rate<double>/n:%d/columns:%d"
PRODUCT = "chord_product<float>/n:%d/columns:%d/transposed:0"
FULL_ORDERS = [64, 128, 256, 512, 1024, 2048, 4096]
STEP_ORDERS = [256, 1024, 4096, 16384]


def program(names, threads):
    """Returns the milliseconds of each benchmark, by name."""
    pattern = "^(" + "|".join(names) + ")/real_time$"
    run = subprocess.run(
        [options.program, "--benchmark_filter=" + pattern, "--benchmark_format=json",
         f"--benchmark_min_time={options.seconds}"],
        capture_output=True, text=True, check=True, env={**os.environ, "MATAPPROX_THREADS": str(threads)})
    key = "cpu_time" if options.cpu and threads == 1 else "real_time"
    times = {}
    for row in json.loads(run.stdout)["benchmarks"]:
        if row.get("error_occurred"):
            raise SystemExit(f"chord.py: {row['name']}: {row['error_message']}")
        times[row["name"].removesuffix("/real_time")] = row[key] * 1e-6
    missing = set(names) - set(times)
    if missing:
        raise SystemExit(f"chord.py: {options.program} has no benchmark {sorted(missing)[0]}")
    return times


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
        best = []
        start = time.perf_counter()
        while not best or time.perf_counter() - start < options.seconds:
            begin = clock()
            y = x
            for W in reversed(self.factors):
                y = W @ y
            best.append(1e3 * (clock() - begin))
        return statistics.mean(best)


def main():
    gemm, blas = "gemm_rate/m:1024/n:1024/k:1024/transposed:0", "blas_gemm_rate/m:1024/n:1024/k:1024"
    vector, block = PRODUCT % (16384, 1), PRODUCT % (16384, 64)
    large, large_read = PRODUCT % (1048576, 1), "chord_read_values/n:1048576"
    eigen = "chord_eigen_product<float>/n:16384/columns:%d"
    read = "chord_read_values/n:16384"
    single = [OBJECTIVE.replace("double", "float") % (n, 0) for n in (256, 1024, 4096)]
    growth = {
        "product, 16 columns": ([(n, PRODUCT % (n, 16)) for n in STEP_ORDERS], 1),
        "objective+gradient, all columns": ([(n, OBJECTIVE % (n, 0)) for n in FULL_ORDERS], 2),
        "stochastic step, 32 columns": ([(n, OBJECTIVE % (n, 32)) for n in STEP_ORDERS], 1),
    }
    names = {gemm, blas, vector, block, read, eigen % 1, eigen % 64, *single}
    names |= {name for rows, _ in growth.values() for _, name in rows}
    if not options.no_large:
        names |= {large, large_read}
    threaded = [] if options.no_threads else [OBJECTIVE % (256, 0), OBJECTIVE % (1024, 0), vector, block]

    chain = SciPyChain(16384)
    one, two = {}, {}
    load = []
    for _ in range(options.rounds):
        load.append(os.getloadavg()[0])
        for name, value in program(sorted(names), 1).items():
            one.setdefault(name, []).append(value)
        for columns in (1, 64):
            one.setdefault(f"SciPy {columns}", []).append(chain.milliseconds(columns))
        for name in threaded:  # one and two threads in turn, wall-clock time
            for threads, times in ((1, two.setdefault(name, {})), (2, two[name])):
                times.setdefault(threads, []).append(program([name], threads)[name])

    def least(name):
        return min(one[name])

    print(f"{options.rounds} rounds, one thread, {'CPU' if options.cpu else 'wall-clock'} time, OpenBLAS as "
          f"{CORE}, load average {min(load):.1f} to {max(load):.1f}")
    print(f"{'':52s} {'median ms':>10s} {'least ms':>10s} {'GF/s':>7s}  of the fastest dgemm / ratio to ours")
    rows = []

    def show(label, name, flops=None, note=""):
        rows.append({"label": label, "milliseconds": one[name]})
        rate = f"{flops / least(name) / 1e6:7.1f}" if flops else " " * 7
        print(f"{label:52s} {statistics.median(one[name]):10.3f} {least(name):10.3f} {rate}  {note}")

    def stored(n):
        return n * math.ceil(math.log2(n)) * (int(math.log2(n)) + 1)

    dense = 2.0 * 1024**3
    show("dgemm 1024, ours", gemm, dense)
    show("dgemm 1024, OpenBLAS", blas, dense)
    best_rate = dense / min(least(gemm), least(blas))
    for n in (256, 1024, 4096):
        flops = 6.0 * n * stored(n)
        name = OBJECTIVE % (n, 0)
        show(f"objective+gradient N={n}, double", name, flops, f"{flops / least(name) / best_rate:.0%}")
        show("    float", single[(256, 1024, 4096).index(n)], flops)
    print()
    for columns, ours in ((1, vector), (64, block)):
        flops = 2.0 * stored(16384) * columns
        show(f"chain x {columns} column(s), N=16384, float, ours", ours, flops)
        for label, name in (("Eigen", eigen % columns), ("SciPy", f"SciPy {columns}")):
            show(f"    {label}", name, flops, f"{least(name) / least(ours):.2f} x")
    megabytes = 4e-6 * stored(16384)
    show(f"    reading the {megabytes:.1f} MB of weights", read, None,
         f"{megabytes / least(read):.1f} GB/s; ours {least(vector) / least(read):.2f} x this")
    if not options.no_large:
        megabytes = 4e-6 * stored(1048576)
        show("chain x vector, N=2^20, float, ours", large, 2.0 * stored(1048576))
        show(f"    reading the {megabytes:.0f} MB of weights", large_read, None,
             f"{megabytes / least(large_read):.1f} GB/s; ours {least(large) / least(large_read):.2f} x this")
    for name in threaded:
        a, b = min(two[name][1]), min(two[name][2])
        rows.append({"label": f"two threads: {name}", "one": two[name][1], "two": two[name][2]})
        print(f"two threads: {name:39s} {b:10.3f} ms, one {a:.3f}: {a / b:.2f} x")
    print("\nslope of log time against log N, least times (theory: of the count of operations)")
    slopes = []
    for label, (points, power) in growth.items():
        n = np.array([n for n, _ in points], float)
        work = n**power * np.log2(n)**2
        measured = np.polyfit(np.log(n), np.log([least(name) for _, name in points]), 1)[0]
        theory = np.polyfit(np.log(n), np.log(work), 1)[0]
        slopes.append({"label": label, "measured": measured, "theory": theory})
        print(f"{label:36s} N={points[0][0]}..{points[-1][0]}  measured {measured:.2f}  N^{power} log^2 N {theory:.2f}")
    if options.json:
        with open(options.json, "w") as file:
            times = {name: {"median": statistics.median(each), "least": min(each)} for name, each in one.items()}
            threads = {name: {"one": min(each[1]), "two": min(each[2])} for name, each in two.items()}
            json.dump({"core": CORE, "load": load, "cpu_time": options.cpu, "rows": rows, "times": times,
                       "threads": threads, "slopes": slopes}, file, indent=1)


if __name__ == "__main__":
    main()
