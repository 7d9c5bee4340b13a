"""Ways to damage an input that was good: cells and rows, values of trees, and bytes."""

import gzip
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

_OF_NUMBERS = (
    *(
        "-1",
        "-0",
        "0",
        "0.5",
        "1e-9",
        "1e-320",
        "1",
        "7",
        "1e6",
        "4e9",
        "4e9.5",
        "1e12",
        "1e15",
        "1e18",
        "1e300",
    ),
    *(
        "1e400",
        "-1e400",
        "9" * 19,
        "9" * 400,
        "9" * 5000,
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "NA",
        "0x10",
    ),
    *("1_000", "1,5", "1.5.2", "+3", " 4 ", "½", "٣", "²", "1e", "--1", "True", "None", "null"),
)
_OF_DATES = (
    *("NaT", "2020-13-45 99:99:99", "1677-01-01 00:00:00", "9999-12-31 23:59:59", "0001-01-01 00:00:00"),
    *("2020-01-01T00:00:00+99:99", "2020-01-01", "2020-02-30 00:00:00", "2020-01-01T00:00:00Z", "20200101"),
    *(
        "2020-01-01 00:00:00.123456789",
        "-2020-01-01 00:00:00",
        "2261-12-31 00:00:00",
        "12:00",
        "now",
        "today",
    ),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2020-06-01 12:30:00+08:00"),
)
_OF_TEXTS = (
    *(
        "",
        " ",
        "x",
        "ü",
        "\u0645",
        "𝕏",
        "a" * 3000,
        '"',
        "'",
        '""',
        'a"b',
        "\t",
        ";",
        ",",
        "|",
        "=1+1",
        "{}",
        "[]",
    ),
    *(
        "#",
        "\\",
        "\\n",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
        "\u2028",
        "\ufeff",
        "\u200b",
        "\r",
        "\n",
        "\ud7ff",
        "\x7f",
    ),
    *(
        "\0",
        "..",
        "/",
        "~",
        "~nobody_is_called_so/x",
        "${nope}",
        "%s",
        "{0}",
        "a\nb",
        "-",
        "_target_",
        "1",
        "VGG11",
    ),
)
texts = st.one_of(
    *(st.sampled_from(value) for value in (_OF_NUMBERS, _OF_DATES, _OF_TEXTS)),
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(repr),
)
_ODD_VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        3,
        0.0,
        -0.5,
        0.5,
        1.5,
        10**5,
        10**9,
        10**12,
        2**53,
        2**63,
        10**30,
        -(10**30),
    ),
    *(10**400, 1e-320, 1e-9, 1e9, 1e12, 1e18, 1e300, -1e300, float("inf"), float("-inf"), float("nan")),
    *(
        "",
        "x",
        "1",
        "nan",
        "é\u2028",
        "a" * 3000,
        "\0",
        "\ud800",
        "~nobody_is_called_so/x",
        "9999-12-31",
        "0001-01-01",
    ),
    *([], {}, [1], ["x"], [None], [[]], {"a": 1}, {"": {}}, {1: 2}, [1, 2], [2, 1], [1e300, 2.0], ["x"] * 50),
)
values = st.one_of(
    st.sampled_from(_ODD_VALUES),
    st.sampled_from(_ODD_VALUES),
    st.integers(),
    st.floats(),
    st.text(max_size=6),
).map(deepcopy)


# --- tables


@st.composite
def tables(draw: st.DrawFn, text: str, separator: str = ",") -> str:
    """Return the text of a table with some of its cells, rows and columns damaged."""
    rows = [line.split(separator) for line in text.strip("\n").split("\n")]
    for _ in range(draw(st.integers(0, 3))):
        draw(st.sampled_from(_TABLE_CHANGES))(draw, rows)
        if not rows:
            break
    end = draw(st.sampled_from(("\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n")))
    return end.join(separator.join(row) for row in rows) + draw(
        st.sampled_from(("\n", "\n", "", "\n\n", ",,"))
    )


def _place(draw: st.DrawFn, rows: list[list[str]]) -> tuple[int, int]:
    row = draw(st.integers(0, len(rows) - 1))
    return row, draw(st.integers(0, max(0, len(rows[row]) - 1)))


def _cell(draw: st.DrawFn, rows: list[list[str]]) -> None:
    row, column = _place(draw, rows)
    if row == 0 and len(rows) > 1 and draw(st.integers(0, 3)):
        row = 1  # the header less often: a wrong one hides all else
    rows[row][column : column + 1] = [draw(texts)]


def _whole_column(draw: st.DrawFn, rows: list[list[str]]) -> None:
    _, column = _place(draw, rows[:1])
    text = draw(texts)
    for row in rows[1:]:
        row[column : column + 1] = [text]


def _without_cell(draw: st.DrawFn, rows: list[list[str]]) -> None:
    row, column = _place(draw, rows)
    del rows[row][column : column + 1]


def _cell_again(draw: st.DrawFn, rows: list[list[str]]) -> None:
    row, column = _place(draw, rows)
    rows[row][column:column] = rows[row][column : column + 1] * draw(st.sampled_from((1, 2, 30)))


