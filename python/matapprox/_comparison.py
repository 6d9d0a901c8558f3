"""Several methods side by side."""

from __future__ import annotations

import html
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
    """Rows of `compare`, one for each method; the first is the matrix as it is.

    Attributes
    ----------
    description : str
        Of the matrix.
    basis : str
        What the rows have in common: "equal storage: 24480 numbers".
    rows : list of dict
        With the keys of the program's JSON; what could not be found out is None.
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
        """The rows as a data frame, indexed by method."""
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
        return f"<table><caption>{html.escape(self.basis)}</caption>{''.join(rows)}</table>"
