"""The command artist-network: what it prices, prints, draws and refuses."""

import csv
from pathlib import Path

import pytest

from artist.data import data_path
from netmodels.api import load_topology, shape_of
from netmodels.models.analytical import AnalyticalModel
from netmodels.profiles.profile import get_profile, profile_names

OWN = """
name: mine
source: a test
machines_per_rack: 2
default_machine_type: box
machine_types:
  box: {gpus: 2, gpu_type: G, cpus: 4, memory_gib: 1, memory_bandwidth_gb_s: 10}
fabric:
  machine: [{kind: ring, latency_ns: 0, bandwidth_gbit_s: 8}]
  rack: [{kind: ring, latency_ns: 0, bandwidth_gbit_s: 8}]
  network: [{kind: ring, latency_ns: 0, bandwidth_gbit_s: 8}]
"""

PAPERS = "network.system.preset=papers"


def read(name):
    """Return the rows of a CSV file."""
    with Path(name).open(newline="") as file:
        return list(csv.DictReader(file))


def test_alone_it_shows_the_models_of_the_dally_paper_by_tier(network):
    """Six models on 8 GPUs in one machine, one rack, two racks; the default fabric."""
    result = network()
    assert result.code == 0
    assert len(result.rows) == 18
    assert [row[1] for row in result.rows[:2]] == ["8", "4+4"]
    assert result.rows[2][1:4] == ["4", "|", "4"]
    assert {row[0] for row in result.rows} == {
        "AlexNet", "VGG11", "MobileNetV3", "ResNet18", "ResNet50", "BERT-large",
    }  # fmt: skip


def test_the_csv_has_the_models_answers(network):
    """Every figure exact, units in the headings; bytes by tier are what each GPU sends."""
    assert network("model=ResNet50", "shape=5+3", "csv=out/prices.csv").code == 0
    (row,) = read("out/prices.csv")
    fabric = load_topology(data_path("topologies", "dgx_h100_3tier.yaml")).fabric
    shape = shape_of([(0, "dgx_h100", 5), (0, "dgx_h100", 3)])
    answer = AnalyticalModel().iteration(get_profile("ResNet50"), shape, fabric, fabric.system)
    assert (row["model"], row["placement"], row["tier"], row["gpus"]) == ("ResNet50", "5+3", "rack", "8")
    assert int(row["total_ns"]) == answer.total_ns == int(row["compute_ns"]) + int(row["exposed_ns"])
    assert int(row["comm_ns"]) == answer.comm_ns
    assert float(row["overhead"]) == answer.exposed_ns / answer.compute_ns
    for tier in ("machine", "rack", "network"):
        sent = sum(span.bytes for span in answer.spans if span.tier == tier)
        assert int(row[f"sent_{tier}_bytes"]) == sent


def test_lists_are_priced_one_after_the_other(network):
    """Columns that differ beside the usual ones lead the rows."""
    result = network("model=VGG16,GPT-2", "topology=dgx_h100_3tier,pcie_10g", "shape=4,2+2")
    assert len(result.rows) == 8
    assert {row[0] for row in result.rows} == {"dgx_h100_3tier", "pcie_10g"}
    settings = network("model=VGG16", "gpus=8", PAPERS, "network.system.collective_algorithm=ring,direct")
    assert settings.out.splitlines()[2].split()[0] == "collective_algorithm"
    assert [row[0] for row in settings.rows] == ["ring"] * 3 + ["direct"] * 3 + ["above"]  # the port: a note


@pytest.mark.slow
def test_all_models(network):
    """Every profile can be priced on every shipped fabric whose GPUs hold it, on mixed pools too."""
    topologies = [path.stem for path in sorted(data_path("topologies").glob("*.yaml"))]
    result = network("model=all", f"topology={','.join(topologies)}", "gpus=4")
    left_out = result.err.splitlines()
    assert result.code == 0
    assert {line.partition(" takes ")[0] for line in left_out} == {f"left out: Llama-2-{n}B" for n in (7, 70)}
    assert len(result.rows) == 3 * (len(profile_names()) * len(topologies) - len(left_out))
    assert network("model=all", "topology=v100_t4_pools", "shape=8+8@t4_8gpu").code == 0


