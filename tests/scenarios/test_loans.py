"""Loans and returns of whole machines, under a policy that puts its jobs where a test says."""

from types import SimpleNamespace

import numpy as np
import pytest

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Finish, MachineEvent, Start, Stop
from artist.engine.overheads import Overheads
from artist.errors import InputError, PlanError, StuckError
from artist.policies.lyra.loans import INFERENCE, ON_LOAN, TRAINING, Orchestrator
from artist.policies.lyra.policy import Lyra
from artist.policies.lyra.predictors import predictor_of
from artist.policies.lyra.reclaiming import reclaim_of
from artist.policies.lyra.workers import Workers
from artist.run.followed import check_signals
from artist.testing.tiny import job, on, run_checked, seconds
from artist.units import seconds_to_ns
from artist.workload.signals import Series

ELASTIC = {"min_gpus": 2, "max_gpus": 8}


def two_pools(training=2, inference=10, gpus=2):
    """Return machines of two GPUs: first those of the training pool, then those of the inference pool."""
    pools = [TRAINING] * training + [INFERENCE] * inference
    return Cluster([Machine(f"m{i}", 0, "box", gpus, pool=pool) for i, pool in enumerate(pools)])


def uses(*values, ahead=True):
    """Return the use of the inference machines every 300 s, and one step ahead; the last one stays."""
    times = np.arange(len(values)) * seconds_to_ns(300)
    named = {"inference": Series(times, np.array(values, dtype=np.float64))}
    if ahead:
        named["inference.next"] = Series(times, np.array([*values[1:], values[-1]], dtype=np.float64))
    return named


class Lender:
    """Starts each job on its base workers as soon as these are free, with the flexible ones that it is given.

    Parameters
    ----------
    base, flexible
        GPUs by machine, by job.
    """

    on_events, interval_s = True, 300

    def __init__(self, base=None, flexible=None, headroom=0.0, predictor="oracle", reclaim="server_fraction"):
        self.base, self.flexible = base or {}, flexible or {}
        self.orchestrator = Orchestrator(predictor_of(predictor), reclaim_of(reclaim), headroom, 300)
        self.workers = None
        self.preempting = []

    def decide(self, view):
        """Carry out the orchestrator's moves on the grid, and start what waits."""
        plan = view.plan()
        self.workers = workers = self.workers or Workers(view.cluster, view.free())
        for event in view.news:
            if isinstance(event, Finish) or (isinstance(event, Stop) and event.reason == "evicted"):
                workers.end(event.job)
        self.orchestrator.act(view, plan, workers)
        if workers.stopped:
            self.preempting.append(view.now_ns / 1e9)
            plan.wake_at(view.now_ns)
        for number in workers.stopped:
            plan.stop(number)
        self._start(view, plan)
        for number in workers.changed:
            plan.place(number, workers.jobs[number].allocation)
        workers.stopped.clear()
        workers.changed.clear()
        return plan.done()

    def _start(self, view, plan):
        taken = {m for number in self.workers.jobs for m in self.workers.jobs[number].base}
        pools = dict(enumerate(view.pools)) | dict(plan.assigns)
        for number in view.waiting.job.tolist():
            base = self.base.get(number, {0: view.demand(number).gpus})
            if taken.isdisjoint(base) and all(pools[m] != INFERENCE for m in base):
                self.workers.start(number, view.demand(number), on(*base.items()))
                self.workers.jobs[number].steps = range(0, 9, view.demand(number).step)
                self.workers.grow(number, self.flexible.get(number, {}), view.free())
                taken.update(base)


def run(policy, jobs, signals, cluster=None, **options):
    """Return the result, and the changes of pools, stops and changes of GPUs as (time in s, ...)."""
    result, events = run_checked(jobs, cluster or two_pools(), policy, signals=signals, **options)
    moved, stops, changes = [], [], []
    for event in events:
        at = event.time_ns / 1e9
        if isinstance(event, MachineEvent) and event.type == "assign":
            moved.append((at, event.machine, event.pool))
        elif isinstance(event, Stop):
            stops.append((at, event.job))
        elif isinstance(event, Start | Change):
            changes.append((at, event.job, event.allocation.gpu_map()))
    return result, moved, stops, changes


def test_the_machines_with_the_lowest_numbers_are_loaned():
    """10 machines, 0.5 in use, headroom 0.02: floor(10 x 0.48) = 4; from 300 s on floor(10 x 0.98 - 3) = 6.

    At 0 the oracle sees 0.3 coming, but 0.5 is in use.
    """
    _, moved, _, _ = run(Lender(headroom=0.02), [job("a", 2, 700)], uses(0.5, 0.3))
    assert moved == [(0, m, ON_LOAN) for m in (2, 3, 4, 5)] + [(300, m, ON_LOAN) for m in (6, 7)]


