"""Times and parts as people say them. Pure."""

from collections.abc import Mapping, Sequence

MINUS = "\u2212"
_MOST_NAMES = 5
_TIMES = ((3600.0, "h", 5400.0), (60.0, "min", 90.0), (1.0, "s", 0.0))  # seconds, unit, from how many on


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if abs(seconds) < 0.1:
        return "0 s" if not seconds else "under 0.1 s"
    scale, unit = _unit(abs(seconds))
    return f"{seconds / scale:.{_digits(abs(seconds) / scale)}f} {unit}"


def signed(seconds: float) -> str:
    """Return a time that may be less than none as people say it."""
    return duration(seconds).replace("-", MINUS)


def apart(longer: float, shorter: float) -> tuple[str, str, str]:
    """Return two times and what lies between them: as said, the third is the first less the second.

    They have as many decimals as it takes to give the third two digits, up to four.
    """
    scale, unit = _unit(longer)
    decimals = _digits(shorter / scale)
    while decimals < 4 and (longer - shorter) / scale * 10**decimals < 10:
        decimals += 1
    one, other = round(longer / scale, decimals), round(shorter / scale, decimals)
    one_text, other_text, gap = (f"{value:.{decimals}f} {unit}" for value in (one, other, one - other))
    return one_text, other_text, gap


def per_cent(part: float) -> str:
    """Return a part of a whole as whole per cents, with a decimal below 10."""
    return f"{100 * part:.{1 if abs(part) < 0.0995 else 0}f} %".replace("-", MINUS)


def begun(text: str) -> str:
    """Return a sentence with a capital letter, unless it begins with somebody's name."""
    return text[0].upper() + text[1:] if text.startswith(("at ", "of ", "the ", "all ", "both ")) else text


def often(counts: Mapping[str, int], of: int, cases: str) -> str:
    """Return what has the lowest mean JCT, or is level with it, in how many cases, most often first."""
    ranked = sorted(((-count, name) for name, count in counts.items() if count))
    (most, first), *others = ranked
    text = f"{first} has the lowest mean JCT, or one within 1 % of it, in {-most} of {of} {cases}"
    return ", ".join([text, *(f"{name} in {-count}" for count, name in others)])


def few(names: Sequence[str]) -> list[str]:
    """Return names, of many the first two and how many others there are."""
    return list(names) if len(names) <= _MOST_NAMES else [*names[:2], f"{len(names) - 2} others"]


def _unit(seconds: float) -> tuple[float, str]:
    return next((scale, unit) for scale, unit, least in _TIMES if seconds >= least)


def _digits(value: float) -> int:
    return 2 if value < 10 else 1 if value < 100 else 0
