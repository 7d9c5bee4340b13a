"""Jobs that wait for input, run: retuned, believed, and measured on their share of CPUs and memory."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from artist.app.composing import register_topologies
from artist.core.cluster import Cluster, Machine
from artist.core.events import Event, Start
from artist.data import data_path
from artist.errors import InputError
from artist.performance.effects.compute import Compute
from artist.performance.effects.input_stall import InputStall
from artist.performance.estimates import Noise
from artist.performance.placed import PlacedPerformance
from artist.policies.parts.orders import sensitivity
from artist.run.build import Simulation, build, check_config
from artist.run.sensitivity import read_sensitivities
from artist.testing.tiny import Scripted, job, on, run_checked, seconds
from artist.units import NS_PER_S
from netmodels.models.zero import ZeroModel
from netmodels.profiles.profile import get_profile

GIB = 2**30
SERVERS = Cluster([Machine(f"s{i}", 0, "v100", 8, "V100", 0.25, 24, 500 * GIB) for i in range(2)])


def stalling():
    """Return iteration times of jobs that need CPUs and memory, without communication."""
    compute = Compute()
    stall = InputStall(read_sensitivities(Path("synergy")), compute)
    return PlacedPerformance(ZeroModel(), None, None, get_profile, compute=compute, input_stall=stall)


def measured(model, gpus, share_s, iterations=100, at=0, name="j"):
    """Return a job that takes share_s per iteration at the share of a server."""
    known = stalling().input_stall.as_measured(model, gpus, 0.25, SERVERS.machines[0])
    spec = job(name, gpus, iterations, at, measured_speed=0.25)
    return replace(spec, model=model, compute_ns=round(share_s * NS_PER_S / known))


def held(machine, gpus, cpus, gib):
    return machine, gpus, cpus, round(gib * GIB)


def close(value):
    """Equal but for the rounding of the times of the data and of the job."""
    return pytest.approx(value, rel=1e-5)


def test_schedules_of_the_paper_s_example():
    """Tables 1 to 3, jobs of 4 GPUs: ResNet18 and M5 share a server, or each shares one with text.

    ResNet18 is 1.695 times as fast with 23 CPUs: 5.75 a GPU are 1.53 + 0.75 x 0.22. Text is as fast with 1
    CPU and 100 GiB, and with 12 CPUs and 50 GiB. The paper's M5 is faster with 450 GiB, too; with the 3 CPUs
    a GPU that it keeps, the matrices of the paper's program say 1, whatever its memory.
    """
    jobs = [
        measured(model, 4, share_s, name=model)
        for model, share_s in (("ResNet18", 0.64), ("M5", 0.6), ("Transformer-XL", 0.67), ("GNMT", 0.12))
    ]
    proportional = [held(0, 4, 12, 250), held(0, 4, 12, 250), held(1, 4, 12, 250), held(1, 4, 12, 250)]
    sensitive = [held(0, 4, 23, 400), held(1, 4, 12, 450), held(0, 4, 1, 100), held(1, 4, 12, 50)]
    times = []
    for places in (proportional, sensitive):
        script = Scripted({0: lambda v, p, at=places: [p.place(j, on(s)) for j, s in enumerate(at)]})
        result, _ = run_checked(jobs, SERVERS, script, stalling())
        times.append(seconds(result, "running_ns"))
    assert times[0] == close([64, 60, 67, 12])
    assert times[1] == [close(64 / 1.695), *times[0][1:]]


def test_a_job_is_retuned_while_it_runs():
    """ResNet18, 100 iterations of 0.64 s: 10.25 are done when it gets 9 CPUs, the rest runs at 2.4.

    The open one is carried: 6.56 + 100 x 0.64 / 2.4 - 10.25 x 0.64 / 2.4 = 30.493 s. It computes for 100 x
    0.64 / 2.4 s, and waits for input while it has 3 CPUs: 6.56 x (1 - 1 / 2.4).
    """
    script = {
        0: lambda v, p: p.place(0, on(held(0, 1, 3, 62.5))),
        6.56: lambda v, p: p.place(0, on(held(0, 1, 9, 62.5))),
    }
    result, _ = run_checked([measured("ResNet18", 1, 0.64)], SERVERS, Scripted(script), stalling())
    assert seconds(result, "finish_ns") == [close(6.56 + 89.75 * 0.64 / 2.4)]
    assert seconds(result, "compute_ns") == [close(64 / 2.4)]
    assert seconds(result, "input_stall_ns") == [close(6.56 * (1 - 1 / 2.4))]


def looking(**options):
    """Return a policy's view at 0 and when 10 iterations are done at 2.4 times the share's speed."""
    seen = {}

    def look(view, plan):
        seen[view.now_ns] = view.jobs.ideal_ns.tolist(), view.jobs.remaining_ns.tolist()
        if view.now_ns:
            grid = view.performance.at_resources(0, 1, [3, 9], [round(62.5 * GIB)])
            seen["grid"] = grid[:, 0].tolist()
        else:
            plan.place(0, on(held(0, 1, 9, 62.5)))
            plan.place(1, on(held(1, 1, 1, 20)))

    policy = Scripted({0: look, 6.4 / 2.4: look})
    policy.knows_performance = policy.knows_stages = True
    jobs = [measured("ResNet18", 1, 0.64, name="a"), measured("GNMT", 1, 0.5, name="b")]
    run_checked(jobs, SERVERS, policy, stalling(), **options)
    return seen


def test_durations_are_believed_at_the_share():
    """64 s of ResNet18, though 26.7 s of compute; 57.6 left after 10 of 100, at whatever speed they ran.

    GNMT never waits: 50 s, less 2.667 s. Iteration times are those of the allocation, without that factor.
    """
    seen = looking()
    assert seen[0] == (close([64e9, 50e9]), close([64e9, 50e9]))
    assert seen[round(6.4 / 2.4 * 1e9)] == (close([64e9, 50e9]), close([57.6e9, 50e9 - 6.4e9 / 2.4]))
    assert seen["grid"] == close([0.64e9, 0.64e9 / 2.4])


def test_waiting_for_input_is_not_sensitivity_to_the_network():
    """Dally's order: iterations done x compute / time held is that of GNMT, though ResNet18 waits for input.

    10.25 iterations of 0.64 s are 10 done of 6.56 s, 6.56 s of GNMT are 54 of 0.12 s.
    """
    seen = []

    def look(view, plan):
        seen.append(sensitivity(view.jobs).tolist())

    def start(view, plan):
        plan.place(0, on(held(0, 1, 3, 62.5)))
        plan.place(1, on(held(1, 1, 3, 62.5)))

    policy = Scripted({0: start, 6.56: look})
    policy.knows_iterations = True
    jobs = [measured("ResNet18", 1, 0.64, name="a"), measured("GNMT", 1, 0.12, name="b")]
    run_checked(jobs, SERVERS, policy, stalling())
    assert seen == [close([6.4 / 6.56, 54 * 0.12 / 6.56])]


def test_beliefs_about_durations_keep_their_errors():
    """Noise multiplies the 64 and 50 s; and the iteration times of the first job."""
    noise = Noise(level=0.5, seed=1)
    seen, factors = looking(estimates=noise), noise.factors([None, None]).tolist()
    assert seen[0][0] == close([64e9 * factors[0], 50e9 * factors[1]])
    assert seen["grid"][0] == close(0.64e9 * factors[0])


def test_a_policy_may_believe_other_sensitivities():
    """It believes that ResNet18 is always fed: 26.7 s of 0.267 s each, while jobs run as ever."""

    class NoNeed(Noise):
        def performance(self, truth):
            never = {name: replace(model, cpus=(0.25,), throughput=(1,), uncached=None)
                     for name, model in truth.input_stall.models.items()}  # fmt: skip
            return truth.believing(InputStall(never, truth.input_stall.compute))

    seen = looking(estimates=NoNeed(level=0))
    assert seen[0][0] == close([64e9 / 2.4, 50e9])
    assert seen["grid"] == close([0.64e9 / 2.4] * 2)


def test_jobs_that_need_nothing_are_believed_as_ever():
    """Without a sensitivity no factor is asked for, and the view answers in whole nanoseconds of the spec."""
    plain = PlacedPerformance(ZeroModel(), None, None, None)
    assert plain.input_stall is None
    assert plain.as_measured([measured("ResNet18", 1, 0.64)], SERVERS) is None


JOBS = """job_id,submit_s,gpus,duration_s,model,cpus
images,0,1,6400,res18,
sound,0,4,6000,M5,
text,0,16,1200,GNMT,
cores,0,0,1000,,2
"""


def simulation(path: Path, *overrides: str) -> Simulation:
    """Return a run of those jobs on three servers, at their share."""
    path.write_text(JOBS)
    register_topologies()
    with initialize_config_dir(version_base="1.3", config_dir=str(data_path("conf"))):
        settings = (
            *("topology=v100_synergy", "cluster.machines=3", "workload=csv", f"workload.path={path}"),
            *("network=zero", "policy=fifo", "performance.sensitivity=synergy", *overrides),
        )
        raw = OmegaConf.to_container(compose("config", list(settings)), resolve=True)
    return build(check_config(json.loads(json.dumps(raw))))


@pytest.mark.parametrize("cpus", [24, 32, 40, 48])
def test_run_times_hold_for_the_share_of_any_server(tmp_path: Path, cpus: int) -> None:
    """6,400 s of ResNet18 with 3, 4, 5 or 6 CPUs; it computes the less of them the fewer CPUs there are."""
    run = simulation(tmp_path / "jobs.csv", f"cluster.machine_type=v100_{cpus}cpu")
    columns = run.run(()).columns
    assert columns["running_ns"] / 1e9 == close([6400, 6000, 1200, 1000])
    faster = 2.4 / {24: 1, 32: 1.3, 40: 1.53, 48: 1.75}[cpus]
    assert columns["compute_ns"][0] / 1e9 == close(6400 / faster)
    profile_s = run.jobs[0].compute_ns / 1e9
    assert profile_s == pytest.approx(0.122247 * 4, rel=0.01)  # an iteration is one batch, as without


def test_run_times_are_the_trace_s_where_jobs_need_nothing(tmp_path: Path) -> None:
    """The same jobs without a sensitivity take as long, all of it compute."""
    run = simulation(tmp_path / "jobs.csv", "performance.sensitivity=null")
    columns = run.run(()).columns
    assert (columns["compute_ns"] == columns["running_ns"]).all()
    assert np.abs(columns["running_ns"] / 1e9 - [6400, 6000, 1200, 1000]).max() < 1e-3


def test_a_cluster_that_starves_jobs_is_refused(tmp_path: Path) -> None:
    """Models of one's own whose processes need 100 GiB, where a GPU has 62.5: no time can hold there."""
    path = tmp_path / "own.yaml"
    path.write_text("gpu_speed: 0.25\nmodels: {GNMT: {throughput: {1: 1}, process_gib: {machine: 90}}}\n")
    run = simulation(tmp_path / "jobs.csv", f"performance.sensitivity={path}")
    assert run.input_files[-1] == path
    one = JOBS.replace("text,0,16", "text,0,1")
    (tmp_path / "one.csv").write_text(one)
    with pytest.raises(InputError, match="starve jobs of input"):
        simulation(
            tmp_path / "jobs.csv", f"performance.sensitivity={path}", f"workload.path={tmp_path}/one.csv"
        )


