"""Lyra's two phases and where workers go, worked out by hand; its loans are in test_lyra_loans.py."""

from types import SimpleNamespace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Start, Stop
from artist.errors import StuckError
from artist.performance.effects.compute import Compute
from artist.performance.placed import PlacedPerformance
from artist.policies.basic.ordered import Ordered
from artist.policies.lyra.policy import Lyra
from artist.testing.tiny import job, run_checked, seconds
from artist.units import seconds_to_ns
from artist.workload.signals import Series
from netmodels.models.zero import ZeroModel

V100 = {"gpu_types": ("V100",)}
FUNGIBLE = {"fungible": True}
EITHER = {"fungible": True, "mixed_types": True}


def pools(training=1, inference=1, gpus=8):
    """Return V100 machines for training, then T4 machines for inference: a third as fast, worth half."""
    v100 = [Machine(f"v{i}", 0, "big", gpus, "V100", 1.0, pool="training") for i in range(training)]
    t4 = [
        Machine(f"t{i}", 1, "small", gpus, "T4", 1 / 3, pool="inference", worth=0.5) for i in range(inference)
    ]
    return Cluster([*v100, *t4])


def no_profile(model):
    return SimpleNamespace(skew=0.0, compute_ns=1000, program=None, scaled=lambda factor: no_profile(model))


def run(jobs, cluster, use=0.0, policy=None, **parameters):
    """Return the result, and where jobs are placed: (time in s, job, GPUs by machine), in order."""
    policy = policy or Lyra(**{"headroom": 0} | parameters)
    series = Series(np.zeros(1, dtype=np.int64), np.array([use]))
    signals = {"inference": series, "inference.next": series}
    compute = PlacedPerformance(ZeroModel(), None, None, no_profile, compute=Compute("sum", 0.7))
    result, events = run_checked(jobs, cluster, policy, compute, signals=signals)
    assert not [event for event in events if isinstance(event, Stop)]
    placed = [event for event in events if isinstance(event, Start | Change)]
    assert not [event for event in placed if isinstance(event, Change) and event.type != "resize"]
    return result, [(event.time_ns / 1e9, event.job, event.allocation.gpu_map()) for event in placed]


def trained(jobs, gpus=8, machines=1, **parameters):
    """Return the same where all machines are for training."""
    return run(jobs, pools(machines, 0, gpus), loaning=False, **parameters)


# --- phase one


def test_a_job_that_does_not_fit_is_set_aside():
    """A holds 6 of 8 GPUs to 100 s; b wants 4, c 2: c starts at once. `backfill=False`: it waits for b."""
    jobs = [job("a", 6, 100), job("b", 4, 10, 1), job("c", 2, 20, 2)]
    assert [place[:2] for place in trained(jobs)[1]] == [(0, 0), (2, 2), (100, 1)]
    strict = trained(jobs, backfill=False, order="fifo")[1]
    assert [place[:2] for place in strict] == [(0, 0), (100, 1), (100, 2)]


def test_an_elastic_job_is_ranked_by_its_time_at_base_demand():
    """A has all to 10 s. E asks for 8 GPUs for 30 s, and may have 2 to 8: 120 s on 2, after b's 60 s."""
    elastic = {"min_gpus": 2, "max_gpus": 8, "step": 2}
    jobs = [job("a", 8, 10), job("e", 8, 30, 1, **elastic), job("b", 8, 60, 2)]
    assert [place[:2] for place in trained(jobs)[1]] == [(0, 0), (10, 2), (70, 1)]
    assert [place[:2] for place in trained(jobs, base="requested")[1]] == [(0, 0), (10, 1), (40, 2)]


def test_base_workers_take_idle_gpus_first():
    """E has base and flexible workers on machine 0, f machine 1: b goes to machine 2, which is idle."""
    jobs = [job("f", 4, 99, step=4), job("e", 2, 90, min_gpus=2, max_gpus=4, step=2), job("b", 2, 10, 5)]
    _, places = trained(jobs, gpus=4, machines=3)
    assert places[:2] == [(0, 1, {0: 4}), (0, 0, {1: 4})]
    assert places[2] == (5, 2, {2: 2})


def test_base_workers_take_idle_gpus_and_then_those_of_flexible_workers():
    """E holds 2 + 4 of 8 GPUs, in workers of 2. B wants 4: the 2 that are idle, and one of e's workers.

    The rest at 5 s, 1 worker, e has: 4 GPUs, until b ends at 15 s.
    """
    jobs = [job("e", 2, 90, min_gpus=2, max_gpus=6, step=2), job("b", 4, 10, 5)]
    assert trained(jobs)[1] == [(0, 0, {0: 6}), (5, 1, {0: 4}), (5, 0, {0: 4}), (15, 0, {0: 6})]


