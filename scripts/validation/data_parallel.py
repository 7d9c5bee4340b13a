"""Compare data-parallel training on n machines with published throughput in ../shared.

    python scripts/validation/data_parallel.py ../shared/reference/measured [--rows] [--unseen]

The folder has data_parallel.csv (a row per training run). Efficiency at n machines is
rate(n) / (n x rate(1)), of rows that differ in nothing but machines and accumulation. Ours:

    step(n) = a x compute x (1 + straggling x log2 n) + exposed(n) + update + waiting x log2 n

- a: micro-batches per step. Where the source keeps the global batch, a falls with n; work once per step
  (all-reduce, update) then weighs more.
- compute of a micro-batch: from the measured step on one machine, less the model's times of the rest.
- exposed: `AnalyticalModel` with `collectives=nccl`, on the nominal fabric; its gradients in buckets as the
  framework sends them (`FRAMEWORKS`, from its documentation, not fitted).
- update: the optimizer's traffic, 40 bytes per parameter, at the GPU's memory bandwidth. From the data sheet.
- waiting, straggling: the two figures that are fitted, by framework, each drawn towards the median of all
  frameworks; so a framework that was never seen has the median.

Prints median and 90th percentile of |ours - measured| in points of efficiency: fitted to all rows; with
configurations, machine counts, models or whole frameworks left out of the fit and predicted; beside the best
constants, chosen on the same rows; and with parts of the model taken away. `--rows` lists every pair.
`--unseen` predicts rows that are never fitted: runs without a row of one machine, from the fewest machines
that they have, and ResNet-50 of DLPerf.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log2
from pathlib import Path

import numpy as np
import numpy.typing as npt
from published_training import (
    ONE_BUCKET_MB,
    SECOND_NS,
    Pair,
    Training,
    framework_of,
    machine_of,
    pairs_of,
    parameter_bytes,
    read_trainings,
    second_profile,
    unseen_pairs,
)

from artist.entry import script
from artist.errors import InputError
from netmodels.api import Fabric, SystemSettings, shape_of
from netmodels.models.analytical import AnalyticalModel

Floats = npt.NDArray[np.float64]
MODEL = AnalyticalModel()
UPDATE_BYTES = 40  # fp32 weight, two moments and gradient, read and written, and the half-precision copy
UNITS = np.array([0.010, 0.01])  # 10 ms of waiting, 1 % of straggling, a doubling of the machines
WIDTHS = np.array([1.0, 0.7])  # how far a framework may stray from the median of all, in these units
NOISE = 0.03  # of a step: rows of one machine and equal settings differ by 0.5 to 14 %
CONSTANTS = np.arange(0.5, 1.1, 0.005)


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the model; an opposite experiment changes one of them."""

    network: bool = True
    bucket_cap_mb: float | None = None
    update: bool = True
    accumulation: bool = True
    terms: tuple[float, float] = (1.0, 1.0)
    nics: float = 1.0


