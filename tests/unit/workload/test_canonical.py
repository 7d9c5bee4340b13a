"""Our own CSV, which users convert to: the shipped sample and every way to get it wrong."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from artist.data import data_path
from artist.errors import InputError
from artist.workload.arrivals import load_of
from artist.workload.readers.canonical import CanonicalCsv

Write = Callable[..., Path]
GOOD = "job_id,submit_s,gpus,duration_s,model\na,0,1,100,VGG11\nb,5,2,50,\n"


def test_the_shipped_sample() -> None:
    """GPU-seconds 100 + 120 + 200 + 30 + 80 + 15 + 50 + 120 = 715; 120 s x 4 GPUs: load 715 / 480."""
    table = CanonicalCsv(path=data_path("traces", "tiny.csv")).table().frame()
    assert table["job_id"].tolist() == list("abcdefgh")
    assert load_of(table, cluster_gpus=4) == pytest.approx(715 / 480)


def test_columns_may_be_left_out(write: Write) -> None:
    """Only the id, the arrival, the GPUs and the work are needed."""
    table = CanonicalCsv(path=write(GOOD)).table().frame()
    assert table["model"].tolist() == ["VGG11", ""]
    assert table["user"].tolist() == ["", ""]


def test_dates_of_arrival(write: Write) -> None:
    """submit_date, where given, makes windows by date possible."""
    text = "job_id,submit_s,gpus,duration_s,submit_date\na,0,1,1,2020-06-01 12:30:00\n"
    assert CanonicalCsv(path=write(text)).table().frame()["submit_date"].tolist() == [
        pd.Timestamp("2020-06-01 12:30")
    ]
    with pytest.raises(InputError, match="line 2: submit_date is not a date"):
        CanonicalCsv(path=write(text.replace("2020-06-01", "June"))).table().frame()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        (GOOD.splitlines()[0], "no jobs"),
        (GOOD.replace("duration_s", "duratoin_s"), "unknown column\n  found 'duratoin_s'; .*mean duration_s"),
        (GOOD.replace("gpus", "cpus"), "column is missing"),
        (GOOD.replace("a,0,1", "a,zero,1"), "line 2: submit_s is not a number"),
        (GOOD.replace("a,0,1", "a,-2,1"), "line 2: submit_s is negative"),
        (GOOD.replace("a,0,1", "a,nan,1"), "line 2: submit_s is missing"),
        (GOOD.replace("a,0,1", "a,0,0"), "line 2: gpus is zero"),
        (GOOD.replace("a,0,1", "a,0,1.5"), "line 2: gpus is not a whole number"),
        (GOOD.replace("5,2,50", "5,2,0"), "line 3: duration_s is zero"),
        (GOOD.replace("5,2,50", "5,2,"), "line 3: duration_s is missing"),
        (GOOD.replace("b,5", "a,5"), "line 3: job_id is a duplicate"),
    ],
)
def test_bad_files(write: Write, text: str, words: str) -> None:
    """Each kind of bad input, with the line and the field."""
    with pytest.raises(InputError, match=words):
        CanonicalCsv(path=write(text)).table().frame()