def test_idle_gpus_of_the_other_pool_go_before_flexible_workers():
    """E, on V100 only, holds 8 of them: b takes 4 idle T4 instead of 2 V100, though it prefers the latter."""
    jobs = [job("e", 2, 90, min_gpus=2, max_gpus=8, step=2, **V100), job("b", 2, 10, 5, step=2, **FUNGIBLE)]
    assert run(jobs, pools())[1] == [(0, 0, {0: 8}), (5, 1, {1: 4})]


def test_one_of_two_workers_takes_the_idle_gpus():
    """E and f fill machines 0 and 1, half of each with a flexible worker; on 2 two GPUs are idle beside g.

    B has two workers: one goes there, for the other e shrinks, and f keeps what it has.
    """
    elastic = {"min_gpus": 2, "max_gpus": 4, "step": 2}
    jobs = [job("e", 2, 90, **elastic), job("f", 2, 90, 1, **elastic), job("g", 2, 90, 2, step=2)]
    places = trained([*jobs, job("b", 4, 10, 3, step=2)], gpus=4, machines=3)[1]
    assert places[:3] == [(0, 0, {0: 4}), (1, 1, {1: 4}), (2, 2, {2: 2})]
    assert places[3] == (3, 3, {0: 2, 2: 2})


def test_no_job_makes_room_with_its_base_workers():
    """E shrinks from 8 to 2 GPUs for b, which is shorter, and no further for c, which wants 4 more."""
    jobs = [job("e", 2, 90, min_gpus=2, max_gpus=8, step=2), job("b", 6, 10, 5), job("c", 4, 1, 6)]
    places = trained(jobs)[1]
    assert places[:3] == [(0, 0, {0: 8}), (5, 1, {0: 6}), (5, 0, {0: 2})]
    assert [place[:2] for place in places[3:5]] == [(15, 2), (15, 0)]


def test_heterogeneous_jobs_come_last():
    """Both wait for machine 0 to 10 s, and inference needs all of its own: b is first, though longer."""
    jobs = [job("a", 8, 10, **V100), job("x", 8, 20, 1, **EITHER), job("b", 8, 60, 2, **V100)]
    assert [place[:2] for place in run(jobs, pools(), use=1.0)[1]] == [(0, 0), (10, 2), (70, 1)]


# --- phase two


@pytest.mark.parametrize(
    ("most", "run_s", "workers", "mean_s"),
    [((6, 6), (50, 20), (5, 3), 48.33), ((3, 6), (100, 20), (3, 5), 62)],
)
def test_the_knapsack_divides_the_gpus_beyond_base_demands(most, run_s, workers, mean_s):
    """Tables 2 and 4 of the paper, 8 GPUs: by reduction of the rest, 110 and 86, not by who is shortest."""
    kinds = [{"min_gpus": 2, "max_gpus": gpus} for gpus in most]
    jobs = [job(f"j{i}", most[i], run_s[i], iteration_s=0.001, **kinds[i]) for i in range(2)]
    result, places = trained(jobs)
    assert sorted(place[1:] for place in places[:2]) == [(i, {0: workers[i]}) for i in range(2)]
    assert np.mean(seconds(result, "finish_ns")) == pytest.approx(mean_s, abs=0.01)


def test_flexible_workers_stay_where_they_are():
    """A and b have their bases on machine 0 and grow on machine 1. C takes what b has there.

    The rest is worth more to b, whose rest is longer: a shrinks, and b has what it had. When c ends, a
    has its worker back.
    """
    elastic = {"min_gpus": 2, "max_gpus": 4, "step": 2}
    jobs = [job("a", 2, 100, **elastic), job("b", 2, 110, **elastic), job("c", 2, 10, 5)]
    places = trained(jobs, gpus=4, machines=2)[1]
    assert places == [
        (0, 0, {0: 2, 1: 2}),
        (0, 1, {0: 2, 1: 2}),
        (5, 2, {1: 2}),
        (5, 0, {0: 2}),
        (15, 0, {0: 2, 1: 2}),
    ]