@pytest.mark.parametrize(
    ("measured_on", "model", "running_s", "compute_s"),
    [
        ("V100", "AlexNet", 36_000 * 12 / 14, 9_000),
        ("0.25", "AlexNet", 36_000 * 12 / 14, 9_000),
        ("V100", "GNMT", 9_000, 9_000),
        ("cluster", "AlexNet", 36_000, 36_000 * 14 / 48),
    ],
)
def test_other_gpus_change_the_time_of_computing_alone(
    tmp_path: Path, measured_on: str, model: str, running_s: float, compute_s: float
) -> None:
    """36,000 s on 8 V100, on 8 H100 of four times the speed with 112 CPUs: 14 a GPU.

    A V100 eats what 12 CPUs prepare of AlexNet, so it computes all the time; here that is a quarter, but the
    samples take 12 / 14 of the time. Text is fed at any speed. Measured here, 48 CPUs would feed an H100.
    """
    path = tmp_path / "one.csv"
    settings = (
        *("topology=dgx_h100_3tier", "cluster.machines=1", "cluster.machine_type=null"),
        *(f"workload.path={path}", f"workload.measured_on={measured_on}"),
    )
    path.write_text(f"job_id,submit_s,gpus,duration_s,model\na,0,8,36000,{model}\n")
    run = simulation(tmp_path / "jobs.csv", *settings)
    columns = run.run(()).columns
    assert columns["running_ns"][0] / 1e9 == close(running_s)
    assert columns["compute_ns"][0] / 1e9 == close(compute_s)
    path.write_text(f"job_id,submit_s,gpus,iterations,compute_s,model\na,0,8,1000,36,{model}\n")
    again = simulation(tmp_path / "jobs.csv", *settings).run(()).columns
    assert again["running_ns"][0] / 1e9 == close(running_s)


