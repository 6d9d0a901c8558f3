#!/usr/bin/env python3
"""Matrices with structure and photographs: what `best` makes of them within 0.5, 1, 3 and 10 % of their bytes, beside compressors.

    structure.py [--program FILE] [--order 1024] [--small] [--images FILE ...] [--products] [--json FILE] [NAME ...]

Generates the matrices (NumPy, seed 1), or reads gray images, and stores each within the shares of 8 m n bytes by `best`, by SPERR at
that rate, and by SZ3, JPEG 2000 and JPEG XL with the best setting that fits (all by imagecodecs). The last two get the numbers as
integers of 16 bits, images of 8. pyfaust stores products of log2 N factors in doubles, if N is a power of two. `zstd -19`
of the raw numbers is lossless. Errors are |A - B|_F / |A|_F.

--products: products of the result of `best` within 3 % with 1 and 64 vectors, beside those of the dense matrix by NumPy.
"""
import importlib.util
import pathlib
import tempfile
import time

import imagecodecs
import numpy as np
import zstandard
from common import command_json, parser, write

SHARES = (0.005, 0.01, 0.03, 0.1)


def rng():
    return np.random.default_rng(1)


def toeplitz(n, form):
    diagonals = rng().standard_normal(2 * n - 1)
    i, j = np.indices((n, n))
    return {"toeplitz": diagonals[i - j + n - 1], "hankel": diagonals[i + j], "circulant": diagonals[(i - j) % n]}[form]


def lattice(n):
    side = round(n ** 0.5)
    return np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), -1).reshape(-1, 2) / side


def lattice_kernel(n):
    points = lattice(n)
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1) * np.sqrt(3) / 0.1
    return (1 + distance) * np.exp(-distance)


def inverse_laplacian(n):
    side = round(n ** 0.5)
    line = 2 * np.eye(side) - np.eye(side, k=1) - np.eye(side, k=-1)
    return np.linalg.inv(np.kron(line, np.eye(side)) + np.kron(np.eye(side), line) + 0.01 * np.eye(side * side))


def kronecker(n, terms):
    side, random = round(n ** 0.5), rng()
    return sum(np.kron(random.standard_normal((side, side)), random.standard_normal((side, side))) for _ in range(terms))


def hadamard(n, permuted=False):
    result = np.ones((1, 1))
    while len(result) < n:
        result = np.block([[result, result], [result, -result]])
    return result[rng().permutation(n)][:, rng().permutation(n)[::-1]] if permuted else result


def butterfly(n):
    result, random, i, distance = np.eye(n), rng(), np.arange(n), 1
    while distance < n:
        stage = np.zeros((n, n))
        stage[i, i], stage[i, i ^ distance] = random.standard_normal((2, n))
        result, distance = result @ stage, 2 * distance
    return result


def cosines(n):
    i = np.arange(n)
    result = np.sqrt(2 / n) * np.cos(np.pi * np.outer(i, i + 0.5) / n)
    result[0] /= np.sqrt(2)
    return result


def fourier(n):
    i = np.arange(n)
    return np.cos(2 * np.pi * (np.outer(i, i) % n) / n)


def irregular_fourier(n):
    return np.cos(2 * np.pi * np.outer(np.sort(rng().random(n)), np.arange(n)))


def waves(n):
    points = np.linspace(0, 1, n)
    distance = np.abs(points[:, None] - points[None] - 1.2)
    return np.cos(300 * distance) / distance


def low_rank_and_sparse(n):
    random = rng()
    result = random.standard_normal((n, 5)) @ random.standard_normal((5, n))
    chosen = random.random((n, n)) < 0.01
    return np.where(chosen, 20 * random.standard_normal((n, n)), result)


def toeplitz_and_low_rank(n):
    random = np.random.default_rng(3)
    return toeplitz(n, "toeplitz") + random.standard_normal((n, 5)) @ random.standard_normal((5, n)) / np.sqrt(5)


def toeplitz_and_sparse(n):
    random = np.random.default_rng(4)
    return toeplitz(n, "toeplitz") + np.where(random.random((n, n)) < 0.01, 20 * random.standard_normal((n, n)), 0)


def scaled_covariance(n):
    amplitudes, i = np.exp(np.random.default_rng(5).standard_normal(n)), np.arange(n)
    return amplitudes[:, None] * np.exp(-np.abs(i[:, None] - i[None]) / 20) * amplitudes


def attention(n):
    random, i = rng(), np.arange(n)
    scores = random.standard_normal((n, 16)) @ random.standard_normal((16, n)) / 4 - np.abs(i[:, None] - i[None]) / 32
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def ridge(n):
    x, y = np.sort(rng().random(n)), np.sort(np.random.default_rng(2).random(n))
    return 1 / (x[:, None] - y[None] + 1e-6)


