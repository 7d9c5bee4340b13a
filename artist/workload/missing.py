"""Values that programs write where none is known: words, and numbers that no job can have."""

from collections.abc import Iterable

import numpy as np

from artist.tables.rows import Column

_WORDS = (
    *("", "-", "na", "n/a", "#n/a", "<na>", "nan", "nat", "none", "null", "(null)", "nil", r"\n"),
    *("unknown", "undefined", "invalid"),
)
MISSING = frozenset(form for word in _WORDS for form in (word, word.upper(), word.capitalize(), "NaN", "NaT"))
"""Words for a missing value in any column."""
_NEVER = (-1.0, 2.0**32 - 2, 2.0**32 - 1, 2.0**63, 2.0**64)
"""Numbers for a missing value: -1; NO_VAL and INFINITE of Slurm in 32 and, rounded, in 64 bits."""
_NEVER_A_TIME = 2.0**31 - 1
"""The largest number of 32 bits with a sign: 68 years in seconds, but 2 GiB less one in bytes."""
_NO_DATE = ("0000-", "0001-", "9999-")


def is_missing(value: object) -> bool:
    """Return whether a value means that none is known."""
    return value is None or value != value or (isinstance(value, str) and value.strip().lower() in MISSING)


def known_texts(column: Column, words: Iterable[str] = MISSING) -> Column:
    """Return a column of texts, (n_jobs,), with "" for words that mean none."""
    known = set(words) - {""}
    if known.isdisjoint(column.tolist()):
        return column
    return np.fromiter(("" if one in known else one for one in column.tolist()), object, len(column))


def without_fillers(values: Column, most: float = np.inf, *, least: float = 0, time: bool = False) -> Column:
    """Return numbers as a file has them, (n_jobs,), with NaN for those that mean none.

    Parameters
    ----------
    least, most
        Range of the column: 2^32 - 1 may be bytes, and never GPUs; -1 may be a priority.
    time
        True for a time, which none of these numbers is.
    """
    fillers = [one for one in _NEVER if time or not least <= one <= most]
    if time:
        fillers.append(_NEVER_A_TIME)
    filler = np.isin(values, fillers)
    return np.where(filler, np.nan, values) if filler.any() else values


def is_missing_date(text: str) -> bool:
    """Return whether a text that is no date means none: words, fillers, and the years 0, 1 and 9999."""
    if is_missing(text) or text.startswith(_NO_DATE):
        return True
    return text.lstrip("-").isdigit() and float(text) in (0.0, _NEVER_A_TIME, *_NEVER)
