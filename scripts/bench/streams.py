#!/usr/bin/env python3
"""A one-pass sketch of a matrix from a pipe, compared with the best approximation and with one that reads it repeatedly.

    streams.py --program build/default/bin/matapprox [--rows 20000] [--cols 2000] [--rank 20] [--small] [--json FILE]

A = U diag(sigma) V^T: U has columns of the cosine transform with the length of the stream, V is a random orthonormal matrix
(NumPy, seed 1), so that the best error of rank r is the root of the sum of squares of the singular values after r. `matapprox
sketch -` gets the rows as .npy arrays of 500 rows each from `cat`; `matapprox approximate FILE truncated_svd` reads the same
matrix from a file. Errors are those of `matapprox measure --exact-error`.
"""
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from common import command_json, parser, write

BLOCK = 500
SPECTRA = [("1 / j", lambda j: 1 / j), ("1 / j²", lambda j: 1 / j**2), ("0.8^j", lambda j: 0.8**j),
           ("1 for j ≤ 20, then 0.01", lambda j: np.where(j <= 20, 1.0, 0.01))]


def blocks(rows, sigma, v):
    """Yields the row blocks of A."""
    order = np.arange(len(sigma))
    norms = np.where(order == 0, np.sqrt(1 / rows), np.sqrt(2 / rows))
    for first in range(0, rows, BLOCK):
        i = np.arange(first, min(first + BLOCK, rows))
        yield (np.cos(np.pi * np.outer(2 * i + 1, order) / (2 * rows)) * norms * sigma) @ v.T


def one(program, folder, options, case):
    title, spectrum = case
    v, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((options.cols, options.cols)))
    sigma = spectrum(np.arange(1, options.cols + 1, dtype=float))
    with open(f"{folder}/stream", "wb") as stream:
        for block in blocks(options.rows, sigma, v):
            np.save(stream, block)
    np.save(f"{folder}/whole.npy", np.concatenate(list(blocks(options.rows, sigma, v))))
    with subprocess.Popen(["cat", f"{folder}/stream"], stdout=subprocess.PIPE) as source:
        streamed = command_json(program, "sketch", "-", "-o", f"{folder}/sketch.h5", "--rows", options.rows, "--rank", options.rank,
                                stdin=source.stdout)
    command_json(program, "approximate", f"{folder}/whole.npy", "truncated_svd", "--algorithm", "randomized", "--rank", options.rank,
                 "-o", f"{folder}/svd.h5", "--measure", "none", "--force")
    errors = [command_json(program, "measure", f"{folder}/{name}.h5", f"{folder}/whole.npy", "--exact-error")["results"][0]
              ["error_frobenius"] for name in ("sketch", "svd")]
    Path(f"{folder}/sketch.h5").unlink()
    return {"spectrum": title, "best": float(np.sqrt((sigma[options.rank:] ** 2).sum())), "norm": float(np.sqrt((sigma**2).sum())),
            "sketch": errors[0], "svd": errors[1], **{key: streamed[key] for key in (
                "error_frobenius", "error_interval", "rows_per_second", "stream_seconds", "finish_seconds", "peak_memory_bytes",
                "memory_bound_bytes", "stored_numbers", "sketch_numbers")}}


def main():
    arguments = parser(__doc__, program="matapprox")
    arguments.add_argument("--rows", type=int, default=20000)
    arguments.add_argument("--cols", type=int, default=2000)
    arguments.add_argument("--rank", type=int, default=20)
    options = arguments.parse_args()
    if options.small:
        options.rows, options.cols, options.rank = 1000, 60, 5
    results = []
    for case in SPECTRA:
        with tempfile.TemporaryDirectory() as folder:
            results.append(one(options.program, folder, options, case))
    write(options, {"results": results})


if __name__ == "__main__":
    main()
