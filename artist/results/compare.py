"""Comparison of runs: the settings that differ, and the groups of replicates. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from artist.errors import InputError
from artist.results.names import VARIANT, is_number, labels, letter, natural, short_key, short_values
from artist.results.run import Run

POLICY = "policy"  # the policy's name represents all keys that it determines
CODE = "code"  # a column only where runs of one config were made by different code
_LONG_LABEL = 36
_MAX_ALONG, _MAX_IDLE = 8, 4
_PLAIN = 2  # obscurity of a setting
CONDITIONS = ("cluster.failures", "cluster.events")  # scenarios, never choices
_WORK = ("workload", "arrivals", "signals")  # sections whose settings are conditions, too
_NO_INPUT = ("hydra", "output", "network.cache")  # parts of a config that do not change results
IDLE_SEEDS = "the seed changes nothing"
_OF_ONE_RUN = ("seed", "run", "setting")  # parts of a summary that a seed may change without any result
_Facts = dict[str, str]
_Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Replicates:
    """Runs equal except for the seed, made by the same code.

    Attributes
    ----------
    values
        One text per key of the comparison; empty if the runs lack the key.
    shown
        The same, short, for people.
    label
        A name for the group, different from the other groups' names; ends with * if it is partial.
    letter
        Replaces the label where there is no room for it; empty if all labels are short.
    runs
        In order of seed.
    lacking
        Whether it lacks seeds, or jobs of a seed, that rows have which it competes with.
    """

    values: tuple[str, ...]
    shown: tuple[str, ...]
    label: str
    letter: str
    runs: tuple[Run, ...]
    lacking: bool = False

    @property
    def samples(self) -> int:
        """Return the number of runs that count: one of those that differ in nothing but the seed."""
        results = [{key: run.summary[key] for key in run.summary.keys() - _OF_ONE_RUN} for run in self.runs]
        return 1 if all(result == results[0] for result in results) else len(results)

    @property
    def seeds(self) -> set[int]:
        """Return the seeds of its runs."""
        return {int(run.summary["seed"]) for run in self.runs}

    @property
    def knows_run_times(self) -> bool:
        """Return whether its policy knows run times in advance, as few clusters do."""
        return bool(self.runs[0].summary.get("setting", {}).get("Policy", {}).get("knowledge"))

    @property
    def partial(self) -> bool:
        """Return whether means leave out unfinished jobs, so that they compare with no other row's."""
        return not all(run.covered.whole for run in self.runs)

    @property
    def name(self) -> str:
        """Return the label, with the letter for it if there is one."""
        return f"{self.letter}: {self.label}" if self.letter else self.label


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs sorted into groups of replicates.

    Attributes
    ----------
    keys
        "policy", and the config keys that distinguish the groups; where several change together
        within a section of the config, as few as do. Last, "code", if groups differ in nothing else.
    along
        Settings that differ too, but distinguish no further groups, and that no choice of a part explains.
    older
        Runs left out because a newer one has the same config and seed.
    choices
        Those of the keys whose values compete: the policy, its settings, variants, and what the user named.
    """

    keys: tuple[str, ...]
    groups: tuple[Replicates, ...]
    along: tuple[str, ...]
    older: tuple[Run, ...]
    choices: tuple[str, ...] = ()

    @property
    def has_choice(self) -> bool:
        """Return whether rows of equal conditions differ in something to choose, which the code is not."""
        at = [i for i, key in enumerate(self.keys) if key in self.choices and key != CODE]
        scenarios: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        for group in self.groups:
            values = zip(self.keys, group.values, strict=True)
            condition = tuple(text for key, text in values if is_condition(key))
            scenarios.setdefault(condition, set()).add(tuple(group.values[i] for i in at))
        return any(len(chosen) > 1 for chosen in scenarios.values())


def along_note(comparison: Comparison) -> str:
    """Return the settings that differ beside those with a column; empty if none does."""
    keys = [*comparison.along[:_MAX_ALONG], *["..."] * (len(comparison.along) > _MAX_ALONG)]
    return f"settings that differ together with the columns: {', '.join(keys)}" if keys else ""


def idle_seeds(comparison: Comparison) -> str:
    """Return the rows in which the seed changes nothing; empty if there is none."""
    several = [group for group in comparison.groups if len(group.runs) > 1]
    idle = [group.name for group in several if group.samples == 1]
    names = [*idle[:_MAX_IDLE], *["..."] * (len(idle) > _MAX_IDLE)]
    rows = "" if len(idle) == len(several) else f" in these rows: {', '.join(names)}"
    return f"{IDLE_SEEDS}{rows}" if idle else ""


def of_policy(key: str) -> bool:
    """Return whether a key is the policy, a setting of it, or the code that ran."""
    return key in (POLICY, CODE) or key.startswith(f"{POLICY}.")


def is_condition(key: str) -> bool:
    """Return whether a setting is a scenario and never a choice: failures, events, and the work."""
    return key in CONDITIONS or key.partition(".")[0] in _WORK


def key_index(keys: Sequence[str], name: str) -> int | None:
    """Return the key of that name, or the only one that ends with it."""
    exact = [i for i, key in enumerate(keys) if name in (key, short_key(key))]
    ending = [i for i, key in enumerate(keys) if short_key(key).rsplit(".", 1)[-1] == name]
    rows = exact or ending
    return rows[0] if len(rows) == 1 else None


def competing(
    keys: Sequence[str], values: Sequence[Sequence[str]], choices: Sequence[str]
) -> tuple[list[int], dict[tuple[str, ...], list[int]]]:
    """Return the columns in which competing rows differ, and the rows of each scenario by their other values.

    Where no two rows differ in choices alone, those compete that have the same conditions.
    """
    for at in (
        [i for i, key in enumerate(keys) if key in choices],
        [i for i, key in enumerate(keys) if not is_condition(key)],
    ):
        rows: dict[tuple[str, ...], list[int]] = {}
        for row, value in enumerate(values):
            rows.setdefault(tuple(text for i, text in enumerate(value) if i not in at), []).append(row)
        if any(len(members) > 1 for members in rows.values()):
            break
    return at, rows


def _choices(keys: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys among which the user chooses: those of the policy, and those named."""
    named = {name: key_index(keys, name) for name in names}
    for name, at in named.items():
        if at is None or is_condition(keys[at]):
            allowed = ", ".join(short_key(key) for key in keys if not is_condition(key))
            fault = (
                "no such key tells rows apart" if at is None else "failures, events and work are conditions"
            )
            raise InputError(fault, where="--choose", found=name, allowed=allowed)
    return tuple(key for i, key in enumerate(keys) if of_policy(key) or key == VARIANT or i in named.values())


