"""Synergy does what its authors' program does, job by job, with all of that program's shortcuts on."""

import agreement_synergy
import pytest


@pytest.mark.parametrize(
    ("policy", "mean_h"),
    [("synergy", 21.8766), pytest.param("synergy_proportional", 81.0886, marks=pytest.mark.slow)],
)
def test_every_job_of_the_window_finishes_when_it_does_there(policy, mean_h, shared):
    """Jobs 4000 to 4999; 5 s of processor time for what takes 110 and 125 s there."""
    found = agreement_synergy.window(shared, policy, [*agreement_synergy.SHORTCUTS.values()])
    assert found.equal == 1000
    assert found.mean_h == pytest.approx(mean_h, abs=5e-5)
    assert found.cpu_s < 5


@pytest.mark.parametrize("policy", agreement_synergy.HUNDRED)
def test_its_hundred_jobs_take_as_long(policy, shared):
    """Their means are known to 0.01 h."""
    theirs_h = agreement_synergy.HUNDRED[policy]
    assert agreement_synergy.hundred(shared, policy) == pytest.approx(theirs_h, abs=0.01)
