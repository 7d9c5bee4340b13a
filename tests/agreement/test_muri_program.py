"""Our Muri lies near that of its authors' program (scripts/validation/agreement_muri.py)."""

import agreement_muri
import pytest
from agreement import off


@pytest.mark.parametrize("name", agreement_muri.CASES)
def test_shipped_semantics_are_within_ten_percent(name, shared):
    """Without its overheads and with better merges ours is faster: by 8.1 % and 2.2 % in the mean."""
    policy, trace, theirs = agreement_muri.CASES[name]
    ours = agreement_muri.run(shared, policy, trace, ())
    assert -0.1 < off(ours, theirs) < 0
    assert ours.makespan_s == pytest.approx(theirs.makespan_s, rel=0.001)


@pytest.mark.slow
def test_overheads_at_every_instant_cost_time(shared):
    """Each running job loses its own at each arrival and completion: 76,371 s instead of 75,698 s."""
    policy, trace, _ = agreement_muri.CASES["muri-s"]
    _, _, (_, keep), (_, overheads) = agreement_muri.STEPS
    free, charged = (agreement_muri.run(shared, policy, trace, step) for step in (keep, overheads))
    assert 1.005 < charged.mean_s / free.mean_s < 1.03
