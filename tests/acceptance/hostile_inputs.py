"""Files that a stranger may send. Each family writes one file and states how it is passed to the program.

`generate(rng, family, folder, base)` returns a Hostile. `base` contains valid files to damage, made by the program
itself, and `outside`, a folder whose files must never be read.
"""
import collections
import contextlib
import gzip
import io
import os
import pathlib
import struct
import warnings
import zipfile
import zlib

import h5py
import numpy as np

# path: the file; kind: matrix, saved, config, weights or model; codes: the correct exit codes, any documented one if
# empty; blocks: true if the program waits until it is interrupted; unprivileged: true if the capabilities that let root
# read every file are dropped.
Hostile = collections.namedtuple("Hostile", "path kind codes blocks unprivileged", defaults=("matrix", (), False, False))

HUGE = [0, -1, 1, 46341, 65536, 10**7, 10**9, 2**31 - 1, 2**31, 2**32 + 1, 2**48, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]
WILD = ["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e999", "0x10", "1e", "", "--1", "1.2.3", "9" * 400, "1_000",
        "\x1b[31m1", "\x00", "\xff", "1\u00a0"]
SPOILED = [b"\x1b[2J\x1b]0;owned\x07", b"a\nmatapprox: forged", b"\xc2\x9b31m", b"\xff\xfe\x80", "\u202egnp.exe".encode(), b"a\rb", b"",
           b"x" * 5000, b"<script>alert(1)</script>", b"=1+1", b"../../etc/passwd", b"%s%n%x", b"a\tb\x08\x7f"]


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
    return path


def gzipped(rng, path, content):
    """Writes the text as it is, or compressed under the name with .gz."""
    if rng.uniform() < 0.75:
        return write(path, content)
    raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")
    return write(path.with_name(path.name + ".gz"), gzip.compress(raw, 1))


# ---- Text

def matrix_market(rng, folder, base):
    what = pick(rng, ["coordinate", "coordinate", "array", "vector", "\x1b[31m"])
    field = pick(rng, ["real", "integer", "pattern", "complex", "double", "\x07"])
    symmetry = pick(rng, ["general", "symmetric", "skew-symmetric", "hermitian"])
    sizes = " ".join(str(pick(rng, HUGE)) for _ in range(int(rng.integers(2, 5))))
    lines = [f"{pick(rng, HUGE[:8])} {pick(rng, HUGE[:8])} {pick(rng, WILD)}" for _ in range(int(rng.integers(0, 5)))]
    banner = pick(rng, ["%%MatrixMarket matrix", "%%MatrixMarket  MATRIX", "%MatrixMarket matrix", ""])
    text = f"{banner} {what} {field} {symmetry}\n{sizes}\n" + "\n".join(lines) + pick(rng, ["\n", "", "\r\n", "\n\x00\n"])
    return Hostile(gzipped(rng, folder / "a.mtx", text))


def huge_sizes(rng, folder, base):
    """Sizes that are allowed by the format, with few entries."""
    rows, cols = pick(rng, [(10**9, 10**9), (1, 10**7), (10**7, 1), (2 * 10**5, 2 * 10**5), (1, 10**9), (10**6, 3)])
    text = f"%%MatrixMarket matrix coordinate real general\n{rows} {cols} 2\n1 1 1\n{rows} {cols} -2\n"
    return Hostile(gzipped(rng, folder / "huge.mtx", text))


def array_of_wild_numbers(rng, folder, base):
    n = int(rng.integers(1, 5))
    numbers = [pick(rng, WILD) if rng.uniform() < 0.3 else f"{rng.normal():g}" for _ in range(n * n)]
    text = f"%%MatrixMarket matrix array real general\n{n} {n}\n" + "\n".join(numbers) + "\n"
    return Hostile(write(folder / "w.mtx", text))


def table(rng, folder, base):
    separator = pick(rng, [",", ";", "\t", " "])
    rows = [separator.join(pick(rng, WILD) if rng.uniform() < 0.1 else f"{rng.normal():g}"
                           for _ in range(4 if rng.uniform() < 0.9 else int(rng.integers(0, 7)))) for _ in range(int(rng.integers(0, 7)))]
    return Hostile(gzipped(rng, folder / pick(rng, ["t.csv", "t.tsv", "t.txt"]), pick(rng, ["\n", "\r\n", "\r"]).join(rows)))


