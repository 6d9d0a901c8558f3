#!/usr/bin/env python3
"""Writes the 8 x 8 digits of scikit-learn as PNG files, and prints the error of a linear classifier on their pixels.

Writes FOLDER/train/CLASS/NUMBER.png and FOLDER/test/CLASS/NUMBER.png, as `matapprox attention data import images` reads
them: the last 449 of the 1797 images, in their order, are the test set, mostly by other writers than those before. Gray
levels 0..16 become 0..240. Prints the test error of scikit-learn's LogisticRegression fitted to the pixels (divided by 16)
of all other images.
Needs scikit-learn. Usage: digits.py FOLDER [--small] [--json FILE]
"""
import shutil
import struct
import zlib
from pathlib import Path

from common import parser, write

arguments = parser(__doc__)
arguments.add_argument("folder", type=Path)
options = arguments.parse_args()

import sklearn
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

TEST, ALL = (75, 300) if options.small else (449, None)


def png(rows):
    """Returns an 8-bit gray image in PNG format."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = len(rows), len(rows[0])
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"".join(b"\0" + bytes(row) for row in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


digits = load_digits()
images, data, target = digits.images[:ALL], digits.data[:ALL], digits.target[:ALL]
first = len(target) - TEST
shutil.rmtree(options.folder, ignore_errors=True)
for i, (image, label) in enumerate(zip(images, target)):
    folder = options.folder / ("train" if i < first else "test") / str(label)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{i:04}.png").write_bytes(png([[15 * int(level) for level in row] for row in image]))

classifier = LogisticRegression(max_iter=10000).fit(data[:first] / 16, target[:first])
error = 1 - classifier.score(data[first:] / 16, target[first:])
write(options, {"train": first, "test": TEST, "linear_error": error, "sklearn": sklearn.__version__})