MATRICES = {
    "Toeplitz": lambda n: toeplitz(n, "toeplitz"),
    "Hankel": lambda n: toeplitz(n, "hankel"),
    "circulant": lambda n: toeplitz(n, "circulant"),
    "kernel on a lattice": lattice_kernel,
    "inverse of a 2-D Laplacian": inverse_laplacian,
    "Kronecker product": lambda n: kronecker(n, 1),
    "sum of three Kronecker products": lambda n: kronecker(n, 3),
    "Hadamard": hadamard,
    "Hadamard, permuted": lambda n: hadamard(n, True),
    "random butterfly": butterfly,
    "cosine transform": cosines,
    "real part of the Fourier transform": fourier,
    "Fourier, irregular points": irregular_fourier,
    "waves, cos(300 r) / r": waves,
    "rank 5 and 1 % scattered entries": low_rank_and_sparse,
    "Toeplitz plus rank 5": toeplitz_and_low_rank,
    "Toeplitz plus 1 % scattered entries": toeplitz_and_sparse,
    "Toeplitz covariance, scaled": scaled_covariance,
    "attention with positions": attention,
    "1 / (x - y + 1e-6)": ridge,
    "normal noise": lambda n: rng().standard_normal((n, n)),
}


def error(A, B):
    return float(np.linalg.norm(A - B) / np.linalg.norm(A))


def sperr(A, share):
    return error(A, imagecodecs.sperr_decode(imagecodecs.sperr_encode(A, 64 * share, "bpp")))


def nearest_within(A, share, low, high, encode, decode):
    """Error of the nearest result that fits, by bisection of a setting; smaller settings take more bytes."""
    least = None
    for _ in range(12):
        middle = (low + high) / 2
        data = encode(middle)
        if len(data) <= share * A.nbytes:
            high = middle
            found = error(A, decode(data))
            least = found if least is None else min(found, least)
        else:
            low = middle
    return least


def sz3(A, share):
    scale = np.abs(A).max()
    return nearest_within(A, share, -12.0, 2.0, lambda setting: imagecodecs.sz3_encode(A, abs=10**setting * scale),
                          lambda data: imagecodecs.sz3_decode(data, A.shape, A.dtype).reshape(A.shape))


def image_codecs(A, share):
    """JPEG 2000, by its signal-to-noise ratio, and JPEG XL, by its distance."""
    low, high = A.min(), A.max()
    is_image = low >= 0 and high <= 255 and (A == np.round(A)).all()
    offset, unit = (0, 1) if is_image else (low, (high - low) / 65535)
    numbers = np.round((A - offset) / unit).astype(np.uint8 if is_image else np.uint16)

    def restored(decode):
        return lambda data: offset + unit * decode(data).astype(float)

    return {"JPEG 2000": nearest_within(A, share, -100.0, -1.0,
                                        lambda setting: imagecodecs.jpeg2k_encode(numbers, level=-setting, codecformat="J2K"),
                                        restored(imagecodecs.jpeg2k_decode)),
            "JPEG XL": nearest_within(A, share, 0.01, 25.0, lambda setting: imagecodecs.jpegxl_encode(numbers, distance=setting, effort=3),
                                      restored(imagecodecs.jpegxl_decode))}


def pyfaust_butterfly(A):
    """Error and share of the bytes of a butterfly in doubles."""
    n = len(A)
    if A.shape != (n, n) or n & (n - 1) or not importlib.util.find_spec("pyfaust"):
        return None
    from pyfaust.fact import butterfly as fitted
    return {"error": error(A, fitted(A, type="bbtree").toarray()), "share": 2 * n * np.log2(n) / n**2}


def seconds_of_product(A, columns):
    """Median seconds of a product of the dense matrix, by NumPy."""
    X = rng().standard_normal((A.shape[1], columns))
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        A @ X
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def products(program, A, path):
    found = command_json(program, "best", path, "--budget", "3%")["result"]
    return {"method": found["method"], "form": found["form"], "error": found["relative_error"], "share": found["stored_bytes"] / A.nbytes,
            "seconds": [found["apply_seconds_1"], found["apply_seconds_64"]],
            "dense": [seconds_of_product(A, 1), seconds_of_product(A, 64)]}


def main():
    arguments = parser(__doc__, program="matapprox")
    arguments.add_argument("--order", type=int, default=1024)
    arguments.add_argument("--images", nargs="*", default=[], help="gray images, also measured")
    arguments.add_argument("--products", action="store_true", help="measure products instead of errors")
    arguments.add_argument("names", nargs="*", help="only these matrices")
    options = arguments.parse_args()
    names = options.names or list(MATRICES)
    if options.small:
        options.order, names = 64, ["Toeplitz", "random butterfly"]
    cases = [(name, lambda name=name: MATRICES[name](options.order)) for name in names]
    cases += [(pathlib.Path(file).name, lambda file=file: imagecodecs.imread(file).astype(float)) for file in options.images]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, made in cases:
            A = np.ascontiguousarray(made())
            path = f"{folder}/matrix.npy"
            np.save(path, A)
            if options.products:
                rows.append({"matrix": name, **products(options.program, A, path)})
                continue
            row = {"matrix": name, "zstd": len(zstandard.ZstdCompressor(level=19).compress(A.tobytes())) / A.nbytes, "shares": [],
                   "pyfaust": pyfaust_butterfly(A)}
            for share in SHARES:
                if options.small and share < 0.1:
                    continue
                found = command_json(options.program, "best", path, "--budget", f"{100 * share:g}%")["result"]
                row["shares"].append({"share": share, "error": found["relative_error"], "method": found["method"],
                                      "form": found["form"], "bytes": found["stored_bytes"],
                                      "rivals": {"SPERR": sperr(A, share), "SZ3": sz3(A, share), **image_codecs(A, share)}})
            rows.append(row)
    write(options, {"order": options.order, "results": rows})


main()
