"""The command artist-calibrate: what it prints, writes and refuses, and what a run does with it."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

import artist.app.cli
import artist.pricing.command
from artist.data import data_path
from artist.pricing.placements import tier_shapes
from artist.run.build import network_profiles
from artist.run.config import NetworkConfig
from netmodels.api import load_topology
from netmodels.calibration.calibrated import read_calibrated
from netmodels.calibration.fit import overhead
from netmodels.models.analytical import AnalyticalModel

PAPERS = "network.system.preset=papers"
ASTRA_SIM = (PAPERS, "network.system.across_machines=hierarchical")
TABLE_1 = {"VGG11": 1, "AlexNet": 2, "MobileNetV3": 42, "ResNet18": 7, "ResNet50": 12, "BERT-large": 8}
# One job of 8 GPUs: 1000 iterations of 1 s on one machine of the default cluster.
JOB = "job_id,submit_s,gpus,duration_s,iterations,compute_s,model\na,0,8,1000,1000,1,MobileNetV3\n"


def measured(*rows, header="model,gpus,machine_type,overhead,source"):
    """Write a table of measurements."""
    Path("mine.csv").write_text("\n".join([header, *rows]) + "\n")
    return "measured=mine.csv"


@pytest.mark.parametrize("method", ["scale_compute", "launch_overhead"])
@pytest.mark.parametrize("topology", ["dally_code", "dgx_h100_3tier"])
def test_after_calibration_the_machine_column_equals_the_measurement(calibrate, method, topology):
    """Table 1 of the Dally paper, which needs no argument: before next to nothing, after exact."""
    settings = (f"topology={topology}", *ASTRA_SIM)
    result = calibrate(f"method={method}", *settings)
    assert result.code == 0, result.err
    assert "measured: dally_table1.csv of the Dally paper" in result.err
    assert set(result.rows) == set(TABLE_1)
    for model, percent in TABLE_1.items():
        gpus, told, before, after, scale, launch_us, compute_before, compute_after = result.rows[model]
        assert gpus == "8"
        assert float(told) == float(after) == percent
        assert float(before) < 0.2
        scaled = method == "scale_compute"
        assert (float(scale) < 0.1, float(launch_us.replace(",", "")) == 0) == (scaled, scaled)
        assert (compute_after == compute_before) != scaled


@pytest.mark.parametrize("topology", ["cloud_ethernet", "dally_code", "dally_paper", "dgx_h100_3tier"])
def test_shipped_calibrations_equal_the_commands_output(calibrate, topology):
    """If a model, a fabric or the fit changed: artist-calibrate topology=T out=traces/calibrated/...

    Table 1 is of ASTRA-sim 1.0, which knows hierarchies and ideal links.
    """
    settings = (f"topology={topology}", *ASTRA_SIM)
    assert calibrate(*settings, "method=scale_compute", "out=now.yaml").code == 0
    shipped = data_path("traces", f"calibrated/dally_table1/{topology}.yaml").read_text()
    assert Path("now.yaml").read_text() == shipped


@pytest.mark.parametrize("name", ["dally_code", "dally_paper", "dgx_h100_3tier"])
def test_the_second_calibration_differs_in_resnet50_alone(name):
    """Compute is 343,055 us x 0.03395 = 11,647 us, as in the Dally authors' program; 12 % on a machine."""
    first, second = (
        yaml.safe_load(data_path("traces", f"calibrated/{folder}/{name}.yaml").read_text())
        for folder in ("dally_table1", "dally_table1_resnet50")
    )
    assert {first["models"].pop("ResNet50")["measured"], second["models"].pop("ResNet50")["measured"]} == {
        0.12
    }
    assert first.pop("method") == "scale_compute"
    assert first == second
    assert _resnet50(name, "dally_table1_resnet50").compute_ns == pytest.approx(11_647_000, rel=1e-4)
    assert _overheads(name, "dally_table1_resnet50")[0] == 12


def test_the_second_calibration_has_resnet50_of_table_1():
    """12, 12 and 38 % in the Dally paper. The first: 312 us of compute cannot hide what racks cost."""
    assert _overheads("dally_code", "dally_table1") == [12.0, 152.4, 3440.9]
    assert _overheads("dally_code", "dally_table1_resnet50") == [12.0, 12.1, 39.6]