def test_a_time_on_slower_gpus_holds_for_their_share(tmp_path: Path) -> None:
    """6,400 s of ResNet18 on a GPU of 1.6 times a V100 and 3 CPUs are all input; on a V100 they are, too."""
    one = tmp_path / "one.csv"
    one.write_text(
        "job_id,submit_s,gpus,duration_s,model,measured_on\na,0,1,6400,res18,0.4\nb,0,1,100,,cluster\n"
    )
    run = simulation(tmp_path / "jobs.csv", f"workload.path={one}", "workload.measured_on=cluster")
    assert run.run(()).columns["running_ns"][0] / 1e9 == close(6400)


@pytest.mark.parametrize("estimates", ["exact", "optimistic_profiling"])
def test_a_share_is_that_of_machines_that_only_join_later(tmp_path: Path, estimates: str) -> None:
    """CPUs at the start, servers at 900 s: 6,400 s of ResNet18 on 3 CPUs of these, 7,300 in all."""
    one, joins = tmp_path / "one.csv", tmp_path / "joins.csv"
    one.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,6400,res18\n")
    joins.write_text("time_s,kind,machine,deadline_s,type,rack\n900,join,x1,,v100_24cpu,0\n")
    cpu = "{gpus:0,cpus:16,memory_gib:64,gpu_type:none,speed:1,memory_bandwidth_gb_s:100}"
    settings = (
        *(f"+topology.machine_types.cpu={cpu}", "cluster.machines=[{type:cpu,count:1}]"),
        *(f"cluster.events={joins}", f"workload.path={one}", f"estimates={estimates}"),
    )
    run = simulation(tmp_path / "jobs.csv", *settings)
    columns = run.run(()).columns
    assert columns["finish_ns"][0] / 1e9 == close(7300)
    assert columns["compute_ns"][0] / 1e9 == close(6400 / 2.4)