def test_workers_of_a_job_that_ends_are_divided_though_as_much_is_left():
    """A and e hold 4 of 8 GPUs each, 2 of base. At 50 s a ends and b takes 2: 4 are to divide, as before.

    At 0 s one worker each is worth 50 + 120 s, two for e only 160 s.
    """
    jobs = [
        job("a", 2, 100, min_gpus=2, max_gpus=4, step=2),
        job("e", 2, 240, min_gpus=2, max_gpus=8, step=2),
    ]
    places = trained([*jobs, job("b", 2, 500, 50)])[1]
    assert places[:4] == [(0, 0, {0: 4}), (0, 1, {0: 4}), (50, 2, {0: 2}), (50, 1, {0: 6})]


def test_a_worker_that_fits_nowhere_is_not_had():
    """Of machines 0 and 1 one GPU each is idle, and workers have two: e grows on machine 2 only."""
    jobs = [job("a", 3, 50, step=3), job("b", 3, 50, step=3)]
    jobs.append(job("e", 2, 9, 1, min_gpus=2, max_gpus=8, step=2))
    assert trained(jobs, gpus=4, machines=3)[1][2:] == [(1, 2, {2: 4})]


@pytest.mark.parametrize("scaling", ["knapsack", "marginal_gain", "idle"])
def test_gpus_too_scattered_for_one_job_go_to_another(scaling):
    """From 5 s on 2 GPUs are idle on machine 0 and 2 on 1: all 4 are meant for e, whose worker has 4.

    It finds no room, and so f, which came later, has them as two workers of 2, beside the one that it has.
    """
    jobs = [job("a", 6, 99, step=6), job("c", 2, 5), job("b", 6, 99, step=6), job("d", 2, 5)]
    jobs.append(job("e", 4, 900, min_gpus=4, max_gpus=8, step=4))
    jobs.append(job("f", 2, 40, min_gpus=2, max_gpus=8, step=2))
    placed = trained(jobs, machines=3, scaling=scaling, order="fifo")[1]
    assert [place[2] for place in placed[:6]] == [{0: 6}, {0: 2}, {1: 6}, {1: 2}, {2: 4}, {2: 4}]
    assert placed[6] == (5, 5, {0: 2, 1: 2, 2: 4})


def test_gandiva_grows_only_while_no_job_waits():
    """E asks for 2 and has 4 at once, as all is idle. At 1 s b wants 8: while it waits e has 2."""
    jobs = [job("e", 2, 18, min_gpus=2, max_gpus=4, step=2), job("b", 8, 5, 1)]
    gandiva = {"scaling": "idle", "base": "requested", "order": "fifo", "backfill": False}
    assert trained(jobs, **gandiva)[1] == [(0, 0, {0: 4}), (1, 0, {0: 2}), (17, 1, {0: 8})]


# --- which machines


def test_eight_v100_are_sixteen_t4_that_take_half_as_long_again():
    """8 V100 for 100 s are 16 T4, of a third of the speed each: 8 / (16 / 3) x 100 = 150 s."""
    jobs = [job("a", 8, 100, **V100), job("b", 8, 100, **FUNGIBLE)]
    result, places = run(jobs, pools(1, 2))
    assert places == [(0, 0, {0: 8}), (0, 1, {1: 8, 2: 8})]
    assert seconds(result, "finish_ns") == [100, 150]


def test_inelastic_jobs_prefer_training_and_elastic_jobs_loaned_machines():
    """Inelastic jobs to the training machine first, elastic ones to loaned machines; V100 jobs never there.

    A takes 4 V100 and e, 2 GPUs, 4 T4. B's 8 are not left of the V100: 16 T4 are not either, so it waits; c,
    which takes V100 only, as well; d takes the 4 V100 that are left.
    """
    elastic = {"min_gpus": 2, "max_gpus": 2, "step": 2}
    jobs = [
        job("a", 4, 99, **FUNGIBLE),
        job("e", 2, 99, **elastic, **FUNGIBLE),
        job("b", 8, 98, 1, **FUNGIBLE),
        job("c", 5, 10, 1, **V100),
        job("d", 4, 99, 1, **FUNGIBLE),
    ]
    _, places = run(jobs, pools(1, 2))
    assert places[:3] == [(0, 0, {0: 4}), (0, 1, {1: 4}), (1, 4, {0: 4})]
    naive = run(jobs, pools(1, 2), grouped=False)[1]
    assert naive[:2] == [(0, 0, {0: 4}), (0, 1, {0: 2})]