def test_predicted_demand_is_returned_one_step_ahead():
    """0.5 in use, 0.8 at 600 s: with the oracle 3 of 5 go back at 300 s, without it at 600 s.

    The autoregressive predictor has three samples and takes the next for the last.
    """
    for predictor, at in (("oracle", 300), ("autoregressive", 600)):
        policy = Lender(predictor=predictor)
        _, moved, _, _ = run(policy, [job("a", 2, 700)], uses(0.5, 0.5, 0.8))
        assert moved[5:] == [(at, m, INFERENCE) for m in (2, 3, 4)]


@pytest.mark.parametrize(("use", "headroom", "kept"), [(0.48, 0.02, 50), (0.42, 0.02, 44), (0.99, 0.02, 100)])
def test_the_floor_is_not_fooled_by_binary_fractions(use, headroom, kept):
    """100 x (1 - 0.48 - 0.02) is 50, not 49; 100 x (1 - 0.42 - 0.02) is 56, not 57; and never less than 0."""
    orchestrator = Lender(headroom=headroom).orchestrator

    class View:
        now_ns, signals = 0, uses(use)

    assert orchestrator.kept(View(), 100) == kept


def test_machines_without_jobs_go_back_first():
    """A holds 2, the lowest; of 2 to 6 two go back at 300 s: 3 and 4. Nothing happens to a."""
    policy = Lender({0: {2: 2}})
    _, moved, stops, changes = run(policy, [job("a", 2, 700)], uses(0.5, 0.5, 0.7))
    assert moved[5:] == [(300, 3, INFERENCE), (300, 4, INFERENCE)]
    assert (stops, changes) == ([], [(0, 0, {2: 2})])
    assert policy.preempting == []


def test_the_flexible_group_alone_is_enough():
    """5 on loan: 2 base workers of a, 3 and 4 flexible (2 + 1 GPUs), 5 and 6 idle; three go back at 300 s.

    5 and 6, then 4, which has the fewest flexible GPUs: a shrinks from 5 GPUs to 4 and is not preempted.
    """
    policy = Lender({0: {2: 2}}, {0: {3: 2, 4: 1}})
    _, moved, stops, changes = run(policy, [job("a", 2, 2000, **ELASTIC)], uses(0.5, 0.5, 0.8))
    assert moved[5:] == [(300, m, INFERENCE) for m in (5, 6, 4)]
    assert (stops, changes) == ([], [(0, 0, {2: 2, 3: 2, 4: 1}), (300, 0, {2: 2, 3: 2})])


def test_the_flexible_group_is_not_enough():
    """4 of 5 go back: 5 and 6 idle, 4 flexible, and one of 2 (a's base) and 3 (b, and a flexible one of a).

    Both cost 1 and vacate nothing of base workers elsewhere: 2, so a stops, flexible worker and all, after
    300 s x 4 / 2 = 600 of its 2000 iterations. It loses all of them, and cannot start: 2 is gone.
    From 1500 s on 0.5 is in use: 2, 4, 5 and 6 are loaned again, and a starts with its 4 GPUs after 63 s.
    """
    policy = Lender({0: {2: 2}, 1: {3: 1}}, {0: {3: 1, 4: 1}})
    jobs = [job("a", 2, 2000, **ELASTIC), job("b", 1, 1000)]
    signals = uses(0.5, 0.5, 0.9, 0.9, 0.9, 0.5)
    overheads = Overheads(on_stop="lose_all", resume_s=63, restart_s=63)
    result, moved, stops, changes = run(policy, jobs, signals, overheads=overheads)
    assert moved[5:9] == [(300, m, INFERENCE) for m in (5, 6, 4, 2)]
    assert (stops, policy.preempting) == ([(300, 0)], [300])
    assert moved[9:] == [(1500, m, ON_LOAN) for m in (2, 4, 5, 6)]
    assert changes == [(0, 0, {2: 2, 3: 1, 4: 1}), (0, 1, {3: 1}), (1500, 0, {2: 2, 3: 1, 4: 1})]
    assert result.columns["lost_ns"].tolist() == [300 * 10**9, 0]
    assert seconds(result, "queueing_ns") == [1200, 0]
    assert seconds(result, "finish_ns") == [1500 + 63 + 1000, 1000]  # 2000 / 2 on twice the GPUs


def test_flexible_workers_beside_a_preempted_job_go_as_well():
    """All 5 on loan go back: 3, with b and a flexible worker of a, comes last; b stops and a shrinks."""
    policy = Lender({0: {0: 2}, 1: {3: 1}}, {0: {3: 1}})
    jobs = [job("a", 2, 2000, **ELASTIC), job("b", 1, 1000)]
    _, moved, stops, changes = run(policy, jobs, uses(0.5, 0.5, 1, 0.5))
    assert moved[5:10] == [(300, m, INFERENCE) for m in (2, 4, 5, 6, 3)]
    assert stops == [(300, 1)]
    assert changes[2] == (300, 0, {0: 2})


