"""The command artist-trace: what it says, writes, draws and refuses."""

import csv
from pathlib import Path

import pytest

JOBS = """\
job_id,submit_s,gpus,duration_s,model,vc
a,0,1,100,VGG11,x
b,10,2,50,,y
c,40,8,25,VGG11,x
"""
GAVEL = "LM (batch size 40)\tx\tlm\t-s\t1\t4000\t2\t1\t-1.0\t0\n"
OWN = ("workload=csv", "workload.path=own.csv", "cluster.machines=2")


@pytest.fixture
def describe(trace):
    """Write the three jobs where the command runs."""
    Path("own.csv").write_text(JOBS)
    return trace


def rows_of(name):
    """Return the numbers of a CSV file by trace, statistic and what of it."""
    with Path(name).open(newline="") as file:
        return {(row["trace"], row["statistic"], row["of"]): row["value"] for row in csv.DictReader(file)}


def test_alone_it_describes_the_jobs_of_the_demo(trace):
    """400 jobs for about 90 % of 128 GPUs, with dates; they name no models."""
    result = trace()
    assert (result.code, result.err) == (0, "")
    row = result.table()[0]
    assert row[:2] == ["synthetic", "400"]
    assert float(row[-2]) == pytest.approx(0.9, abs=0.05)
    assert "Models: none is named" in result.out


def test_three_jobs_by_hand(describe):
    """400 GPU-s over 40 s on 2 x 8 GPUs: load 10 / 16 = 0.625; 400 / (0.9 x 40 x 8) = 1.4: 2 machines."""
    result = describe(*OWN)
    assert result.code == 0
    (row, _) = result.table()
    assert row == ["own", "3", "40", "s", "-", "2", "3.67", "8", "0.111", "16", "0.625", "2"]
    assert result.table("Jobs by GPUs, %") == [["own", "33.3", "33.3", "0", "33.3", "0", "0", "0", "0"]]
    assert result.table("GPU time by GPUs, %") == [["own", "25.0", "25.0", "0", "50.0", "0", "0", "0", "0"]]
    assert result.table("Run time without waiting")[0][1:3] == ["58.3", "s"]
    assert result.table("Time between arrivals")[0][1:3] == ["20", "s"]
    assert result.table("Arrivals by hour of the day, % of the jobs")[0][:3] == ["own", "*", "100.0"]
    assert [row[1:] for row in result.table("Models")] == [
        ["VGG11", "2", "66.7", "75.0"], ["(not", "named)", "1", "33.3", "25.0"],
    ]  # fmt: skip


def test_cpus_asked_have_a_table_where_jobs_ask_for_any(describe):
    """4 CPUs for 100 s and, of a job without GPUs, 3 for 25 s: 475 CPU-s over 40 s are 0.424 of 28 CPUs."""
    assert "CPUs asked" not in describe(*OWN).out
    rows = "a,0,1,4,100,VGG11\nb,10,2,0,50,VGG11\nc,40,0,3,25,\n"
    Path("own.csv").write_text("job_id,submit_s,gpus,cpus,duration_s,model\n" + rows)
    machine = "topology=pcie_10g", "cluster.machines=1", "cluster.racks=null"
    result = describe(*OWN[:2], *machine, "csv=out.csv")
    assert result.code == 0, result.err
    assert result.table("CPUs asked") == [["own", "1", "1", "4.00", "3.00", "0.132", "0.424"]]
    assert "GPUs per job: of the jobs that use GPUs" in result.out
    assert float(rows_of("out.csv")["own", "cpus_asked", "load"]) == pytest.approx(475 / (28 * 40))


T4_ONLY = "cluster.machines=[{type: t4_8gpu, count: 3}]"
T4_AND_V100 = "cluster.machines=[{type: t4_8gpu, count: 3}, {type: v100_8gpu, count: 1}]"


@pytest.mark.parametrize(
    ("settings", "load", "machines"),
    [
        (("workload.measured_on=V100",), "0.156", "1"),
        (("topology=v100_100g",), "0.625", "2"),
        (("topology=v100_100g", "workload.measured_on=H100"), "2.500", "6"),
        (("topology=v100_t4_pools", T4_ONLY), "0.417", "2"),
        (("topology=v100_t4_pools", T4_AND_V100), "0.625", "3"),
    ],
)
def test_loads_and_machines_count_speeds(describe, settings, load, machines):
    """400 GPU-s over 40 s on 2 x 8 GPUs are a load of 0.625 where measured.

    100 GPU-s on H100, if measured on V100, are 0.156; 1600 on V100, if on H100, 2.5, and 1600 / (0.9 x 40
    x 8) = 5.6 machines. 3 machines of T4 for jobs of T4: 400 / (40 x 24) = 0.417. With one of V100, whose
    jobs they are then: its 8 GPUs and 24 / 3 make 16 in four machines, 400 / (40 x 16) = 0.625 and
    400 / (0.9 x 40 x 4) = 2.8 machines.
    """
    result = describe(*OWN, *settings)
    assert result.code == 0
    assert result.table()[0][-2:] == [load, machines]