def _resnet50(name, profiles):
    topology = load_topology(data_path("topologies", f"{name}.yaml"))
    config = NetworkConfig(
        model={"_target_": "netmodels.models.analytical.AnalyticalModel"}, profiles=profiles
    )
    return network_profiles(config, topology, topology.system("papers"), AnalyticalModel())("ResNet50")


def _overheads(name, profiles):
    """Return the overheads of ResNet50 on 8 GPUs by tier, in %."""
    topology = load_topology(data_path("topologies", f"{name}.yaml"))
    profile, fabric = _resnet50(name, profiles), topology.fabric
    shapes = tier_shapes(8, topology).values()
    system = replace(topology.system("papers"), across_machines="hierarchical")
    return [round(100 * overhead(AnalyticalModel(), profile, shape, fabric, system), 1) for shape in shapes]


def test_a_calibration_that_ships_is_named(called, tmp_path, monkeypatch):
    """On a fabric that it ships for it is the file; on another it says for which, and how to make one."""
    monkeypatch.chdir(tmp_path)
    assert simulated(called, JOB, "dally_table1").exposed_comm_s == pytest.approx(420, rel=1e-4)
    run = ("workload=csv", "workload.path=job.csv", "network.profiles=dally_table1", "topology=pcie_10g")
    code, _, err = called(artist.app.cli.main, *run)
    assert code == 2
    assert "ships for other topologies than pcie_10g" in err
    assert "artist-calibrate measured=dally_table1 topology=NAME" in err
    code, _, err = called(artist.app.cli.main, *run[:2], "network.profiles=dally_table1_resnet50", run[3])
    assert code == 2
    assert "artist-calibrate" not in err  # no table of measurements has this name


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ((), "collectives=astra_sim, not nccl"),
        ((PAPERS, "network.system.collectives=nccl"), "collectives=astra_sim, not nccl"),
        ((PAPERS, "network.system.bucket_cap_mb=25"), "bucket_cap_mb=null, not 25"),
        ((PAPERS, "network.system.across_machines=tree"), None),  # profiles are fitted within one machine
    ],
)
def test_profiles_calibrated_with_other_collectives_are_noted(called, settings, note):
    """Table 1 has 8 % for BERT-large on 8 GPUs; with NCCL's collectives these profiles have 48 %."""
    fixed = ("model=BERT-large", "shape=8", "topology=dgx_h100_3tier", "network.profiles=dally_table1")
    code, _, err = called(artist.pricing.command.main, *fixed, *settings)
    assert code == 0
    assert ("the profiles of dally_table1 were calibrated with" in err) == (note is not None)
    if note:
        assert f"were calibrated with network.system.{note}" in err


def test_settings_without_effect_are_refused(calibrate):
    """A profile fitted with chunks that NCCL's collectives lack would be the one without."""
    result = calibrate("topology=dgx_h100_3tier", "network.system.chunks=4", "out=new.yaml")
    assert result.code == 2
    assert "network.system.chunks: no effect with collectives=nccl" in result.err
    assert not Path("new.yaml").exists()


def test_the_file_records_its_sources(calibrate):
    """Method, table and its digest, network model and settings, fabric; by model both figures; no date."""
    assert calibrate("topology=dally_code", "out=a/b.yaml").code == 0
    table = data_path("traces", "measured/dally_table1.csv")
    file = yaml.safe_load(Path("a/b.yaml").read_text())
    assert file["method"] == "scale_compute"
    assert file["measured"] == {
        "file": "dally_table1.csv",
        "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
    }
    assert file["topology"] == "dally_code"
    assert file["network"]["model"] == "netmodels.models.analytical.AnalyticalModel"
    assert file["network"]["system"]["collective_optimization"] == "baseline"
    model = file["models"]["ResNet18"]
    assert model["measured"] == 0.07
    assert model["achieved"] == pytest.approx(0.07, rel=1e-3)
    assert (model["gpus"], model["machine_type"]) == (8, "dally_8gpu")
    assert model["source"] == "Dally paper Table 1"
    assert calibrate("topology=dally_code", "out=again.yaml").code == 0
    assert Path("again.yaml").read_bytes() == Path("a/b.yaml").read_bytes()


