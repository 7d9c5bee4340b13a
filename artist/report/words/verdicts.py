"""Who is best by a metric, scenario by scenario. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from artist.results.compare import Comparison
from artist.results.measures import Estimate, Metric, comparable, difference, is_level
from artist.results.names import spoken
from artist.results.scenarios import Contest, Scenario

MOST_CLAUSES = 4


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is best by a metric in a scenario.

    Attributes
    ----------
    best, baseline
        Rows.
    level
        Rows within 1 % or a second of the best, the best included.
    below
        By how much of the baseline the best is below it; None if that cannot be said.
    """

    scenario: Scenario
    best: int
    baseline: int
    level: tuple[int, ...]
    estimates: tuple[Estimate, ...]
    below: float | None

    @property
    def even(self) -> bool:
        """Whether all rows are level."""
        return len(self.level) == len(self.scenario.rows)

    def of(self, row: int) -> Estimate:
        """Return mean and interval of a row of the scenario."""
        return self.estimates[self.scenario.rows.index(row)]


def verdicts(comparison: Comparison, contest: Contest, metric: Metric) -> list[Verdict]:
    """Return the best rows of each scenario in which several rows have the number and may be compared."""
    found = []
    for scenario in contest.scenarios:
        estimates = [comparable(metric, comparison.groups[row]) for row in scenario.rows]
        means = [math.inf if mean is None else mean for mean, *_ in estimates]
        if sum(map(math.isfinite, means)) < 2:
            continue
        least = min(means)
        best = scenario.rows[means.index(least)]
        level = tuple(
            row for row, mean in zip(scenario.rows, means, strict=True) if is_level(metric.kind, mean, least)
        )
        baseline = contest.baseline[best]
        reference = _own(scenario, estimates, baseline)
        drop = difference(least, reference.mean)
        below = None if drop is None else -drop
        found.append(Verdict(scenario, best, baseline, level, tuple(estimates), below))
    return found


def _own(scenario: Scenario, estimates: Sequence[Estimate], row: int) -> Estimate:
    return estimates[scenario.rows.index(row)] if row in scenario.rows else Estimate()


def at_scenarios(scenarios: Sequence[Scenario]) -> str:
    """Return where: `at 64 machines: `, `at 96 and 133 machines: `, or nothing if there is but one place."""
    named = [each for each in scenarios if each.name]
    if not named:
        return ""
    if all(len(each.parts) == 1 for each in named) and len({each.parts[0][0] for each in named}) == 1:
        return f"at {spoken(named[0].parts[0][0], [each.parts[0][1] for each in named])}: "
    names = [each.name for each in named]
    return f"at {' and at '.join(names) if len(names) < 4 else f'{len(names)} others'}: "