def _marked(
    keys: Sequence[str], groups: Sequence[Replicates], choices: Sequence[str]
) -> tuple[Replicates, ...]:
    """Return the groups, those that lack seeds or jobs of their rivals marked."""
    _, rows = competing(keys, [group.values for group in groups], choices)
    lacking = _lacking(list(rows.values()), [group.runs for group in groups])
    return tuple(replace(group, lacking=i in lacking) for i, group in enumerate(groups))


def _lacking(scenarios: Sequence[Sequence[int]], members: Sequence[Sequence[Run]]) -> set[int]:
    """Return the rows that lack seeds, or jobs of a seed, that others of their scenario have."""
    lacking = set()
    for rows in scenarios:
        jobs = [{run.summary["seed"]: int(run.summary["jobs"]) for run in members[row]} for row in rows]
        every = {seed: max(of.get(seed, 0) for of in jobs) for seed in {seed for of in jobs for seed in of}}
        lacking |= {row for row, of in zip(rows, jobs, strict=True) if of != every}
    return lacking


def compare(runs: Sequence[Run], choose: Sequence[str] = ()) -> Comparison:
    """Sort runs into groups of replicates, in the order of the keys that distinguish them.

    Values are in the order in which their sweep names them, numbers ascending; those that no sweep names are
    in natural order, after the others. A variant represents the settings that it changes.

    Of runs equal in config and seed the newest counts. Runs of different code (the program, a user's
    modules, the contents of input files) are never replicates of each other.

    Parameters
    ----------
    choose
        Keys whose values compete beside the policy's, as rows of one scenario.

    Raises
    ------
    InputError
        If no key of such a name distinguishes the groups.
    """
    newest, older = _newest(runs)
    groups: dict[tuple[_Key, str], list[Run]] = {}
    for (config, _), run in sorted(newest.items(), key=lambda item: item[0][1]):
        groups.setdefault((config, _code(run)), []).append(run)
    configs = [config for config, _ in groups]
    facts = [_facts(group[0]) for group in groups.values()]
    varied = _varied(facts)
    keys = _keys(facts)
    along = tuple(key for key in varied if key not in keys and _is_set(key, facts, varied))
    if len(set(configs)) < len(configs):
        keys.append(CODE)
        facts = [fact | {CODE: code} for fact, (_, code) in zip(facts, groups, strict=True)]
    values = [tuple(fact.get(key, "") for key in keys) for fact in facts]
    members = [tuple(group) for group in groups.values()]
    ranks = _ranks(keys, values, runs)
    order = sorted(range(len(members)), key=lambda i: (ranks[i], -max(run.written_ns for run in members[i])))
    groups_named = _named(keys, [values[i] for i in order], [members[i] for i in order])
    choices = _choices(keys, choose)
    return Comparison(tuple(keys), _marked(keys, groups_named, choices), along, older, choices)


def _keys(facts: Sequence[_Facts]) -> list[str]:
    """Return the policy, the variant if there are several, conditions, and keys that distinguish others."""
    variants: dict[str | None, list[_Facts]] = {}
    for fact in facts:
        variants.setdefault(fact.get(VARIANT), []).append(fact)
    telling = (key for part in variants.values() for key in _telling_keys(part, _varied(part)))
    conditions = [key for key in CONDITIONS if len({fact.get(key) for fact in facts}) > 1]
    return list(dict.fromkeys([POLICY, *[VARIANT] * (len(variants) > 1), *conditions, *telling]))


