"""A file that is not what it should be ends in a message, whatever is wrong with it."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.tables.files import read_csv, read_json_records, read_text

Write = Callable[..., Path]
GOOD = "job_id,gpus\na,1\n\nb,2\n"


def test_lines_are_counted_as_an_editor_does(write: Write) -> None:
    """The header is line 1; the blank line 3 is no job but counts, so b is on line 4."""
    table = read_csv(write(GOOD))
    assert table.unit == "line"
    assert dict(zip(table["job_id"], table.places, strict=True)) == {"a": 2, "b": 4}


def test_gzip_is_recognised_by_content(write: Write) -> None:
    """A gzipped file that has lost its ending is read all the same."""
    assert read_text(write(gzip.compress(GOOD.encode()), "trace.csv")) == GOOD


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 MiB of zeros in 1 KiB is 1,000 times its size; 200 times is too much for text, 10 times is not."""
    monkeypatch.setattr("netmodels.inputs.files._PIECE", 1 << 16)
    bomb = gzip.compress(b"0" * (1 << 20))
    with pytest.raises(InputError, match="a gzip bomb"):
        read_text(write(bomb, "trace.csv"))
    numbers = "\n".join(map(str, range(100_000)))
    assert read_text(write(gzip.compress(numbers.encode()), "trace.csv")) == numbers


def test_a_byte_order_mark_is_no_part_of_the_header(write: Write) -> None:
    """Spreadsheets write one."""
    assert list(read_csv(write("\ufeff" + GOOD)).columns) == ["job_id", "gpus"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty file"),
        ("\n \n", "empty file"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not a text file"),
        (b"job_id\0gpus", "not a text file"),
        (gzip.compress(GOOD.encode() * 100, mtime=0)[:-9], "broken gzip file"),
        (gzip.compress(GOOD.encode(), mtime=0)[:5], "broken gzip file"),
        (b"\x1f\x8b garbage that is no gzip", "broken gzip file"),
        ("job_id,gpus\na,1\nb,2,3\n", "line 3: more fields than the header"),
        ("job_id,gpus\na,1,3\nb,2,3\n", "more fields than the header"),
        ('job_id,gpus\n"a,1\n', "not a table"),
    ],
)
def test_a_bad_csv_is_refused(write: Write, content: str | bytes, words: str) -> None:
    """Garbage, a cut download, a file of another kind, ragged rows."""
    with pytest.raises(InputError, match=words):
        read_csv(write(content))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The commonest mistake."""
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "nothing.csv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """The second commonest."""
    with pytest.raises(InputError, match="is a folder"):
        read_text(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[{]", "line 1, column 3: malformed JSON"),
        ("", "malformed JSON"),
        ('{"jobs": []}', "not a list of jobs"),
        ("[]", "no jobs"),
        ('[{"a": 1}, 7]', "entry 2: not a job"),
        ("[" * 100_000, "malformed JSON"),
    ],
)
def test_a_bad_json_is_refused(write: Write, content: str, words: str) -> None:
    """Cut, empty, of another form, or nested beyond what the parser can do."""
    with pytest.raises(InputError, match=words):
        read_json_records(write(content, "trace.json"))