def test_jobs_without_overhead_tie_in_dally_s_order():
    """Jobs of 12.5 ms and 20 ms, 100 ms after they started: 1 for both.

    Of 12.5 ms ResNet18 computes for 12.5 / 2.4, which are no whole ns: rounded, its 8 iterations are
    99,999,992 ns, 5 of GNMT are 100,000,000.
    """
    seen = []

    def start(view, plan):
        plan.place(0, on(held(0, 1, 3, 62.5)))
        plan.place(1, on(held(1, 1, 3, 62.5)))

    def look(view, plan):
        seen.append(sensitivity(view.jobs).tolist())

    jobs = [measured("ResNet18", 1, 0.0125, name="a"), measured("GNMT", 1, 0.02, name="b")]
    policy = Scripted({0: start, 0.1: look})
    policy.knows_iterations = True
    run_checked(jobs, SERVERS, policy, stalling())
    assert seen == [[1.0, 1.0]]


REQUESTS = """job_id,submit_s,gpus,duration_s,model,cpus
many,0,4,6400,BAT,28
none,0,5,6400,VGG16,0
apart,0,8,6400,ResNet50,8
cores,0,0,1000,,3
few,9000,1,6400,AlexNet,1
"""


@pytest.mark.parametrize(
    ("fill", "few", "many", "apart"),
    [
        ("as_asked", 6400, 6400, 6400),
        ("proportional", 6400 / 3.9 / 0.989, 6400 * 0.986 * 5.6 / 5.5, 6400 * 0.994 / 0.95),
    ],
)
def test_run_times_hold_for_the_cpus_that_jobs_ask_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fill: str, few: float, many: float, apart: float
) -> None:
    """With these all jobs take what the trace says, with their share those that asked for too few take less.

    AlexNet asks for 1 CPU of 3.9: it computes for 6,400 / 3.9 s, and loses 1.1 % of its speed to a fifth CPU.
    BAT asks for 7 a GPU of 5.6, which is 1.4 % slower, and has 22 for 4 GPUs as its share. ResNet50 asks for
    5 on a machine with 5 GPUs and 3 on one with 3, where 2 do: 0.6 and 0.33 a GPU are too many; of the share
    5.2. VGG16 asks for none: its time holds for its share. AlexNet comes last, to have PCIe for itself.
    """
    caplog.set_level("INFO", logger="artist.workload.measured")
    trace = tmp_path / "requests.csv"
    trace.write_text(REQUESTS)
    run = simulation(
        *(tmp_path / "jobs.csv", "topology=pcie_10g", "cluster.machines=6", f"workload.path={trace}"),
        *("performance.sensitivity=coda", "performance.measured_with=request", f"policy.fill={fill}"),
    )
    columns = run.run(()).columns
    assert columns["running_ns"] / 1e9 == close([many, 6400, apart, 1000, few])
    assert columns["compute_ns"][-1] / 1e9 == close(6400 / 3.9)
    measured = [record.message for record in caplog.records if record.name == "artist.workload.measured"]
    assert measured == [
        "1 of 4 GPU jobs ask for no CPUs: their run times hold for those in proportion to their GPUs"
    ]


