"""Rows with named columns, as a text, as HTML in a notebook, and for pandas."""

import html
import math
from typing import Any, Dict, Iterable, List, Optional, Sequence

__all__ = ["Table"]


def ms_text(seconds):
    """Milliseconds in three significant digits, without an exponent, as the programs print them."""
    ms = seconds * 1e3
    if ms == 0 or not math.isfinite(ms):
        return f"{ms:.0f}"
    exponent = int(f"{ms:.2e}".split("e")[1])  # of the rounded number: 9.996 is 10.0
    return f"{ms:.{min(20, max(0, 2 - exponent))}f}"


def _text(value, column=""):
    """A cell: times in three significant digits, other numbers in four."""
    if value is None:
        return ""
    if isinstance(value, float) and (column == "ms" or column.endswith("_ms")):
        return ms_text(value / 1e3)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items())
    return str(value)


class Table(List[Dict[str, Any]]):
    """A list of dicts. ``columns``: the keys that are shown, in order."""

    _MOST_ROWS = 60  # that are shown

    def __init__(self, rows: Iterable[Dict[str, Any]], columns: Optional[Sequence[str]] = None) -> None:
        """Takes the rows; without `columns` all keys are shown, in the order in which rows have them."""
        super().__init__(rows)
        if columns is None:
            columns = list(dict.fromkeys(key for row in self for key in row))
        self.columns = list(columns)

    def column(self, name: str) -> List[Any]:
        """The values of one column, None where a row has none."""
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self.columns)}")
        return [row.get(name) for row in self]

    def to_pandas(self) -> Any:
        """A data frame; needs pandas."""
        import pandas

        return pandas.DataFrame(list(self), columns=self.columns)

    def _cells(self):
        """The texts of the rows that are shown."""
        return [[_text(row.get(c), c) for c in self.columns] for row in self[: self._MOST_ROWS]]

    def _more(self):
        """A line that says how many rows are not shown; "": all are."""
        return f"... {len(self) - self._MOST_ROWS} more" if len(self) > self._MOST_ROWS else ""

    def __repr__(self):
        """Columns of text, as the programs print them."""
        cells = [self.columns, *self._cells()]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in cells]
        return "\n".join(lines + ([self._more()] if self._more() else []))

    def _repr_html_(self):
        """The same for a notebook."""
        def row(cells, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self._cells())
        return f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table>{self._more()}"