def edges(rng, folder, base):
    lines = [f"{pick(rng, HUGE) if rng.uniform() < 0.3 else int(rng.integers(0, 9))} {int(rng.integers(0, 9))} "
             f"{pick(rng, WILD) if rng.uniform() < 0.3 else 1}" for _ in range(int(rng.integers(0, 6)))]
    return Hostile(gzipped(rng, folder / pick(rng, ["g.edges", "g.edgelist"]), "\n".join(lines) + "\n"))


def pajek(rng, folder, base):
    section = pick(rng, ["*Edges", "*Arcs", "*Edgeslist", "*Arcslist", "*Matrix", "*Events", "*\x1b[31m", "*Vertices 7", "*"])
    lines = [" ".join(str(pick(rng, HUGE) if rng.uniform() < 0.2 else int(rng.integers(1, 4))) for _ in range(3)) for _ in range(3)]
    text = f"*Vertices {pick(rng, [3, 3, 3] + HUGE)}\n1 \"\x1b]0;x\x07\"\n{section}\n" + "\n".join(lines) + "\n"
    return Hostile(gzipped(rng, folder / pick(rng, ["g.net", "g.paj"]), text))


def long_lines(rng, folder, base):
    name = pick(rng, ["l.csv", "l.mtx", "l.edges", "l.net"])
    return Hostile(write(folder / name, pick(rng, ["1,", "9", "%", "\x00", "*Vertices 3\n" * 10 + "1 ", "#"]) * 200000))


def config(rng, folder, base):
    lines = [pick(rng, ["task = \"adding\"", "length = 16", "steps = 1", f"length = {pick(rng, HUGE)}", "\x00\x1b[31m", "[[[", "a.b.c = 1",
                        "width = nan", "path = \"/etc/passwd\"", "steps = [1, 2]", "\"\x1b]0;x\x07\" = 1", "config = \"c.toml\"", "length",
                        "= 3", "task = 'adding", "'''", "length = 16 17", f"width = {'9' * 300}", "[adding] x", "output = \"x.h5\""])
             for _ in range(int(rng.integers(1, 6)))]
    return Hostile(write(folder / "c.toml", "\n".join(lines)), "config")


def config_bomb(rng, folder, base):
    text = pick(rng, ["[" * 100000, "a=" + "[" * 100000, "a = \"" + "x" * 10**6, "\n" * 10**6, "a.b" * 10**5 + " = 1", "'''" * 10**5])
    return Hostile(write(folder / "c.toml", text), "config")


# ---- NumPy

def npy_bytes(header, body=b"", version=(1, 0)):
    raw = header.encode("latin1", "replace") + b"\n"
    size = struct.pack("<H", len(raw) % 65536) if version[0] == 1 else struct.pack("<I", len(raw))
    return b"\x93NUMPY" + bytes(version) + size + raw + body