def test_a_table_of_ones_own(calibrate):
    """Two columns may be left out; models by any name; the GPUs of one machine type compute at its speed.

    ResNet50 takes 343.055 ms at speed 1, four times that on a V100 of speed 0.25.
    """
    table = measured("resnet-50,8,0.05", header="model,gpus,overhead")
    result = calibrate(table, "topology=v100_100g", "method=launch_overhead")
    assert result.code == 0, result.err
    (row,) = result.rows.values()
    assert row[1] == row[3] == "5"
    assert row[6:] == ["1,372.220", "1,372.220"]
    assert read_calibrated(Path("calibrated.yaml"))("ResNet50").launch_ns > 0


def test_the_machine_type_counts(calibrate):
    """The same overhead on GPUs of another speed is another scale."""
    scales = []
    for machine in ("v100_8gpu", "t4_8gpu"):
        assert calibrate(measured(f"VGG16,4,{machine},0.1,me"), "topology=v100_t4_pools").code == 0
        (model,) = yaml.safe_load(Path("calibrated.yaml").read_text())["models"].values()
        assert (model["machine_type"], model["gpus"]) == (machine, 4)
        scales.append(model["compute_scale"])
    assert scales[0] != scales[1]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("ResNet51,8,,0.1,", "did you mean 'ResNet50'"),
        ("ResNet50,8,nothing,0.1,", "unknown machine type"),
        ("ResNet50,9,,0.1,", "2 to 8"),
        ("ResNet50,1,,0.1,", "2 to 8"),
        ("ResNet50,eight,,0.1,", "2 to 8"),
        ("ResNet50,8,,ten,", "a fraction of compute"),
        ("ResNet50,8,,-0.1,", "a fraction of compute"),
        ("ResNet50,8,,nan,", "a fraction of compute"),
        ("ResNet50,8,,,", "a fraction of compute"),
        ("ResNet50,8,,0,", "no scale of compute gives this overhead"),
        ("resnet_18,8,,0.1,", "the same model as in mine.csv, line 2"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(calibrate, row, told):
    """Two lines, exit code 2, and nothing written."""
    result = calibrate(measured("ResNet18,8,,0.1,", row))
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()
    assert first.startswith("mine.csv, line 3")
    assert second.startswith("  found ")
    assert told in result.err
    assert not Path("calibrated.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["measured=nothing.csv"], "dally_table1"),
        (["measured=empty.csv"], "empty file"),
        (["measured=columns.csv"], "did you mean 'overhead'"),
        (["measured=lacking.csv"], "column is missing"),
        (["measured=bare.csv"], "empty table"),
        (["method=scale"], "scale_compute"),
        (["network=zero"], "no scale of compute gives this overhead"),
        (["network.profiles=old.yaml"], "profiles are calibrated as they ship"),
        (["method=launch_overhead", "measured=low.csv"], "(launch 0)"),
    ],
)
def test_bad_input_is_refused(calibrate, arguments, told):
    """Two lines that say what would have been right."""
    Path("empty.csv").write_text("")
    Path("columns.csv").write_text("model,gpus,overheads\nVGG11,8,0.1\n")
    Path("lacking.csv").write_text("model,overhead\nVGG11,0.1\n")
    Path("bare.csv").write_text("model,gpus,overhead\n")
    Path("low.csv").write_text("model,gpus,overhead\nVGG11,8,0.0000001\n")
    result = calibrate(*arguments)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) == 2
    assert told in result.err
    assert not Path("calibrated.yaml").exists()


def simulated(called, job, profiles):
    """Return the row of a run's only job."""
    Path("job.csv").write_text(job)
    fixed = ("workload=csv", "workload.path=job.csv", "topology=dally_code", "policy=fifo")
    code, _, err = called(
        artist.app.cli.main, *fixed, f"network.profiles={profiles}", f"output.dir=of-{profiles}"
    )
    assert code == 0, err
    (path,) = Path(f"of-{profiles}").rglob("jobs.parquet")
    return pd.read_parquet(path).iloc[0]


