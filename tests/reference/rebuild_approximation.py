#!/usr/bin/env python3
"""Rebuilds the matrix that a saved approximation represents, from docs/file-format.md and
docs/random.md alone: shares no code with the library.

    rebuild_approximation.py out.h5               prints its size and Frobenius norm
    rebuild_approximation.py out.h5 matrix.mtx    also |A - Ahat|_F, and compares it with the error
                                                  that the file states (exit code 1 if they differ
                                                  by more than 1e-10 |A|_F)
    rebuild_approximation.py --check              verifies the check values of docs/random.md

The matrix may be .mtx, .csv, .npy or a gray .png. Needs NumPy, SciPy and h5py (and Pillow for .png).
"""
import argparse
import lzma
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
    """Returns a dataset as float64 or int64 and verifies its checksum."""
    dataset = group[name]
    stored = np.ascontiguousarray(dataset[()])
    if "crc32" in dataset.attrs:
        raw = stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes()
        if stored.dtype == np.float32 and dataset.id.get_type().get_size() == 2:  # bfloat16
            raw = (stored.view(np.uint32) >> 16).astype("<u2").tobytes()
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


def wanted(condition, group, what):
    if not condition:
        sys.exit(f"{group.name}: {what}")


def attribute(group, name, otherwise):
    """Returns a number that may be missing."""
    value = float(group.attrs.get(name, otherwise))
    wanted(np.isfinite(value), group, f"{name} is not finite")
    return value


def stored_as(group, name, dtype):
    """Returns a dataset that must have this type, and verifies its checksum."""
    wanted(group[name].dtype == dtype, group, f"{name} are not stored as {np.dtype(dtype)}")
    return numbers(group, name).astype(dtype)


def value_bytes(count, bits):
    return (count * bits + 7) // 8