def hostile_npy(rng):
    shape = pick(rng, ["()", "(3,)", "(3, 3)", f"({pick(rng, HUGE)}, {pick(rng, HUGE)})", f"({pick(rng, HUGE)},)", "(3, 3, 3)", "3", "(-3, 3)"])
    kind = pick(rng, ["<f8", "<f8", "<f4", ">i2", "|b1", "|O", "<c16", "<f2", "<U4", "<f8888", "\\x1b[31m", "|V8"])
    order = pick(rng, ["False", "True", "maybe"])
    header = pick(rng, [f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"] * 5 + ["{" * 3000, "", "x" * 60000,
                        "{'descr': __import__('os').system('id')}"])
    version = pick(rng, [(1, 0), (1, 0), (2, 0), (3, 0), (9, 9)])
    return npy_bytes(header, rng.normal(size=9).tobytes()[:int(rng.integers(0, 73))], version)


def npy(rng, folder, base):
    return Hostile(write(folder / "a.npy", hostile_npy(rng)))


def npy_of_wild_numbers(rng, folder, base):
    A = rng.normal(size=(4, 4)) * pick(rng, [1.0, 1e307, 1e-310, 0.0])
    A[int(rng.integers(4)), int(rng.integers(4))] = pick(rng, [np.nan, np.inf, -np.inf, 1e308, 5e-324])
    np.save(folder / "w.npy", A)
    return Hostile(folder / "w.npy")


def npz(rng, folder, base):
    """Archives with wrong sizes, decompression bombs, hostile names, and members whose paths leave the folder."""
    raw = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(raw, "w", pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        warnings.simplefilter("ignore")
        for _ in range(int(rng.integers(0, 4))):
            name = pick(rng, ["a.npy", "a.npy", "../a.npy", "/etc/x.npy", "\x1b[31m.npy", "a\nb.npy", "b.txt", "data.npy", "indices.npy",
                              "indptr.npy", "format.npy", "shape.npy"])
            archive.writestr(name, hostile_npy(rng) if rng.uniform() < 0.7 else pick(rng, [b"", b"\0" * 10**6]))
    content = bytearray(raw.getvalue())
    for _ in range(int(rng.integers(0, 4))):
        if content:
            content[int(rng.integers(len(content)))] = int(rng.integers(256))
    return Hostile(write(folder / "a.npz", bytes(content)))


def npz_bomb(rng, folder, base):
    raw = io.BytesIO()
    megabytes = pick(rng, [64, 200])
    header = npy_bytes(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({megabytes * 2**17},), }}")
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open("a.npy", "w") as member:
        member.write(header)
        for _ in range(megabytes):
            member.write(bytes(2**20))
    return Hostile(write(folder / "bomb.npz", raw.getvalue()))


def gzip_bomb(rng, folder, base):
    name = pick(rng, ["b.csv.gz", "b.mtx.gz", "b.edges.gz", "b.net.gz", "b.txt.gz"])
    start = {"b.mtx.gz": b"%%MatrixMarket matrix coordinate real general\n%", "b.net.gz": b"*Vertices 3\n*Edges\n"}.get(name, b"")
    unit = pick(rng, [bytes(2**20), b"0," * 2**19, b"\n" * 2**20, b"1 1\n" * 2**18])
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    content = packer.compress(start) + b"".join(packer.compress(unit) for _ in range(pick(rng, [100, 400]))) + packer.flush()
    return Hostile(write(folder / name, content))


# ---- MATLAB

def mat_element(kind, data, size=None):
    return struct.pack("<II", kind, len(data) if size is None else size % 2**32) + data + bytes(-len(data) % 8)


def mat(rng, folder, base):
    sizes = [pick(rng, HUGE + [2, 3]) % 2**31 for _ in range(2)] if rng.uniform() < 0.6 else [2, 2]
    classes = pick(rng, [6, 6, 5, 7, 12, 1, 2, 99])
    flags = classes | pick(rng, [0, 0, 0x0800, 0x0400])
    name = pick(rng, [b"A", b"\x1b[31mA", b"a\nb", b"", b"x" * 300])
    body = mat_element(6, struct.pack("<II", flags, pick(rng, [0, 4, 2**31]))) + mat_element(5, struct.pack("<ii", *sizes)) + mat_element(1, name)
    if classes == 5:
        body += mat_element(5, struct.pack("<ii", 0, pick(rng, [1, 2**30]))) + mat_element(5, struct.pack("<iii", 0, 1, pick(rng, [1, 2**30])))
    body += mat_element(9, rng.normal(size=4).tobytes(), pick(rng, [None, None, 2**31, 2**32 - 1]))
    matrix = mat_element(14, body, pick(rng, [None, None, None, 2**31]))
    if rng.uniform() < 0.4:
        packed = zlib.compress(matrix + (bytes(10**8) if rng.uniform() < 0.2 else b""), 1)
        matrix = struct.pack("<II", 15, len(packed)) + packed
    return Hostile(write(folder / "a.mat", b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + matrix))


# ---- Images

def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rng, folder, base):
    width, height = (pick(rng, [0, 1, 30000, 65535, 10**6, 2**31 - 1]) for _ in range(2))
    depth, color = pick(rng, [1, 8, 16, 3]), pick(rng, [0, 2, 3, 6, 9])
    data = zlib.compress(bytes(pick(rng, [0, 10, 10**6])), 9)
    text = png_chunk(b"zTXt", b"\x1b[31m\0\0" + zlib.compress(bytes(2**24), 9)) if rng.uniform() < 0.3 else b""
    content = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, pick(rng, [0, 1]))) + text
    return Hostile(write(folder / "a.png", content + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")))


def png_bomb(rng, folder, base):
    side = pick(rng, [12000, 20000])
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(side + 1)) for _ in range(side)) + packer.flush()
    content = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) + png_chunk(b"IDAT", data)
    return Hostile(write(folder / "bomb.png", content + png_chunk(b"IEND", b"")))


