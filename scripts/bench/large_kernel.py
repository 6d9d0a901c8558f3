#!/usr/bin/env python3
"""A Gaussian kernel matrix too large to form: Chord on sampled columns compared with low rank at equal storage.

    large_kernel.py --program build/default/bin/matapprox --points 20000 [--bandwidth 3] [--small] [--json FILE]
        [--randomized] [-- CHORD OPTION ...]

Generates the points (NumPy, seed 1): a helix of twenty turns, one unit of length between neighbors, with normal noise of
0.3, in order. With width 3 the kernel has about 20 significant entries per row, and a far higher rank than either method
can store. The results are those of Chord, Nystrom and truncated SVD. With --randomized, the last one is a randomized SVD with
one power iteration: the singular values are so close together that the default method takes hours for the largest kernel.
"""
import tempfile

import numpy as np
from common import command_json, parser, write


def helix(count):
    generator = np.random.default_rng(1)
    length = np.arange(count) + generator.random(count)
    radius = count / (2 * np.pi * 20)
    angle = length / radius
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 30 * angle])
    return points + 0.3 * generator.standard_normal(points.shape)


def main():
    arguments = parser(__doc__, program="matapprox")
    arguments.add_argument("--points", type=int, default=20000)
    arguments.add_argument("--bandwidth", type=float, default=3)
    arguments.add_argument("--randomized", action="store_true", help="a randomized SVD with one power iteration")
    arguments.add_argument("chord", nargs="*", help="options of the Chord fit, after --")
    options = arguments.parse_args()
    if options.small:
        options.points = 256
        options.chord = ["--effort", "fast", "--adam-steps", "2", "--max-iterations", "2"]
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/points.csv", helix(options.points), delimiter=",", fmt="%.6f")

        def fit(method, *settings):
            return command_json(options.program, "approximate", f"{folder}/points.csv", method, "--as", "kernel", "--bandwidth",
                       options.bandwidth, "-o", f"{folder}/out.h5", "--force", *settings)["results"][0]

        chord = fit("chord", *options.chord)
        svd = ["--algorithm", "randomized", "--power-iterations", "1"] if options.randomized else []
        low_rank = [fit(method, "--budget", chord["stored_numbers"], *settings)
                    for method, settings in (("nystrom", []), ("truncated_svd", svd))]
    write(options, {"results": [chord, *low_rank]})


main()