def test_a_job_that_names_no_type_and_is_not_fungible_keeps_to_training_gpus():
    """8 T4 are idle from 0 s on, but b waits for V100, of which a has all to 10 s."""
    assert run([job("a", 8, 10), job("b", 1, 20, 1)], pools())[1] == [(0, 0, {0: 8}), (10, 1, {0: 1})]


def test_base_and_flexible_workers_keep_apart_on_loaned_machines():
    """E: 2 T4 of base on machine 1, 4 T4 of flexible workers on 2 alone; b's base joins the base on 1.

    Ungrouped, in a cluster whose V100 are taken, all are packed on machine 1.
    """
    filler = job("v", 8, 99, **V100)
    elastic = {"min_gpus": 1, "max_gpus": 3, "step": 1, **FUNGIBLE}
    jobs = [filler, job("e", 1, 50, 1, **elastic), job("b", 1, 50, 2, **FUNGIBLE)]
    assert run(jobs, pools(1, 2))[1][1:3] == [(1, 1, {1: 2, 2: 4}), (2, 2, {1: 2})]
    assert run(jobs, pools(1, 2), grouped=False)[1][1:3] == [(1, 1, {1: 6}), (2, 2, {1: 2})]


def test_a_heterogeneous_job_has_its_base_in_training_and_grows_on_loan():
    """X: 4 V100 of base, 8 T4 for four flexible GPUs, although 4 V100 are idle, too."""
    jobs = [job("x", 4, 50, min_gpus=4, max_gpus=8, step=4, **EITHER)]
    assert run(jobs, pools(1, 2))[1] == [(0, 0, {0: 4, 1: 8})]


def test_heterogeneous_jobs_grow_on_loan_as_far_as_all_they_may_have_fits_there():
    """X and y, 4 V100 and up to 8: the 8 T4 are all that x may have, and y takes 4 of the idle V100."""
    jobs = [job(name, 4, 50, min_gpus=4, max_gpus=8, step=2, **EITHER) for name in "xy"]
    assert run(jobs, pools(2, 1))[1] == [(0, 0, {0: 4, 2: 8}), (0, 1, {0: 4, 1: 4})]


def test_elastic_jobs_of_one_type_count_among_those_that_grow_on_loan():
    """E, 4 T4 of base, may have the other 12: so x takes 4 of the idle V100."""
    elastic = job("e", 2, 50, min_gpus=2, max_gpus=8, step=2, **FUNGIBLE)
    jobs = [elastic, job("x", 4, 50, min_gpus=4, max_gpus=8, step=2, **EITHER)]
    assert sorted(run(jobs, pools(1, 2))[1][:2]) == [(0, 0, {1: 8, 2: 8}), (0, 1, {0: 8})]


def test_a_heterogeneous_job_whose_most_fits_nowhere_grows_where_one_worker_fits():
    """X may have 4 + 12 GPUs, and has them in training if v is not there, though 8 T4 are idle.

    Of 8 T4 and 4 V100 it takes the T4, of 4 T4, less than a worker, the V100.
    """
    v, x = job("v", 8, 99, **V100), job("x", 4, 50, min_gpus=4, max_gpus=16, step=4, **EITHER)
    assert run([x], pools(2, 1))[1] == [(0, 0, {0: 8, 1: 8})]
    assert run([v, x], pools(2, 1))[1][1] == (0, 1, {1: 4, 2: 8})
    t = job("t", 4, 99, gpu_types=("T4",))
    assert run([v, t, x], pools(2, 1))[1][2] == (0, 2, {1: 8})


def test_jobs_that_grow_on_loan_come_before_others_that_would():
    """X grows in training, as t has the T4 to 6 s; y has them from 7 s on. V takes what x has: y keeps its 8.

    X, which came first, has its workers in training again when v has ended.
    """
    elastic = {"min_gpus": 4, "max_gpus": 8, "step": 2, **EITHER}
    t, x, y = job("t", 8, 2, gpu_types=("T4",)), job("x", 4, 90, 1, **elastic), job("y", 4, 90, 7, **elastic)
    places = run([t, x, y, job("v", 8, 5, 8, **V100)], pools(2, 1))[1]
    assert places[1:5] == [(1, 1, {0: 8}), (7, 2, {1: 4, 2: 8}), (8, 3, {0: 4, 1: 4}), (8, 1, {0: 4})]
    assert places[5] == (13, 1, {0: 8})


