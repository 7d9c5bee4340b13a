"""What differs between runs, and which of them are replicates of each other. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from artist.results.folder import Run

POLICY = "policy"  # the policy's name stands for all keys that it determines
_NO_INPUT = ("hydra", "output", "network.cache")  # what of a config does not change results
_Facts = dict[str, str]


@dataclass(frozen=True, slots=True)
class Replicates:
    """Runs equal but for the seed.

    Attributes
    ----------
    values
        One text per key of the comparison; empty where the runs have no such key.
    label
        A name for the group; short, and different from the other groups' names.
    runs
        In order of seed.
    """

    values: tuple[str, ...]
    label: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs sorted into groups of replicates.

    Attributes
    ----------
    keys
        "policy", and the config keys that tell the groups apart; where several change together
        within a section of the config, as few as do.
    repeated
        Runs left out because a run before them has the same config and seed.
    """

    keys: tuple[str, ...]
    groups: tuple[Replicates, ...]
    repeated: tuple[Run, ...]


def compare(runs: Sequence[Run]) -> Comparison:
    """Sort runs into groups of replicates, in natural order of what tells them apart."""
    groups: dict[tuple[tuple[str, str], ...], dict[int, Run]] = {}
    repeated = []
    for run in runs:
        seeds = groups.setdefault(tuple(sorted(_facts(run).items())), {})
        if run.summary["seed"] in seeds:
            repeated.append(run)
        else:
            seeds[run.summary["seed"]] = run
    members = [tuple(run for _, run in sorted(seeds.items())) for seeds in groups.values()]
    facts = [_facts(group[0]) for group in members]
    keys = (POLICY, *(key for key in _telling_keys(facts) if key != POLICY))
    values = [tuple(fact.get(key, "") for key in keys) for fact in facts]
    order = sorted(range(len(members)), key=lambda i: [_natural(value) for value in values[i]])
    return Comparison(
        keys,
        tuple(Replicates(values[i], _label(keys, values[i]), members[i]) for i in order),
        tuple(repeated),
    )


def _facts(run: Run) -> _Facts:
    """Return the policy's name and the flat config as texts, without seeds and what is no input."""
    seed = run.config.get("seed")
    facts = {POLICY: str(run.summary["policy"])}
    for key, value in _flatten(run.config):
        is_seed = key.rsplit(".", 1)[-1] == "seed" and value == seed
        is_input = not any(f"{key}.".startswith(f"{no_input}.") for no_input in _NO_INPUT)
        if is_input and not is_seed:
            facts[key if key != POLICY else "policy.name"] = _text(value)
    return facts


def _flatten(value: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, item in value.items():
        if isinstance(item, dict):
            flat += _flatten(item, f"{prefix}{key}.")
        else:
            flat.append((f"{prefix}{key}", item))
    return flat


def _telling_keys(facts: Sequence[_Facts]) -> list[str]:
    """Return, section by section, the first keys that tell all different facts apart."""
    varied = [
        key for key in dict.fromkeys(k for f in facts for k in f) if len({f.get(key) for f in facts}) > 1
    ]
    telling = []
    for section in dict.fromkeys(key.split(".", 1)[0] for key in varied):
        candidates = [key for key in varied if key.split(".", 1)[0] == section]
        kept: list[str] = []
        for key in sorted(candidates, key=_obscurity):
            if _classes(facts, [*kept, key]) > _classes(facts, kept):
                kept.append(key)
        telling += kept
    return telling


def _obscurity(key: str) -> int:
    """Order keys: the name of a thing says most, the class that builds it least."""
    last = key.rsplit(".", 1)[-1]
    return 0 if key == POLICY else 1 if last == "name" else 3 if last == "_target_" else 2


def _classes(facts: Sequence[_Facts], keys: Sequence[str]) -> int:
    return len({tuple(fact.get(key) for key in keys) for fact in facts})


def _label(keys: Sequence[str], values: Sequence[str]) -> str:
    last = [key.rsplit(".", 1)[-1] for key in keys]
    short = [name if last.count(name) == 1 else key for name, key in zip(last, keys, strict=True)]
    details = [f"{name}={value}" for name, value in zip(short[1:], values[1:], strict=True) if value]
    return ", ".join([values[0], *details])


def _text(value: object) -> str:
    return "none" if value is None else str(value)


def _natural(text: str) -> list[tuple[int, float, str]]:
    """Return a sort key under which `racks=8` comes before `racks=16`."""
    try:
        return [(0, float(text), "")]
    except ValueError:
        parts = re.split(r"(\d+)", text)
    return [(1, float(part), "") if i % 2 else (2, 0.0, part) for i, part in enumerate(parts)]
