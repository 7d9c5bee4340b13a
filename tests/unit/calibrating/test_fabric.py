"""artist-calibrate nccl=LOG: a topology that works at once, its error, a picture, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import artist.app.cli
import artist.pricing.command
from artist.calibrating.fabric import fitted, unmeasured
from artist.calibrating.gpus import known_gpu
from artist.data import data_path
from netmodels.api import MeasuredRun, load_topology

POINTS = ((1024, 30.0), (1 << 20, 60.0), (1 << 25, 400.0), (1 << 30, 9000.0))
MACHINE = ("speed=1", "cpus=96", "memory_gib=1000", "memory_bandwidth_gb_s=400")


@pytest.fixture
def logs(printed_log: Callable[..., str], calibrate: Callable[..., object]) -> Path:
    """A folder with logs of 2 machines of 8 GPUs: all-reduce and all-gather, and a file of another kind."""
    folder = Path("logs")
    folder.mkdir()
    for collective in ("all_reduce", "all_gather"):
        (folder / f"{collective}.log").write_text(printed_log(POINTS, collective=collective))
    (folder / "notes").write_text("slow day\n")
    return folder


def test_a_topology_that_is_named_keeps_its_machines(calibrate, logs):
    """Machine types and fabric of v100_100g, `nccl` is fitted; comments tell error and sources."""
    result = calibrate("nccl=logs", "topology=v100_100g", "out=mine/topology/ours.yaml", "plot=fit.png")
    assert result.code == 0, result.err
    path = Path("mine/topology/ours.yaml")
    topology = load_topology(path)
    assert topology.name == "ours"
    assert topology.machine_type().gpus == 8
    assert topology.fabric.nccl is not None
    assert topology.fabric.system.collectives == "nccl"
    text = path.read_text()
    for told in ("error of the fit: median", "all_reduce.log, line", "NVIDIA H100", "Left out: logs/notes"):
        assert told in text
    assert [line.split()[:2] for line in result.out.splitlines()[3:]] == [
        ["all_gather.log:1", "all_gather"],
        ["all_reduce.log:1", "all_reduce"],
        ["all", "8"],
    ]
    assert Path("fit.png").read_bytes().startswith(b"\x89PNG")


def test_the_topology_works_at_once(calibrate, called, logs):
    """`--config-dir mine topology=ours` prices placements and simulates."""
    assert calibrate("nccl=logs", "topology=v100_100g", "out=mine/topology/ours.yaml").code == 0
    options = ("--config-dir", "mine", "topology=ours")
    code, out, err = called(artist.pricing.command.main, *options, "model=VGG16", "shape=8+8")
    assert code == 0, err
    assert "VGG16" in out
    code, _, err = called(artist.app.cli.main, *options, "workload.jobs=3", "policy=fifo")
    assert code == 0, err


def test_without_a_topology_all_missing_fields_are_named_at_once(calibrate, printed_log):
    """The log has GPUs that neither a shipped topology nor a data sheet here has: the rest is to be given."""
    Path("all_reduce.log").write_text(printed_log(POINTS, gpu="NVIDIA X9"))
    result = calibrate("nccl=all_reduce.log", "out=own.yaml")
    assert (result.code, len(result.err.splitlines())) == (2, 2)
    assert all(f"machine.{option.partition('=')[0]}=..." in result.err for option in MACHINE)
    assert not Path("own.yaml").exists()
    result = calibrate("nccl=all_reduce.log", "out=own.yaml", *(f"machine.{option}" for option in MACHINE))
    assert result.code == 0, result.err
    machine = load_topology(Path("own.yaml")).machine_type()
    assert (machine.gpus, machine.gpu_type, machine.cpus) == (8, "NVIDIA X9", 96)
    assert yaml.safe_load(Path("own.yaml").read_text())["machines_per_rack"] == 2


def test_a_log_of_one_machine_makes_a_topology_that_works(calibrate, called, printed_log):
    """Eight H100: the machine is that of h100_rails (112 CPUs, 2 TiB), as are racks of 32, not measured.

    The topology is used by the command that is printed.
    """
    Path("one.log").write_text("./all_reduce_perf\n" + printed_log(POINTS, machines=1))
    result = calibrate("nccl=one.log")
    assert result.code == 0, result.err
    assert "as hgx_h100 of h100_rails" in result.err
    told = "not measured: rack and network (no run on several machines); as in h100_rails"
    assert told in result.err.splitlines(), result.err
    assert f"# {told}" in Path("mine/topology/fitted.yaml").read_text().splitlines()
    topology = load_topology(Path("mine/topology/fitted.yaml"))
    shipped = load_topology(data_path("topologies", "hgx_h100_ib400.yaml"))
    assert replace(topology.machine_type(), name="hgx_h100") == shipped.machine_type()
    assert topology.machines_per_rack == 32
    assert topology.fabric.nccl.rack == shipped.fabric.nccl.rack
    command = next(line for line in result.err.splitlines() if line.startswith("to use it: artist "))
    options = command.removeprefix("to use it: artist ").split()
    code, _, err = called(artist.app.cli.main, *options, "workload.jobs=3", "policy=fifo")
    assert code == 0, err


def run_of(collective, machines=2, gpus=8):
    """Return a run of 1 GiB in 10 ms, 107.4 GB/s."""
    return MeasuredRun(collective, collective, machines, gpus, ((1 << 30, 1e4),))


@pytest.mark.parametrize(
    ("runs", "gpu_gb_s", "machine_gb_s"),
    [
        ([run_of("send_receive")], 107.4, 859),  # a GPU's; eight of them
        ([run_of("all_to_all")], 53.7, 429.5),  # half of each GPU's bytes leave: 107.4 / 2; 8 x 53.7
        ([run_of("all_to_all", gpus=1)], 53.7, 53.7),
        ([run_of("all_to_all", 4)], 80.5, 644),  # 24 of 32 parts leave: 107.4 x 3 / 4; 8 x 80.5
        ([run_of("all_gather")], 12.6, 100.7),  # a machine's: 15 / 16 x 107.4; / 8
        ([run_of("all_reduce")], 25.2, 201.3),  # 2 x 15 / 16 x 107.4; / 8
        ([run_of("all_gather"), run_of("send_receive")], 107.4, 100.7),  # one GPU fills the machine's port
        ([run_of("all_gather"), run_of("all_gather", gpus=1)], 53.7, 100.7),  # 1 / 2 x 107.4 by one GPU
    ],
)
def test_a_fit_without_a_topology_begins_with_the_bandwidths_measured(runs, gpu_gb_s, machine_gb_s):
    """Bus bandwidth is a machine's in rings, a GPU's in the others; `exchange` is at most 1."""
    topology = load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))
    nccl = fitted(runs, topology, "dgx_h100", nominal=False).nccl
    assert nccl.rack == nccl.network
    near = 0.01 if len(runs) == 1 else 0.1
    assert nccl.rack.gpu_gb_s == pytest.approx(gpu_gb_s, rel=near)
    assert nccl.rack.sends_gb_s(8, 16) == pytest.approx(machine_gb_s, rel=near)
    assert nccl.exchange <= 1


def test_no_exchange_is_faster_than_its_ports(calibrate, printed_log):
    """8 x 0.5 GiB leave a machine in 0.25 s, 17.2 GB/s by ports of 12.5: `exchange` stops at 1."""
    Path("one.log").write_text(
        printed_log([(1 << 29, 125_000.0), (1 << 30, 250_000.0)], collective="all_to_all")
    )
    result = calibrate("nccl=one.log", "topology=v100_100g", "out=own.yaml")
    assert result.code == 0, result.err
    assert load_topology(Path("own.yaml")).fabric.nccl.exchange == pytest.approx(1)


@pytest.mark.parametrize(
    ("machines", "nominal", "tiers"),
    [
        ((1,), True, ["rack and network (no run on several machines); as in X"]),
        (
            (2,),
            False,
            ["machine (no run on one machine alone); as in X", "network", "ASSUMPTION: as in a rack"],
        ),
        ((1, 2), True, ["network (no run states its racks); as in X, no faster than a rack"]),
    ],
)
def test_tiers_without_a_run_are_named(machines, nominal, tiers):
    """A run on several machines measures one rack at most."""
    told = unmeasured([run_of("all_reduce", count) for count in machines], "X", nominal)
    assert len(told) == (2 if machines == (2,) else 1)
    assert all(tier in " ".join(told) for tier in tiers)


@pytest.mark.parametrize(
    ("name", "gpu_type", "speed", "cpus"),
    [
        ("NVIDIA H100 80GB HBM3", "H100", 1, 56),
        ("NVIDIA A100-SXM4-40GB", "A100", 0.6, 32),  # of polaris_a100, with four
        ("NVIDIA A100 80GB PCIe", "A100", 0.6, 32),
        ("Tesla V100-SXM2-16GB", "V100", 0.25, 48),  # half of p3dn_v100
        ("Tesla T4", "T4", 1 / 12, 48),  # of cloud_ethernet
        ("NVIDIA H200", "H200", 1, 112),
        ("NVIDIA B200", "B200", 2.25, 56),
        ("NVIDIA GH200 480GB", "GH200", 1, 288),
        ("NVIDIA GeForce GTX 1080 Ti", "GTX1080Ti", 0.14, 22),  # 28 of 5 GPUs
        ("NVIDIA L40S", "L40S", 0.366, 56),  # 362 / 989.4
        ("NVIDIA H100 PCIe", "H100 PCIe", 0.764, 56),  # 756 / 989.4
        ("AMD Instinct MI300X", "MI300X", 1.32, 56),  # 1307.4 / 989.4
        ("AMD Instinct MI250X", "MI250X", 0.194, 56),
    ],
)
def test_a_gpu_is_known_by_its_name(name, gpu_type, speed, cpus):
    """Machines of four GPUs: CPUs per GPU of a shipped machine, 14 of a DGX H100 for other GPUs."""
    default = load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))
    fields = known_gpu(name, default, 4).fields(4)
    assert (fields["gpu_type"], fields["speed"], fields["cpus"]) == (gpu_type, pytest.approx(speed), cpus)


@pytest.mark.parametrize("name", ["NVIDIA T400", "NVIDIA A1000", "NVIDIA GB100", "Graphics Device", ""])
def test_a_gpu_with_a_similar_name_is_another(name):
    """A T400 is no T4."""
    assert known_gpu(name, load_topology(data_path("topologies", "dgx_h100_3tier.yaml"))) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("nccl=logs/all_reduce.log,logs/all_gather.log",),
        ("nccl=logs/all_reduce.log", "logs/all_gather.log"),  # as the shell writes out a pattern
        ("nccl=[logs/all_reduce.log, logs/all_gather.log]",),
        ("nccl=logs/*.log",),
    ],
)
def test_several_logs_are_named_in_any_way(calibrate, logs, arguments):
    """By commas, by words, as a list, by a pattern."""
    result = calibrate(*arguments, "topology=v100_100g")
    assert result.code == 0, result.err
    assert {"all_gather.log:1", "all_reduce.log:1"} < set(result.rows)
    assert Path("mine/topology/fitted.yaml").exists()


def test_equal_logs_make_equal_files(calibrate, logs):
    """No date, no path of this machine."""
    for out in ("a/same.yaml", "b/same.yaml"):
        assert calibrate("nccl=logs", "topology=v100_100g", f"out={out}").code == 0
    assert Path("a/same.yaml").read_bytes() == Path("b/same.yaml").read_bytes()


def test_two_clusters_in_one_call_are_refused(calibrate, logs, printed_log):
    """The names of the GPUs differ; where they do not, runs that differ more than twice are told."""
    other = logs / "all_reduce_a100.log"
    other.write_text(printed_log(POINTS, gpu="NVIDIA A100-SXM4-40GB"))
    result = calibrate("nccl=logs", "topology=v100_100g")
    assert result.code == 2
    assert "A100-SXM4-40GB in logs/all_reduce_a100.log" in result.err
    other.write_text(printed_log([(size, 3 * time_us) for size, time_us in POINTS]))
    result = calibrate("nccl=logs", "topology=v100_100g")
    assert result.code == 0
    assert "all_reduce.log:1 and all_reduce_a100.log:1 measure the same and differ 3 times" in result.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nccl=nothing.log"], "nothing.log"),
        (["nccl=empty.log"], "an empty file"),
        (["nccl=logs/notes"], "no row of nccl-tests"),
        (["nccl=pasted.log"], "machines=N gpus_per_machine=M"),
        (["nccl=pasted.log", "machines=2"], "gpus_per_machine"),
        (
            ["nccl=pasted.log", "machines=2", "gpus_per_machine=4"],
            "not the bandwidths of all_reduce on 8 GPUs",
        ),
        (["nccl=logs", "collective=allreduce"], "all_reduce"),
        (["nccl=logs", "plot=fit.jpg"], ".png or .svg"),
        (["nccl="], "a folder of them"),
        (["nccl=logs", "measured=dally_table1"], "one kind of measurement per call"),
        (["nccl=logs", "machine.gpus=0"], "machine.gpus"),
        (["nccl=logs", "machine.gpu=8"], "machine.gpu"),
        (["logs/all_reduce.log"], "nccl=logs/all_reduce.log"),
    ],
)
def test_bad_input_is_refused(calibrate, logs, arguments, told):
    """Two lines, exit code 2, and nothing written."""
    Path("empty.log").write_text("")
    rows = [line for line in (logs / "all_reduce.log").read_text().splitlines() if line[:1] == " "]
    Path("pasted.log").write_text("all_reduce_perf\n" + "\n".join(rows))
    result = calibrate(*arguments, "topology=v100_100g")
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 2
    assert told in result.err
    assert not Path("mine").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nccl=logs", "out=logs/all_reduce.log"], "a file that is read"),
        (["nccl=logs/all_*.log", "out=logs/../logs/all_gather.log"], "is read"),
        (["nccl=logs", "out=logs"], "a folder"),
        (["nccl=logs", "out=logs/notes/a.yaml"], "not in a folder"),
        (["nccl=logs", "out=a.png", "plot=a.png"], "written twice"),
        (["nccl=logs", "machine.gpus=4"], "runs have more GPUs per machine than its 4"),
        (["nccl=logs", "topology=alps_gh200"], "runs have more GPUs per machine than its 4"),
    ],
)
def test_options_that_would_destroy_or_contradict_a_measurement_are_refused(calibrate, logs, arguments, told):
    """Before the fit; runs of 8 GPUs per machine fit no machine of 4; the logs stay as they are."""
    before = {path: path.read_bytes() for path in sorted(logs.iterdir())}
    named = () if any("topology" in argument for argument in arguments) else ("topology=v100_100g",)
    result = calibrate(*arguments, *named)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 2)
    assert told in result.err
    assert {path: path.read_bytes() for path in sorted(logs.iterdir())} == before


def test_weak_fits_are_warned_about(calibrate, printed_log):
    """One all-reduce of 1 KiB in 20 ms on 4 of 8 GPUs of another name: no size says what bandwidths are."""
    Path("all_reduce.log").write_text(printed_log([(1024, 20_000.0), (2048, 20.0)], gpus=4))
    result = calibrate("nccl=all_reduce.log", "topology=v100_100g")
    assert result.code == 0
    assert "the logs are of NVIDIA H100 80GB HBM3, the topology of V100" in result.err
    assert "no run has more than 4 GPUs per machine, the topology has 8" in result.err
    assert "WARNING: no size above 2,048 bytes" in result.err
    assert "WARNING: the fit is off" in result.err
    Path("all_reduce.log").write_text(printed_log([(8, 20_000.0)]))
    assert "less than 20,000 us: times in us?" in calibrate("nccl=all_reduce.log", "topology=v100_100g").err
