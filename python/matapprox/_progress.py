"""Progress of a fit: a callback, or a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Callback = Callable[[int, "float | None", "float | None"], Any]


def progress_callback(name: str, progress: bool | Callback | None) -> Callback | None:
    """What the library calls; None for nothing."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        if not callable(progress):
            raise TypeError(f"{name}: progress is neither True nor a function")
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = tqdm(total=1.0, desc=name, bar_format="{l_bar}{bar}| {elapsed}{postfix}")

    def show(iteration: int, relative_error: float | None, fraction_done: float | None) -> None:
        if fraction_done is not None:
            bar.n = fraction_done
        if relative_error is not None:
            bar.set_postfix_str(f"iteration {iteration}, error {relative_error:.4g}", refresh=False)
        bar.refresh()

    return show
