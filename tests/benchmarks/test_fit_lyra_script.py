"""The comparison of generated jobs with the figures of the Lyra paper."""

import fit_lyra
import numpy as np
import pandas as pd
import pytest
from testbed import composed

from artist.units import NS_PER_S
from artist.workload.lyra import LyraTrace
from artist.workload.queueing import fifo_waits_s

JOBS = pd.DataFrame(
    {
        "submit_s": [0.0, 0.0, 10.0],
        "start_s": [0.0, 4.0, 10.0],
        "finish_s": [4.0, 10.0, 12.0],
        "run_s": [4.0, 6.0, 2.0],
        "gpus": [2, 1, 4],
        "elastic": [False, True, False],
    }
)


def test_figures_of_three_jobs() -> None:
    """Waits 0, 4, 0; JCT 4, 10, 2. Of 4 GPUs x 10 s, 8 + 6 are held; while one waits, 2 of 4 are idle.

    The elastic one has 6 of 8 + 6 + 8 GPU-seconds.
    """
    result = fit_lyra.figures(JOBS, 4)
    assert result["queueing mean"] == pytest.approx(4 / 3)
    assert (result["JCT mean"], result["JCT p50"]) == pytest.approx((16 / 3, 4))
    assert (result["held"], result["idle"]) == pytest.approx((14 / 40, 0.5))
    assert (result["elastic jobs"], result["elastic GPU time"]) == pytest.approx((1 / 3, 6 / 22))
    assert result["elastic run time"] == 6


def test_the_table_gives_mean_and_range() -> None:
    """Means 2 and 4 of two seeds against 2.4: 3 is 25 % more."""
    text = fit_lyra.table({"queueing mean": 2.4}, [{"queueing mean": 2.0}, {"queueing mean": 4.0}])
    assert text.splitlines()[1].split() == ["queueing", "mean", "2", "3", "+25.0%", "2", "4"]


def test_generated_waits_are_those_of_the_engine() -> None:
    """`policy=lyra_fifo` on 5 days of 32 machines, job by job, but for rounded iterations."""
    overrides = ["topology=v100_t4_pools", "network=zero", "workload=lyra", "policy=lyra_fifo"]
    size = ["cluster.machines=32", "workload.training_gpus=256", "workload.days=5"]
    columns = composed([*overrides, *size]).run([]).columns
    jobs = LyraTrace(training_gpus=256, days=5).table()
    ours = fifo_waits_s(*(jobs[name] for name in ("submit_s", "gpus", "step", "duration_s")), 32)
    theirs = (columns["first_start_ns"] - columns["submit_ns"]) / NS_PER_S
    assert ours.mean() > 2000
    assert np.abs(ours - theirs).max() < 0.01
