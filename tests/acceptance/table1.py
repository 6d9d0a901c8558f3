#!/usr/bin/env python3
"""Checks the rows that `matapprox reproduce` stored, without any code of the library: NumPy and h5py only.

    table1.py DIR [--matrices FOLDER]

For each NAME.json in DIR it multiplies the Chord factors of NAME.h5 (docs/file-format.md) densely, reads the matrix
(.mtx, .mat of version 5, or .png, which needs Pillow) and compares

  - |A - W_1...W_M|_F with the error that the row states, to 1e-10 |A|_F;
  - the three truncated SVD errors with the singular values computed here, to 1e-10 |A|_F;
  - the stored numbers with those in the file.

Prints a line per row with the paper's SF beside ours. Exit status: 0 all agree, 1 something does not, 2 nothing to
check. An error above the paper's is printed and counted, but does not change the exit status.
"""
import argparse
import json
import struct
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np

TOLERANCE = 1e-10


def read_matrix_market(path):
    with open(path) as file:
        words = file.readline().split()
        symmetric, is_array = words[4] == "symmetric", words[2] == "array"
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
        size = [int(word) for word in line.split()]
        A = np.zeros(size[:2])
        if is_array:
            values = np.array(file.read().split(), float)
            at = 0
            for j in range(size[1]):
                first = j if symmetric else 0
                A[first:, j] = values[at:at + size[0] - first]
                at += size[0] - first
        else:
            entries = np.array(file.read().split(), float).reshape(size[2], -1)
            i, j = entries[:, 0].astype(int) - 1, entries[:, 1].astype(int) - 1
            np.add.at(A, (i, j), entries[:, 2] if entries.shape[1] > 2 else 1.0)
    return np.tril(A) + np.tril(A, -1).T if symmetric else A


MAT_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}


def mat_elements(data):
    """(type, bytes) of the data elements of a version 5 file or of a compound element."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind >> 16:  # small element: type and size in one word
            yield kind & 0xFFFF, data[at + 4:at + 4 + (kind >> 16)]
            at += 8
            continue
        content = data[at + 8:at + 8 + size]
        if kind == 15:
            yield from mat_elements(zlib.decompress(content))
            at += 8 + size
        else:
            yield kind, content
            at += 8 + (size + 7) // 8 * 8


def mat_numbers(element):
    kind, content = element
    return np.frombuffer(content, "<" + MAT_TYPES[kind])


def read_mat(path, name="A"):
    for kind, content in mat_elements(Path(path).read_bytes()[128:]):
        if kind != 14:
            continue
        parts = list(mat_elements(content))
        if bytes(parts[2][1]).decode() != name:
            continue
        rows, cols = mat_numbers(parts[1])
        if parts[0][1][0] != 5:  # a full array, stored by columns
            return mat_numbers(parts[3]).astype(float).reshape(cols, rows).T
        indices, pointers, values = (mat_numbers(part) for part in parts[3:6])
        A = np.zeros((rows, cols))
        for j in range(cols):
            inside = slice(pointers[j], pointers[j + 1])
            A[indices[inside], j] = values[inside]
        return A
    sys.exit(f"{path}: no variable {name}")


def read_matrix(path):
    suffix = path.suffix.lower()
    if suffix == ".mtx":
        return read_matrix_market(path)
    if suffix == ".mat":
        return read_mat(path)
    from PIL import Image
    return np.asarray(Image.open(path).convert("L"), float)


def chord_chain(group):
    """W_1 ... W_M of a group of kind `chord`, and the number of values it stores."""
    n = int(group.attrs["order"])
    links, offsets, values = (group[name][()] for name in ("links", "offsets", "values"))
    links, offsets = links.astype(np.int64), offsets.astype(np.int64)
    product, at_offset, at_value = np.eye(n), 0, 0
    rows = np.arange(n)
    for count in links:
        W = np.zeros((n, n))
        block = values[at_value:at_value + n * count].reshape(n, count)
        for k in range(count):
            W[rows, (rows + offsets[at_offset + k]) % n] = block[:, k]
        product = product @ W
        at_offset += count
        at_value += n * count
    return product, values.size


def chord_product(path):
    """Returns the chain W, or P^T W Q with permutations, or the symmetric part of that, and the number of values it
    stores."""
    with h5py.File(path, "r") as file:
        made, stored, product = {}, 0, None
        for position in range(1, int(file["factors"].attrs["count"]) + 1):
            factor = file[f"factors/{position}"]
            number = int(factor.attrs["value"])
            if number not in made:
                group = file[f"values/{number}"]
                kind = group.attrs["kind"]
                kind = kind.decode() if isinstance(kind, bytes) else str(kind)
                if kind == "permutation":
                    sources = group["sources"][()].astype(np.int64)
                    made[number], size = np.eye(sources.size)[sources], sources.size
                elif kind == "chord":
                    made[number], size = chord_chain(group)
                else:
                    sys.exit(f"{path}: holds a {kind} factor, which no Chord fit makes")
                stored += size
            matrix = made[number].T if int(factor.attrs["transposed"]) else made[number]
            product = matrix if product is None else product @ matrix
        symmetrized = bool(file.attrs["symmetrized"])
    return (product + product.T) / 2 if symmetrized else product, stored


def differences(row, A, factors_file):
    """Returns the disagreements as texts."""
    found, norm = [], np.linalg.norm(A)

    def compare(what, stated, computed):
        if abs(stated - computed) > TOLERANCE * norm:
            found.append(f"{what} {stated:.10g}, computed here {computed:.10g}")

    W, stored = chord_product(factors_file)
    compare("chord_error", row["chord_error"], np.linalg.norm(A - W))
    if stored != row["stored_chord"]:
        found.append(f"stored_chord {row['stored_chord']}, in the file {stored}")
    sigma = np.linalg.svd(A, compute_uv=False)
    for name in ("tsvd", "tsvd_fit", "tsvd_symmetric"):
        rank = row[f"{name}_rank"]
        if rank is not None:
            compare(f"{name}_error", row[f"{name}_error"], np.linalg.norm(sigma[rank:]))
    sizes = np.sort(np.abs(A), axis=None)[::-1]
    compare("largest_entries_error", row["largest_entries_error"],
            np.linalg.norm(sizes[row["largest_entries_kept"]:]))
    if np.count_nonzero(A) != row["nonzeros"]:
        found.append(f"nonzeros {row['nonzeros']}, counted here {np.count_nonzero(A)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--matrices", type=Path, help="folder with the matrices, if they have moved")
    options = parser.parse_args()
    checked = failed = above = 0
    for listed in sorted(options.folder.glob("*.json")):
        row = json.loads(listed.read_text()).get("row")
        if row is None:
            continue
        path = Path(row["path"])
        if options.matrices:
            path = options.matrices / path.parent.name / path.name
        A = read_matrix(path)
        found = differences(row, A, listed.with_suffix(".h5"))
        paper = row["paper_sf"]
        beside = "paper's SF not known" if paper is None else f"paper's SF {paper:.4g}"
        if paper is not None and row["chord_error"] > paper:
            beside += ", ABOVE it"
            above += 1
        checked += 1
        failed += bool(found)
        print(f"{'FAIL' if found else 'ok  '} {row['name']:22s} N {A.shape[0]:4d}  "
              f"TSVD {row['tsvd_error']:.4e}  SF {row['chord_error']:.4e}  {beside}", flush=True)
        for text in found:
            print(f"     {text}")
    print(f"{checked - failed} of {checked} rows agree to {TOLERANCE:g} |A|; {above} above the paper's SF")
    if checked == 0:
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