def test_arrivals_aim_at_a_load_that_counts_speeds(describe):
    """8 V100 and 24 T4 are 16 V100: compressed to a load of 0.5 it is that, not of 32 GPUs."""
    result = describe(*OWN, "topology=v100_t4_pools", T4_AND_V100, "arrivals=compress", "arrivals.load=0.5")
    assert result.table()[0][-2] == "0.500"


def test_the_load_over_time_is_of_all_gpus_by_their_speed(describe):
    """32 GPUs that are 16 V100: the load that arrives, over time, has the mean of the whole, 0.625."""
    assert describe(*OWN, "topology=v100_t4_pools", T4_AND_V100, "csv=mixed.csv").code == 0
    rows = rows_of("mixed.csv")
    arriving = [float(value) for key, value in rows.items() if key[1] == "load_arriving_from_s"]
    assert sum(arriving) / len(arriving) == pytest.approx(0.625)


def test_each_of_several_topologies_has_its_own_times(describe):
    """Measured on H100: 0.625 there, four times that on V100; the jobs are read once for each."""
    result = describe(*OWN, "topology=dgx_h100_3tier,v100_100g", "workload.measured_on=H100")
    assert [row[-2] for row in result.table()[:2]] == ["0.625", "2.500"]


def test_the_load_over_time_counts_speeds(describe):
    """On V100, measured on H100: four times the GPU time arrives, and is in use, as run times are longer."""
    for name, settings in (("a", ()), ("b", ("topology=v100_100g", "workload.measured_on=H100"))):
        assert describe(*OWN, *settings, f"csv={name}.csv").code == 0
    before, after = rows_of("a.csv"), rows_of("b.csv")
    loads = [key for key in before if key[1] == "load_arriving_from_s"]
    assert loads
    assert [float(after[key]) for key in loads] == [4 * float(before[key]) for key in loads]


def test_the_csv_has_every_number(describe):
    """One a row, exact, with units in the names."""
    assert describe(*OWN, "csv=out/own.csv").code == 0
    rows = rows_of("out/own.csv")
    assert rows["own", "offered_load", ""] == "0.625"
    assert rows["own", "duration_s", "max"] == "100.0"
    assert rows["own", "share_of_gpu_time_by_gpus", "5-8"] == "0.5"
    assert rows["own", "jobs_by_model", "VGG11"] == "2"
    assert rows["own", "machines_for_load", "0.9"] == "2"


def test_workloads_and_their_files_go_in_pairs(describe):
    """Two readers, two files: two rows, not four; the jobs of one cluster size are described once."""
    Path("m.csv").write_text(
        "#job id,arrival time (sec),topology,shape,size,duration (sec)\n"
        "0,0,C,8,8,60\n1,60,C,8,8,0\n2,120,C,8,8,60\n"
    )
    result = describe("workload=csv,lingjun", "workload.path=own.csv,m.csv", "cluster.machines=2,4")
    assert result.code == 0
    cells = [row[:3] for row in result.table()[:4]]
    sizes = ("cluster.machines=2", "cluster.machines=4")
    assert cells == [[name, size, n] for name, n in (("own", "3"), ("m", "2")) for size in sizes]
    assert [row[0] for row in result.table("Jobs by GPUs, %")] == ["own", "m"]
    assert result.err.count("left out 1 of 3 jobs: duration is 0") == 1  # read once for both clusters


def test_two_files_of_one_reader(describe):
    """A list of paths alone."""
    Path("other.csv").write_text(JOBS.replace("a,0,1", "a,0,64"))
    result = describe("workload=csv", "workload.path=own.csv,other.csv", "cluster.machines=2")
    rows = result.table()
    assert [row[0] for row in rows[:2]] == ["own", "other"]
    assert rows[1][7] == "64!"
    assert "! more than the cluster has" in result.out


def test_arrivals_count(describe):
    """Compressed to load 0.5 of 16 GPUs, the span is 400 / 8 = 50 s."""
    (row, _) = describe(*OWN, "arrivals=compress", "arrivals.load=0.5").table()
    assert (row[2:4], row[-2]) == (["50", "s"], "0.500")
    at_once = describe(*OWN, "arrivals=batch", "plot=a.svg")
    assert at_once.table()[0][-2:] == ["-", "-"]