def test_a_heterogeneous_job_prefers_its_own_type_at_equal_idle_gpus():
    """3 T4 are idle on each of 3 machines: x waits for a worker of 8 T4, in fours. D takes 2 at 5 s.

    A worker does not fit into 7, and so x takes 4 V100, which were idle all along; e has all it may have.
    """
    e = job("e", 2, 99, min_gpus=2, max_gpus=4, step=2, **V100)
    t4 = [job(f"t{i}", 5, 99, step=5, gpu_types=("T4",)) for i in range(3)]
    x, d = job("x", 4, 30, 1, min_gpus=4, max_gpus=8, step=4, **EITHER), job("d", 2, 1, 5, gpu_types=("T4",))
    places = run([e, *t4, x, d], pools(2, 3))[1]
    assert places[4:] == [(1, 4, {0: 4}), (5, 5, {2: 2}), (5, 4, {0: 4, 1: 4})]


def test_a_heterogeneous_job_does_not_grow_on_gpus_of_a_higher_replacement_ratio():
    """X has 4 T4 of base in training, and 4 more for a worker, though 8 V100 are on loan."""
    t4 = Machine("t0", 0, "small", 8, "T4", 1 / 3, pool="training", worth=0.5)
    cluster = Cluster([t4, Machine("v0", 1, "big", 8, "V100", pool="inference")])
    jobs = [job("x", 2, 50, min_gpus=2, max_gpus=4, step=2, **EITHER)]
    assert run(jobs, cluster)[1] == [(0, 0, {0: 8})]


def test_a_heterogeneous_job_with_a_base_of_both_types_grows_on_loan():
    """X: base 6, more than 8 T4 are worth, is on the 4 V100 left and 4 T4; then two workers, 4 T4."""
    filler = job("v", 4, 30, **V100)
    mixed = run([filler, job("x", 6, 50, 1, min_gpus=6, max_gpus=10, **EITHER)], pools())[1]
    assert mixed[1] == (1, 1, {0: 4, 1: 8})


def test_only_heterogeneous_jobs_mix_types():
    """4 V100 are left and 8 T4: together worth 8. X takes them all; a fungible job waits for 8 V100."""
    filler = job("v", 4, 30, **V100)
    mixed = run([filler, job("x", 8, 50, 1, **EITHER)], pools())[1]
    assert mixed[1] == (1, 1, {0: 4, 1: 8})
    plain = run([filler, job("x", 8, 50, 1, **FUNGIBLE)], pools())[1]
    assert plain[1] == (30, 1, {0: 8})


def test_opportunistic_jobs_wait_for_loaned_machines():
    """A has all T4 to 15 s. Two training machines are idle, but b waits; c, in another queue, does not."""
    jobs = [job("a", 4, 10, **FUNGIBLE), job("b", 1, 30, 1, **FUNGIBLE), job("c", 8, 50, 2, **V100)]
    how = {"fungible_on": "loan", "order": "fifo", "backfill": False, "scaling": "none"}
    _, places = run(jobs, pools(2, 1), **how)
    assert places == [(0, 0, {2: 8}), (2, 2, {0: 8}), (15, 1, {2: 2})]


OPPORTUNISTIC = {
    "fungible_on": "loan",
    "order": "fifo",
    "backfill": False,
    "scaling": "none",
    "base": "requested",
}


def test_opportunistic_elastic_jobs_run_in_training_as_inelastic_ones():
    """E, 8 of at most 16 GPUs, has the V100 to 50 s and no more; f, elastic too, waits; 16 T4 are idle.

    B is fungible and not elastic: 4 T4 at once.
    """
    elastic = {"min_gpus": 4, "max_gpus": 16, "step": 4, **FUNGIBLE}
    jobs = [job("e", 8, 50, **elastic), job("f", 4, 10, 1, **elastic), job("b", 2, 10, 2, **FUNGIBLE)]
    _, places = run(jobs, pools(1, 2), **OPPORTUNISTIC)
    assert places == [(0, 0, {0: 8}), (2, 2, {1: 4}), (50, 1, {0: 4})]


def test_opportunistic_heterogeneous_jobs_keep_to_their_machines():
    """V has 4 of 8 V100. X (worth 8) finds 8 T4 and may not take 4 V100 as well; e, elastic, no T4."""
    filler = job("v", 4, 30, **V100)
    elastic = {"min_gpus": 8, "max_gpus": 16, "step": 4}
    _, places = run([filler, job("e", 8, 10, 1, **elastic, **EITHER)], pools(), **OPPORTUNISTIC)
    assert places == [(0, 0, {0: 4}), (30, 1, {0: 8})]
    with pytest.raises(StuckError):
        run([filler, job("x", 8, 10, 1, **EITHER)], pools(), **OPPORTUNISTIC)


