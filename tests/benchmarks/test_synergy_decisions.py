"""Decisions of Synergy with tune stay fast: rounds of many jobs are decided in milliseconds."""

import cases
import pytest


@pytest.mark.parametrize(("gpus", "max_ms"), [(128, 2), (512, 10)])
def test_a_changed_round_takes_milliseconds(gpus, max_ms):
    """0.4 ms on 128 GPUs and 1.2 on 512 (scripts/benchmarks); five to eight times that are allowed.

    As many jobs as GPUs, in 20 hours of rounds; processor time, the mean of the rounds that change something.
    """
    cost = cases.decisions_ms("tune", gpus)
    assert 0 < cost["changed_ms"] < max_ms
    assert cost["idle_ms"] < cost["changed_ms"]
