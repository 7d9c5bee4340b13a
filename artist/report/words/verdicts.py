"""The best rows by a metric, scenario by scenario. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from artist.report.words.axes import limit
from artist.report.words.wording import in_cases, named, with_settings
from artist.results.compare import Comparison
from artist.results.measures import Estimate, Metric, comparable, difference, is_level
from artist.results.names import listed, spoken
from artist.results.scenarios import Contest, Scenario

MAX_CLAUSES = 4
_MAX_NAMED = 2  # scenarios that are named one by one


@dataclass(frozen=True, slots=True)
class Verdict:
    """The best rows by a metric in a scenario.

    Attributes
    ----------
    best
        Row.
    level
        Rows within 1 % or a second of the best, the best included.
    limit
        Part up to which means count as equal.
    """

    scenario: Scenario
    best: int
    level: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    limit: float

    @property
    def even(self) -> bool:
        """Return whether no two rows can be distinguished."""
        known = sum(number.mean is not None for number in self.estimates)
        return len(self.level) == len(self.estimates) or (
            known == len(self.estimates) and (max(map(self.above, self.scenario.rows)) <= self.limit)
        )

    def of(self, row: int) -> Estimate:
        """Return mean and interval of a row of the scenario."""
        return self.estimates[self.scenario.rows.index(row)]

    def above(self, row: int) -> float:
        """Return the excess of a row over the best, as part of it; 0 if unknown."""
        return difference(self.of(row).mean, self.of(self.best).mean) or 0.0


def verdicts(comparison: Comparison, contest: Contest, metric: Metric) -> list[Verdict]:
    """Return the best rows of each scenario in which several rows have the number and may be compared."""
    ranked = []
    for scenario in contest.scenarios:
        estimates = [comparable(metric, comparison.groups[row]) for row in scenario.rows]
        means = [math.inf if mean is None else mean for mean, *_ in estimates]
        if sum(map(math.isfinite, means)) < 2:
            continue
        least = min(means)
        best = scenario.rows[means.index(least)]
        level = tuple(
            row
            for row, mean in zip(scenario.rows, means, strict=True)
            if is_level(metric.quantity, mean, least)
        )
        ranked.append(Verdict(scenario, best, level, tuple(estimates), limit(comparison)))
    return ranked


def in_words(contest: Contest) -> Contest:
    """Return a contest whose contenders have names for sentences."""
    return replace(contest, contenders=tuple(map(named, contest.contenders)))


def at_scenarios(scenarios: Sequence[Scenario], of: int) -> str:
    """Return the scenarios of a finding: `with 1 and 2 racks`, `in 5 of 9 cases`; empty for all of them.

    Parameters
    ----------
    of
        Number of all scenarios.
    """
    if len(scenarios) == of:
        return ""
    values: dict[str, dict[str, None]] = {}
    for scenario in scenarios:
        for key, value in scenario.parts:
            values.setdefault(key, {})[value] = None
    if len({scenario.parts for scenario in scenarios}) == math.prod(map(len, values.values())):
        return with_settings([spoken(key, list(of_key)) for key, of_key in values.items()])
    if len(scenarios) > _MAX_NAMED:
        return in_cases(len(scenarios), of).strip()
    return listed([with_settings(scenario.name.split(", ")) for scenario in scenarios], ", and ")
