"""The fit of NCCL's parameters to runs."""

from dataclasses import replace

import pytest

from netmodels.api import MeasuredRun, NcclFabric, NcclTier
from netmodels.nccl.fit import fit_nccl, free_parameters, predicted_us

PRIOR = NcclFabric(NcclTier(0.6, 400.0), NcclTier(5.0, 46.0), NcclTier(5.0, 46.0))
TRUE = replace(
    PRIOR,
    machine=NcclTier(0.6, 400.0),
    rack=NcclTier(9.0, 46.0),
    network=NcclTier(9.0, 46.0),
    switch_gb_s=450.0,
    channels_gb_s=300.0,
)
SIZES = tuple(2**power for power in range(3, 33))


def run_of(nccl, machines, collective="all_reduce"):
    """Return a run that is exactly as the parameters say."""
    empty = MeasuredRun(
        f"{collective} {machines}", collective, machines, 8, tuple((size, 1.0) for size in SIZES)
    )
    return replace(empty, points=tuple(zip(SIZES, predicted_us(empty, nccl).tolist(), strict=True)))


def test_a_fit_recovers_the_parameters_of_its_runs():
    """Runs on 1 and 2 machines made by known parameters: 4 machines are predicted within 3 %."""
    fitted = fit_nccl([run_of(TRUE, 1), run_of(TRUE, 2)], PRIOR)
    assert fitted.median < 0.01
    asked = run_of(TRUE, 4)
    assert predicted_us(asked, fitted.nccl) == pytest.approx(asked.times_us, rel=0.03)
    assert fitted.nccl.rack == fitted.nccl.network  # equal before, equal after


def test_racks_that_no_run_joined_are_no_nearer_than_one():
    """Steps of 9 us fitted in a rack: a network of 2 us and 46 GB/s gets 9; one of 50 us and 5 GB/s stays."""
    quick, slow = (replace(PRIOR, network=NcclTier(*value)) for value in ((2.0, 46.0), (50.0, 5.0)))
    result = fit_nccl([run_of(TRUE, 2)], quick).nccl
    assert result.network.step_us == result.rack.step_us == pytest.approx(9.0, rel=0.05)
    assert fit_nccl([run_of(TRUE, 2)], slow).nccl.network == slow.network


def test_a_point_that_jumps_hardly_pulls():
    """One size 10 times too slow among 30: all others stay within 2 % of the truth."""
    true = run_of(TRUE, 2)
    points = list(true.points)
    points[16] = (points[16][0], 10 * points[16][1])
    fitted = fit_nccl([replace(true, points=tuple(points))], PRIOR)
    assert predicted_us(true, fitted.nccl) == pytest.approx(true.times_us, rel=0.02)


def test_parameters_without_evidence_stay_at_the_prior():
    """An all-gather shows no message of an all-to-all, no share of exchanges, no step of a tree."""
    fitted = fit_nccl([run_of(replace(PRIOR, round_us=8.0, bulk_round_us=30.0), 2, "all_gather")], PRIOR)
    assert fitted.nccl.round_us == pytest.approx(8.0, rel=0.02)
    assert (fitted.nccl.message_us, fitted.nccl.exchange, fitted.nccl.rack.step_us) == (10.0, 0.6, 5.0)


def test_the_size_where_trees_are_left_is_seen():
    """Made with 1 MB a GPU on 8 machines, where the prior has 3: two runs find it, one leaves the prior."""
    early = replace(TRUE, ring_from_mb=1.0, bulk_round_us=3.0)
    runs = [run_of(early, 2), run_of(early, 8)]
    assert fit_nccl(runs, PRIOR).nccl.ring_from_mb == pytest.approx(1.0, rel=0.2)
    assert fit_nccl(runs[:1], PRIOR).nccl.ring_from_mb == PRIOR.ring_from_mb


@pytest.mark.parametrize("machines", [1, 2, 8])
@pytest.mark.parametrize(
    "collective", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_receive"]
)
def test_one_run_leaves_at_most_six_parameters(machines, collective):
    """So many may be fitted to one half of a run's sizes to predict the other."""
    assert len(free_parameters([run_of(PRIOR, machines, collective)])) <= 6


def test_skew_is_fitted_only_from_many_placements():
    """Skew is fitted with two places of more than two machines: 0.2 is found from 4 and 32, not from 4."""
    skewed = replace(TRUE, skew=0.2)
    runs = [run_of(skewed, machines) for machines in (2, 4, 32)]
    assert fit_nccl(runs, PRIOR).nccl.skew == pytest.approx(0.2, rel=0.1)
    assert "skew" not in free_parameters(runs[:2])


def test_the_quick_protocol_is_never_the_wider():
    """Runs made with LL four times as wide as Simple, which its flags rule out: at most as wide."""
    fitted = fit_nccl([run_of(replace(TRUE, ll_share=4.0), 2)], PRIOR)
    assert fitted.nccl.ll_share <= 1
