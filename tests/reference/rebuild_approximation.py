#!/usr/bin/env python3
"""Rebuilds the matrix that a saved approximation stands for, from docs/file-format.md and
docs/random.md alone: shares no code with the library.

    rebuild_approximation.py out.h5               prints its size and Frobenius norm
    rebuild_approximation.py out.h5 matrix.mtx    also |A - Ahat|_F, and compares it with the error
                                                  that the file states (exit code 1 if they differ
                                                  by more than 1e-10 |A|_F)
    rebuild_approximation.py --check              verifies the check values of docs/random.md

The matrix may be .mtx, .csv, .npy or a gray .png. Needs NumPy, SciPy and h5py (and Pillow for .png).
"""
import argparse
import re
import sys
import zlib
from pathlib import Path

import numpy as np

STREAM_JL = 1
U32 = np.uint64(0xFFFFFFFF)


def philox(seed, stream, i, j):
    """Four arrays of 32-bit words (as uint64) for index arrays i and j."""
    i, j = np.broadcast_arrays(np.asarray(i, np.uint64), np.asarray(j, np.uint64))
    shift = np.uint64(32)
    c0, c1 = j & U32, i & U32
    c2 = (((i >> shift) << np.uint64(16)) | (j >> shift)) & U32
    c3 = np.full(i.shape, stream, np.uint64)
    k0, k1 = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    m0, m1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
    for step in range(10):
        if step > 0:
            k0 = (k0 + np.uint64(0x9E3779B9)) & U32
            k1 = (k1 + np.uint64(0xBB67AE85)) & U32
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ k0, p1 & U32, (p0 >> shift) ^ c3 ^ k1, p0 & U32
    return c0, c1, c2, c3


def unit(low, high):
    bits = ((high << np.uint64(32)) | low) >> np.uint64(11)
    return (bits.astype(np.float64) + 0.5) * 2.0**-53


def uniform(seed, i, j):
    w = philox(seed, STREAM_JL, i, j)
    return unit(w[0], w[1])


def ordered_log(u):
    h, e = np.frexp(u)
    low = h < 0.7071067811865476
    m = np.where(low, 2.0 * h, h)
    e = np.where(low, e - 1, e).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    p = np.full_like(u, 1.0 / 23.0)
    for k in range(21, 0, -2):
        p = p * t + 1.0 / k
    return e * 0.6931471805599453 + (s + s) * p


def inverse_factorial(k):
    product = 1.0
    for factor in range(2, k + 1):
        product *= factor
    return 1.0 / product


def sine_cosine(v):
    q = np.floor(4.0 * v + 0.5)
    x = (v - q * 0.25) * (2.0 * 3.141592653589793)
    t = -(x * x)
    a = np.full_like(v, inverse_factorial(17))
    for k in range(15, 0, -2):
        a = a * t + inverse_factorial(k)
    a = a * x
    b = np.full_like(v, inverse_factorial(18))
    for k in range(16, -1, -2):
        b = b * t + inverse_factorial(k)
    odd = q % 2 == 1
    sine = np.where(odd, b, a)
    cosine = np.where(odd, a, b)
    return (np.where((q == 2) | (q == 3), -sine, sine),
            np.where((q == 1) | (q == 2), -cosine, cosine))