# --- reduction


@pytest.mark.parametrize("seed", range(3))
def test_without_loans_and_elastic_jobs_it_is_sjf_that_skips(seed):
    """Events are those of SJF on the training pool, too, if inference leaves nothing to be loaned."""
    rng = np.random.default_rng([seed, 5])
    times = np.cumsum(rng.exponential(2, 80))
    sizes, lengths = rng.choice([1, 2, 3, 4, 8, 16], 80), rng.exponential(12, 80) + 1
    jobs = [
        job(
            f"j{i}",
            int(sizes[i]),
            float(lengths[i]),
            float(times[i]),
            step=int(rng.choice([1, 2, 8])),
            **kind,
        )
        for i, kind in enumerate([V100, FUNGIBLE] * 40)
    ]
    ordered = Ordered(order="sjf", backfill=True, placement="best_fit_workers", pool="training")
    expected = run(jobs, pools(3, 2), policy=ordered)
    for policy, use in ((Lyra(loaning=False), 0.0), (Lyra(), 1.0)):
        result, places = run(jobs, pools(3, 2), use=use, policy=policy)
        assert places == expected[1]
        for name, column in expected[0].columns.items():
            assert (result.columns[name] == column).all(), name
    assert max(seconds(result, "queueing_ns")) > 10


def test_an_order_that_ages_is_asked_again():
    """At 100 s b has rho = (99 + 1000) / 1000, c (50 + 10) / 10: c goes first; on arrival both had 1."""
    jobs = [job("a", 8, 100), job("b", 8, 1000, 1), job("c", 8, 10, 50)]
    assert [place[:2] for place in trained(jobs, order="ftf")[1]] == [(0, 0), (100, 2), (110, 1)]


class Shortest:
    """An order of one's own that may age; it remembers how many jobs it was asked about at a time."""

    ages = knows_durations = True

    def __init__(self):
        self.asked = []

    def key(self, jobs):
        self.asked.append(len(jobs))
        return jobs.ideal_ns


def test_an_order_that_ages_ranks_all_jobs_at_once():
    """C comes at 2 s, when b waits: the order is asked about both together, and never about none.

    From 30 s on b has half of the machine, and when d, on the other half, ends at 35 s no job waits.
    """
    order = Shortest()
    jobs = [job("a", 8, 10), job("b", 4, 30, 1), job("c", 8, 20, 2), job("d", 4, 5, 30)]
    assert [place[:2] for place in trained(jobs, order=order)[1]] == [(0, 0), (10, 2), (30, 3), (30, 1)]
    assert sorted(set(order.asked)) == [1, 2]


def test_an_order_that_ages_ranks_elastic_jobs_at_base_demand():
    """As without ages: e asks for 8 GPUs for 30 s, and would take 120 s on its least; b takes 60."""
    elastic = {"min_gpus": 2, "max_gpus": 8, "step": 2}
    jobs = [job("a", 8, 10), job("e", 8, 30, 1, **elastic), job("b", 8, 60, 2)]
    assert [place[:2] for place in trained(jobs, order=Shortest())[1]] == [(0, 0), (10, 2), (70, 1)]


def test_an_elastic_job_falls_back_to_its_base_and_grows_again_where_a_machine_fails():
    """Of 8 on two machines 4 are left at 10 s, at which it has its base of 2 and all 4; m1 is back at 50 s.

    10 of 40 iterations on 8 GPUs, 20 more of 2 s to 50 s, 10 of 1 s to 60 s. An inelastic job would wait.
    """
    fails = [CapacityEvent(seconds_to_ns(10), "fail", 1, cause="gpu", repair_ns=seconds_to_ns(40))]
    elastic = {"min_gpus": 2, "max_gpus": 8, "step": 2}
    policy = Lyra(loaning=False, headroom=0)
    compute = PlacedPerformance(ZeroModel(), None, None, no_profile)
    result, events = run_checked(
        [job("e", 8, 40, **elastic)], pools(2, 0, 4), policy, compute, failures=fails
    )
    changes = [(e.time_ns / 1e9, e.cause, e.allocation.gpus) for e in events if isinstance(e, Change)]
    assert changes == [(10, "gpu", 2), (10, "", 4), (50, "", 8)]
    assert seconds(result, "finish_ns") == [60]