def test_a_worker_on_two_machines_goes_from_both():
    """Workers of 2 GPUs: a's flexible one has a GPU on 3 and on 4. When 4 goes back, 3 is left as well."""
    policy = Lender({0: {2: 2}}, {0: {3: 1, 4: 1}})
    jobs = [job("a", 2, 2000, min_gpus=2, max_gpus=8, step=2), job("b", 2, 2000), job("c", 2, 2000)]
    policy.base |= {1: {5: 2}, 2: {6: 2}}
    _, moved, stops, changes = run(policy, jobs, uses(0.5, 0.5, 0.6))
    assert moved[5:] == [(300, 3, INFERENCE)]
    assert (stops, changes[-1]) == ([], (300, 0, {2: 2}))


def test_a_machine_loaned_is_used_in_the_same_plan():
    """At 0 s machine 2 is loaned, and a starts there at 0 s."""
    _, moved, _, changes = run(Lender({0: {2: 2}}), [job("a", 2, 10)], uses(0.9))
    assert (moved, changes) == ([(0, 2, ON_LOAN)], [(0, 0, {2: 2})])


def test_machines_that_take_no_new_work_are_left_alone():
    """2 to 6 are loaned; 3 is leaving and 4 has failed when three must go back: 2, 5 and 6; 3 and 4 stay.

    All 10 belong to inference, which keeps 8; 8 take work, so none may stay on loan.
    """
    events = [
        CapacityEvent(seconds_to_ns(100), "leave", 3, deadline_ns=seconds_to_ns(650)),
        CapacityEvent(seconds_to_ns(100), "fail", 4),
    ]
    policy = Lender({0: {3: 2}})
    _, moved, stops, _ = run(policy, [job("a", 2, 600)], uses(0.5, 0.5, 0.8), capacity_events=events)
    assert moved[5:] == [(300, m, INFERENCE) for m in (2, 5, 6)]
    assert stops == []


def test_a_failure_in_the_inference_pool_calls_machines_back():
    """11 fails at 100 s: of 9 machines inference keeps 5, so one of 5 on loan goes back at 300 s: 2."""
    events = [CapacityEvent(seconds_to_ns(100), "fail", 11)]
    _, moved, _, _ = run(Lender(), [job("a", 2, 600)], uses(0.5), capacity_events=events)
    assert moved[5:] == [(300, 2, INFERENCE)]


def test_machines_that_are_not_there_are_not_loaned():
    """2 has failed: of 9 machines inference keeps 5 and lends 4, from 3 on."""
    events = [CapacityEvent(0, "fail", 2)]
    _, moved, _, _ = run(Lender(), [job("a", 2, 100)], uses(0.5), capacity_events=events)
    assert moved == [(0, m, ON_LOAN) for m in (3, 4, 5, 6)]


def test_no_more_goes_back_than_is_on_loan():
    """Inference keeps 9 of 10; when 10 and 11 fail there are 8: the one on loan goes back, 1 is short."""
    events = [CapacityEvent(seconds_to_ns(100), "fail", m) for m in (10, 11)]
    _, moved, _, _ = run(Lender(), [job("a", 2, 600)], uses(0.9), capacity_events=events)
    assert moved == [(0, 2, ON_LOAN), (300, 2, INFERENCE)]


def test_without_an_inference_pool_no_series_is_asked_for():
    """A cluster of one pool, and no signals: the orchestrator has nothing to do."""
    _, moved, _, _ = run(Lender(), [job("a", 2, 10)], {}, two_pools(inference=0))
    assert moved == []


def test_a_missing_series_is_refused_with_the_setting_to_use():
    """The oracle needs the series ahead."""
    with pytest.raises(PlanError, match=r"signal 'inference.next'; there is inference \(signals=inference"):
        run(Lender(), [job("a", 2, 10)], uses(0.5, ahead=False))


def test_a_job_that_waits_for_loans_is_not_stuck():
    """Nothing runs and nothing is due, but machine 2 can be loaned at 900 s; without more samples: stuck."""
    result, _, _, _ = run(Lender({0: {2: 2}}), [job("a", 2, 10, at=50)], uses(1, 1, 1, 0.9))
    assert seconds(result, "finish_ns") == [910]
    with pytest.raises(StuckError, match=r"^stuck at"):
        run(Lender({0: {2: 2}}), [job("a", 2, 10, at=50)], uses(1, 1, 1))


