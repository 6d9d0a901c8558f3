"""Progress of a fit: a callback, or a tqdm progress bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Callback = Callable[[int, "float | None", "float | None"], Any]


@contextlib.contextmanager
def progress_callback(name: str, progress: bool | Callback | None) -> Iterator[Callback | None]:
    """Yields the library's callback, or None. Closes a progress bar at the end, full on success."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        if not callable(progress):
            raise TypeError(f"{name}: progress is neither True nor a function")
        yield progress
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None:
        yield None
        return
    bar = tqdm(total=1.0, desc=name, bar_format="{l_bar}{bar}| {elapsed}{postfix}")

    def show(iteration: int, relative_error: float | None, fraction_done: float | None) -> None:
        if fraction_done is not None:
            bar.n = fraction_done
        if relative_error is not None:
            bar.set_postfix_str(f"iteration {iteration}, error {relative_error:.4g}", refresh=False)
        bar.refresh()

    try:
        yield show
        bar.n = bar.total
        bar.refresh()
    finally:
        bar.close()