def _swapped_cells(draw: st.DrawFn, rows: list[list[str]]) -> None:
    (row, column), (other, at) = _place(draw, rows), _place(draw, rows)
    if rows[row] and rows[other]:
        rows[row][column], rows[other][at] = rows[other][at], rows[row][column]


def _swapped_columns(draw: st.DrawFn, rows: list[list[str]]) -> None:
    (_, first), (_, second) = _place(draw, rows[:1]), _place(draw, rows[:1])
    for row in rows:
        if max(first, second) < len(row):
            row[first], row[second] = row[second], row[first]


def _without_column(draw: st.DrawFn, rows: list[list[str]]) -> None:
    _, column = _place(draw, rows[:1])
    for row in rows:
        del row[column : column + 1]


def _column_again(draw: st.DrawFn, rows: list[list[str]]) -> None:
    _, column = _place(draw, rows[:1])
    for row in rows:
        row += row[column : column + 1]


def _without_row(draw: st.DrawFn, rows: list[list[str]]) -> None:
    del rows[_place(draw, rows)[0]]


def _row_again(draw: st.DrawFn, rows: list[list[str]]) -> None:
    row = draw(st.integers(0, len(rows) - 1))
    rows[row:row] = [list(rows[row]) for _ in range(draw(st.sampled_from((1, 2, 40))))]


def _swapped_rows(draw: st.DrawFn, rows: list[list[str]]) -> None:
    row, other = (draw(st.integers(0, len(rows) - 1)) for _ in range(2))
    rows[row], rows[other] = rows[other], rows[row]


_TABLE_CHANGES = (
    *(_cell, _cell, _cell, _cell, _cell, _cell, _cell, _whole_column, _whole_column, _whole_column),
    *(_without_cell, _cell_again, _swapped_cells, _swapped_columns, _without_column, _column_again),
    *(_without_row, _row_again, _swapped_rows),
)


# --- trees of mappings, lists and plain values, such as JSON or a configuration


@st.composite
def trees(draw: st.DrawFn, tree: Any, most: int = 2, kept: tuple[str, ...] = ()) -> Any:
    """Return a tree with some of its values replaced, left out, repeated, moved or wrapped.

    `kept` are keys whose values stay.
    """
    root = {"": deepcopy(tree)}
    for _ in range(draw(st.sampled_from((1, 1, 1, *range(most + 1))))):
        places = [place for place in _places(root) if place[1] not in kept]
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        change = draw(
            st.sampled_from(("set", "set", "set", "set", "drop", "again", "wrap", "number", "other"))
        )
        if change == "set":
            holder[key] = draw(values)
        elif change == "drop" and key != "":
            del holder[key]
        elif change == "again" and isinstance(holder, list):
            holder[key:key] = [deepcopy(holder[key])] * draw(st.sampled_from((1, 30)))
        elif change == "again":
            holder[draw(texts)] = deepcopy(holder[key])
        elif change == "wrap":
            holder[key] = draw(st.sampled_from(([holder[key]], {"a": holder[key]}, str(holder[key]))))
        elif change == "number" and isinstance(holder[key], int | float):
            holder[key] = draw(
                st.sampled_from((-holder[key], holder[key] * 10**9, holder[key] // 7, 0 * holder[key]))
            )
        elif change == "other":
            there, name = draw(st.sampled_from(places))
            holder[key] = deepcopy(there[name]) if there is not root else None
    return root.get("")


def _places(at: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (mapping or list, key or number) of everything in a tree."""
    for key in list(at) if isinstance(at, dict) else range(len(at)):
        yield at, key
        if isinstance(at[key], dict | list):
            yield from _places(at[key])


# --- bytes


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """Return a text as bytes, often damaged: cut, changed, in another encoding, zipped, badly zipped."""
    how = draw(st.sampled_from(("well",) * 10 + _BYTE_CHANGES))
    good = text.encode("utf-8", errors="replace")
    if how == "well":
        return good
    if how in ("utf-16", "utf-32", "utf-8-sig", "latin-1", "utf-7", "cp037"):
        return text.encode(how, errors="replace")
    if how == "zipped":
        return gzip.compress(good, mtime=0)
    whole = gzip.compress(good, mtime=0) if how.startswith("zip") else good
    at = draw(st.integers(0, len(whole)))
    if how.endswith("cut"):
        return whole[:at]
    if how.endswith("changed"):
        return whole[:at] + bytes([draw(st.integers(0, 255))]) + whole[at + 1 :]
    if how.endswith("inserted"):
        return whole[:at] + draw(st.binary(min_size=1, max_size=6)) + whole[at:]
    if how == "nul":
        return whole[:at] + b"\0" + whole[at:]
    if how == "twice":
        return whole + whole
    return random.Random(at).randbytes(at)


_BYTE_CHANGES = (
    *(
        "utf-16",
        "utf-32",
        "utf-8-sig",
        "latin-1",
        "utf-7",
        "cp037",
        "cut",
        "changed",
        "inserted",
        "nul",
        "twice",
    ),
    *("zipped", "zip cut", "zip changed", "zip inserted", "noise"),
)
