"""Sizes and options of layers that are small enough for finite differences."""

WIDTH, LENGTH = 8, 7
ONE_HEAD = ("psf", "flash")
OPTIONS = {
    "linformer": {"rank": 3},
    "revisited_linformer": {"rank": 3},
    "performer": {"features": 6},
    "nystromformer": {"landmarks": 3, "convolution": 3},
    "bigbird": {"block": 2, "random_blocks": 1},
    "flash": {"chunk": 3, "value_width": 6, "query_width": 4},
}
