"""Short texts for the keys and values of a config, labels for rows, letters for long labels. Pure."""

import math
import re
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

from artist.tables.grid import clip

_MOST = 32  # characters of a value in a table
_CLASS = "_target_"
VARIANT = "variant"  # the name of a variant, which represents all settings that it changes
_AS_IT_IS = {"cluster.scale": "1", "cluster.more": "0"}  # values without a word in a label
_NAMES = ("name", "preset")  # keys whose value is a self-explanatory name
_SPEAKING = (*_NAMES, "path", _CLASS)  # keys whose value needs no other word in a label
_UNITS = {
    "_gpu_s": "GPU-seconds", "_gbit_s": "Gb/s", "_gb_s": "GB/s", "_ns": "ns", "_us": "us", "_ms": "ms",
    "_s": "s", "_min": "min", "_h": "h", "_days": "days", "_gib": "GiB", "_gpus": "GPUs", "_bytes": "bytes",
}  # fmt: skip
_VAGUE = {"end", "enforced", "error", "factor", "level", "machine", "mean", "network", "rack", "rule"}
_CAPITALS = {"cpu": "CPU", "cpus": "CPUs", "gpu": "GPU", "gpus": "GPUs", "vcs": "virtual clusters"}


@dataclass(frozen=True, slots=True)
class _Label:
    """Words for a setting; see labels.yaml."""

    noun: str
    phrase: str = ""
    value: str = "{}"
    values: Mapping[str, str] = field(default_factory=dict)


def short_key(key: str) -> str:
    """Return a key as the heading of a column: `network.model` for `network.model._target_`."""
    return key.removesuffix(f".{_CLASS}")


def noun(key: str) -> str:
    """Return the name of a setting as people use it: `the number of racks`, `oversubscription`."""
    return _label(key).noun


def spoken(key: str, values: Sequence[str], between: str = " and ") -> str:
    """Return values of a setting in words: `96 and 133 machines`, `load 1 and 2`, `contention off`.

    Parameters
    ----------
    between
        Text before the last of several values.
    """
    label = _label(key)
    known = [_words(key, value, alone=len(values) == 1) for value in values]
    pairs = zip(values, known, strict=True)
    others = [label.value.format(value) if is_number(value) else value for value, words in pairs if not words]
    name = label.noun.removeprefix("the ")
    phrase = f"{name} {{}}" if others in (["none"], [""]) else label.phrase or f"{name} {{}}"
    if len(others) > 1:
        others = ["unset" if value in ("none", "") else value for value in others]
    phrases = [phrase.format(listed(others, between))] * bool(others) + list(filter(None, known))
    return listed(phrases, between)


def listed(texts: Sequence[str], between: str = " and ") -> str:
    """Return texts as people list them: `a, b and c`."""
    return between.join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


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
    speaking = [key.rsplit(".", 1)[-1] in _SPEAKING for key in keys]
    triples = [list(zip(keys, speaking, row, strict=True))[1:] for row in rows]
    for texts in (
        [[_phrase(*triple) for triple in of if is_named(triple[0], triple[2])] for of in triples],
        [[spoken(key, [value]) for key, _, value in of] for of in triples],
        [[f"{short_key(key)}={value}" for key, _, value in of] for of in triples],
    ):
        names = [", ".join([row[0], *details]) for row, details in zip(rows, texts, strict=True)]
        if len(set(names)) == len(set(map(tuple, rows))):
            break
    return names


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
    """Return a sort key: numbers, `none`, then texts, `racks=8` before `racks=16`, `x` before `20*x`."""
    if text == "none":
        return [(2, -1.0, "")]
    try:
        return [(0, float(text), "")]
    except ValueError:
        times, _, base = text.rpartition("*")
    if is_number(times):
        return [*natural(base), (1, float(times), "")]
    parts = re.split(r"(\d+)", text)
    return [(1, float(part), "") if i % 2 else (2, 0.0, part) for i, part in enumerate(parts)]


def is_named(key: str, value: str) -> bool:
    """Return whether a name mentions a value: not one that is missing, or as it is without the setting."""
    return bool(value not in ("", "none") or _words(key, value)) and _AS_IT_IS.get(key) != value


def _phrase(key: str, speaks: bool, value: str) -> str:
    return value if speaks and not _words(key, value) else spoken(key, [value])


@lru_cache(maxsize=1)
def _labels() -> dict[str, _Label]:
    import yaml

    from netmodels.inputs.schema import FastLoader

    text = files(__package__).joinpath("labels.yaml").read_text(encoding="utf-8")
    return {key: _Label(**words) for key, words in yaml.load(text, Loader=FastLoader).items()}


def _label(key: str) -> _Label:
    """Return the words for a setting; those of one without words of its own are made of its key."""
    key = short_key(key)
    above, _, last = key.rpartition(".")
    known = _labels().get(key) or (_labels().get(above) if "." in above else None)  # cluster.more.POOL
    if known is not None:
        return known
    sections = above.split(".") if above else []
    if last in _NAMES and sections:
        return _Label(f"the {_readable(sections[-1])}", "{}")
    unit = next((end for end in _UNITS if last.endswith(end)), "")
    name = _readable(last.removesuffix(unit))
    name += f" of {_readable(sections[-1])}" * (last in _VAGUE and bool(sections))
    switched = {"True": f"with {name}", "False": f"without {name}"}
    return _Label(name, value=f"{{}} {_UNITS[unit]}" if unit else "{}", values=switched)


def _readable(name: str) -> str:
    return " ".join(_CAPITALS.get(word, word) for word in name.split("_"))


def _words(key: str, value: str, *, alone: bool = True) -> str:
    """Return a value that needs no other words, such as `contention off`; may be empty.

    Parameters
    ----------
    alone
        Whether no other value is beside it: `1 rack`, but `1 and 2 racks`.
    """
    for pattern, words in _label(key).values.items():
        if (alone or not is_number(value)) and (match := re.fullmatch(pattern, value)):
            return match.expand(words)
    return _change(key, value)


def _change(key: str, value: str) -> str:
    """Return a change of the number of machines in words, such as `10 more machines`; may be empty."""
    name, _, pool = key.partition("cluster.more")
    if key == "cluster.scale" and is_number(value):
        change, unit = round(100 * float(value) - 100), " %"
    elif not name and is_number(value):
        change, unit = int(float(value)), ""
    else:
        return ""
    if not change:
        return "as many machines as now"
    count = f"{abs(change)}{unit} {'more' if change > 0 else 'fewer'}"
    return f"{count} machine{'' if count[:2] == '1 ' else 's'}{' of ' * bool(pool)}{pool[1:]}"


def _short(key: str, value: str, parts: int) -> str:
    if key.rsplit(".", 1)[-1] == _CLASS:
        return _class_word(key, value) if parts == 1 else ".".join(value.split(".")[-parts:])
    if parts == 1 and key == "cluster.failures" and value.startswith("["):
        causes = literal_eval(value)
        texts = (c if isinstance(c, str) else f"{c['cause']} {c['per_1000_days']:g}" for c in causes)
        return ", ".join(texts) or "none"
    if parts == 1 and key == "cluster.machines" and value.startswith("[{"):
        return " + ".join(
            f"{group['count']} {group['type']}{f' ({pool})' if (pool := group.get('pool')) else ''}"
            for group in literal_eval(value)
        )
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