def test_slower_gpus_compute_longer_and_the_slowest_sets_the_pace(network):
    """ResNet50: 343.055 ms on the reference GPU, at speed 0.25 four times that, with T4s twelve times."""
    rows = network("model=ResNet50", "topology=v100_t4_pools", "shape=8,8@t4_8gpu,8+8@t4_8gpu").rows
    assert [row[4] for row in rows] == ["1,372.220", "4,116.660", "4,116.660"]
    (scaled,) = network("model=ResNet50", "shape=8", "compute_scale=0.5").rows
    assert scaled[4] == "171.527"


def test_a_collective_by_hand(network):
    """1000 B over 2 GPUs, 1 byte/ns: all-reduce 2 x 500 + 30; others 500 + 20; bandwidths of nccl-tests."""
    Path("mine/topology").mkdir(parents=True)
    Path("mine/topology/mine.yaml").write_text(OWN)
    options = ("--config-dir=mine", "topology=mine", "bytes=1000", "shape=2", "csv=c.csv")
    options += (PAPERS, "network.system.transport=ideal")
    results = {}
    for collective in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
        assert network(*options, f"collective={collective}").code == 0
        (results[collective],) = read("c.csv")
    assert {name: int(row["time_ns"]) for name, row in results.items()} == {
        "all_reduce": 1030, "all_gather": 520, "reduce_scatter": 520, "all_to_all": 520,
    }  # fmt: skip
    assert (
        float(results["all_reduce"]["algorithm_gb_s"])
        == float(results["all_reduce"]["bus_gb_s"])
        == 1000 / 1030
    )
    assert float(results["all_gather"]["bus_gb_s"]) == 1000 / 520 / 2


def test_a_faster_fabric_hides_communication_that_a_slower_one_exposes(network):
    """At measured compute times, VGG16 hides its traffic on InfiniBand (0.4 %), not on a cloud's Ethernet."""
    assert (
        network("model=VGG16", "topology=dgx_h100_3tier,cloud_ethernet", "shape=4+4", "csv=f.csv").code == 0
    )
    fast, slow = read("f.csv")
    assert float(fast["overhead"]) < 0.005
    assert float(slow["overhead"]) > 1.0


@pytest.mark.parametrize("kind", [pytest.param("png", marks=pytest.mark.slow), "svg"])
def test_plots_and_drawings(network, kind):
    """Files of the kind that their names ask for; equal questions give equal bytes."""
    assert network("topology=dgx_h100_3tier,pcie_10g", "model=all", f"plot=a.{kind}").code == 0
    assert network("topology=dgx_h100_3tier,pcie_10g", "model=all", f"plot=b.{kind}").code == 0
    assert Path(f"a.{kind}").read_bytes() == Path(f"b.{kind}").read_bytes()
    assert network("topology=v100_t4_pools", "machine_type=t4_8gpu", f"draw=t4.{kind}").code == 0
    result = network("topology=dally_code", f"draw=fabric.{kind}")
    assert (result.out, result.err) == ("", f"written to fabric.{kind}\n")
    magic = {"png": b"\x89PNG", "svg": b"<?xml"}[kind]
    assert all(Path(name).read_bytes().startswith(magic) for name in (f"a.{kind}", f"fabric.{kind}"))


