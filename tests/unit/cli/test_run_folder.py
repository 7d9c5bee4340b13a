"""Run folders are whole or absent, whoever is killed, and one process at a time writes."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.run.folder import RunFolder, remove_if_empty


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Return the place of a run."""
    return RunFolder(tmp_path / "sweep" / "key", tmp_path / ".locks")


def finish(folder: RunFolder, number: int = 1) -> bool:
    """Run, unless it was run; tell whether it was."""
    with folder.claim() as scratch:
        if scratch is None:
            return False
        (scratch / "summary.json").write_text(f'{{"number": {number}}}')
    return True


def test_a_folder_appears_whole(folder: RunFolder) -> None:
    """Nothing lies in its place before the end, and nothing beside it afterwards."""
    with folder.claim() as scratch:
        assert scratch is not None
        (scratch / "summary.json").write_text("{}")
        assert not folder.path.exists()
    assert folder.summary() == {}
    assert [path.name for path in folder.path.parent.iterdir()] == ["key"]


def test_a_finished_run_is_kept(folder: RunFolder) -> None:
    """The second claim gives nothing to write to."""
    assert finish(folder, 1)
    assert not finish(folder, 2)
    assert folder.summary() == {"number": 1}


def test_a_failure_inside_leaves_nothing(folder: RunFolder) -> None:
    """Whatever ends the block, an interruption too."""
    with pytest.raises(KeyboardInterrupt), folder.claim():
        raise KeyboardInterrupt
    assert list(folder.path.parent.iterdir()) == []


def test_scratch_of_a_killed_run_is_removed(folder: RunFolder) -> None:
    """Its scratch folder is nobody's: whoever holds the lock is the only writer."""
    stale = folder.path.parent / ".key.part-elsewhere-1"
    stale.mkdir(parents=True)
    (stale / "summary.json").write_text("{}")
    other = folder.path.parent / ".other.part-elsewhere-1"
    other.mkdir()
    assert folder.summary() is None
    assert finish(folder)
    assert not stale.exists()
    assert other.exists()


def test_a_second_process_waits_and_finds_it_finished(folder: RunFolder) -> None:
    """Two claims at once: one writes, the other is told that it is done."""
    entered, wrote = threading.Event(), []

    def second() -> None:
        entered.wait(10)
        wrote.append(finish(RunFolder(folder.path, folder.locks), 2))

    thread = threading.Thread(target=second)
    thread.start()
    with folder.claim() as scratch:
        assert scratch is not None
        entered.set()
        thread.join(0.3)
        assert thread.is_alive(), "the second did not wait"
        (scratch / "summary.json").write_text('{"number": 1}')
    thread.join(10)
    assert wrote == [False]
    assert folder.summary() == {"number": 1}


def test_a_run_without_a_requested_file_is_repeated_and_loses_nothing(folder: RunFolder) -> None:
    """It gets the file and a new summary; what lies there, a report of the user's too, stays as it is."""
    finish(folder, 1)
    (folder.path / "report").mkdir()
    (folder.path / "jobs.parquet").write_text("old")
    more = RunFolder(folder.path, folder.locks, ("more.parquet",))
    assert (folder.summary(), more.summary()) == ({"number": 1}, None)
    with more.claim() as scratch:
        assert scratch is not None
        for name, text in (("summary.json", '{"number": 2}'), ("jobs.parquet", "new"), ("more.parquet", "")):
            (scratch / name).write_text(text)
    assert more.summary() == {"number": 2}
    assert sorted(path.name for path in folder.path.iterdir()) == [
        *("jobs.parquet", "more.parquet", "report", "summary.json")
    ]
    assert (folder.path / "jobs.parquet").read_text() == "old"
    assert [path.name for path in folder.path.parent.iterdir()] == ["key"]


def test_a_run_that_cannot_be_repeated_stays_finished(folder: RunFolder) -> None:
    """If it cannot be made again, what was finished stays finished."""
    finish(folder, 1)
    more = RunFolder(folder.path, folder.locks, ("more.parquet",))
    with pytest.raises(KeyboardInterrupt), more.claim():
        raise KeyboardInterrupt
    more.fail({"status": "failed"}, {})
    assert [path.name for path in folder.path.iterdir()] == ["summary.json"]
    assert folder.summary() == {"number": 1}


def test_a_failure_is_recorded_and_gives_way_to_a_result(folder: RunFolder) -> None:
    """error.json never counts as finished; a result replaces it, and is not replaced by it."""
    folder.fail({"status": "failed"}, {"artist.log": "line"})
    assert sorted(path.name for path in folder.path.iterdir()) == ["artist.log", "error.json"]
    assert folder.summary() is None
    assert finish(folder)
    folder.fail({"status": "failed"}, {})
    assert [path.name for path in folder.path.iterdir()] == ["summary.json"]


def test_no_lock_stays(folder: RunFolder) -> None:
    """Neither that of a run that ended, nor that of one that was killed, here a file that nothing holds."""
    folder.locks.mkdir()
    (folder.locks / "killed.lock").touch()
    with folder.claim():
        assert len(list(folder.locks.iterdir())) == 2
    assert not folder.locks.exists()


def test_a_lock_is_one_processs_although_its_file_goes(tmp_path: Path) -> None:
    """Four processes add 1 to the number in a file 100 times each: 400, since no two ever hold the lock."""
    (tmp_path / "number").write_text("0")
    code = (
        "import sys\nfrom pathlib import Path\nfrom artist.run.lock import locked\n"
        "place = Path(sys.argv[1])\n"
        "for _ in range(100):\n"
        "    with locked(place / 'locks' / 'a.lock'):\n"
        "        number = int((place / 'number').read_text())\n"
        "        (place / 'number').write_text(str(number + 1))\n"
    )
    adding = [subprocess.Popen([sys.executable, "-c", code, tmp_path]) for _ in range(4)]
    assert [process.wait(60) for process in adding] == [0] * 4
    assert (tmp_path / "number").read_text() == "400"
    assert not (tmp_path / "locks").exists()


def test_files_of_something_else_are_left_alone(folder: RunFolder) -> None:
    """`hydra.run.dir=.` must not cost a user her files."""
    folder.path.mkdir(parents=True)
    (folder.path / "thesis.tex").write_text("years")
    with pytest.raises(InputError, match=r"thesis\.tex"), folder.claim():
        pass
    folder.fail({}, {})
    assert [path.name for path in folder.path.iterdir()] == ["thesis.tex"]


def test_a_damaged_summary_is_named(folder: RunFolder) -> None:
    """It names the file and what to do."""
    folder.path.mkdir(parents=True)
    (folder.path / "summary.json").write_text("{")
    with pytest.raises(InputError, match=r"summary\.json"):
        folder.summary()


def test_empty_folders_are_removed_up_to_the_root(tmp_path: Path) -> None:
    """And no further: the folder that holds the root stays, empty or not."""
    root = tmp_path / "here" / "runs"
    (root / "date" / "run").mkdir(parents=True)
    remove_if_empty(root / "date" / "run", root)
    assert not root.exists()
    assert (tmp_path / "here").exists()
