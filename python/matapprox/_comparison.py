"""Comparison of several methods."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from typing import Any

_COLUMNS = {
    "method": "{}",
    "rank": "{}",
    "stored_bytes": "{}",
    "storage_share": "{:.2%}",
    "relative_error": "{:.4g}",
    "fit_seconds": "{:.3g}",
    "apply_seconds_1": "{:.3g}",
}


class Comparison:
    """Rows of `compare`, one for each method; the first is the original matrix.

    Attributes
    ----------
    description : str
        Description of the matrix.
    basis : str
        Common basis of the rows: "equal storage: 24480 numbers".
    rows : list of dict
        Rows with the keys of the program's JSON; values that are not known are None.
    """

    def __init__(self, description: str, basis: str, rows: list[dict[str, Any]]) -> None:
        self.description = description
        self.basis = basis
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, method: str) -> dict[str, Any]:
        for row in self.rows:
            if row["method"] == method:
                return row
        raise KeyError(method)

    def to_pandas(self) -> Any:
        """Returns the rows as a data frame, indexed by method."""
        import pandas as pd

        return pd.DataFrame(self.rows).set_index("method")

    def _cells(self) -> list[list[str]]:
        table = [list(_COLUMNS)]
        for row in self.rows:
            cells = [
                "" if row[name] is None else form.format(row[name])
                for name, form in _COLUMNS.items()
            ]
            if row["status"] != "ok":
                cells[1:] = [row["status"], *[""] * (len(cells) - 2)]
            table.append(cells)
        return table

    def __str__(self) -> str:
        table = self._cells()
        short = [row[:2] if row[2:] == [""] * (len(row) - 2) else row for row in table]
        widths = [max(len(row[k]) for row in short if len(row) > 2) for k in range(len(table[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
            for row in short
        ]
        return "\n".join([self.basis, *lines])

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.rows)} rows, {self.basis}>"

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        rows = [
            "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
            for tag, group in (("th", [head]), ("td", body))
            for cells in group
        ]
        table = f"<table><caption>{html.escape(self.basis)}</caption>{''.join(rows)}</table>"
        errors = [(row["method"], row["relative_error"]) for row in self.rows]
        return table + _chart(
            [(name, error) for name, error in errors if error and error < math.inf]
        )


def _chart(errors: list[tuple[str, float]]) -> str:
    """Returns an SVG chart with a dot at each method's relative error; empty for fewer than two.

    The axis is logarithmic, so errors that are zero or missing are left out."""
    if len(errors) < 2:
        return ""
    logs = [math.log10(error) for _, error in errors]
    low = math.floor(min(logs))
    high = max(math.ceil(max(logs)), low + 1)
    left, width, line = 130, 400, 20
    bottom = line * len(errors) + 4

    def across(exponent: float) -> str:
        return f"{left + width * (exponent - low) / (high - low):.1f}"

    parts = []
    for exponent in range(low, high + 1, -(-(high - low) // 8)):
        x = across(exponent)
        parts.append(f'<path d="M{x} 0V{bottom}" stroke="currentColor" opacity="0.25"/>')
        parts.append(f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">1e{exponent}</text>')
    for k, (name, _) in enumerate(errors):
        y = line * k + line // 2
        parts.append(
            f'<text x="{left - 12}" y="{y + 4}" text-anchor="end">{html.escape(name)}</text>'
        )
        parts.append(f'<circle cx="{across(logs[k])}" cy="{y}" r="5" fill="#1f77b4"/>')
    middle = left + width // 2
    parts.append(f'<text x="{middle}" y="{bottom + 30}" text-anchor="middle">relative error</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" '
        f'height="{bottom + 36}" font-size="12" font-family="sans-serif" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
