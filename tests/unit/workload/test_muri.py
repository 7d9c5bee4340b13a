"""The readers of Muri's and Tiresias' CSV: seconds here, milliseconds there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.workload.readers.muri import MuriCsv
from artist.workload.readers.tiresias import TiresiasCsv
from artist.workload.table import work_s
from netmodels.profiles.profile import profile_names

Write = Callable[..., Path]
MURI = """\
job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,\
resource_time_0,resource_time_1,resource_time_2,priority
0,8,0,1000,bert,4,210000,91000,200,0.5,140,50,0
1,1,28000,10,vgg16,16,2140,28000,214,82,75,0,1
2,1,29000,10,dqn,16,0,1000,214,82,75,0,1
"""
TIRESIAS = """\
job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,600,vgg19,150,30
1,8,30,133,inception4,0,23
2,2,20,100,mine,50,26
"""


def test_muris_milliseconds(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """1000 iterations of 0.2 s are 200 s, whatever the duration of 210 s says; job 2 is left out."""
    table = MuriCsv(path=write(MURI)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "iterations", "compute_s", "model"]].values.tolist() == [
        ["0", 0.0, 8, 1000, 0.2, "BERT-large"],
        ["1", 28.0, 1, 10, 0.214, "VGG16"],
    ]
    assert work_s(table).tolist() == pytest.approx([200.0, 2.14])
    assert "left out 1 of 3 jobs: duration is 0" in caplog.text


def test_the_rules_of_muri(write: Write) -> None:
    """By duration: 210 s / 1000. Without the network stage: 200 - 50 = 150 ms, or 210 x 3/4 = 157.5 s."""
    assert MuriCsv(path=write(MURI), work="duration").table().frame()["compute_s"].iloc[0] == pytest.approx(
        0.21
    )
    alone = MuriCsv(path=write(MURI), network="subtract").table().frame()
    assert alone["compute_s"].tolist() == pytest.approx([0.15, 0.214])
    both = MuriCsv(path=write(MURI), network="subtract", work="duration").table().frame()
    assert work_s(both)[0] == pytest.approx(157.5)
    unnamed = MuriCsv(path=write(MURI), model_names={"bert": None}).table().frame()
    assert unnamed["model"].tolist() == ["", "vgg16"]


def test_muris_stages(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    """Bert: 0.5 ms of loading, 2/3 storage; the GPU 140 of 200 ms. vgg16: 24 : 4 of 82 ms; 75 of 214 ms.

    2 GPUs more than 6 are a power of two.
    """
    table = MuriCsv(path=write(MURI.replace("0,8,0,", "0,6,0,"))).table().frame()
    stages = ["storage_s", "cpu_s", "gpu_s", "network_s", "gpu_utilization"]
    assert table[stages].iloc[0].tolist() == pytest.approx([0.3335e-3, 0.1665e-3, 0.14, 0.05, 0.7])
    assert table[stages].iloc[1].tolist() == pytest.approx([70.274e-3, 11.726e-3, 0.075, 0, 75 / 214])
    assert table["gpus"].tolist() == [8, 1]
    assert "1 of 2 jobs get more GPUs: the next power of two" in caplog.text
    kept = (
        MuriCsv(path=write(MURI.replace("0,8,0,", "0,6,0,")), odd_gpus="keep", storage_shares={})
        .table()
        .frame()
    )
    assert kept["gpus"].tolist() == [6, 1]
    assert kept["storage_s"].tolist() == kept["cpu_s"].tolist() == pytest.approx([0.25e-3, 41e-3])


def test_the_gpu_stage_and_the_class(write: Write) -> None:
    """GPUs are busy for 140 of 200 ms, for 140 of 150 without the network stage, and for 75 of 214.

    Priority 0 is guaranteed, and so are all jobs of a file without priorities. No GPU stage: all of the time.
    """
    table = MuriCsv(path=write(MURI)).table().frame()
    assert table["gpu_utilization"].tolist() == pytest.approx([0.7, 75 / 214])
    assert table["guaranteed"].tolist() == [1, 0]
    alone = MuriCsv(path=write(MURI), network="subtract", work="duration").table().frame()
    assert alone["gpu_utilization"].tolist() == pytest.approx([140 / 150, 75 / 214])
    unnamed = (
        MuriCsv(path=write(MURI.replace(",priority", ",x").replace(",140,50,", ",,50,"))).table().frame()
    )
    assert unnamed["guaranteed"].tolist() == [1, 1]
    assert unnamed["gpu_utilization"].iloc[0] == 1


def test_tiresias_seconds(write: Write) -> None:
    """600 iterations share 150 s; job 1 ran 0 s; a name without a rule stays, for the profiles to judge."""
    table = TiresiasCsv(path=write(TIRESIAS)).table().frame()
    assert table[["job_id", "submit_s", "gpus", "iterations", "duration_s", "model"]].values.tolist() == [
        ["0", 0.0, 1, 600, 150.0, "VGG19"],
        ["2", 20.0, 2, 100, 50.0, "mine"],
    ]
    ignored = (
        TiresiasCsv(path=write(TIRESIAS), iterations="ignore", zero_duration="one_second").table().frame()
    )
    assert ignored["iterations"].isna().all()
    assert ignored["model"].tolist() == ["VGG19", "InceptionV3", "mine"]


def test_a_file_of_muri_is_not_read_in_seconds(write: Write) -> None:
    """Its columns are those of Tiresias and more: a thousand times too long, and nobody would see it."""
    with pytest.raises(InputError, match="a file of Muri"):
        TiresiasCsv(path=write(MURI)).table().frame()
    with pytest.raises(InputError, match="unknown header"):
        MuriCsv(path=write(TIRESIAS)).table().frame()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MURI.replace(",200,0.5", ",,0.5"), "line 2: iteration_time is missing"),
        (MURI.replace("28000,10,", "28000,1.5,"), "line 3: iterations is not a whole number"),
        (MURI.replace("\n1,", "\n0,"), "line 3: job_id is a duplicate"),
        (MURI.replace("210000", "-2000"), "line 2: duration is negative"),
        (MURI.replace(",140,", ",-140,"), "line 2: resource_time_1 is negative"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """One wrong value in a good file."""
    with pytest.raises(InputError, match=words):
        MuriCsv(path=write(text), bad_rows="refuse").table().frame()


def test_a_network_stage_longer_than_the_iteration(write: Write) -> None:
    """Nothing would be left to compute."""
    with pytest.raises(InputError, match="line 2: resource_time_2 leaves no time"):
        MuriCsv(
            path=write(MURI.replace(",140,50,", ",140,200,")), bad_rows="refuse", network="subtract"
        ).table().frame()


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("traces/tiresias-muri/muri_trace1.csv", 1494),
        ("traces/tiresias-muri/muri_trace3.csv", 992),
        ("traces/tiresias-muri/muri_cluster_trace.csv", 400),
        *((f"reference/muri/job_type_{k}.csv", 992) for k in (1, 2, 3, 4)),
        ("reference/muri/testbed_400job.csv", 400),
    ],
)
def test_the_files_of_muri(shared: Path, name: str, jobs: int) -> None:
    """Their READMEs' counts; every model has a profile; in Philly's VCs the product is the duration."""
    table = MuriCsv(path=shared / name).table().frame()
    assert len(table) == jobs
    assert set(table["model"]) <= set(profile_names())
    if jobs != 400:
        total_s = table["duration_s"].sum()
        assert work_s(table).sum() == pytest.approx(total_s, rel=1e-5)


def test_the_file_of_tiresias(traces: Path) -> None:
    """60 jobs, 606 iterations of the first in 164 s; every model has a profile or a stand-in."""
    table = TiresiasCsv(path=traces / "tiresias-muri/tiresias_60_job.csv").table().frame()
    assert len(table) == 60
    assert table.iloc[0][["iterations", "duration_s", "model"]].tolist() == [606, 164.0, "VGG19"]
    assert set(table["model"]) <= set(profile_names())