@pytest.mark.parametrize(("measured_with", "running_s"), [("v100_24cpu", 1000 / 1.75), ("share", 1000)])
def test_more_cpus_per_gpu_help_the_share_only_if_run_times_hold_for_fewer(
    tmp_path: Path, measured_with: str, running_s: float
) -> None:
    """ResNet18 has 6 CPUs as its share of a server of 48, with which it is 1.75 times as fast as with 3.

    So 1,000 s that hold for a share of 3 become 571 (Synergy, section 5.5); 1,000 s of whatever share stay.
    """
    trace = tmp_path / "one.csv"
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,1000,ResNet18\n")
    run = simulation(
        *(tmp_path / "jobs.csv", "topology=v100_synergy", "cluster.machine_type=v100_48cpu"),
        *(f"workload.path={trace}", "performance.sensitivity=synergy", "policy=synergy_proportional"),
        f"performance.measured_with={measured_with}",
    )
    assert run.run(()).columns["running_ns"][0] / 1e9 == close(running_s)


def test_run_times_of_unknown_machines_are_refused(tmp_path: Path) -> None:
    """The types of the topology are listed, after the words that are no types."""
    told = "performance.measured_with: unknown machine type\n.*share, request, or a machine type: v100_24cpu"
    with pytest.raises(InputError, match=told):
        simulation(
            *(tmp_path / "jobs.csv", "topology=v100_synergy", "performance.sensitivity=synergy"),
            "performance.measured_with=v100_28cpu",
        )


def test_requests_without_needs_are_refused(tmp_path: Path) -> None:
    """If no job depends on CPUs the setting has no effect, so it is a slip."""
    told = r"measured_with=request does nothing without a sensitivity\n.*=synergy \(or coda, or a file\)"
    with pytest.raises(InputError, match=told):
        simulation(tmp_path / "jobs.csv", "performance.sensitivity=null", "performance.measured_with=request")


@pytest.mark.parametrize(
    ("mechanism", "cpus"),
    [("proportional", (5, 11)), ("tune", (4, 12)), ("opt", (4, 12)), ("greedy", (4, 12))],
)
def test_synergy_gives_jobs_the_best_number_of_cpus_and_no_more(
    tmp_path: Path, mechanism: str, cpus: tuple[int, int]
) -> None:
    """AlexNet needs 3.9 CPUs, two GPUs of BAT 11.2; 5 of 28 and 11 are their shares.

    Since more CPUs slow jobs down, the best case is the best number, and CPUs that are left stay free.
    """
    trace = tmp_path / "two.csv"
    trace.write_text("job_id,submit_s,gpus,duration_s,model\na,0,1,1000,AlexNet\nb,0,2,1000,BAT\n")
    run = simulation(
        *(tmp_path / "jobs.csv", "topology=pcie_10g", "cluster.machines=1", f"workload.path={trace}"),
        *("performance.sensitivity=coda", "policy=synergy", f"policy.mechanism={mechanism}"),
    )
    held: dict[int, int] = {}

    class Watching:
        def observe(self, time_ns: int, events: Sequence[Event], gauges: object) -> None:
            held.update({e.job: e.allocation.slices[0].cpus for e in events if isinstance(e, Start)})

    run.run((Watching(),))
    assert tuple(held.values()) == cpus
