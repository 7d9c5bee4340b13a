"""Short texts for the keys and values of a config, labels for rows, letters for long labels. Pure."""

import math
import re
from ast import literal_eval
from collections.abc import Sequence

from artist.tables.grid import clip

_MOST = 32  # characters of a value in a table
_CLASS = "_target_"
_UNITS = {
    "cluster.machines": ("machine", "machines"),
    "cluster.racks": ("rack", "racks"),
    "cluster.machines_per_rack": ("machine per rack", "machines per rack"),
}  # keys whose value is a number of things
VARIANT = "variant"  # the name of a variant, which represents all settings that it changes
_WORDS = {
    "cluster.one_pool": {"True": "one pool", "False": "partitions"},
    "policy.backfill": {
        "none": "strict",
        "first_fit": "first fit",
        "easy": "EASY backfill",
        "conservative": "conservative backfill",
    },
}  # values that are named without their key
_AS_IT_IS = {"cluster.scale": "1", "cluster.more": "0"}  # values without a word in a label
_NAMES = ("name", "preset")  # keys whose value is a self-explanatory name
_SPEAKING = (*_NAMES, "path", _CLASS)  # keys whose value needs no "name=" before it in a label


def short_key(key: str) -> str:
    """Return a key as the heading of a column: `network.model` for `network.model._target_`."""
    return key.removesuffix(f".{_CLASS}")


def spoken(key: str, values: Sequence[str]) -> str:
    """Return a key and its values in words: `96 and 133 machines`, or else `workload.load=1 and 2`."""
    phrases = [_phrase(key, value) for value in values]
    if all(phrases):
        return listed(phrases)
    one, many = _UNITS.get(key, ("", ""))
    if many and all(value.isdecimal() for value in values):
        return f"{listed(values)} {one if list(values) == ['1'] else many}"
    return listed(values) if key.rsplit(".", 1)[-1] in _NAMES else f"{short_key(key)}={listed(values)}"


def listed(texts: Sequence[str]) -> str:
    """Return texts as people list them: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def short_values(key: str, values: Sequence[str]) -> list[str]:
    """Return the values of a column as people read them, different values as different texts.

    A path becomes its file name, a class a word (`artist.workload.arrivals.TraceArrivals` of `arrivals`
    is `trace`), 1000.0 becomes 1000; with the part of the rest that distinguishes the values.
    """
    shortened = list(values)
    for parts in range(1, 8):
        shortened = [_short(key, value, parts) for value in values]
        if _as_different(shortened, values):
            break
    else:
        shortened = list(values)
    clipped = [clip(text, _MOST) for text in shortened]
    return clipped if _as_different(clipped, values) else shortened


def labels(keys: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each row of short values, unlike those of other values, brief if possible.

    That of a variant stands for its policy, too.
    """
    if VARIANT in keys[1:2]:
        keys, rows = keys[1:], [row[1:] for row in rows]
    last = [short_key(key).rsplit(".", 1)[-1] for key in keys]
    names = [name if last.count(name) == 1 else short_key(key) for name, key in zip(last, keys, strict=True)]
    speaking = [key.rsplit(".", 1)[-1] in _SPEAKING for key in keys]
    brief = []
    for row in rows:
        details = [
            value if speaks else _pair(key, name, value)
            for key, name, value, speaks in list(zip(keys, names, row, speaking, strict=True))[1:]
            if (value not in ("", "none") or _phrase(key, value)) and _AS_IT_IS.get(key) != value
        ]
        brief.append(", ".join([row[0], *details]))
    if len(set(brief)) == len(set(map(tuple, rows))):
        return brief
    pairs = [[_pair(*parts) for parts in zip(keys, names, row, strict=True)][1:] for row in rows]
    return [", ".join([row[0], *details]) for row, details in zip(rows, pairs, strict=True)]


def letter(number: int) -> str:
    """Return A, B ... Z, AA, AB ... for 0, 1 ..."""
    before, last = divmod(number, 26)
    return (letter(before - 1) if before else "") + chr(ord("A") + last)


def is_number(text: str) -> bool:
    """Return whether a value is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def natural(text: str) -> list[tuple[int, float, str]]:
    """Return a sort key under which `racks=8` is before `racks=16`."""
    try:
        return [(0, float(text), "")]
    except ValueError:
        parts = re.split(r"(\d+)", text)
    return [(1, float(part), "") if i % 2 else (2, 0.0, part) for i, part in enumerate(parts)]


def _pair(key: str, name: str, value: str) -> str:
    in_words = (key in _UNITS and value.isdecimal()) or _phrase(key, value)
    return spoken(key, [value]) if in_words else f"{name}={value}"


def _phrase(key: str, value: str) -> str:
    """Return a setting's value in words that need no key, such as `10 more machines`; may be empty."""
    name, _, pool = key.partition("cluster.more")
    if key == "cluster.scale" and is_number(value):
        change, unit = round(100 * float(value) - 100), " %"
    elif not name and is_number(value):
        change, unit = int(float(value)), ""
    else:
        return _WORDS.get(key, {}).get(value, "")
    if not change:
        return "as many machines as now"
    count = f"{abs(change)}{unit} {'more' if change > 0 else 'fewer'}"
    return f"{count} machine{'' if count[:2] == '1 ' else 's'}{' of ' * bool(pool)}{pool[1:]}"


def _short(key: str, value: str, parts: int) -> str:
    if key.rsplit(".", 1)[-1] == _CLASS:
        return _class_word(key, value) if parts == 1 else ".".join(value.split(".")[-parts:])
    if parts == 1 and key == "cluster.failures" and value.startswith("["):
        causes = literal_eval(value)
        return ", ".join(c if isinstance(c, str) else f"{c['cause']} {c['per_1000_days']:g}" for c in causes)
    if "/" in value and value[0] not in "[{":
        return "/".join(value.rstrip("/").split("/")[-parts:])
    return value[:-2] if re.fullmatch(r"-?\d+\.0", value) else value


def _class_word(key: str, path: str) -> str:
    """Return the last word of a path to a class, without the word that the key already contains."""
    name = path.rsplit(".", 1)[-1]
    for section in key.split(".")[:-1]:
        for word in (section, section.removesuffix("s")):
            if word and len(name) > len(word) and name.lower().endswith(word.lower()):
                name = name[: -len(word)]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").lower()


def _as_different(short: Sequence[str], values: Sequence[str]) -> bool:
    """Return whether texts differ where values do; an empty one would look like a missing key."""
    return len(set(short)) == len(set(values)) and all(s or not v for s, v in zip(short, values, strict=True))