def test_a_plot_of_one_gpu_and_of_placements(network):
    """Nothing to send is a 0, not a hole; several placements of a tier are bars of their own."""
    assert network("model=LSTM", "gpus=1", "plot=one.svg").code == 0
    assert ">0</text>" in Path("one.svg").read_text()
    assert network("model=LSTM", "shape=4+4,5+3,7+1", "plot=some.svg").code == 0


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("model=ResNet5",), "model: unknown model"),
        (("shape=9",), "shape: more GPUs than a machine of type dgx_h100 has"),
        (("shape=4x",), "shape: not a placement"),
        (("topology=dgx",), "topology: no such choice"),
        (("gpus=x",), "gpus: wrong value"),
        (("gpus=0",), "gpus: wrong number of GPUs"),
        (("foo=1",), "foo: unknown option"),
        (("network.system.chunks=0",), "network.system.chunks: wrong number"),
        (
            ("network.system.collective_algorithm=tree",),
            "network.system.collective_algorithm: unknown choice",
        ),
        (("collective=broadcast",), "collective: wrong value"),
        (("bytes=0", "collective=all_reduce"), "bytes: wrong value"),
        (
            ("collective=all_reduce", "network=zero"),
            "network.model: this network model prices whole iterations",
        ),
        (("compute_scale=0",), "compute_scale: wrong value"),
        (("plot=a.gif",), "plot: unknown kind of figure"),
        (("shape=1,2,3,4,5,6", "plot=a.png"), "plot: 6 placements and 1 panels cannot be told apart"),
        (("csv=/proc/nowhere/a.csv",), "csv: cannot be written"),
        (("csv=a.csv,b.csv",), "csv: not several values"),
        (("collective=all_reduce", "plot=a.png"), "plot: a collective is priced by itself"),
        (("collective=all_reduce", "model=VGG16"), "model: a collective is priced by itself"),
        (("bytes=1e6",), "bytes: only a collective has a size of its own"),
        (("racks=3",), "racks: only a picture shows it"),
        (("draw=a.png", "topology=dally_code,dally_paper"), "draw: one picture shows one fabric"),
        (("model=[]",), "model: wrong value"),
        (("shape=[]",), "shape: wrong value"),
        (("compute_scale=1e300",), "compute_scale: wrong value"),
        (("compute_scale=interval(0,1)",), "compute_scale: not several values"),
        (("model=glob(*)",), "model: not several values"),
        (("bytes=true", "collective=all_reduce"), "bytes: wrong value"),
        (("network.system.chunks=100000",), "network.system.chunks: wrong number"),
        (
            ("topology.fabric.rack.0.latency_ns=1e19",),
            "topology dgx_h100_3tier, fabric.rack.0.latency_ns: wrong value",
        ),
        (("draw=a.png", "racks=0"), "racks: wrong value"),
        (("contention_packets=null",), "contention_packets: only jobs that share links are followed"),
        (("jobs=[VGG16 4|4,VGG16 4|4]", "contention_packets=-1"), "contention_packets: wrong value"),
        (
            ("jobs=[VGG16 4|4,VGG16 4|4]", "contention_packets=5"),  # NCCL's
            "contention_packets: there are no packets to be followed",
        ),
        (("--config-dir=nowhere",), "--config-dir: no such folder"),
        (("--shape",), "command line: unrecognized arguments"),
        (("shape",), ""),
    ],
)
def test_bad_input_ends_in_two_lines(network, arguments, first):
    """Message, field, value found and values allowed; never a traceback."""
    result = network(*arguments)
    assert result.code == 2
    assert len(result.err.splitlines()) == 2
    assert result.err.startswith(first)
    assert "Traceback" not in result.err


def test_help_shows_the_fields_with_their_comments(network, capsys):
    """Everything that can be set stands there."""
    with pytest.raises(SystemExit) as leaving:
        network("--help")
    text = capsys.readouterr().out
    assert leaving.value.code == 0
    for word in ("compute_scale", "collective", "draw", "shape=8,4+4,'4|4',5+3", "jobs='[GPT-2 4|4,"):
        assert word in text


def test_nccl_has_rows_beside_astra_sim(network):
    """An all-reduce of 1 GB over two machines: both ways of running it, with other answers."""
    both = "network.system.collectives=nccl,astra_sim"
    assert network("collective=all_reduce", "bytes=1e9", "shape=8+8", both, "csv=both.csv").code == 0
    rows = read("both.csv")
    assert [row["collectives"] for row in rows] == ["nccl", "astra_sim"]
    assert rows[0]["time_ns"] != rows[1]["time_ns"]


def test_send_and_receive_is_nccl_s(network):
    """Its bus bandwidth is bytes over time, as nccl-tests says; ASTRA-sim has no such collective."""
    nccl = "network.system.collectives=nccl"
    assert network("collective=send_receive", "bytes=1e9", "shape=8+8", nccl, "csv=ring.csv").code == 0
    (row,) = read("ring.csv")
    assert row["bus_gb_s"] == row["algorithm_gb_s"]
    result = network("collective=send_receive", "shape=8+8", PAPERS)
    assert result.code == 2
    assert nccl in result.err


def test_bytes_are_whole(network):
    """1.5 bytes were taken as 2."""
    assert network("collective=all_reduce", "bytes=1.5").code == 2


@pytest.mark.parametrize("without", ["network.system.collectives=nccl", "network=zero"])
def test_settings_without_effect_are_refused(network, without):
    """NCCL's collectives know no chunks, and no network knows any setting; one ring has some algorithm."""
    result = network("model=VGG16", "shape=4+4", without, "network.system.chunks=1,4")
    assert (result.code, result.out) == (2, "")
    assert f"network.system.chunks: no effect with {without.rpartition('.')[2]}\n  found 1;" in result.err