@pytest.mark.parametrize("samples_s", [(0, 900, 1800, 2700), (0, 300, 600, 2700), (2700,)])
def test_a_job_that_waits_for_loans_is_not_stuck_between_rare_samples(samples_s):
    """All is in use until the last sample, at 2700 s: a starts then, however long no sample came before.

    If all is in use then, too, no more samples come: after one more call, at 3000 s, it is stuck.
    """
    policy, jobs = Lender({0: {2: 2}}, predictor="autoregressive"), [job("a", 2, 10, at=50)]
    times_ns = np.array([seconds_to_ns(sample_s) for sample_s in samples_s])
    values = np.array([1.0] * (len(times_ns) - 1) + [0.5])
    assert seconds(run(policy, jobs, {"inference": Series(times_ns, values)})[0], "finish_ns") == [2710]
    policy = Lender({0: {2: 2}}, predictor="autoregressive")
    with pytest.raises(StuckError, match=r"^stuck at 3000.0 s"):
        run(policy, jobs, {"inference": Series(times_ns, np.ones(len(times_ns)))})


def test_an_interval_that_misses_samples_is_refused_with_the_oracle():
    """Samples every 300 s: multiples of 300 and of 100. 900 s misses 300; so does 200, of 200, 400 and 600.

    Use 0, 0, 1: with 900 s nothing would go back before 900 s though all is needed from 300 s on, where use
    begins to rise. A predictor that does not look ahead may be late anyway.
    """
    cases = {300: "oracle", 100: "oracle", 900: "autoregressive", 200: "autoregressive"}
    for interval_s, predictor in cases.items():
        policy = Lyra(interval_s=interval_s, predictor=predictor)
        check_signals(policy, two_pools(), uses(0, 0, 1))
    check_signals(Lyra(interval_s=900), two_pools(inference=0), {})
    told = r"^policy.interval_s: inference.next tells one value.* at 300 s when.*\n *found {}.0; allowed: sec"
    for interval_s in (900, 200):
        with pytest.raises(InputError, match=told.format(interval_s)):
            check_signals(Lyra(interval_s=interval_s), two_pools(), uses(0, 0, 1))


def test_the_series_needed_are_known_before_the_clock_starts():
    """The oracle needs two series, the autoregressive predictor one; without an inference pool none."""
    predictor_ = SimpleNamespace(next_use=lambda view: 0.5, follows=("mine",))
    needed = {"oracle": ["inference", "inference.next"], "autoregressive": ["inference"]}
    for predictor, names in needed.items():
        orchestrator = Lender(predictor=predictor).orchestrator
        assert list(orchestrator.follows(two_pools())) == names
        assert list(orchestrator.follows(two_pools(inference=0))) == []
    assert list(Lender(predictor=predictor_).orchestrator.follows(two_pools())) == ["inference", "mine"]
    policy = SimpleNamespace(follows=Lender().orchestrator.follows)
    check_signals(policy, two_pools(), uses(0.5))
    check_signals(SimpleNamespace(), two_pools(), {})
    told = r"^signals: .*\n *found 'inference'; allowed: inference.next as well"
    with pytest.raises(InputError, match=told):
        check_signals(policy, two_pools(), uses(0.5, ahead=False))
    mine = SimpleNamespace(follows=lambda cluster: ("power",))
    told = r"allowed: power as well: signals=file signals.path=FILE$"
    with pytest.raises(InputError, match=told):
        check_signals(mine, two_pools(), uses(0.5))


def test_machines_go_back_while_no_job_is_there():
    """A ends at 10 s, b comes at 3000 s; inference needs all machines from 900 s on: they go back at 600 s.

    At 0 all 10 are loaned, and nothing else happens until then: the policy is called because it asked to be.
    """
    jobs = [job("a", 2, 10), job("b", 2, 10, at=3000)]
    result, moved, _, _ = run(Lender(), jobs, uses(0, 0, 0, 1))
    assert moved[10:] == [(600, m, INFERENCE) for m in range(2, 12)]
    assert seconds(result, "finish_ns") == [10, 3010]


@pytest.mark.parametrize("value", [65, 1.001, -0.1])
def test_a_use_that_is_no_share_is_refused_before_the_clock_starts(value):
    """As in a file in percent; a share later than the first, at 600 s. Series of another policy may be so."""
    told = rf"^signals, inference: no share at 600 s.*\n *found {float(value)}; allowed: 0 to 1"
    with pytest.raises(InputError, match=told):
        check_signals(Lyra(predictor="autoregressive"), two_pools(), uses(1, 0, value))
    check_signals(Lyra(), two_pools(), uses(1, 0, 1))
    check_signals(SimpleNamespace(follows=lambda cluster: ["inference"]), two_pools(), uses(1, 0, value))


def test_the_oracle_reads_a_share_from_a_file():
    """The series ahead may come from a file: 65 at 0 s."""
    signals = uses(1, 1) | {"inference.next": uses(65)["inference"]}
    with pytest.raises(InputError, match=r"^signals, inference.next: no share at 0 s"):
        check_signals(Lyra(), two_pools(), signals)
