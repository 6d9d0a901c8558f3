#!/usr/bin/env python3
"""A Gaussian kernel matrix too large to form: Chord on sampled columns compared with low rank at equal storage.

    large_kernel.py --program build/default/bin/matapprox --points 20000 [--bandwidth 3] [--small] [--json FILE] [-- CHORD OPTION ...]

Generates the points (NumPy, seed 1): a helix of twenty turns, one unit of length between neighbors, with normal noise of
0.3, in order. With width 3 the kernel has about 20 significant entries per row, and a far higher rank than either method
can store. Prints storage, error with its interval, time and peak memory of Chord, Nystrom and truncated SVD.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np


def helix(count):
    generator = np.random.default_rng(1)
    length = np.arange(count) + generator.random(count)
    radius = count / (2 * np.pi * 20)
    angle = length / radius
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 30 * angle])
    return points + 0.3 * generator.standard_normal(points.shape)


def run(program, points, bandwidth, method, options):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "approximate", points, method, "--as", "kernel", "--bandwidth", str(bandwidth),
                   "-o", f"{folder}/out.h5", "--json", "-", "--quiet", *options]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{process.stderr}")
        return json.loads(process.stdout)["results"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/default/bin/matapprox")
    parser.add_argument("--points", type=int, default=20000)
    parser.add_argument("--bandwidth", type=float, default=3)
    parser.add_argument("--json", help="also write the results to this file")
    parser.add_argument("--small", action="store_true", help="tiny sizes, for a quick test")
    parser.add_argument("chord", nargs="*", help="options of the Chord fit, after --")
    arguments = parser.parse_args()
    if arguments.small:
        arguments.points = 256
        arguments.chord = ["--effort", "fast", "--adam-steps", "2", "--max-iterations", "2"]
    with tempfile.TemporaryDirectory() as folder:
        points = str(Path(folder) / "points.csv")
        np.savetxt(points, helix(arguments.points), delimiter=",", fmt="%.6f")
        chord = run(arguments.program, points, arguments.bandwidth, "chord", arguments.chord)
        budget = ["--budget", str(chord["stored_numbers"])]
        low_rank = [run(arguments.program, points, arguments.bandwidth, method, budget)
                    for method in ("nystrom", "truncated_svd")]
    print(f"N = {arguments.points}, Gaussian kernel of bandwidth {arguments.bandwidth}")
    for row in (chord, *low_rank):
        interval = row["error_interval"]
        around = "exact" if interval is None else "95 % " + " .. ".join(
            f"{bound / row['error_frobenius'] * row['relative_error']:.4f}" for bound in interval)
        print(f"{row['method']:14s} {row['stored_numbers']:>10d} numbers  relative error {row['relative_error']:.4f} "
              f"({around})  fit {row['fit_seconds']:.1f} s  peak {row['peak_memory_bytes'] / 2**20:.0f} MiB")
        if row["message"]:
            print(f"         {row['message']}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"results": [chord, *low_rank]}, indent=1))


main()
