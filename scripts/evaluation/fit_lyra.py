"""Compare `workload=lyra` with the published figures of Lyra's trace under FIFO.

    python scripts/evaluation/fit_lyra.py [override ...] [--seeds 0 1 2 3 4] [--policy lyra_fifo]

runs the jobs of each seed on their training machines, without a network model, and prints published and
generated figures: their mean and range over the seeds, and how far the mean is off. An override such as
`workload=lyra_testbed` changes all runs.

`held` is the share of the GPUs that jobs hold while jobs arrive. `idle` is the share of them that no job
holds, averaged over the seconds that jobs wait: where it is small, jobs wait because the cluster is full.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from artist.app.composing import composed
from artist.run.build import build, check_config
from artist.units import NS_PER_S

Floats = npt.NDArray[np.float64]

QUANTILES = (50, 75, 95, 99)
ROWS = tuple(
    f"{of} {statistic}" for of in ("queueing", "JCT") for statistic in ("mean", *(f"p{q}" for q in QUANTILES))
)
PUBLISHED: dict[str, dict[str, float]] = {
    "lyra": dict(
        zip(ROWS, (3072, 55, 1892, 8357, 14323, 16610, 791, 29163, 82933, 376513), strict=True),
        **{"held": 0.72, "elastic jobs": 0.05, "elastic GPU time": 0.36, "elastic run time": 14.2 * 3600},
    ),
    "lyra_testbed": {
        **{"queueing mean": 1532, "queueing p50": 772, "queueing p95": 1003, "JCT mean": 4078},
        **{"JCT p50": 2183, "JCT p95": 3096, "elastic jobs": 10 / 180},
    },
}


def figures(jobs: pd.DataFrame, gpus: int) -> dict[str, float]:
    """Return the figures of one run.

    Parameters
    ----------
    jobs
        submit_s, start_s, finish_s, run_s, gpus and elastic of each job.
    gpus
        Of the cluster.
    """
    waits_s, jct_s = jobs["start_s"] - jobs["submit_s"], jobs["finish_s"] - jobs["submit_s"]
    values = [f(column) for column in (waits_s, jct_s) for f in (np.mean, *map(_percentile, QUANTILES))]
    work, elastic = jobs["gpus"] * jobs["run_s"], jobs["elastic"]
    begin_s, end_s = jobs["submit_s"].min(), jobs["submit_s"].max()
    held_s = jobs["finish_s"].clip(upper=end_s) - jobs["start_s"].clip(upper=end_s)
    return dict(zip(ROWS, values, strict=True)) | {
        "held": float((held_s * jobs["gpus"]).sum() / (gpus * (end_s - begin_s))),
        "idle": idle_while_waiting(jobs, gpus),
        "elastic jobs": elastic.mean(),
        "elastic GPU time": work[elastic].sum() / work.sum(),
        "elastic run time": jobs["run_s"][elastic].mean(),
    }


def _percentile(percent: int) -> Any:
    return lambda values: np.percentile(values, percent)


def idle_while_waiting(jobs: pd.DataFrame, gpus: int) -> float:
    """Return the share of the GPUs that is idle, averaged over the seconds that jobs wait."""
    ones = np.ones(len(jobs))
    at_s = np.concatenate([jobs["submit_s"], jobs["start_s"], jobs["finish_s"]])
    waiting = np.concatenate([ones, -ones, 0 * ones])
    held = np.concatenate([0 * ones, jobs["gpus"], -jobs["gpus"]])
    order = np.argsort(at_s, kind="stable")
    waited_s = np.cumsum(waiting[order])[:-1] * np.diff(at_s[order])
    idle = 1 - np.cumsum(held[order])[:-1] / gpus
    return float((waited_s * idle).sum() / max(waited_s.sum(), 1e-9))


def run(policy: str, seed: int, overrides: Sequence[str]) -> tuple[str, dict[str, float]]:
    """Return the preset of the jobs, and the figures of one run of the program."""
    fixed = ["topology=v100_t4_pools", "network=zero", "workload=lyra", f"policy={policy}", f"seed={seed}"]
    workload = check_config(composed([*fixed, "cluster.machines=443", *overrides])).workload
    machines = int(workload["training_gpus"]) // 8
    simulation = build(check_config(composed([*fixed, f"cluster.machines={machines}", *overrides])))
    columns = simulation.run([]).columns
    times_s = {to: columns[of] / NS_PER_S for of, to in _TIMES.items()}
    demands = {
        "gpus": [job.demand.gpus for job in simulation.jobs],
        "elastic": [job.demand.max_gpus > 0 for job in simulation.jobs],
    }
    jobs = pd.DataFrame(times_s | demands)
    return workload["preset"], figures(jobs.assign(run_s=jobs["finish_s"] - jobs["start_s"]), machines * 8)


_TIMES = {"submit_ns": "submit_s", "first_start_ns": "start_s", "finish_ns": "finish_s"}


def table(published: dict[str, float], generated: Sequence[dict[str, float]]) -> str:
    """Return published and generated figures, a line each."""
    lines = [f"{'':18}{'published':>11}{'mean':>11}{'off by':>9}{'least':>11}{'most':>11}"]
    for name in generated[0]:
        values = np.array([run[name] for run in generated])
        digits = 3 if values.max() <= 1 else 0
        known = published.get(name)
        off = "" if known is None else f"{values.mean() / known - 1:+.1%}"
        numbers = [f"{x:11,.{digits}f}" for x in (values.mean(), values.min(), values.max())]
        shown = "" if known is None else f"{known:,.{digits}f}"
        lines.append(f"{name:18}{shown:>11}{numbers[0]}{off:>9}{numbers[1]}{numbers[2]}")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--policy", default="lyra_fifo")
    parser.add_argument("overrides", nargs="*")
    chosen = parser.parse_args()
    runs = [run(chosen.policy, seed, chosen.overrides) for seed in chosen.seeds]
    print(table(PUBLISHED[runs[0][0]], [figures for _, figures in runs]))


if __name__ == "__main__":
    main()