def normal(seed, i, j):
    j = np.asarray(j)
    w = philox(seed, STREAM_JL, i, j // 2)
    r = np.sqrt(-2.0 * ordered_log(unit(w[0], w[1])))
    sine, cosine = sine_cosine(unit(w[2], w[3]))
    return np.where(j % 2 == 0, r * cosine, r * sine)


def signs(seed, i, j):
    words = np.stack(philox(seed, STREAM_JL, i, np.asarray(j) // 128))
    bit = np.asarray(j) % 128
    which = np.broadcast_to(bit // 32, words.shape[1:])
    word = np.take_along_axis(words, which[None], axis=0)[0]
    is_set = (word >> (bit % 32).astype(np.uint64)) & np.uint64(1)
    return np.where(is_set == 1, -1.0, 1.0)


def srht(seed, k, n):
    p = 1
    while p < n:
        p *= 2
    chosen = list(range(p))
    for s in range(k):
        u = float(uniform(seed, 1, s))
        other = s + min(int(u * float(p - s)), p - s - 1)
        chosen[s], chosen[other] = chosen[other], chosen[s]
    a = np.array(chosen[:k], np.int64)[:, None]
    j = np.arange(n, dtype=np.int64)[None, :]
    both, parity = a & j, np.zeros((k, n), np.int64)
    while both.any():
        parity ^= both & 1
        both >>= 1
    return np.where(parity == 0, 1.0, -1.0) * signs(seed, np.zeros((1, n), np.int64), j)


def random_matrix(distribution, seed, k, n):
    i = np.arange(k, dtype=np.int64)[:, None]
    j = np.arange(n, dtype=np.int64)[None, :]
    scale = 1.0 / np.sqrt(float(k))
    if distribution == "gaussian":
        return normal(seed, i, j) * scale
    if distribution == "rademacher":
        return signs(seed, i, j) * scale
    if distribution == "sparse":
        u = uniform(seed, i, j)
        size = np.sqrt(3.0) * scale
        return np.where(u < 1.0 / 6.0, size, np.where(u < 1.0 / 3.0, -size, 0.0))
    if distribution == "srht":
        return srht(seed, k, n) * scale
    sys.exit(f"unknown distribution '{distribution}'")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def numbers(group, name):
    """A dataset as float64 or int64, its checksum verified."""
    dataset = group[name]
    stored = np.ascontiguousarray(dataset[()])
    if "crc32" in dataset.attrs:
        raw = stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes()
        if zlib.crc32(raw) != int(dataset.attrs["crc32"]):
            sys.exit(f"{dataset.name}: checksum does not match")
    return stored.astype(np.float64 if stored.dtype.kind == "f" else np.int64)


def chord_factors(group):
    n = int(group.attrs["order"])
    links, offsets, values = (numbers(group, name) for name in ("links", "offsets", "values"))
    first_offset, first_value = 0, 0
    for count in links:
        o = offsets[first_offset:first_offset + count]
        block = values[first_value:first_value + n * count].reshape(n, count)
        W = np.zeros((n, n))
        rows = np.arange(n)
        for k in range(count):
            W[rows, (rows + o[k]) % n] = block[:, k]
        first_offset += count
        first_value += n * count
        yield W


def sparse_matrix(group):
    A = np.zeros((int(group.attrs["rows"]), int(group.attrs["cols"])))
    pointers, columns, values = (
        numbers(group, name) for name in ("row_pointers", "columns", "values"))
    for i in range(A.shape[0]):
        inside = slice(pointers[i], pointers[i + 1])
        A[i, columns[inside]] = values[inside]
    return A


def value_matrix(group):
    kind = text(group.attrs["kind"])
    if kind == "dense":
        return numbers(group, "values")
    if kind == "diagonal":
        return np.diag(numbers(group, "values"))
    if kind == "sparse":
        return sparse_matrix(group)
    if kind == "chord":
        product = None
        for W in chord_factors(group):
            product = W if product is None else product @ W
        return product
    if kind == "permutation":
        sources = numbers(group, "sources")
        P = np.zeros((len(sources), len(sources)))
        P[np.arange(len(sources)), sources] = 1
        return P
    if kind == "random":
        return random_matrix(text(group.attrs["distribution"]), int(group.attrs["seed"]),
                             int(group.attrs["rows"]), int(group.attrs["cols"]))
    sys.exit(f"{group.name}: unknown kind '{kind}'")


def rebuild(file):
    if text(file.attrs.get("format", b"")) != "matapprox approximation":
        sys.exit("not a saved approximation")
    if int(file.attrs["format_version"]) > 2:
        sys.exit("a newer format version")
    made = {}
    product = None
    for position in range(1, int(file["factors"].attrs["count"]) + 1):
        factor = file[f"factors/{position}"]
        v = int(factor.attrs["value"])
        if v not in made:
            made[v] = value_matrix(file[f"values/{v}"])
        F = made[v].T if int(factor.attrs["transposed"]) else made[v]
        product = F if product is None else product @ F
    if product.shape != (int(file.attrs["rows"]), int(file.attrs["cols"])):
        sys.exit("the factors do not multiply to the stated size")
    return (product + product.T) / 2 if int(file.attrs["symmetrized"]) else product


def read_matrix(path):
    suffix = Path(path).suffix.lower()
    if suffix == ".mtx":
        import scipy.io
        A = scipy.io.mmread(path)
        return np.asarray(A.todense() if hasattr(A, "todense") else A, np.float64)
    if suffix == ".csv":
        return np.loadtxt(path, delimiter=",", ndmin=2)
    if suffix == ".npy":
        return np.load(path).astype(np.float64)
    if suffix == ".png":
        from PIL import Image
        return np.asarray(Image.open(path), np.float64)
    sys.exit(f"{path}: .mtx, .csv, .npy and .png are read")


def compare(file, Ahat, path):
    A = read_matrix(path)
    size, error = np.linalg.norm(A), np.linalg.norm(A - Ahat)
    print(f"error_frobenius {error:.17g}")
    result = file["result"].attrs
    if "error_frobenius" not in result:
        print("the file states no error")
        return 0
    stated = float(result["error_frobenius"])
    exact = bool(int(result["error_is_exact"]))
    difference = abs(stated - error) / size if size > 0 else abs(stated - error)
    print(f"stated_error    {stated:.17g} ({'exact' if exact else 'estimated'})")
    print(f"difference      {difference:.3g} of |A|_F")
    return 0 if difference <= 1e-10 or not exact else 1


def check():
    """The check values that docs/random.md states."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "random.md").read_text()
    stated_words = [int(w, 16) for w in
                    re.search(r"i = 0, j = 0\):\s+((?:0x[0-9A-F]{8}\s?){4})", page)[1].split()]
    words = [int(w) for w in philox(1, 1, 0, 0)]
    values = [float(x) for x in re.findall(r"normal\(1, 1, \d, \d\) = (-?[\d.e-]+\d)", page)]
    found = [float(normal(1, 0, 0)), float(normal(1, 2, 5))]
    print(*(f"0x{w:08X}" for w in words), *(repr(x) for x in found))
    return 0 if words == stated_words and found == values else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("approximation", nargs="?")
    parser.add_argument("matrix", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--dense", metavar="FILE.npy", help="also write the rebuilt matrix")
    arguments = parser.parse_args()
    if arguments.check:
        return check()
    if arguments.approximation is None:
        parser.error("an approximation is needed")
    import h5py
    with h5py.File(arguments.approximation, "r") as file:
        Ahat = rebuild(file)
        print(f"size            {Ahat.shape[0]} x {Ahat.shape[1]}")
        print(f"frobenius_norm  {np.linalg.norm(Ahat):.17g}")
        if arguments.dense:
            np.save(arguments.dense, Ahat)
        return compare(file, Ahat, arguments.matrix) if arguments.matrix else 0


if __name__ == "__main__":
    sys.exit(main())