WHOLE = Parts()
OPPOSITE: Mapping[str, Parts] = {
    "no fitted terms": Parts(terms=(0, 0)),
    "waiting alone": Parts(terms=(1, 0)),
    "straggling alone": Parts(terms=(0, 1)),
    "no network, fitted terms alone": Parts(network=False),
    "NICs twice as fast": Parts(nics=2),
    "NICs half as fast": Parts(nics=0.5),
    "one bucket for all (nothing hidden)": Parts(bucket_cap_mb=ONE_BUCKET_MB),
    "one all-reduce per layer for all": Parts(bucket_cap_mb=0),
    "25 MiB for all": Parts(bucket_cap_mb=25),
    "no update of weights": Parts(update=False),
    "accumulation as on one machine": Parts(accumulation=False),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A pair as the fit sees it: the model's times of a step without the fitted terms."""

    pair: Pair
    micro_batches: float
    exposed_few_s: float
    exposed_many_s: float
    update_s: float

    def loss(self, terms: Floats) -> float:
        """Return ours of (1 / efficiency), with the fitted terms in their units."""
        few, many = self.pair.few, self.pair.many
        waiting_s, straggling = terms * UNITS
        at_few, at_many = log2(few.machines), log2(many.machines)
        own_s = few.step_s - self.exposed_few_s - self.update_s - waiting_s * at_few
        compute_s = own_s / few.micro_batches / (1 + straggling * at_few)
        computing_s = self.micro_batches * compute_s * (1 + straggling * at_many)
        step_s = computing_s + self.exposed_many_s + self.update_s + waiting_s * at_many
        return float(step_s * few.micro_batches / (self.micro_batches * few.step_s))

    @property
    def lacking(self) -> float:
        """Difference of (1 / efficiency) between measurement and model without the fitted terms."""
        return 1 / self.pair.efficiency - self.loss(np.zeros(2))

    @property
    def unit_losses(self) -> Floats:
        """Increase of (1 / efficiency) by a unit of each fitted term; linear for pairs from one machine."""
        return np.array([self.loss(unit) for unit in np.eye(2)]) - self.loss(np.zeros(2))


def case_of(pair: Pair, parts: Parts) -> Case:
    """Ask the model about a pair."""
    few, many = pair.few, pair.many
    machine = machine_of(few)
    profile = second_profile(few.model, few.tokens, parameter_bytes(few))
    parameters = profile.parameter_bytes / parameter_bytes(few)
    update_s = parts.update * UPDATE_BYTES * parameters / machine.memory_bytes_per_s
    micro_s = few.step_s / few.micro_batches
    exposed_few_s = _exposed_s(few, few, micro_s, parts)
    compute_s = (few.step_s - exposed_few_s - update_s) / few.micro_batches
    return Case(
        pair,
        many.micro_batches if parts.accumulation else few.micro_batches,
        _exposed_s(few, few, compute_s, parts),
        _exposed_s(few, many, compute_s, parts),
        update_s,
    )


def _exposed_s(few: Training, at: Training, compute_s: float, parts: Parts) -> float:
    """Return the exposed communication of a step: of its last micro-batch."""
    if not parts.network:
        return 0.0
    cap_mb = framework_of(few).bucket_cap_mb if parts.bucket_cap_mb is None else parts.bucket_cap_mb
    system = SystemSettings(collectives="nccl", bucket_cap_mb=cap_mb)
    profile = second_profile(few.model, few.tokens, parameter_bytes(few)).scaled(compute_s)
    shape = shape_of((0, "any", at.gpus // at.machines) for _ in range(at.machines))
    fabric = _with_nics(machine_of(few).fabric, parts.nics)
    return MODEL.iteration(profile, shape, fabric, system).exposed_ns / SECOND_NS


@cache
def _with_nics(fabric: Fabric, factor: float) -> Fabric:
    """Return a fabric with other bandwidths between machines."""
    outside = tuple(
        replace(
            link,
            bandwidth_bytes_per_ns=factor * link.bandwidth_bytes_per_ns,
            machine_bytes_per_ns=factor * link.machine_bytes_per_ns,
        )
        for link in fabric.rack
    )
    return fabric if factor == 1 else replace(fabric, rack=outside, network=outside)


# --- the fit


def fitted(cases: Sequence[Case], prior: Floats, allowed: Floats) -> Floats:
    """Return the terms of one framework, not below 0: least squares around the prior, outliers count less."""
    terms = prior * allowed
    rows = np.array([case.unit_losses * allowed for case in cases]).reshape(-1, 2)
    lacking = np.array([case.lacking for case in cases])
    for _ in range(20):
        weights = 1 / np.maximum(1, np.abs(lacking - rows @ terms) / NOISE) / NOISE**2
        left = (rows * weights[:, None]).T @ rows + np.diag(WIDTHS**-2)
        terms = np.maximum(np.linalg.solve(left, rows.T @ (weights * lacking) + prior * WIDTHS**-2), 0)
    return terms * allowed


@dataclass(frozen=True, slots=True)
class Fit:
    """The terms of each framework, and their median for frameworks that were not seen."""

    terms: Mapping[str, Floats]
    median: Floats

    def efficiency(self, case: Case) -> float:
        """Return our efficiency of a case."""
        return 1 / case.loss(self.terms.get(case.pair.few.framework, self.median))


def fit(cases: Sequence[Case], allowed: tuple[float, float] = WHOLE.terms) -> Fit:
    """Fit all frameworks; the prior is the median of the fitted terms, found by repetition."""
    by_framework: dict[str, list[Case]] = {}
    for case in cases:
        by_framework.setdefault(case.pair.few.framework, []).append(case)
    median = np.array([0.5, 0.5])
    for _ in range(10):
        terms = {
            name: fitted(members, median, np.array(allowed)) for name, members in sorted(by_framework.items())
        }
        median = np.median(list(terms.values()), axis=0)
    return Fit(terms, median)


# --- tables


CONFIGURATION = "configuration"
Learner = Callable[[Sequence[Case]], Callable[[Case], float]]
"""From cases with their measurements to predictions of others."""

HELD_OUT: Mapping[str, Callable[[Training], object]] = {
    CONFIGURATION: lambda row: row.kind[:6],
    "number of machines": lambda row: row.machines,
    "model": lambda row: row.model,
    "framework": lambda row: row.framework,
}


def measured(cases: Sequence[Case]) -> Floats:
    """Return the measured efficiencies, shape (n_cases,)."""
    return np.array([case.pair.efficiency for case in cases])


def held_out(cases: Sequence[Case], key: Callable[[Training], object], learn: Learner) -> Floats:
    """Return the prediction of each case, learnt from the cases whose key differs, shape (n_cases,)."""
    keys = [key(case.pair.many) for case in cases]
    ours = np.empty(len(cases))
    for left_out in dict.fromkeys(keys):
        predict = learn([case for case, value in zip(cases, keys, strict=True) if value != left_out])
        for place, value in enumerate(keys):
            if value == left_out:
                ours[place] = predict(cases[place])
    return ours


def best_constant(cases: Sequence[Case], share: float) -> float:
    """Return the constant with the least error: the median's (0.5), or the 90th percentile's (0.9)."""
    errors = np.abs(measured(cases)[:, None] - CONSTANTS)
    return float(CONSTANTS[np.argmin(np.quantile(errors, share, axis=0))])


def constant(share: float) -> Learner:
    """Return a learner of the best constant."""

    def learn(cases: Sequence[Case]) -> Callable[[Case], float]:
        best = best_constant(cases, share)
        return lambda case: best

    return learn


def by_framework(cases: Sequence[Case]) -> Callable[[Case], float]:
    """Learn a constant for each framework, their median; that of all where a framework was not seen."""
    names = [case.pair.few.framework for case in cases]
    medians = {
        name: float(np.median(measured(cases)[[at == name for at in names]])) for name in sorted({*names})
    }
    return lambda case: medians.get(case.pair.few.framework, float(np.median(measured(cases))))


def model(terms: tuple[float, float] = WHOLE.terms) -> Learner:
    """Return a learner that fits the model."""
    return lambda cases: fit(cases, terms).efficiency


def line(name: str, ours: Floats, cases: Sequence[Case]) -> str:
    """Return a line of a table."""
    median, p90 = errors(ours, cases)
    return f"  {name:<38}{median:8.1f}{p90:8.1f}{len(cases):6d}"


def errors(ours: Floats, cases: Sequence[Case]) -> tuple[float, float]:
    """Return median and 90th percentile of the error, in points."""
    errors = 100 * np.abs(ours - measured(cases))
    return float(np.median(errors)), float(np.quantile(errors, 0.9))


def print_errors(cases: Sequence[Case]) -> None:
    """Print the errors on rows that the model was fitted to, and on rows that it was not."""
    whole = fit(cases)
    print(f"  {'':<38}{'median':>8}{'p90':>8}{'rows':>6}")
    print(line("fitted to all", np.array([whole.efficiency(case) for case in cases]), cases))
    for share, name in ((0.5, "median"), (0.9, "p90")):
        best = best_constant(cases, share)
        print(line(f"best constant for the {name}: {best:.3f}", np.full(len(cases), best), cases))
    learners = {
        "ours": model(),
        "best constant, median": constant(0.5),
        "best constant, p90": constant(0.9),
        "a constant for each framework": by_framework,
    }
    for left_out, key in HELD_OUT.items():
        print(f"predicted by rows of another {left_out}")
        for name, learn in learners.items():
            print(line(name, held_out(cases, key, learn), cases))


def print_opposite(pairs: Sequence[Pair]) -> None:
    """Print the error with a part changed, as median / 90th percentile."""
    print("\nWith a part changed, predicted by rows of another ...")
    print(f"  {'':<38}" + "".join(f"{name:>20}" for name in HELD_OUT))
    for name, parts in {"whole": WHOLE, **OPPOSITE}.items():
        cases = [case_of(pair, parts) for pair in pairs]
        both = [errors(held_out(cases, key, model(parts.terms)), cases) for key in HELD_OUT.values()]
        print(f"  {name:<38}" + "".join(f"{median:>12.1f} /{p90:6.1f}" for median, p90 in both))


def print_terms(outcome: Fit, cases: Sequence[Case]) -> None:
    """Print the fitted terms, per doubling of the machines."""
    print(f"\n  {'framework':<28}{'waiting, ms':>14}{'straggling, %':>16}{'rows':>6}")
    for name, (waiting, straggling) in {**outcome.terms, "(median)": outcome.median}.items():
        rows = sum(case.pair.few.framework == name for case in cases)
        print(f"  {name:<28}{10 * waiting:>14.0f}{straggling:>16.2f}{rows:>6d}")


def print_rows(cases: Sequence[Case], outcome: Fit) -> None:
    """Print pairs, worst first."""
    print(f"\n  {'machines':>8}{'batch':>7}{'step, ms':>10}{'measured':>10}{'ours':>8}  row")
    for case in sorted(cases, key=lambda case: -abs(outcome.efficiency(case) - case.pair.efficiency)):
        few, many = case.pair.few, case.pair.many
        step_ms = 1e3 * few.step_s / few.micro_batches * many.micro_batches
        print(
            f"  {many.machines:>8}{many.batch:>7.0f}{step_ms:>10.0f}{case.pair.efficiency:>10.3f}"
            f"{outcome.efficiency(case):>8.3f}  {many.framework}, {many.model}, {many.precision}, {many.gpu}"
        )


def print_unseen(name: str, cases: Sequence[Case], outcome: Fit) -> None:
    """Print the errors on pairs that are never fitted."""
    ours = np.array([outcome.efficiency(case) for case in cases])
    print(line(name, ours, cases))
    print(line("... no loss at all", np.ones(len(cases)), cases))
    print_rows(cases, outcome)


@script
def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="with data_parallel.csv")
    parser.add_argument("--rows", action="store_true", help="list every pair")
    parser.add_argument("--unseen", action="store_true", help="predict pairs that are never fitted, too")
    chosen = parser.parse_args()
    file = chosen.folder / "data_parallel.csv"
    trainings = read_trainings(file)
    pairs = pairs_of(trainings)
    if not pairs:
        allowed = "runs of a model on several machines, and of the same on one"
        raise InputError("no pair of trainings", where=str(file), allowed=allowed)
    cases = [case_of(pair, WHOLE) for pair in pairs]
    outcome = fit(cases)
    print_errors(cases)
    print_terms(outcome, cases)
    print_opposite(pairs)
    if chosen.rows:
        print_rows(cases, outcome)
    if chosen.unseen:
        print("\nNever fitted")
        for name, others in unseen_pairs(trainings).items():
            print_unseen(name, [case_of(pair, WHOLE) for pair in others], outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
