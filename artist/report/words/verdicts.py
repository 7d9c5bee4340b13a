"""The best rows by a metric, scenario by scenario. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from artist.report.words.axes import limit
from artist.results.compare import Comparison
from artist.results.measures import Estimate, Metric, comparable, difference, is_level
from artist.results.names import spoken
from artist.results.scenarios import Contest, Scenario

MAX_CLAUSES = 4


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


def at_scenarios(scenarios: Sequence[Scenario]) -> str:
    """Return `with 64 machines: `, `with 96 and 133 machines: `, or an empty text for a single scenario."""
    named = [scenario for scenario in scenarios if scenario.name]
    if not named:
        return ""
    if (
        all(len(scenario.parts) == 1 for scenario in named)
        and len({scenario.parts[0][0] for scenario in named}) == 1
    ):
        return f"with {spoken(named[0].parts[0][0], [scenario.parts[0][1] for scenario in named])}: "
    names = [scenario.name for scenario in named]
    return f"with {'; with '.join(names)}: " if len(names) < 4 else f"in {len(names)} other cases: "