def test_a_run_prices_with_calibrated_profiles(calibrate, called):
    """MobileNetV3 loses 42 % on one machine; its compute is the trace's second, whatever the scale."""
    assert calibrate("topology=dally_code").code == 0
    before, after = (simulated(called, JOB, profiles) for profiles in ("null", "calibrated.yaml"))
    assert before.compute_s == after.compute_s == 1000
    assert before.exposed_comm_s < 1
    assert after.exposed_comm_s == pytest.approx(420, rel=1e-4)


def test_a_trace_of_durations_keeps_its_iterations(calibrate, called):
    """Their number comes from the profile that ships, so that calibration changes communication only."""
    assert calibrate("topology=dally_code").code == 0
    job = "job_id,submit_s,gpus,duration_s,model\na,0,8,1000,MobileNetV3\n"
    for profiles in ("null", "calibrated.yaml"):
        assert simulated(called, job, profiles).iterations == round(1000 / 0.008288)


def test_the_content_of_the_file_is_part_of_the_run_key(called, tmp_path, monkeypatch):
    """Another calibration is another run, under any name: no older run folder is taken for it."""
    monkeypatch.chdir(tmp_path)
    Path("job.csv").write_text(JOB)
    for name in ("mine.yaml", "mine"):
        for scale in (0.5, 0.25):
            Path(name).write_text(f"models: {{MobileNetV3: {{compute_scale: {scale}}}}}\n")
            run = ("workload=csv", "workload.path=job.csv", "policy=fifo", f"network.profiles={name}")
            assert called(artist.app.cli.main, *run)[0] == 0
    folders = [path.parent.name for path in Path("runs").rglob("summary.json")]
    assert len({name.rpartition("-")[2] for name in folders}) == 4


def test_a_calibration_from_another_fabric_is_warned_about(calibrate, called):
    """A user who calibrates on one fabric and simulates another is warned, unless the file names none."""
    assert calibrate("topology=dally_code", measured("MobileNetV3,8,,0.42,")).code == 0
    Path("job.csv").write_text(JOB)
    run = ("workload=csv", "workload.path=job.csv", "policy=fifo", "network.profiles=calibrated.yaml")
    code, _, err = called(artist.app.cli.main, *run, "network.system.preset=papers")
    assert code == 0
    assert "calibrated for topology dally_code, not dgx_h100_3tier" in err
    code, _, err = called(artist.app.cli.main, *run, "topology=dally_code")
    assert "calibrated for" not in err


@pytest.mark.parametrize("command", [artist.app.cli.main, artist.pricing.command.main])
def test_a_bad_file_of_profiles_is_refused(called, command, tmp_path, monkeypatch):
    """Before the clock starts, in two lines."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("models: {VGG11: {compute_scale: -1}}\n")
    for name, told in (("mine.yaml", "models.VGG11.compute_scale"), ("none.yaml", "none.yaml: no such file")):
        code, out, err = called(command, f"network.profiles={name}")
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 2
        assert told in err


def test_artist_network_prices_calibrated_profiles(calibrate, called):
    """The row of the machine has the overhead that was measured; others follow."""
    assert calibrate("topology=dally_code").code == 0
    prices = ("topology=dally_code", "model=ResNet18", "network.profiles=calibrated.yaml", "csv=prices.csv")
    code, _, err = called(artist.pricing.command.main, *prices)
    assert code == 0, err
    machine, rack, network = pd.read_csv("prices.csv").overhead
    assert machine == pytest.approx(0.07, rel=1e-3)
    assert (rack, network) == (pytest.approx(1.08, rel=0.01), pytest.approx(25.8, rel=0.01))


def test_a_model_that_the_gpus_cannot_hold_is_reported(calibrate):
    """As artist-network: Llama-2-7B lacks 21.9 GB on H100."""
    Path("mine.csv").write_text("model,gpus,overhead\nVGG16,8,0.1\nLlama-2-7B,8,0.1\n")
    result = calibrate("measured=mine.csv")
    assert result.code == 0, result.err
    assert result.err.count("more than H100 GPUs have") == 1
    assert "21.9 GB" in result.err