def pgm(rng, folder, base):
    text = f"{pick(rng, ['P5', 'P2', 'P6', 'P9'])} {pick(rng, HUGE)} {pick(rng, HUGE)} {pick(rng, [255, 0, 65536, -1, 10**30])}\n1 2 3\x1b 4"
    return Hostile(write(folder / "a.pgm", text))


def jpeg(rng, folder, base):
    width, height = (pick(rng, [0, 1, 1000, 65500, 65535]) for _ in range(2))
    comment = b"\xff\xfe" + struct.pack(">H", 22) + b"\x1b[31m" * 4
    content = b"\xff\xd8" + comment + b"\xff\xc0\x00\x0b\x08" + struct.pack(">HH", height, width) + b"\x01\x01\x11\x00"
    return Hostile(write(folder / pick(rng, ["a.jpg", "a.jpeg"]), content + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + rng.bytes(200)))


# ---- HDF5

def hdf5(path):
    return h5py.File(path, "w")


def small_dataset(file, name="A"):
    return file.create_dataset(name, data=np.arange(9.0).reshape(3, 3))


def hdf5_outside(rng, folder, base):
    """Values stored in another file: external storage, external links, virtual datasets."""
    path, way = folder / pick(rng, ["x.h5", "x.hdf5", "x.mat"]), pick(rng, ["storage", "link", "virtual", "group"])
    with hdf5(path) as file:
        if way == "storage":
            file.create_dataset("A", shape=(8, 8), dtype="<f8", external=[(str(base.outside / pick(rng, ["secret.bin", "none.bin"])), 0, 512)])
        elif way == "link":
            file["A"] = h5py.ExternalLink(str(base.outside / pick(rng, ["secret.h5", "none.h5"])), "A")
        elif way == "group":
            file["g"] = h5py.ExternalLink(str(base.outside / "secret.h5"), "/")
        else:
            layout = h5py.VirtualLayout((8, 8), "<f8")
            layout[...] = h5py.VirtualSource(str(base.outside / pick(rng, ["secret.h5", "none.h5"])), "A", (8, 8))
            file.create_virtual_dataset("A", layout)
    return Hostile(path, codes=(2, 3))


def saved_outside(rng, folder, base):
    """A saved approximation with a factor stored in another file."""
    path = damaged_copy(base.saved[0], folder / "s.h5")
    with h5py.File(path, "r+") as file:
        group = file["values/1"]
        shape = group["values"].shape
        del group["values"]
        if rng.uniform() < 0.5:
            group["values"] = h5py.ExternalLink(str(base.outside / "secret.h5"), "A")
        else:
            group.create_dataset("values", shape=shape, dtype="<f8", external=[(str(base.outside / "secret.bin"), 0, 8 * int(np.prod(shape)))])
    return Hostile(path, "saved", (2, 3))


def hdf5_unwritten(rng, folder, base):
    side = pick(rng, [4, 1000, 2**16, 2**20, 2**31])
    chunks = pick(rng, [None, (2, 2), (1024, 1024), (side, 1)]) if side < 2**31 else (1024, 1024)
    if chunks is not None and chunks[0] * chunks[1] >= 2**28 or side < (chunks or (0, 0))[1]:
        chunks = (2, 2)
    with hdf5(folder / "u.h5") as file:
        fill = pick(rng, [None, 0.0, np.nan, 7.0])
        file.create_dataset("A", shape=(side, side), dtype="<f8", chunks=chunks, fillvalue=fill,
                            compression="gzip" if chunks and rng.uniform() < 0.5 else None)
    return Hostile(folder / "u.h5")


def hdf5_bomb(rng, folder, base):
    megabytes = pick(rng, [16, 100, 400])
    with hdf5(folder / "b.h5") as file:
        A = file.create_dataset("A", shape=(megabytes, 2**17), dtype="<f8", chunks=(16, 2**17), compression="gzip", compression_opts=1)
        packed = zlib.compress(bytes(16 * 2**20), 1)
        for first in range(0, megabytes, 16):
            A.id.write_direct_chunk((first, 0), packed)
    return Hostile(folder / "b.h5")