def test_rows_left_out_by_a_reader_are_reported(describe):
    """On stderr, as counted by the reader."""
    Path("g.trace").write_text(GAVEL * 2)
    Path("t.json").write_text('{"v100": {"(\'LM (batch size 40)\', 2)": {"null": 80}}}')
    result = describe(
        "workload=gavel", "workload.path=g.trace", "workload.throughputs=t.json", "workload.first=1"
    )
    assert result.code == 0
    assert "took 1 of 2 jobs" in result.err
    assert result.table("Models")[0][1] == "LSTM"


@pytest.mark.parametrize("kind", [pytest.param("png", marks=pytest.mark.slow), "svg"])
def test_plots(describe, kind):
    """Files of the kind that their names ask for; equal questions give equal bytes."""
    Path("d.csv").write_text("time_s,gpus\n0,4\n7200,1\n90000,0\n")
    for name in ("a", "b"):
        assert describe(*OWN, f"plot={name}.{kind}").code == 0
        assert describe("demand.path=d.csv", f"plot=demand_{name}.{kind}").code == 0
    magic = {"png": b"\x89PNG", "svg": b"<?xml"}[kind]
    for name in ("", "demand_"):
        content = Path(f"{name}a.{kind}").read_bytes()
        assert content == Path(f"{name}b.{kind}").read_bytes()
        assert content.startswith(magic)
    assert (
        describe("workload=csv", "workload.path=own.csv", "cluster.machines=1,2,3", f"plot=c.{kind}").code
        == 0
    )


def test_a_demand_series(describe):
    """4 GPUs for 2 h, then 1 for 23 h: mean 31 / 25 = 1.24 over 25 h, the peak at the start."""
    Path("d.csv").write_text("time_s,gpus\n0,4\n7200,1\n90000,0\n")
    result = describe("demand.path=d.csv", "csv=d.out")
    assert result.code == 0
    cells = result.table()[0]
    assert cells[:10] == ["d.csv", "*", "60", "min", "25", "h", "1.24", "4", "1", "3.23"]
    assert cells[10:] == ["day", "0,", "00:00", "1", "2"]
    rows = rows_of("d.out")
    assert rows["d.csv", "gpus", "peak"] == "4.0"
    assert rows["d.csv", "gpus_from_s", "7200"] == "1.0"


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (("workload=csv",), "workload.path: "),
        (("workload=csv", "workload.path=nowhere.csv"), "nowhere.csv: no such file"),
        (("workload=csvv",), "workload: no such choice"),
        (("workload=helios", "workload.path=own.csv"), "own.csv, line 1: unknown header"),
        (("workload=csv,helios", "workload.path=own.csv,a,b"), "workload.path: not of one length"),
        ((*OWN, "workload.min_gpus=9"), "workload.min_gpus, max_gpus: no job is left"),
        ((*OWN, "cluster.machines=0"), "cluster.machines"),
        ((*OWN, "target_load=0"), "target_load: "),
        ((*OWN, "plot=a.gif"), "plot: unknown kind of figure"),
        (
            (*OWN[:2], "cluster.machines=1,2,3,4,5,6,7,8", "plot=a.png"),
            "plot: 8 workloads cannot be told apart",
        ),
        ((*OWN, "csv=/proc/nowhere/a.csv"), "csv: cannot be written"),
        (("demand.path=own.csv",), "own.csv, line 1: unknown header"),
        (("demand.path=own.csv", "demand.step_s=0"), "demand.step_s: "),
        (("foo=1",), "foo: unknown option"),
        (("--config-dir=nowhere",), "--config-dir: no such folder"),
        (("--shape",), "command line: unrecognized arguments"),
    ],
)
def test_bad_input_ends_in_two_lines(describe, arguments, first):
    """Message, field, value found and values allowed; never a traceback."""
    result = describe(*arguments)
    assert result.code == 2
    assert len(result.err.splitlines()) == 2
    assert result.err.startswith(first)
    assert "Traceback" not in result.err


def test_a_reader_of_ones_own(describe):
    """From the folder of --config-dir, as for artist."""
    Path("mine/workload").mkdir(parents=True)
    shipped = Path(__file__).resolve().parents[3] / "conf/workload/csv.yaml"
    Path("mine/workload/ours.yaml").write_text(shipped.read_text().replace("path: ???", "path: own.csv"))
    result = describe("--config-dir=mine", "workload=ours", "cluster.machines=2")
    assert result.table()[0][:2] == ["own", "3"]


def test_help_shows_the_fields_with_their_comments(describe, capsys):
    """Everything that can be set stands there."""
    with pytest.raises(SystemExit) as leaving:
        describe("--help")
    assert leaving.value.code == 0
    text = capsys.readouterr().out
    assert "target_load: 0.9" in text
    assert "demand series" in text
