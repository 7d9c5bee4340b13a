"""A disk without room: it is named, not the policy; what is finished stays, and nothing half-written does."""

import errno
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from artist.data import write_whole
from artist.run import point

Artist = Callable[..., Any]
TOLD = "the disk is full (no space left on device); what was finished is kept\n  allowed: room there"


@contextmanager
def room(n_bytes: int) -> Iterator[None]:
    """Let no file of this process be longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_a_run_and_no_sweep(artist: Artist, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyarrow says it, without a file's name: the middle one of three points fails, the others do not."""
    written = point.write_run

    def full(scratch: Path, result: Any, recorder: Any, summary: Any, *others: Any) -> None:
        if summary["seed"] == 1:
            (scratch / "jobs.parquet").touch()
            raise OSError(errno.ENOSPC, "Error writing bytes to file")
        written(scratch, result, recorder, summary, *others)

    monkeypatch.setattr(point, "write_run", full)
    alone = artist("policy=fifo", "seed=1", "output.dir=alone")
    assert (alone.code, alone.out) == (1, "")
    assert alone.err.startswith(f"alone: {TOLD}")
    assert len(alone.err.splitlines()) == 2
    assert not list(Path("alone").rglob("*.parquet"))
    sweep = artist("-m", "policy=fifo", "seed=0,1,2")
    assert sweep.code == 1
    assert "2 run now, 0 kept, 1 failed" in sweep.err
    assert f"runs: {TOLD}" in sweep.err
    assert "bug" not in sweep.err


def test_a_file_is_written_whole_or_not_at_all() -> None:
    """100 bytes of 1000 have room: the older file stays as it was, and no part lies beside it."""
    Path("table.csv").write_bytes(b"old")
    with room(100), pytest.raises(OSError, match="File too large"):
        write_whole(Path("table.csv"), bytes(1000))
    assert [path.name for path in Path().iterdir()] == ["table.csv"]
    assert Path("table.csv").read_bytes() == b"old"
    write_whole(Path("table.csv"), b"new")
    write_whole(Path("/dev/null"), b"new")
    assert Path("table.csv").read_bytes() == b"new"
    assert [path.name for path in Path().iterdir()] == ["table.csv"]
