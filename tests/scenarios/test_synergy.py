"""Synergy on instances that fit on paper: which jobs run in a round, where, with what, and what that costs.

Machines have 4 GPUs, 12 CPUs and 120 GiB: a GPU's share is 3 CPUs. The model of a job names the CPUs a GPU
that it can use: "6" does an iteration of 1 s with its share in half the time with 6 CPUs. Rounds take 10 s.
"""

from dataclasses import replace

import pytest
from synergy_program import ProgramTune
from testbed import composed

from artist.core.cluster import CapacityEvent, Cluster, Machine
from artist.core.events import Change, Reprice, Start, Stop
from artist.errors import InputError
from artist.policies.basic.ordered import Ordered
from artist.policies.synergy.policy import Synergy
from artist.policies.synergy.tune import Tune
from artist.testing.tiny import PlainPerformance, job, on, run_checked, seconds, tiny_cluster
from artist.units import seconds_to_ns

EXAMPLE = """job_id,submit_s,gpus,duration_s,model
j1,0,4,20000,ResNet18
j2,0,4,20000,M5
j3,0,4,20000,Transformer-XL
j4,0,4,20000,GNMT
"""
GIB = 1 << 30


def wants(cpus, gpus=1, seconds=10, at=0, **demand):
    """Return a job of so many seconds with its share, which gains from up to `cpus` CPUs a GPU."""
    spec = job(f"{cpus}-{gpus}-{seconds}-{at}", gpus, seconds, at, **demand)
    return replace(spec, model=str(cpus), compute_ns=spec.compute_ns * 3 // max(cpus, 3))


def slowed(spec, allocation):
    """Return the slowdown of an iteration relative to all the CPUs that the job can use."""
    return max([1.0, *(float(spec.model) * s.gpus / max(s.cpus, 1) for s in allocation.slices if s.gpus)])


def run(jobs, machines=1, *, cluster=None, capacity_events=(), **parameters):
    """Run Synergy; return the result and all events. Job ids are made unique."""
    policy = Synergy(**{"interval_s": 10, "memory_points_gib": [1], **parameters})
    cluster = cluster or tiny_cluster(machines, 4, cpus=12, memory_bytes=120 * GIB)
    jobs = [replace(spec, job_id=str(number)) for number, spec in enumerate(jobs)]
    return run_checked(jobs, cluster, policy, PlainPerformance(slowed), capacity_events=capacity_events)


def started(events):
    """Return each job's allocation at its first start, as (machine, GPUs, CPUs)."""
    results = {}
    for event in events:
        if isinstance(event, Start):
            results.setdefault(event.job, [s[:3] for s in event.allocation.slices])
    return [results[number] for number in sorted(results)]


def changes(events):
    """Return the changes of running jobs, as (time in s, job, what)."""
    return [(e.time_ns / 1e9, e.job, e.type) for e in events if isinstance(e, Change)]


def test_jobs_start_at_the_rounds():
    """They come at 1 and 10 s; rounds are at 0, 10, 20 s."""
    result, _ = run([wants(3, at=1), wants(3, at=10)])
    assert seconds(result, "first_start_ns") == [10, 10]


def test_cpus_go_to_the_job_that_gains_from_them():
    """6 of 12 CPUs make the first twice as fast, and the other can use but one: 15 s and 30 s."""
    result, events = run([wants(6, seconds=30), wants(1, seconds=30)])
    assert started(events) == [[(0, 1, 6)], [(0, 1, 1)]]
    assert seconds(result, "finish_ns") == [15, 30]


def test_a_job_that_keeps_its_allocation_is_not_in_the_plan():
    """Five rounds of one job: it starts, and nothing else happens to it."""
    _, events = run([wants(3, seconds=50)])
    assert [type(e) for e in events if isinstance(e, Start | Change | Stop)] == [Start]


def test_other_cpus_on_the_same_gpus_are_a_retune():
    """The first has 12 CPUs until the second needs 9 of them, from 10 to 30 s.

    80 s of work: 40 at fourfold speed, 20 with its share, the other 20 at fourfold speed again: 35 s.
    """
    result, events = run([wants(12, seconds=80), wants(3, gpus=3, seconds=20, at=5)])
    assert changes(events) == [(10, 0, "retune"), (30, 0, "retune")]
    assert seconds(result, "finish_ns") == [35, 30]
    assert result.columns["migrations"].tolist() == [0, 0]


def test_moves_are_counted():
    """The first leaves machine 0 at 10 s; the second is packed again, and both machines are as free.

    It stays where it is, unless free GPUs alone count: then machine 0 goes first, and the move is counted.
    """
    jobs = [wants(3, gpus=3), wants(3, gpus=3, seconds=30)]
    result, events = run(jobs, machines=2)
    assert (changes(events), result.columns["migrations"].tolist()) == ([], [0, 0])
    result, events = run(jobs, machines=2, mechanism=ProgramTune(hand_out=True))
    assert (changes(events), result.columns["migrations"].tolist()) == ([(10, 1, "migrate")], [0, 1])


def test_a_job_whose_gpus_do_not_fit_is_passed_over():
    """3 of 4 GPUs are taken until 10 s: the job of 2 waits for them, and that of 1 overtakes it."""
    jobs = [wants(3, gpus=3), wants(3, gpus=2), wants(3, seconds=20)]
    assert seconds(run(jobs)[0], "first_start_ns") == [0, 10, 0]


def test_the_order_decides_the_running_jobs():
    """SRTF with one GPU: the job of 10 s that comes at 5 s stops that of 50 s at 10 s, until 20 s."""
    cluster = tiny_cluster(1, 1, cpus=3, memory_bytes=GIB)
    jobs = [wants(3, seconds=50), wants(3, seconds=10, at=5)]
    assert seconds(run(jobs, cluster=cluster, order="srtf")[0], "finish_ns") == [60, 20]
    assert seconds(run(jobs, cluster=cluster)[0], "finish_ns") == [50, 60]


def test_greedy_goes_through_the_whole_queue():
    """The first two hold all 12 CPUs for 10 s, and two GPUs are idle; then the next two, then the rest.

    If the first wants 5 CPUs, the last finds the one that it wants at once.
    """
    hungry = [wants(6, seconds=20)] * 5
    result, _ = run([*hungry, wants(1)], mechanism="greedy")
    assert seconds(result, "first_start_ns") == [0, 0, 10, 10, 20, 20]
    result, _ = run([wants(5, seconds=20), *hungry[1:], wants(1)], mechanism="greedy")
    assert seconds(result, "first_start_ns")[-1] == 0


def test_proportional_gives_shares_whatever_jobs_gain():
    """3 CPUs for one GPU, 9 for three."""
    _, events = run([wants(12), wants(1, gpus=3)], mechanism="proportional")
    assert started(events) == [[(0, 1, 3)], [(0, 3, 9)]]


@pytest.mark.parametrize(
    ("pack_order", "cpus", "small_first", "large_first"),
    [
        ("policy", 8, (6, 6), (3, 9)),
        ("descending", 8, (3, 9), (3, 9)),
        ("ascending", 8, (6, 6), (6, 6)),
        ("descending", 12, (3, 9), (3, 9)),
        ("ascending", 12, (3, 9), (3, 9)),
    ],
)
def test_the_order_of_packing(pack_order, cpus, small_first, large_first):
    """One GPU wants 8 or 12 CPUs, two want 10: the first to be packed gets the 12 - 3 - 6 = 3 to spare."""
    small, large = wants(cpus), wants(5, gpus=2)
    [(_, _, one)], [(_, _, two)] = started(run([small, large], pack_order=pack_order)[1])
    assert (one, two) == small_first
    [(_, _, two)], [(_, _, one)] = started(run([large, small], pack_order=pack_order)[1])
    assert (one, two) == large_first


def test_jobs_that_want_as_much_are_packed_as_they_are_ranked():
    """Two jobs that want 8 CPUs: the second in the ranking finds 4, and its share of 3 is what it gets first.

    Then the 1 that is left goes to it, the only one below its best case.
    """
    jobs = [wants(8, seconds=40), wants(8, seconds=20)]
    for order, first in (("fifo", [[(0, 1, 8)], [(0, 1, 4)]]), ("srtf", [[(0, 1, 4)], [(0, 1, 8)]])):
        assert started(run(jobs, pack_order="descending", order=order)[1]) == first


class _Counting(Tune):
    """Tune, with a count of its packings."""

    calls = 0

    def pack(self, needs, free, view):
        self.calls += 1
        return super().pack(needs, free, view)


def test_a_round_without_changes_packs_nothing():
    """Ten rounds: packed at 0 s, and at 40 s, when the job that waited since 15 s may start."""
    counting = _Counting()
    run([wants(3, gpus=4, seconds=40), wants(3, gpus=4, seconds=60, at=15)], mechanism=counting)
    assert counting.calls == 2


def test_a_failed_machine_is_packed_around():
    """Machine 0 fails at 15 s and is back at 25: the job starts again on machine 1, at 20 s, and stays."""
    events = [CapacityEvent(seconds_to_ns(15), "fail", 0), CapacityEvent(seconds_to_ns(25), "join", 0)]
    result, log = run([wants(3, seconds=40)], machines=2, capacity_events=events)
    assert [e.allocation.slices[0].machine for e in log if isinstance(e, Start)] == [0, 1]
    assert changes(log) == []
    assert seconds(result, "finish_ns") == [20 + 25]  # 15 of 40 s were done


def test_a_job_on_a_machine_that_leaves_stays_to_the_end():
    """From 5 s on machine 0 takes no new work; the job there goes on to 30 s, the next goes to machine 1."""
    leaves = [CapacityEvent(seconds_to_ns(5), "leave", 0, deadline_ns=seconds_to_ns(100))]
    result, log = run([wants(6, seconds=60), wants(3, at=6)], machines=2, capacity_events=leaves)
    assert started(log) == [[(0, 1, 6)], [(1, 1, 3)]]
    assert changes(log) == []
    assert seconds(result, "finish_ns") == [30, 20]


def test_cpu_jobs_take_remaining_cpus_and_are_never_stopped():
    """10 of 12 CPUs run a CPU-only job, so a GPU gets 2 of its 3; one for 1 CPU waits while 12 are tuned."""
    cpu_job = job("cpus", 0, 50, cpus=10)
    _, events = run([replace(cpu_job, model="0"), wants(12, at=5)])
    assert started(events) == [[(0, 0, 10)], [(0, 1, 2)]]
    result, _ = run([wants(12, seconds=80), replace(job("cpus", 0, 5, at=5, cpus=1), model="0")])
    assert seconds(result, "first_start_ns") == [0, 20]


def test_a_job_that_was_skipped_for_a_cpu_job_runs_after_it():
    """10 of 12 CPUs are a CPU-only job's until 15 s: at 10 s greedy has no 12 for a job, at 20 s it has."""
    jobs = [replace(job("cpus", 0, 15, cpus=10), model="0"), wants(12, at=1)]
    assert seconds(run(jobs, mechanism="greedy")[0], "first_start_ns") == [0, 20]


def test_a_job_without_cpus_gets_them_in_the_round_after_a_cpu_job_ends():
    """All 12 CPUs are a CPU-only job's until 15 s: a GPU has none from 10 s on, and all 12 from 20 s on."""
    for mechanism, cpus in (("tune", 12), ("proportional", 3), ("opt", 12)):
        jobs = [replace(job("cpus", 0, 15, cpus=12), model="0"), wants(12, seconds=80, at=1)]
        _, events = run(jobs, mechanism=mechanism)
        assert started(events)[1] == [(0, 1, 0)]
        assert changes(events) == [(20, 1, "retune")]
        retuned = next(e.allocation for e in events if isinstance(e, Change))
        assert retuned.slices[0].cpus == cpus


def test_greedy_goes_on_to_the_next_type():
    """Types a and b of 4 GPUs and 12 CPUs each: a job that wants all 12 on a, the next one on b, at once.

    The others wait until 10 s: there are two GPUs of each type, and no CPU.
    """
    machines = [Machine(kind, 0, kind, 4, kind, cpus=12, memory_bytes=120 * GIB) for kind in "ab"]
    jobs = [wants(6, gpus=2), wants(6, gpus=2), wants(1), wants(3, gpu_types=("b",))]
    result, events = run(jobs, cluster=Cluster(machines), mechanism="greedy")
    assert started(events)[:2] == [[(0, 2, 12)], [(1, 2, 12)]]
    assert seconds(result, "first_start_ns") == [0, 0, 10, 10]


def test_a_server_larger_than_a_machine_is_refused():
    """Machines of 4 GPUs are no part of a server of 8; one of 4 is a machine."""
    assert started(run([wants(6)], server_gpus=4)[1]) == [[(0, 1, 6)]]
    with pytest.raises(InputError, match="at most the 4 GPUs of a machine") as error:
        run([wants(6)], server_gpus=8)
    assert error.value.where == "policy.server_gpus"


@pytest.mark.parametrize(
    ("parameters", "lost"),
    [
        ({"mechanism": "opt", "split": "when_faster", "hand_out": False}, ["hand_out", "split"]),
        ({"mechanism": "proportional", "hand_out": False}, ["hand_out"]),
        ({"mechanism": "greedy", "pack_order": "descending"}, ["pack_order"]),
        ({"mechanism": Tune(), "hand_out": False, "split": "when_faster"}, ["hand_out"]),
        ({"mechanism": "opt", "pack_order": "ascending"}, []),
        ({"hand_out": False, "split": "when_faster"}, []),
    ],
)
def test_parameters_without_effect_are_noted(parameters, lost, caplog):
    """Each mechanism reads some of the parameters; a note for the user names the others that are set."""
    with caplog.at_level("INFO"):
        Synergy(**parameters)
    notes = [record.getMessage() for record in caplog.records if record.note]
    named = ", ".join(f"policy.{name}" for name in lost)
    assert [note.split(": ")[1] for note in notes] == [named] * bool(lost)


def test_an_elastic_job_takes_the_most_that_fits():
    """2 to 8 GPUs, 8 asked for, and 4 are there; then as a job of 8 GPUs that are all there."""
    elastic = wants(3, gpus=8, min_gpus=2, max_gpus=8, step=2)
    assert started(run([elastic])[1]) == [[(0, 4, 12)]]
    assert started(run([elastic], machines=2)[1]) == [[(0, 4, 12), (1, 4, 12)]]


def test_a_job_goes_to_gpus_of_one_type():
    """Types a and b, 4 GPUs each: 3 on a, 3 on b, 2 more on neither, though 1 + 1 are left; b alone on b."""
    machines = [Machine(kind, 0, kind, 4, kind, cpus=12, memory_bytes=120 * GIB) for kind in "ab"]
    jobs = [wants(3, gpus=3), wants(3, gpus=3), wants(3, gpus=2), wants(3, gpu_types=("b",))]
    result, events = run(jobs, cluster=Cluster(machines))
    assert started(events)[:2] == [[(0, 3, 9)], [(1, 3, 9)]]
    assert seconds(result, "first_start_ns") == [0, 0, 10, 0]
    assert started(events)[3] == [(1, 1, 3)]
    mixed = [wants(3, gpus=6, mixed_types=True), wants(3, gpus=3), wants(3, gpus=2)]
    result, events = run(mixed, cluster=Cluster(machines))
    assert started(events)[0] == [(0, 4, 12), (1, 2, 6)]
    assert seconds(result, "first_start_ns") == [0, 10, 0]


def test_a_job_moves_to_the_first_type_when_that_is_free():
    """3 GPUs of type a are taken until 10 s, so the second job is on type b until then."""
    machines = [Machine(kind, 0, kind, 4, kind, cpus=12, memory_bytes=120 * GIB) for kind in "ab"]
    _, log = run([wants(3, gpus=3), wants(3, gpus=3, seconds=30)], cluster=Cluster(machines))
    assert started(log) == [[(0, 3, 9)], [(1, 3, 9)]]
    assert changes(log) == [(10, 1, "migrate")]


def test_a_job_is_split_for_more_cpus_if_that_is_faster():
    """2 GPUs could use 24 CPUs, and a machine has 12: two machines are twice as fast, without a network."""
    assert started(run([wants(12, gpus=2)], machines=2)[1]) == [[(0, 2, 12)]]
    split = started(run([wants(12, gpus=2)], machines=2, split="when_faster")[1])
    assert split == [[(0, 1, 12), (1, 1, 12)]]


@pytest.mark.parametrize("order", ["fifo", "srtf", "las", "srsf"])
@pytest.mark.parametrize(
    ("mechanism", "machines"), [("proportional", 2), ("tune", 2), ("tune", 1), ("greedy", 1)]
)
def test_insensitive_jobs_run_as_in_the_base_order(order, mechanism, machines):
    """Jobs that need no CPUs start and finish as under the order itself in the same rounds, on any GPUs.

    Greedy waits for GPUs of one machine, so there is but one.
    """
    sizes = [(1, 37), (4, 23), (2, 61), (1, 5), (3, 44), (2, 18), (4, 12), (1, 95), (2, 33), (1, 7), (3, 26)]
    jobs = [job(f"j{i}", gpus, time_s, at=4 * i) for i, (gpus, time_s) in enumerate(sizes)]
    cluster = tiny_cluster(machines, 8 // machines, cpus=24, memory_bytes=240 * GIB)
    rounds = {"order": order, "on_events": False, "interval_s": 10}
    base = Ordered(**rounds, preemptive=True, backfill=True, placement="best_fit")
    ours, _ = run_checked(jobs, cluster, Synergy(**rounds, mechanism=mechanism))
    theirs, _ = run_checked(jobs, cluster, base)
    for column in ("first_start_ns", "finish_ns", "queueing_ns"):
        assert ours.columns[column].tolist() == theirs.columns[column].tolist()


def test_a_job_on_three_machines_holds_its_part_on_each():
    """One of 4 GPUs is left on each of 3 machines: all for the fourth, 3 CPUs and 1 of its 3 GiB on each."""
    _, events = run([wants(3, gpus=3)] * 4, machines=3)
    starts = [e.allocation for e in events if isinstance(e, Start)]
    assert starts[3] == on((0, 1, 3, GIB), (1, 1, 3, GIB), (2, 1, 3, GIB))


class _Log:
    """Keeps what each job holds, and its iteration time in ns."""

    rates = True

    def __init__(self):
        self.held, self.iteration_ns = {}, {}

    def observe(self, time_ns, events, gauges):
        for event in events:
            if isinstance(event, Start):
                self.held[event.job] = event.allocation.slices
            elif isinstance(event, Reprice):
                self.iteration_ns[event.job] = sum(event.parts)


def example(policy, tmp_path):
    """Return the allocations of Table 1's jobs in the first round, and their iteration times."""
    path = tmp_path / "jobs.csv"
    path.write_text(EXAMPLE, encoding="utf-8")
    cluster = [
        "topology=v100_synergy",
        "cluster.machines=2",
        "performance.sensitivity=synergy",
        "network=zero",
    ]
    jobs = ["workload=csv", f"workload.path={path}", "stop.time_s=300"]
    log = _Log()
    composed([f"policy={policy}", *cluster, *jobs]).run([log])
    return log.held, log.iteration_ns


def test_the_example_of_the_paper(tmp_path):
    """Tables 1 to 3: four jobs of 4 GPUs on two servers of 8 GPUs, 24 CPUs and 500 GiB.

    By share each has 12 CPUs and 250 GiB. Tune puts a job that is served by one CPU beside each of the two
    that can use 24: these get 23, or 5.75 a GPU. By traces/measured/input_sensitivity.yaml ResNet18 is then
    1.53 + 0.75 (1.75 - 1.53) = 1.695 times as fast as with 3, and M5 1.4 + 0.75 (2.5 - 1.4) = 2.225 times;
    neither lacks memory. That is (1.695 + 2.225 + 1 + 1) / 4 = 1.48 in the mean; the paper has 1.5, and there
    M5 keeps 12 CPUs and gains from 450 GB.
    """
    shares, share_ns = example("synergy_proportional", tmp_path)
    assert [[s[1:] for s in shares[j]] for j in range(4)] == [[(4, 12, 250 * GIB)]] * 4
    tuned, tuned_ns = example("synergy", tmp_path)
    assert [[s[1:3] for s in tuned[j]] for j in range(4)] == [[(4, 23)], [(4, 23)], [(4, 1)], [(4, 1)]]
    assert tuned[0][0].machine != tuned[1][0].machine
    gains = [share_ns[j] / tuned_ns[j] for j in range(4)]
    assert gains == pytest.approx([1.695, 2.225, 1, 1], abs=1e-3)
    assert sum(gains) / 4 == pytest.approx(1.48, abs=0.001)
