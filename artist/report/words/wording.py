"""Times and parts in words. Pure."""

import math
import re
from collections.abc import Mapping, Sequence

from artist.results.measures import Estimate
from artist.results.names import listed

MINUS = "\u2212"
_MAX_NAMES = 5
MAX_ROWS = 4  # named one by one
_WORDS = (
    "any", "choose", "elsewhere", "in ", "jobs", "none ", "of ", "perhaps ", "practically", "the ", "under ",
    "with ",
)  # fmt: skip
_TIMES = ((3600.0, "h", 5400.0), (60.0, "min", 90.0), (1.0, "s", 0.0))  # seconds, unit, from how many on


def duration(seconds: float, beside_s: float = 0.0) -> str:
    """Return a time in words, in the unit of a longer one beside it unless it is much shorter."""
    if abs(seconds) < 0.1:
        return "0 s" if not seconds else "under 0.1 s"
    size = abs(seconds) if abs(seconds) < 0.1 * beside_s else max(abs(seconds), beside_s)
    scale, unit = next((scale, unit) for scale, unit, least in _TIMES if size >= least)
    value = abs(seconds) / scale
    return f"{seconds / scale:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def per_cent(part: float) -> str:
    """Return a part of a whole as whole per cents, with a decimal below 10; less than all is not 100 %."""
    if 0.995 <= part < 1:
        return f"{math.floor(1000 * part) / 10} %"
    return f"{100 * part:.{1 if abs(part) < 0.0995 else 0}f} %".replace("-", MINUS)


def at_most(part: float) -> str:
    """Return a bound of a part: rounded up, to two digits and no finer than 0.01 %."""
    digits = 2 if part < 0.001 else max(0, 1 - math.floor(math.log10(100 * part)))
    return f"{math.ceil(100 * part * 10**digits - 1e-9) / 10**digits:.{digits}f} %" if part else "0 %"


def above(part: float) -> str:
    """Return an excess in words: `12 % above`, or `2.5 times`."""
    return f"{per_cent(part)} above" if part < 1 else f"{_times(part)} times"


def longer(parts: Sequence[float]) -> str:
    """Return a range of relative excesses in words: `2.0 to 12 %`, `up to 2.5 times`."""
    least, most = min(parts), max(parts)
    if most < 0.0005:
        return "as long"
    tell, unit = (per_cent, "longer") if most < 1 else (_times, "times as long")
    ends = [tell(least).removesuffix(" %"), tell(most)]
    if len(parts) == 1 or ends[0] == ends[1].removesuffix(" %"):
        return f"{ends[1]} {unit}"
    return f"up to {ends[1]} {unit}" if least < 0.01 else f"{ends[0]} to {ends[1]} {unit}"


def times_as_long(ratio: Estimate, seeds: str) -> str:
    """Return the ratio of two mean JCTs, and its interval."""
    mean, low, high = (f"{of:.{(of < 1.995) + (of < 9.95)}f}" for of in ratio if of is not None)
    return f"{mean} times as long (95 % interval {low} to {high} over {seeds})"


def named(label: str) -> str:
    """Return a row's name as a part of a sentence.

    >>> named("fifo, 2 racks, load 1.2"), named("fifo, without preemption"), named("fifo")
    ('fifo with 2 racks and load 1.2', 'fifo without preemption', 'fifo')
    """
    name, *settings = label.split(", ")
    if not settings:
        return name
    return f"{name} {with_settings(settings)}"


def with_settings(settings: Sequence[str]) -> str:
    """Return settings after "with", which those that begin with it, or with "without", have already.

    >>> with_settings(["2 racks", "load 1.2"]), with_settings(["without preemption"])
    ('with 2 racks and load 1.2', 'without preemption')
    """
    return f"{'with ' * (not settings[0].startswith(('with ', 'without ')))}{listed(settings)}"


def in_cases(count: int, of: int) -> str:
    """Return in how many cases something holds, after a space; empty if there is one case.

    >>> in_cases(2, 2), in_cases(6, 6), in_cases(2, 6), in_cases(1, 1)
    (' in both cases', ' in all 6 cases', ' in 2 of 6 cases', '')
    """
    if of == 1:
        return ""
    every = "both" if of == 2 else f"all {of}"
    return f" in {every if count == of else f'{count} of {of}'} cases"


def of_variants(findings: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return findings with the preposition of changes instead of that of policies.

    >>> of_variants([("", "12 % longer under 5 more machines, which takes under 0.1 s")])
    [('', '12 % longer with 5 more machines, which takes under 0.1 s')]
    """
    return [
        (topic, re.sub(r"\bunder (?!\d+\.\d+ s\b)", "with ", re.sub(r"\bUnder ", "With ", text)))
        for topic, text in findings
    ]


def begun(text: str) -> str:
    """Return a sentence with a capital letter, unless it begins with somebody's name."""
    return capital(text) if text.startswith(_WORDS) else text


def capital(text: str) -> str:
    """Return a sentence with a capital letter."""
    return text[:1].upper() + text[1:]


def often(counts: Mapping[str, int], of: int) -> str:
    """Return the names with the lowest mean JCT, or level with it, and their numbers of cases."""
    ranked = sorted(((-count, name) for name, count in counts.items() if count))
    (most, first), *others = ranked
    text = f"{first} has the lowest mean JCT, or one within 1 % of it,{in_cases(-most, of)}".rstrip(",")
    return ", ".join([text, *(f"{name} in {-count}" for count, name in others)])


def few(names: Sequence[str]) -> list[str]:
    """Return names, of many the first two and how many others there are."""
    return list(names) if len(names) <= _MAX_NAMES else [*names[:2], f"{len(names) - 2} others"]


def under_each(shares: Sequence[tuple[str, float]], words: str) -> list[str]:
    """Return a share under each name, of many the first and the last; `words` follow the first."""
    ends = shares if len(shares) <= MAX_ROWS else [shares[0], shares[-1]]
    return [
        f"{per_cent(share)}{'' if i else f' {words}'} under {name}" for i, (name, share) in enumerate(ends)
    ]


def _times(part: float) -> str:
    return f"{1 + part:.{1 if 1 + part < 9.95 else 0}f}"