def hdf5_names(rng, folder, base):
    with hdf5(folder / "n.h5") as file:
        for _ in range(int(rng.integers(1, 4))):
            with contextlib.suppress(ValueError, OSError, RuntimeError):  # the name exists already
                file.create_dataset(pick(rng, SPOILED[:10]) or b"A", data=np.arange(float(pick(rng, [1, 4]))))
        small_dataset(file, pick(rng, [b"A", b"B", b"\x1b[31m"]) + b"_")
    return Hostile(folder / "n.h5")


def hdf5_kinds(rng, folder, base):
    """Datasets of every shape and type except a matrix, dangling links and circular links."""
    with hdf5(folder / "k.h5") as file:
        for position in range(int(rng.integers(1, 4))):
            name = f"d{position}"
            kind = int(rng.integers(9))
            if kind == 0:
                file[name] = h5py.SoftLink(pick(rng, ["/d0", "/d1", "/none", "/"]))
            elif kind == 1:
                file[name] = file["/"]
            elif kind == 2:
                file[name] = pick(rng, ["text", "\x1b[31m", "\x00"]).replace("\x00", "")
            elif kind == 3:
                file.create_dataset(name, shape=pick(rng, [(), (0,), (0, 5), (2, 2, 2), (1,) * 32]), dtype="<f8")
            elif kind == 4:
                file[name] = np.zeros(3, dtype=[("a", "<f8"), ("\u202eb", "<i4")])
            elif kind == 5:
                file[name] = h5py.Empty("f8")
            elif kind == 6:
                file[name] = np.array([[np.nan, np.inf], [1e308, 1]])
            elif kind == 7:
                file.create_dataset(name, data=np.ones((3, 3), pick(rng, ["<f2", ">f8", "<u8", "<c16", "?"])))
            else:
                small_dataset(file, name)
    return Hostile(folder / pick(rng, ["k.h5", "k.h5"]))


def deep_groups(rng, folder, base):
    with hdf5(folder / "deep.h5") as file:
        group = file
        for _ in range(pick(rng, [50, 800])):
            group = group.create_group("g")
        small_dataset(group)
    return Hostile(folder / "deep.h5")


# ---- Damaged and altered files of the program

def damaged_copy(source, path):
    return write(path, source.read_bytes())


def any_base(rng, base):
    kind = pick(rng, ["matrix"] * 4 + ["saved"] * 5 + ["weights", "model"])
    return pick(rng, getattr(base, kind)), kind


def truncated(rng, folder, base):
    source, kind = any_base(rng, base)
    content = source.read_bytes()
    return Hostile(write(folder / f"t{''.join(source.suffixes)}", content[:int(rng.integers(len(content)))]), kind)


def flipped(rng, folder, base):
    source, kind = any_base(rng, base)
    content = bytearray(source.read_bytes())
    begin = 2048 if rng.uniform() < 0.5 else len(content)
    for _ in range(pick(rng, [1, 1, 2, 5, 50])):
        content[int(rng.integers(min(len(content), begin)))] ^= 1 << int(rng.integers(8))
    return Hostile(write(folder / f"f{''.join(source.suffixes)}", bytes(content)), kind)


def overwritten(rng, folder, base):
    source, kind = any_base(rng, base)
    content = bytearray(source.read_bytes())
    at, length = int(rng.integers(len(content))), pick(rng, [1, 4, 8, 200])
    content[at:at + length] = pick(rng, [b"\xff", b"\x00", b"\x7f", b"\x1b"]) * length
    return Hostile(write(folder / f"o{''.join(source.suffixes)}", bytes(content)), kind)


NUMBERS = [-1, 0, 1, -5, 2, 3, 2**31, 2**48, 2**62, -2**63, 2**63 - 1, float("nan"), float("inf"), 1e308, -1.0, 1e-320, 0.5]