def _varied(facts: Sequence[_Facts]) -> list[str]:
    """Return the keys whose values differ, in order of first appearance."""
    keys = dict.fromkeys(key for fact in facts for key in fact)
    return [key for key in keys if len({fact.get(key) for fact in facts}) > 1]


def _newest(runs: Sequence[Run]) -> tuple[dict[tuple[_Key, int], Run], tuple[Run, ...]]:
    """Return the newest run of each config and seed, and the others; a point of two sweeps is one run."""
    newest: dict[tuple[_Key, int], Run] = {}
    older = []
    for run in runs:
        key = (tuple(sorted(_facts(run).items())), int(run.summary["seed"]))
        kept = newest.get(key)
        if kept is None or run.written_ns > kept.written_ns:
            newest[key] = run
        if kept is not None and (kept.folder.name, _code(kept)) != (run.folder.name, _code(run)):
            older.append(kept if newest[key] is run else run)
    return newest, tuple(older)


def _code(run: Run) -> str:
    made_by = run.summary.get("run", {})
    return str(made_by.get("code") or made_by.get("version", ""))


def _ranks(keys: Sequence[str], values: Sequence[tuple[str, ...]], runs: Sequence[Run]) -> list[list[object]]:
    """Return sort keys of groups by their settings, the variant first; the code is none of them."""
    of_groups: list[list[object]] = [[] for _ in values]
    for at in sorted(range(len(keys)), key=lambda at: keys[at] != VARIANT):
        if keys[at] == CODE:
            continue
        column = [value[at] for value in values]
        named = [] if all(map(is_number, column)) else _named_values(keys[at], runs)
        for of_group, text in zip(of_groups, column, strict=True):
            place = natural(text)
            of_group.append((named.index(place) if place in named else len(named), place))
    return of_groups


def _named_values(key: str, runs: Sequence[Run]) -> list[object]:
    """Return the values of a setting in the order in which sweeps name them, as `natural` has them."""
    section, _, last = short_key(key).rpartition(".")
    group = section if last in ("name", "preset") else key
    texts = dict.fromkeys(text for run in runs for text in run.order.get(key, run.order.get(group, ())))
    return [natural(text) for text in texts]


def _named(
    keys: Sequence[str], values: Sequence[tuple[str, ...]], members: Sequence[tuple[Run, ...]]
) -> tuple[Replicates, ...]:
    columns = [short_values(key, column) for key, column in zip(keys, zip(*values, strict=True), strict=True)]
    shown = list(zip(*columns, strict=True))
    names = labels(keys, shown)
    marks = [" *" * any(not run.covered.whole for run in runs) for runs in members]
    lettered = any(len(name) > _LONG_LABEL for name in names) and len(names) > 1
    return tuple(
        Replicates(values[i], shown[i], names[i] + marks[i], letter(i) if lettered else "", members[i])
        for i in range(len(members))
    )


def _facts(run: Run) -> _Facts:
    """Return the policy's name and the flat config as texts, without seeds and other irrelevant keys."""
    seed = run.config.get("seed")
    facts = {POLICY: str(run.summary["policy"])}
    for key, value in flatten(run.config):
        is_seed = key.rsplit(".", 1)[-1] == "seed" and value == seed
        is_input = not any(f"{key}.".startswith(f"{no_input}.") for no_input in _NO_INPUT)
        if is_input and not is_seed:
            facts[key if key != POLICY else "policy.name"] = "none" if value is None else str(value)
    return facts


def flatten(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Return (key, value) of a nested mapping, keys joined by dots, in its order."""
    flat: list[tuple[str, Any]] = []
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat += flatten(item, f"{prefix}{key}.")
        else:
            flat.append((f"{prefix}{key}", item))
    return flat


def _telling_keys(facts: Sequence[_Facts], varied: Sequence[str]) -> list[str]:
    """Return, section by section, the first keys that distinguish all different facts."""
    telling = []
    for section in dict.fromkeys(map(_section, varied)):
        candidates = [key for key in varied if _section(key) == section]
        kept: list[str] = []
        for key in sorted(candidates, key=_obscurity):
            if _classes(facts, [*kept, key]) > _classes(facts, kept):
                kept.append(key)
        telling += kept
    return telling


def _is_set(key: str, facts: Sequence[_Facts], varied: Sequence[str]) -> bool:
    """Return whether a key differs where the choices of parts in its section are the same."""
    choices = [other for other in varied if _section(other) == _section(key) and _obscurity(other) != _PLAIN]
    return _obscurity(key) == _PLAIN and _classes(facts, [*choices, key]) > _classes(facts, choices)


def _section(key: str) -> str:
    return key.split(".", 1)[0]


def _obscurity(key: str) -> int:
    """Order keys: names first, classes that build things last."""
    last = key.rsplit(".", 1)[-1]
    return 0 if key == POLICY else 1 if last in ("name", "preset") else 3 if last == "_target_" else _PLAIN


def _classes(facts: Sequence[_Facts], keys: Sequence[str]) -> int:
    return len({tuple(fact.get(key) for key in keys) for fact in facts})