def test_settings_with_an_effect_inside_machines_alone_are_noted(network, caplog):
    """One ring through all GPUs has no levels, but a machine of its own has an algorithm."""
    network("model=VGG16", "shape=4+4", PAPERS, "network.system.collective_algorithm=direct")
    note = "network.system.collective_algorithm means nothing across machines with across_machines=flat_ring"
    assert [record.getMessage() for record in caplog.records] == [note]


def test_jobs_that_send_too_many_packets_are_named(network, caplog):
    """Two small jobs of AlexNet would take a minute; what is followed instead is quick."""
    fixed = ("topology=v100_100g", PAPERS, "network.system.transport=windows", "contention_packets=1000")
    assert network("jobs=[AlexNet 1|1,AlexNet 1|1]", "compute_scale=0.1", *fixed).code == 0
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("following all of about ")
    assert "min (contention_packets=null); jobs are followed in 4 cells per window" in said
    assert said.endswith("in 1/256 of the time: up to tens of % off")


def test_packets_without_effect_are_named_as_they_were_written(network, monkeypatch):
    """Without jobs, where collectives are no rings, and with ns-3, which has a number of its own."""
    monkeypatch.setattr("netmodels.ns3.model.version", lambda name: "3.44.post0")
    jobs, given = "jobs=[VGG16 4|4,VGG16 4|4]", "contention_packets=5,null"
    trees, none = "network.system.across_machines=tree", "there are no packets to be followed"
    for arguments, what in (
        ((given,), "only jobs that share links are followed\n  found '5,null'"),
        ((jobs, given), f"{none}\n  found '5,null'"),
        ((jobs, given, PAPERS, trees), f"{none}\n  found '5,null'"),
        ((jobs, given, "network=ns3"), "the network model follows its own packets\n  found '5,null'"),
        (
            (jobs, "contention_packets=2_000_000", PAPERS, trees),
            "there are no packets to be followed\n  found '2_000_000'",
        ),
    ):
        assert network(*arguments).err.startswith(f"contention_packets: {what}")


def test_a_bare_setting_is_led_to_its_place(network):
    """Files list the settings without their group."""
    assert "did you mean 'network.system.across_machines'?" in network("across_machines=tree").err


def test_answers_above_the_port_have_a_column_and_a_note(network):
    """Direct: 100 MB on 8 GPUs need 2 x 7/8 x 100 MB / 450 GB/s = 388.9 us; a ring's 397 us are no news."""
    options = ("collective=all_reduce", "bytes=1e8", "shape=8", PAPERS, "network.system.local_memory_gb_s=0")
    direct = "network.system.collective_algorithm=direct"
    *_, row, note = network(*options, direct, "csv=c.csv").out.splitlines()
    assert row.endswith("56.784    1761.06  3081.85  above the port: at least 388.889 us")
    assert note.startswith("above the port: messages do not share their port")
    assert Path("c.csv").read_text().splitlines()[1].endswith(",388889")
    assert "port" not in network(*options).out
    *_, row, note = network("model=VGG16", "shape=8", PAPERS, direct, "csv=p.csv").out.splitlines()
    assert "above the port: 0.389 for 2.154 ms" in row
    assert note.startswith("above the port: ")
    assert Path("p.csv").read_text().splitlines()[1].endswith(",2154473,model")


def test_a_model_that_the_gpus_cannot_hold_is_refused_and_left_out_of_all(network):
    """6.74e9 x 16 bytes = 107.8e9, 80 GiB = 85.9e9: Llama-2-7B lacks 21.9 GB, alone or beside another job."""
    lacking = "21.9 GB more than H100 GPUs have, and prices are of data parallelism\n  found 'Llama-2-7B'"
    for arguments in (["model=VGG16,Llama-2-7B"], ["jobs=[VGG16 4|4,Llama-2-7B 4|4]"]):
        result = network(*arguments)
        assert (result.code, result.out) == (2, "")
        assert lacking in result.err
    result = network("model=all")
    assert result.code == 0, result.err
    assert {"VGG16", "BERT-large"} <= {row[0] for row in result.rows}
    assert "Llama-2-7B" not in result.out
    assert result.err.count("left out: Llama-2-") == 2