def saved_numbers(rng, folder, base):
    """Replaces one or two numbers or texts of a saved approximation; no checksum detects the change."""
    path = damaged_copy(pick(rng, base.saved), folder / "s.h5")
    with h5py.File(path, "r+") as file:
        items = [file]
        file.visititems(lambda _, item: items.append(item))
        for _ in range(int(rng.integers(1, 4))):
            item = pick(rng, items)
            names = [name for name in item.attrs if name != "crc32"]
            if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu" and item.size:
                values = item[...]
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    values.flat[int(rng.integers(values.size))] = np.array(pick(rng, NUMBERS)).astype(values.dtype)
                item[...] = values
                item.attrs.pop("crc32", None)
            elif names:
                name = pick(rng, names)
                old = item.attrs[name]
                del item.attrs[name]
                if isinstance(old, (bytes, str, np.bytes_)):
                    item.attrs[name] = np.bytes_(pick(rng, SPOILED).replace(b"\0", b"") or b"?")
                elif rng.uniform() < 0.9:
                    number = pick(rng, NUMBERS)
                    item.attrs[name] = number
    return Hostile(path, "saved")


def saved_sizes(rng, folder, base):
    """A factor without data of its own that claims to be huge."""
    path = folder / "s.h5"
    damaged_copy(base.projection, path)
    with h5py.File(path, "r+") as file:
        sizes = [pick(rng, [30, 2**20, 2**31, 2**40, 2**48]) for _ in range(2)]
        for group in file["values"].values():
            if group.attrs["kind"] in (b"random", "random"):
                group.attrs["rows"], group.attrs["cols"] = np.int64(sizes[0]), np.int64(sizes[1])
        if rng.uniform() < 0.7:  # keep only the projection and its transpose
            keep = [name for name, factor in file["factors"].items()
                    if file[f"values/{int(factor.attrs['value'])}"].attrs["kind"] in (b"random", "random")]
            file["factors"].attrs["count"] = np.int64(1)
            file.move(f"factors/{keep[0]}", "factors/kept")
            if "1" in file["factors"]:
                del file["factors/1"]
            file.move("factors/kept", "factors/1")
            transposed = int(file["factors/1"].attrs["transposed"])
            file.attrs["rows"], file.attrs["cols"] = (np.int64(size) for size in (sizes[::-1] if transposed else sizes))
    return Hostile(path, "saved")


def saved_sparse_sizes(rng, folder, base):
    """A sparse factor of one row with very many columns, all of them empty."""
    cols = pick(rng, [10**7, 2**31 - 1, 2**40, 2**48])
    path = damaged_copy(base.saved[0], folder / "s.h5")
    with h5py.File(path, "r+") as file:
        del file["values/1"]
        group = file.create_group("values/1")
        group.attrs["kind"], group.attrs["rows"], group.attrs["cols"] = np.bytes_("sparse"), np.int64(1), np.int64(cols)
        group["row_pointers"], group["columns"], group["values"] = np.array([0, 1]), np.array([0]), np.array([1.0])
        file["factors"].attrs["count"] = np.int64(1)
        file["factors/1"].attrs["transposed"], file["factors/1"].attrs["value"] = np.int64(0), np.int64(1)
        file.attrs["rows"], file.attrs["cols"] = np.int64(1), np.int64(cols)
    return Hostile(path, "saved")


# ---- Weights

def weights(rng, folder, base):
    entry = f'"dtype":"{pick(rng, ["F32", "F64", "BF16", "X9"])}","shape":[{pick(rng, HUGE)},{pick(rng, HUGE)}],"data_offsets":[{pick(rng, HUGE)},{pick(rng, HUGE)}]'
    header = pick(rng, ['{"a":{' + entry + '}}', '{"\\u001b[31m":{' + entry + '}}', "[" * 100000, '{"a":' * 50000, "{", '{"__metadata__":{"x":"\\n"}}', ""])
    size = pick(rng, [len(header), len(header), 2**63, 2**64 - 1, 0, 10**9])
    return Hostile(write(folder / "w.safetensors", struct.pack("<Q", size) + header.encode() + bytes(64)), "weights")


# ---- Wrong content, special files and files without permission