def unpacked(data, count, bits, offset):
    """Returns `count` values of `bits` bits from the first byte of data on, without their scale: q + offset or an IEEE
    number."""
    if bits > 16:
        return data[:count * bits // 8].view(f"<f{bits // 8}").astype(np.float64)
    flags = np.unpackbits(data[:value_bytes(count, bits)], count=count * bits, bitorder="little")
    weights = 2.0 ** np.arange(bits)
    weights[-1] = -weights[-1]
    return flags.reshape(count, bits) @ weights + offset


def packed_matrix(group):
    m, n, rows_of_group = (int(group.attrs[name]) for name in ("rows", "cols", "group"))
    unit, offset = attribute(group, "unit", 1), attribute(group, "offset", 0)
    bits, data = stored_as(group, "bits", np.uint8), stored_as(group, "data", np.uint8)
    groups = -(-m // rows_of_group)
    wanted(rows_of_group >= m or rows_of_group % 8 == 0, group, "groups that are no whole bytes")
    scales = stored_as(group, "scales", np.float32).astype(np.float64)
    wanted(np.isfinite(scales).all() and scales.size == groups * n and bits.size == n, group,
           "scales or widths are wrong")
    scales = scales.reshape(n, groups)
    A = np.zeros((m, n))
    position = 0
    for j in range(n):
        width = int(bits[j])
        if width == 0:
            continue
        wanted(1 <= width <= 16 or width in (32, 64), group, f"values of {width} bits")
        end = position + value_bytes(m, width)
        wanted(end <= data.size, group, "the data end too early")
        values = unpacked(data[position:end], m, width, offset)
        A[:, j] = values * unit * np.repeat(scales[j], rows_of_group)[:m]
        position = end
    wanted(position == data.size and np.isfinite(A).all(), group, "data are left, or not finite")
    return A


def base_128(data, count):
    """Returns the first `count` numbers in base 128 of data, at most 9 bytes each, and the number of bytes they
    take."""
    data = data[:9 * count]
    ends = np.flatnonzero(data < 128)[:count]
    begins = np.concatenate(([0], ends[:-1] + 1))
    if ends.size < count or (ends - begins).max() > 8:
        return None, 0
    taken = int(ends[-1]) + 1
    place = np.arange(taken) - np.repeat(begins, ends - begins + 1)
    digits = (data[:taken] & 127).astype(np.int64) << (7 * place)
    return np.add.reduceat(digits, begins), taken


class LeafArrays:
    """Consumes the widths, scales and bytes of one leaf after the other."""

    def __init__(self, group):
        self.group = group
        self.unit, self.offset = attribute(group, "unit", 1), attribute(group, "offset", 0)
        self.bits, self.data = (stored_as(group, name, np.uint8) for name in ("bits", "data"))
        halves = stored_as(group, "scales", np.uint16)
        self.scales = (halves.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        wanted(np.isfinite(self.scales).all(), group, "a scale is not finite")
        self.bit = self.scale = self.byte = 0

    def take_width(self):
        wanted(self.bit < self.bits.size, self.group, "fewer widths than the leaves need")
        width = int(self.bits[self.bit])
        wanted(1 <= width <= 16 or width in (32, 64), self.group, f"values of {width} bits")
        self.bit += 1
        return width

    def take_scales(self, count):
        wanted(self.scale + count <= self.scales.size, self.group,
               "fewer scales than the leaves need")
        self.scale += count
        return self.scales[self.scale - count:self.scale]

    def take_values(self, count, width):
        size = value_bytes(count, width)
        wanted(self.byte + size <= self.data.size, self.group, "the data end before the leaves do")
        values = unpacked(self.data[self.byte:self.byte + size], count, width, self.offset)
        wanted(np.isfinite(values).all(), self.group, "a value is not finite")
        self.byte += size
        return values

    def take_scaled(self, count, width):
        """Values of a dense or a sparse leaf, with a scale for each 64 values of at most 16 bits."""
        values = self.take_values(count, width)
        if width <= 16:
            values = values * np.repeat(self.take_scales(-(-count // 64)), 64)[:count]
        return values * self.unit

    def take_places(self, count, size):
        places, taken = base_128(self.data[self.byte:], count)
        wanted(places is not None, self.group, "the data end before the leaves do")
        places = np.cumsum(places + 1) - 1
        wanted(places.max() < size and places.min() >= 0 and (np.diff(places) > 0).all(),
               self.group, "an entry lies outside of its leaf")
        self.byte += taken
        return places

    def at_end(self):
        return (self.bit == self.bits.size and self.scale == self.scales.size and
                self.byte == self.data.size)


def leaf_matrix(arrays, rows, columns, kind, count, on_diagonal):
    if kind == 0:
        U, V, scales = np.zeros((rows, count)), np.zeros((columns, count)), arrays.take_scales(count)
        for k in range(count):
            width = arrays.take_width()
            U[:, k] = arrays.take_values(rows, width)
            V[:, k] = U[:, k] if on_diagonal else arrays.take_values(columns, width)
        return (U * (arrays.unit * scales)) @ V.T
    width = arrays.take_width()
    block = np.zeros((rows, columns))
    if kind == 1 and not on_diagonal:
        return arrays.take_scaled(rows * columns, width).reshape(columns, rows).T
    if kind == 1:
        j, i = np.tril_indices(columns)  # i <= j, column after column
        block[i, j] = arrays.take_scaled(i.size, width)
    else:
        places = arrays.take_places(count, rows * columns)
        i, j = places % rows, places // rows
        wanted(not on_diagonal or (i <= j).all(), arrays.group, "an entry lies below the diagonal")
        block[i, j] = arrays.take_scaled(count, width)
    if on_diagonal:
        block[j, i] = block[i, j]
    return block


def block_matrix(group):
    m, n = int(group.attrs["rows"]), int(group.attrs["cols"])
    symmetric = int(group.attrs["symmetric"]) == 1
    leaves, arrays = numbers(group, "leaves"), LeafArrays(group)
    wanted(leaves.ndim == 2 and leaves.shape[1] == 6, group, "leaves without six columns")
    layers = numbers(group, "layers") if "layers" in group else np.zeros(0, np.int64)
    layers = layers if layers.size > 0 else np.array([len(leaves)])
    wanted(m == n or not symmetric, group, "symmetric, but not square")
    wanted(layers.min() >= 0 and layers.sum() == len(leaves), group,
           "the layers have not as many leaves as there are")
    A = np.zeros((m, n))
    for layer in np.split(leaves, np.cumsum(layers)[:-1]):
        taken = np.zeros((m, n), bool)
        for row, rows, column, columns, kind, count in (tuple(map(int, leaf)) for leaf in layer):
            part = (slice(row, row + rows), slice(column, column + columns))
            on_diagonal = symmetric and row == column and rows == columns
            wanted(min(row, column) >= 0 and min(rows, columns) >= 1 and row + rows <= m and
                   column + columns <= n and not taken[part].any(), group,
                   "a leaf leaves the matrix, or two overlap")
            wanted(not symmetric or on_diagonal or row + rows <= column, group,
                   "a leaf lies across or below the diagonal")
            wanted(kind in (0, 1, 2) and (kind == 1 or count >= 1) and
                   (kind == 0 or count <= rows * columns), group, "a leaf of wrong kind or count")
            taken[part] = True
            block = leaf_matrix(arrays, rows, columns, kind, count, on_diagonal)
            A[part] += block
            if symmetric and not on_diagonal:
                A[column:column + columns, row:row + rows] += block.T
    wanted(arrays.at_end(), group, "more widths, scales or data than the leaves need")
    return A


def packed_sparse(group):
    m, n, entries = (int(group.attrs[name]) for name in ("rows", "cols", "entries"))
    symmetric, bits = int(group.attrs["symmetric"]) == 1, int(group.attrs["bits"])
    structure, data = (stored_as(group, name, np.uint8) for name in ("structure", "data"))
    kind, unit, offset = text(group.attrs["values"]), attribute(group, "unit", 1), attribute(group, "offset", 0)
    wanted(data.size == value_bytes(entries, bits), group, "values of another number")
    if kind == "dictionary":
        listed = numbers(group, "dictionary")
        q = unpacked(data, entries, bits, 2.0 ** (bits - 1)) if bits > 0 else np.zeros(entries)
        wanted(entries == 0 or q.max() < listed.size, group, "an index beyond the dictionary")
        values = listed[q.astype(np.int64)]
    else:
        values = unpacked(data, entries, bits, offset if kind == "integers" else 0) * unit
    all_numbers, taken = base_128(structure, m + entries)
    wanted(taken == structure.size and np.isfinite(values).all(), group, "a structure of another length")
    A, at, entry = np.zeros((m, n)), 0, 0
    for i in range(m):
        count = int(all_numbers[at])
        columns = np.cumsum(all_numbers[at + 1:at + 1 + count] + 1) + (i - 1 if symmetric else -1)
        wanted(count == 0 or columns[-1] < n, group, "a column beyond the matrix")
        A[i, columns] = values[entry:entry + count]
        if symmetric:
            A[columns, i] = values[entry:entry + count]
        at, entry = at + 1 + count, entry + count
    wanted(entry == entries, group, "entries of another number")
    return A


def packed_chord(group):
    n, links, offsets = int(group.attrs["order"]), numbers(group, "links"), numbers(group, "offsets")
    values = packed_matrix(group)
    wanted(values.shape == (n, offsets.size) and links.sum() == offsets.size, group,
           "links, offsets and values do not fit together")
    product, column = np.eye(n), 0
    for count in links:
        W = np.zeros((n, n))
        for _ in range(int(count)):
            W[np.arange(n), (np.arange(n) + offsets[column]) % n] = values[:, column]
            column += 1
        product = product @ W
    return product


def compressed_matrix(group):
    m, n = (int(group.attrs[name]) for name in ("rows", "cols"))
    symmetric = int(group.attrs["symmetric"]) == 1
    lengths, data = group["lengths"][...].astype(int), group["data"][...].astype(np.uint8).tobytes()
    ends = np.cumsum(lengths)
    heights = np.arange(1, n + 1) if symmetric else np.full(n, m)
    wanted(ends[-1] == len(data), group, "wrong sizes")
    columns = []
    for end, length in zip(ends, lengths, strict=True):
        part = np.frombuffer(lzma.decompress(data[end - length:end], lzma.FORMAT_XZ), np.uint8)
        if int(group.attrs["by_byte"]) == 1:
            part = part.reshape(8, -1).T.copy()
        entries = part.reshape(-1).view("<f8")
        at, first = 0, len(columns)
        while at < len(entries):
            columns.append(entries[at:at + heights[len(columns)]])
            at += len(columns[-1])
        wanted(at == len(entries) and (sum(heights[first:len(columns) - 1]) < 2**21), group, "wrong streams")
    wanted(len(columns) == n, group, "wrong sizes")
    A = np.zeros((m, n))
    for j, column in enumerate(columns):
        A[:len(column), j] = column
        if symmetric:
            A[j, :len(column)] = column
    return A


def dictionary_matrix(group):
    m, n, bits = (int(group.attrs[name]) for name in ("rows", "cols", "bits"))
    symmetric = int(group.attrs["symmetric"]) == 1
    values, data = numbers(group, "dictionary"), numbers(group, "data").astype(np.uint8)
    count = n * (n + 1) // 2 if symmetric else m * n
    wanted(1 <= len(values) <= 2**bits, group, "wrong sizes")
    if "lengths" in group:
        places = coded_positions(group, m, n, symmetric, len(values), data)
    else:
        wanted(len(data) == value_bytes(count, bits), group, "wrong sizes")
        places = unpacked(data, count, bits, 2**(bits - 1)).astype(int) if bits > 0 else np.zeros(count, int)
    entries = values[places]
    if not symmetric:
        return entries.reshape(n, m).T
    A = np.zeros((n, n))
    rows = np.concatenate([np.arange(j + 1) for j in range(n)])
    columns = np.repeat(np.arange(n), np.arange(1, n + 1))
    A[rows, columns] = A[columns, rows] = entries
    return A


def toeplitz_matrix(group):
    """Blocks in the positions of the outer level, each an inner level."""
    def level(which):
        m, n = int(group.attrs[which + "_rows"]), int(group.attrs[which + "_cols"])
        form = text(group.attrs[which + "_form"])
        i, j = np.arange(m)[:, None], np.arange(n)
        if form == "symmetric":
            return abs(i - j), max(m, n)
        return (i + j if form == "hankel" else i - j + n - 1), m + n - 1

    outer, _ = level("outer")
    inner, values = level("inner")
    symbol = numbers(group, "values")
    places = outer[:, None, :, None] * values + inner[None, :, None, :]
    m, n = outer.shape[0] * inner.shape[0], outer.shape[1] * inner.shape[1]
    return symbol[places].reshape(m, n)


def kronecker_sum(group):
    m1, n1, m2, n2 = (int(group.attrs[name]) for name in ("left_rows", "left_cols", "right_rows", "right_cols"))
    symmetric = int(group.attrs["symmetric"]) == 1

    def terms(columns, m, n):
        """The columns as m x n matrices, or those of which they are the upper triangles."""
        wanted(columns.shape[0] == (n * (n + 1) // 2 if symmetric else m * n), group, "terms of another size")
        if not symmetric:
            return [column.reshape(n, m).T for column in columns.T]
        found = []
        for column in columns.T:
            upper, at = np.zeros((n, n)), 0
            for j in range(n):
                upper[:j + 1, j] = column[at:at + j + 1]
                at += j + 1
            off = np.triu(upper, 1) / np.sqrt(2)
            found.append(np.diag(np.diag(upper)) + off + off.T)
        return found

    left = terms(packed_matrix(group["left"]), m1, n1)
    if "right" in group:
        right = terms(packed_matrix(group["right"]), m2, n2)
    else:
        right = [w * B for w, B in zip(numbers(group, "weights"), left)]
    wanted(len(left) == len(right), group, "terms of another number")
    return sum(np.kron(B, C) for B, C in zip(left, right))


def kronecker_sparse(group):
    a, b, c, d = (int(group.attrs[name]) for name in ("blocks", "block_rows", "block_cols", "order"))
    values = packed_matrix(group)
    wanted(values.shape == (a * b * d, c), group, "values of another number")
    result = np.zeros((a, b, d, a, c, d))
    for block in range(a):
        for i in range(d):
            result[block, :, i, block, :, i] = values.reshape(a, b, d, c)[block, :, i]
    return result.reshape(a * b * d, a * c * d)


class ArithmeticDecoder:
    """Reads binary decisions; the bytes after the end are 0."""

    def __init__(self, data):
        self.data = data
        self.at = 0
        self.range = 2**32 - 1
        self.code = 0
        for _ in range(4):
            self.code = 256 * self.code + self.next()

    def next(self):
        self.at += 1
        return int(self.data[self.at - 1]) if self.at <= len(self.data) else 0

    def decision(self, probability):
        part = self.range * probability >> 16
        yes = self.code < part
        if yes:
            self.range = part
        else:
            self.code -= part
            self.range -= part
        while self.range < 2**24:
            self.code = (256 * self.code + self.next()) % 2**32
            self.range = self.range * 256 % 2**32
        return yes


def half_octaves(size, count):
    if size < 4:
        return size
    width = size.bit_length()
    return min(2 * width - 2 + (size >> (width - 2) & 1), count - 1)


class CodedStream:
    """Decisions of one stream: chances are [fast average, slow average, decisions seen]."""

    def __init__(self, data):
        self.decoder = ArithmeticDecoder(data)
        self.chances = {}
        self.weights = {}

    def chance(self, *place):
        return self.chances.setdefault(place, [2**15, 2**15, 0])

    @staticmethod
    def learn(chance, yes):
        shift = min((chance[2] + 1).bit_length(), 7)
        target = 65535 if yes else 0
        for k, most in ((0, 5), (1, 7)):
            difference = target - chance[k]
            chance[k] += (abs(difference) >> min(shift, most)) * (1 if difference > 0 else -1)
        chance[2] += 1

    def single(self, *place):
        """A decision with a chance of its own."""
        chance = self.chance(*place)
        yes = self.decoder.decision((chance[0] + chance[1]) // 2)
        self.learn(chance, yes)
        return yes

    def mixed(self, weights, places):
        """A decision from several chances, by logistic regression."""
        chances = [self.chance(*place) for place in places]
        weights = self.weights.setdefault(weights, [20000] * 6)
        x = [LOGISTIC_INVERSE[(c[0] + c[1]) // 2 >> 4] for c in chances]
        total = sum(w * value for w, value in zip(weights, x))
        mixed = total // 65536 if total >= 0 else -(-total // 65536)
        p = LOGISTIC[min(max(mixed, -2047), 2047) + 2047]
        yes = self.decoder.decision(16 * p + 8)
        for k, value in enumerate(x):
            weights[k] += (value * ((4096 if yes else 0) - p) + 1024) >> 11
            weights[k] = min(max(weights[k], -2**24), 2**24)
            self.learn(chances[k], yes)
        return yes


def logistic_tables():
    values, power = [0] * 4095, 1.0
    for x in range(2048):
        values[2047 + x] = min(int(4096 / (1 + power)), 4095)
        values[2047 - x] = 4096 - values[2047 + x]
        power *= 0.99610136947011749
    inverse, x = [], 0
    for p in range(4096):
        while x < 4094 and values[x] < p:
            x += 1
        inverse.append(x - 2047)
    return values, inverse


LOGISTIC, LOGISTIC_INVERSE = logistic_tables()


def mixed_hash(value, hashed):
    value = (value + hashed + 1) * 0x9E3779B1 % 2**32
    return value ^ value >> 15


class Repetition:
    """The last place at which the latest `length` entries occurred before."""

    def __init__(self, length):
        self.length, self.places, self.next, self.agreeing = length, {}, 0, 0
        self.hash, self.oldest = 0, pow(0x2C1B3C6D, length, 2**32)

    def learn(self, entries, at):
        if self.agreeing > 0 and entries[self.next] == entries[at]:
            self.agreeing += 1
            self.next += 1
        else:
            self.agreeing = 0
        self.hash = (self.hash * 0x2C1B3C6D + entries[at] + 1) % 2**32
        if at >= self.length:
            self.hash = (self.hash - self.oldest * (entries[at - self.length] + 1)) % 2**32
        if at + 1 < self.length:
            return
        slot = (self.hash * 0x9E3779B1 % 2**32) >> 16
        place = self.places.get(slot, 0)
        if self.agreeing == 0 and place > 0:
            count = 0
            while count < min(2048, place) and entries[place - 1 - count] == entries[at - count]:
                count += 1
            if count >= self.length:
                self.agreeing, self.next = count, place
        self.places[slot] = at + 1


class PositionStream(CodedStream):
    """Positions in the list, of columns first .. end - 1."""

    def __init__(self, data, rows, symmetric, count, first, end):
        super().__init__(data)
        self.count, self.last_error, self.biases = count, 0, {}
        before = (lambda j: j * (j + 1) // 2) if symmetric else (lambda j: j * rows)
        height = (lambda j: j + 1) if symmetric else (lambda j: rows)
        self.entries = entries = []
        shorter, longer = Repetition(16), Repetition(48)

        def at(i, j, otherwise):
            if j < first or i < 0 or i >= height(j):
                return otherwise
            return entries[before(j) - before(first) + i]

        for j in range(first, end):
            for i in range(height(j)):
                above, left = at(i - 1, j, -1), at(i, j - 1, -1)
                left = above if left < 0 else left
                left = at(0, j - 1, 0) if left < 0 else left
                above = left if above < 0 else above
                below_left = at(i + 1, j - 1, left)
                near = {"left": left, "above": above, "above_left": at(i - 1, j - 1, left), "below_left": below_left,
                        "above2": at(i - 2, j, above), "left2": at(i, j - 2, left),
                        "below_left2": at(i + 1, j - 2, below_left), "below2_left": at(i + 2, j - 1, below_left)}
                best = longer if longer.agreeing >= shorter.agreeing else shorter
                agreeing = half_octaves(best.agreeing, 33)
                prediction = entries[best.next] if agreeing > 0 else 0
                code = self.few if count <= 32 else self.many
                entries.append(code(near, i, agreeing, prediction))
                shorter.learn(entries, len(entries) - 1)
                longer.learn(entries, len(entries) - 1)

    def few(self, n, row, agreeing, prediction):
        bits = (self.count - 1).bit_length()
        left = mixed_hash(0, n["left"])
        three = mixed_hash(mixed_hash(left, n["above"]), n["above_left"])
        seven = three
        for name in ("below_left", "above2", "left2", "below2_left"):
            seven = mixed_hash(seven, n[name])
        by_row, predicted, found = mixed_hash(1, row), prediction + 2**bits, 1
        for bit in reversed(range(bits)):
            places = [("nothing", found), ("left", mixed_hash(left, found) >> 18), ("three", mixed_hash(three, found) >> 18),
                      ("seven", mixed_hash(seven, found) >> 14), ("row", mixed_hash(by_row, found) >> 18)]
            agrees = agreeing > 0 and predicted >> (bit + 1) == found
            if agrees:
                places.append(("prediction", agreeing, predicted >> bit & 1))
            found = 2 * found + self.mixed(agreeing if agrees else 0, places)
        return min(found - 2**bits, self.count - 1)

    def many(self, n, _row, agreeing, prediction):
        most = self.count - 1
        if agreeing > 0 and self.single("right", agreeing):
            return prediction
        left, above, corner, below = n["left"], n["above"], n["above_left"], n["below_left"]
        along = abs(above - n["above2"]) + abs(left - corner) + abs(left - below)
        across = abs(left - n["left2"]) + abs(above - corner) + abs(below - n["below_left2"])
        excess, unit = across - along, max(1, self.count // 256)
        mean = 4 * (left + above) + 2 * (below - corner)
        nearer = 8 * above if excess > 0 else 8 * left
        for limit, guess in ((80, nearer), (32, int((mean + nearer) / 2)), (8, int((3 * mean + nearer) / 4)), (-1, mean)):
            if abs(excess) > limit * unit:
                eighths = guess
                break
        energy = half_octaves(along + across + 2 * self.last_error, 24)
        near = (left, above, corner, below, n["above2"], n["left2"], 2 * above - n["above2"], 2 * left - n["left2"])
        texture = sum(2**k for k, value in enumerate(near) if 8 * value > eighths)
        bias = self.biases.setdefault((min(energy // 3, 7), texture), [0, 0])
        guess = min(max((eighths + (int(bias[0] / bias[1]) if bias[1] > 0 else 0) + 4) >> 3, 0), most)
        classes = [("energy", energy), ("texture", texture),
                   ("steps", half_octaves(abs(left - corner) + abs(left - below), 16),
                    half_octaves(abs(above - corner) + abs(left - n["left2"]), 16)),
                   ("errors", half_octaves(self.last_error, 16), half_octaves(abs(above - left), 16)),
                   ("level", guess * 64 // self.count, half_octaves(along + across, 16))]
        bits = 0
        while bits < 17 and self.mixed(bits, [(*name, bits) for name in classes]):
            bits += 1
        error = 0
        if bits > 0:
            error = 1
            for depth in range(bits - 1):
                one = self.single("mantissa", bits, 0 if depth == 0 else 1 + error % 2) if depth < 2 else self.decoder.decision(2**15)
                error = 2 * error + one
            if guess + error > most or (guess - error >= 0 and self.single("sign", texture)):
                error = -error
        found = min(max(guess + error, 0), most)
        bias[0] += 8 * found - eighths
        bias[1] += 1
        if bias[1] == 64:
            bias[0], bias[1] = int(bias[0] / 2), 32
        self.last_error = abs(error)
        return found


def coded_positions(group, m, n, symmetric, count, data):
    lengths = np.asarray(group["lengths"]).astype(int)
    before = [j * (j + 1) // 2 if symmetric else j * m for j in range(n + 1)]
    streams, first, at, positions = [], 0, 0, []
    for j in range(n):
        if j + 1 == n or before[j + 2] - before[first] > (2**20 if count <= 32 else 2**18):
            streams.append((first, j + 1))
            first = j + 1
    wanted(len(lengths) == len(streams) and lengths.sum() == len(data), group, "streams of another length")
    for (first, end), length in zip(streams, lengths):
        positions += PositionStream(data[at:at + length], m, symmetric, count, first, end).entries
        at += length
    return np.array(positions, dtype=int)


class WaveletStream(CodedStream):
    """Coefficients of one stream."""

    def coefficient(self, kind, together, apart):
        bits = 0
        while True:
            chances = self.chance("together", kind, together, bits), self.chance("apart", kind, apart, bits)
            more = self.decoder.decision(sum((c[0] + c[1]) // 2 for c in chances) // 2)
            for chance in chances:
                self.learn(chance, more)
            if not more:
                break
            bits += 1
        if bits == 0:
            return 0
        size = 1
        for depth in range(bits - 1):
            if depth < 2:
                chance = self.chance("mantissa", kind, bits, 0 if depth == 0 else 1 + size % 2)
                one = self.decoder.decision((chance[0] + chance[1]) // 2)
                self.learn(chance, one)
            else:
                one = self.decoder.decision(2**15)
            size = 2 * size + one
        return -size if self.decoder.decision(2**15) else size

    def tile(self, q, band, row, rows, col, cols):
        kind = band["detail_rows"] + band["detail_cols"]
        sizes = np.zeros((rows + 3, cols + 2), dtype=object)  # two rows above, one below, two columns before
        on_diagonal = band["halved"] and row == col
        of_left = 4 if band["detail_rows"] == band["detail_cols"] else 5 if band["detail_rows"] else 3
        for j in range(cols):
            for i in range(j if on_diagonal else 0, rows):
                parent = 0
                if band["parent"] is not None:
                    first, height, left, width = band["parent"]
                    parent = abs(int(q[first + min((row + i) // 2, height - 1), left + min((col + j) // 2, width - 1)]))
                y, x = i + 2, j + 2
                above, before = sizes[y - 1, x], sizes[y, x - 1]
                corners = sizes[y - 1, x - 1] + sizes[y + 1, x - 1]
                near = of_left * before + (8 - of_left) * above + 2 * corners + sizes[y - 2, x] + sizes[y, x - 2]
                together = half_octaves(near + 2 * parent, 40)
                apart = 22 * half_octaves(2 * (before + above) + corners, 22) + half_octaves(2 * parent, 22)
                value = self.coefficient(kind, together, apart)
                q[band["row"] + row + i, band["col"] + col + j] = value
                sizes[y, x] = abs(value)
                if on_diagonal:
                    sizes[j + 2, i + 2] = abs(value)


def wavelet_streams(m, n, levels, symmetric):
    """The tiles of each stream."""
    heights, widths = [m], [n]
    for _ in range(levels):
        heights.append((heights[-1] + 1) // 2)
        widths.append((widths[-1] + 1) // 2)

    def tiles(band):
        rows, cols = band["rows"], band["cols"]
        if rows == 0 or cols == 0:
            return []
        height = min(rows, 512)
        width = min(cols, max(512, 2**18 // height))
        if cols < 512:
            height = min(rows, 2**18 // cols)
        return [(band, r, min(height, rows - r), c, min(width, cols - c))
                for c in range(0, cols, width) for r in range(c if band["halved"] else 0, rows, height)]

    def band(row, rows, col, cols, of_rows, of_cols, parent=None):
        return {"row": row, "rows": rows, "col": col, "cols": cols, "detail_rows": of_rows, "detail_cols": of_cols,
                "halved": symmetric and of_rows == of_cols, "parent": parent}

    pending = tiles(band(0, heights[-1], 0, widths[-1], 0, 0))
    together = heights[-1] * widths[-1] <= 2**18
    streams = []
    if not together:
        streams += [[tile] for tile in pending]
        pending = []
    for level in reversed(range(levels)):
        h, w = heights[level + 1], widths[level + 1]
        if together and heights[level] * widths[level] > 2**18:
            streams.append(pending)
            pending, together = [], False
        for of_rows, of_cols in ((1, 0), (1, 1)) if symmetric else ((1, 0), (0, 1), (1, 1)):
            parent = None
            if level + 1 < levels:
                h2, w2 = heights[level + 2], widths[level + 2]
                parent = (h2 if of_rows else 0, h - h2 if of_rows else h2, w2 if of_cols else 0, w - w2 if of_cols else w2)
            pending += tiles(band(h if of_rows else 0, heights[level] - h if of_rows else h, w if of_cols else 0,
                                  widths[level] - w if of_cols else w, of_rows, of_cols, parent))
        if not together:
            streams += [[tile] for tile in pending]
            pending = []
    if together:
        streams.append(pending)
    return streams, heights, widths


def wavelet_synthesis(n):
    """Values from smooth coefficients and details, by the filters of CDF 9/7 with reflection at both ends."""
    low = np.array([-0.09127176311424948, -0.05754352622849957, 0.5912717631142470, 1.115087052456994])
    high = np.array([0.02674875741080976, 0.01686411844287495, -0.07822326652898785, -0.2668641184428723, 0.6029490182363579])
    low, high = np.append(low, low[-2::-1]) / np.sqrt(2), np.append(high, high[-2::-1]) * np.sqrt(2)
    S = np.zeros((n, n))
    period = 2 * (n - 1)
    for i in range(n):
        filtered = high if i % 2 else low
        column = (n + 1) // 2 + i // 2 if i % 2 else i // 2
        # Reflected coefficients have the same value; at the ends a place is its own image.
        for image in sorted({sign * i + period * k for k in range(-2, 3) for sign in (1, -1)}):
            for k, f in enumerate(filtered):
                at = image + k - len(filtered) // 2
                if 0 <= at < n:
                    S[at, column] += f
    return S


def transform_matrix(kind, n):
    """The orthogonal basis of that name, one basis vector in each column."""
    i, k = np.indices((n, n))
    if kind == "cosine":
        T = np.cos(np.pi / (2 * n) * ((2 * i + 1) * k % (4 * n)))
    elif kind == "sine":
        T = np.sin(np.pi / (n + 1) * ((i + 1) * (k + 1) % (2 * (n + 1))))
    elif kind == "fourier":
        angle = 2 * np.pi / n * (i * ((k + 1) // 2) % n)
        T = np.where((k % 2 == 1) | (k == 0), np.cos(angle), np.sin(angle))
    elif kind == "hadamard":
        shared = i & k
        ones = sum((shared >> bit) & 1 for bit in range(32))
        T = np.where(ones % 2 == 0, 1.0, -1.0)
    else:
        sys.exit(f"unknown transform '{kind}'")
    return T / np.linalg.norm(T, axis=0)


def wavelet_matrix(group):
    m, n, levels = (int(group.attrs[name]) for name in ("rows", "cols", "levels"))
    symmetric = int(group.attrs["symmetric"]) == 1
    lengths, data = np.asarray(group["lengths"]), np.asarray(group["data"])
    streams, heights, widths = wavelet_streams(m, n, levels, symmetric)
    wanted(len(lengths) == len(streams) and lengths.sum() == len(data), group, "streams of another length")
    q, at = np.zeros((m, n), dtype=np.int64), 0
    for tiles, length in zip(streams, lengths.astype(int)):
        stream = WaveletStream(data[at:at + length])
        for tile in tiles:
            stream.tile(q, *tile)
        at += length
    if symmetric:
        q = np.tril(q) + np.tril(q, -1).T
    shifts = np.array([0] + [int(group.attrs[f"shift_{k}"]) for k in (1, 2, 3)]) / 256
    C = float(group.attrs["step"]) * np.sign(q) * (np.abs(q) + shifts[np.minimum(np.abs(q), 3)])
    for level in reversed(range(levels)):
        part = C[:heights[level], :widths[level]]
        part[:] = wavelet_synthesis(heights[level]) @ part @ wavelet_synthesis(widths[level]).T
    return C


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
    if kind == "circulant":
        column = numbers(group, "values")
        n = len(column)
        return column[(np.arange(n)[:, None] - np.arange(n)) % n]
    if kind == "dictionary":
        return dictionary_matrix(group)
    if kind == "compressed":
        return compressed_matrix(group)
    if kind == "toeplitz":
        return toeplitz_matrix(group)
    if kind == "kronecker":
        return kronecker_sum(group)
    if kind == "kronecker_sparse":
        return kronecker_sparse(group)
    if kind == "wavelet":
        return wavelet_matrix(group)
    if kind == "transform":
        return transform_matrix(text(group.attrs["transform"]), int(group.attrs["order"]))
    if kind == "sum":
        return sum(value_matrix(group[f"term_{k + 1}"]) for k in range(len(group)))
    if kind == "packed":
        return packed_matrix(group)
    if kind == "blocks":
        return block_matrix(group)
    if kind == "packed_sparse":
        return packed_sparse(group)
    if kind == "packed_chord":
        return packed_chord(group)
    if kind == "random":
        return random_matrix(text(group.attrs["distribution"]), int(group.attrs["seed"]),
                             int(group.attrs["rows"]), int(group.attrs["cols"]))
    sys.exit(f"{group.name}: unknown kind '{kind}'")


def rebuild(file):
    if text(file.attrs.get("format", b"")) != "matapprox approximation":
        sys.exit("not a saved approximation")
    if int(file.attrs["format_version"]) > 3:
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


def norm(A):
    """|A|_F, even if squares overflow."""
    largest = np.abs(A).max()
    return float(largest * np.linalg.norm(A / largest)) if largest > 0 else 0.0


def compare(file, Ahat, path):
    A = read_matrix(path)
    size, error = norm(A), norm(A - Ahat)
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
    """Verifies the check values that docs/random.md states."""
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
        print(f"frobenius_norm  {norm(Ahat):.17g}")
        if arguments.dense:
            np.save(arguments.dense, Ahat)
        return compare(file, Ahat, arguments.matrix) if arguments.matrix else 0


if __name__ == "__main__":
    sys.exit(main())