def wrong_signature(rng, folder, base):
    name = "x" + pick(rng, [".npy", ".npz", ".mat", ".png", ".jpg", ".pgm", ".h5", ".mtx", ".mtx.gz", ".csv", ".edges", ".net"])
    content = pick(rng, [b"\x7fELF" + bytes(2000), b"%PDF-1.7\n\x1b[31m", b"PK\x03\x04" + bytes(100), b"\x89HDF\r\n\x1a\n" + bytes(3000), b"\x93NUMPY",
                         b"\x1f\x8b\x08" + bytes(50), b"GIF89a", b"", b"\0", bytes(4096), b"\xff" * 4096, "\ufeff1,2\n3,4\n".encode(), b"\xff\xfe1\x002\x00"])
    return Hostile(write(folder / name, content))


def device(rng, folder, base):
    path = folder / ("d" + pick(rng, [".npy", ".npz", ".mat", ".png", ".jpg", ".pgm", ".h5", ".mtx", ".csv", ".edges", ".net", ".toml", ".safetensors"]))
    path.symlink_to(pick(rng, ["/dev/zero", "/dev/zero", "/dev/null", "/dev/full"]))
    return Hostile(path, {".toml": "config", ".safetensors": "weights"}.get(path.suffix, "matrix"))


def fifo(rng, folder, base):
    path = folder / ("p" + pick(rng, [".npy", ".mtx", ".csv", ".h5", ".png", ".npz", ".mat", ".net"]))
    os.mkfifo(path)
    return Hostile(path, codes=(130, 3, 2), blocks=True)


def directory(rng, folder, base):
    path = folder / ("d" + pick(rng, [".npy", ".npz", ".mat", ".png", ".h5", ".mtx", ".csv", ".mtx.gz"]))
    path.mkdir()
    return Hostile(path, codes=(2, 3))


def forbidden(rng, folder, base):
    source, kind = any_base(rng, base)
    path = damaged_copy(source, folder / f"p{''.join(source.suffixes)}")
    path.chmod(0)
    return Hostile(path, kind, (2, 3), unprivileged=True)


def missing(rng, folder, base):
    path = folder / pick(rng, ["none.mtx", "none.h5", "loop.npy", "none/none.csv", "x" * 300 + ".mtx"])
    if path.name == "loop.npy":
        path.symlink_to(path)
    return Hostile(path, codes=(2, 3))


def sparse_file(rng, folder, base):
    """Gigabytes of zeros that occupy no disk space, after a valid beginning."""
    name = pick(rng, ["s.npy", "s.mtx", "s.csv", "s.png", "s.h5", "s.npz", "s.mat", "s.pgm"])
    start = {"s.npy": npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (20000, 20000), }"), "s.pgm": b"P5 60000 60000 255\n",
             "s.mtx": b"%%MatrixMarket matrix array real general\n20000 20000\n"}.get(name, b"")
    path = write(folder / name, start)
    os.truncate(path, 3 * 10**9)
    return Hostile(path)


def hostile_name(rng, folder, base):
    source, kind = any_base(rng, base)
    name = os.fsencode(folder) + b"/" + pick(rng, SPOILED[:6]).replace(b"/", b"_") + os.fsencode("".join(source.suffixes))
    path = pathlib.Path(os.fsdecode(name))
    return Hostile(damaged_copy(source, path), kind)


FAMILIES = [matrix_market, huge_sizes, array_of_wild_numbers, table, edges, pajek, long_lines, config, config_bomb, npy, npy_of_wild_numbers, npz,
            npz_bomb, gzip_bomb, mat, png, png_bomb, pgm, jpeg, hdf5_outside, saved_outside, hdf5_unwritten, hdf5_bomb, hdf5_names, hdf5_kinds,
            deep_groups, truncated, flipped, overwritten, saved_numbers, saved_sizes, saved_sparse_sizes, weights, wrong_signature, device, fifo,
            directory, forbidden, missing, sparse_file, hostile_name]
# Decompression bombs take the longest to make; alterations have the most variants.
OFTEN = {saved_numbers: 6, flipped: 4, truncated: 2, matrix_market: 2, npz: 2, mat: 2, hdf5_kinds: 2}
SELDOM = {npz_bomb, gzip_bomb, png_bomb, hdf5_bomb, sparse_file, fifo, config_bomb}


def family_of(rng):
    weights_of = np.array([OFTEN.get(family, 0.3 if family in SELDOM else 1.0) for family in FAMILIES])
    return FAMILIES[int(rng.choice(len(FAMILIES), p=weights_of / weights_of.sum()))]
