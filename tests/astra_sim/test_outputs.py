"""Output of the programs."""

import pytest

from netmodels.astra_sim.outputs import NpuTime, UnreadableError, read_version1, read_version2

FINISHED = "[workload] [info] sys[{0}] finished, {1} cycles, exposed communication {2} cycles."
BUSY = "[statistics] [info] sys[{0}], Comm time: {1}"


def said(*npus):
    """Return the output of NPUs given as (number, total, exposed, busy)."""
    return "\n".join(f"{FINISHED.format(*npu)}\n{BUSY.format(npu[0], npu[3])}" for npu in npus)


def test_npus_come_in_any_order():
    """The program prints 1 before 0; the answer is in order."""
    assert read_version2(said((1, 30, 4, 9), (0, 28, 2, 8)), 2) == (NpuTime(28, 2, 8), NpuTime(30, 4, 9))


def test_a_negative_exposed_time_has_wrapped_around():
    """2^64 - 1 is -1 ns in the program's unsigned numbers: none."""
    assert read_version2(said((0, 10, 2**64 - 1, 5)), 1) == (NpuTime(10, 0, 5),)


@pytest.mark.parametrize(
    ("text", "npus", "reason"),
    [
        ("", 2, "0 NPUs"),
        (said((0, 10, 0, 0)), 2, "1 NPUs"),
        (said((0, 10, 0, 0), (1, 10, 0, 0), (2, 10, 0, 0)), 2, "3 NPUs"),
        (said((0, 10, 0, 0), (2, 10, 0, 0)), 2, "2 NPUs"),
        (said((0, 10, 0, 0)) + "\n[system] [critical] odd", 1, "critical"),
    ],
    ids=["empty", "one lacks", "one too many", "another", "critical"],
)
def test_an_exit_status_of_0_is_not_enough(text, npus, reason):
    """A dead-locked run ends with status 0 and without the lines of those that wait."""
    with pytest.raises(UnreadableError, match=reason):
        read_version2(text, npus)


def test_version_1_writes_microseconds():
    """Compute 238.5 us, exposed 31.25; the communication of two layers, 30.5 each, makes 61."""
    row = ["a", "l0", *["1"] * 6, "10", "20.5", "", "270", "238.5", "31.25"]
    more = ["a", "l1", *["1"] * 6, "0", "30.5", "0"]
    table = "\n".join(",".join(cells) for cells in (["head"], row, more))
    assert read_version1(table) == NpuTime(269_750, 31_250, 61_000)


@pytest.mark.parametrize("table", ["", "head\n", "head\na,b\n", "head\n" + ",".join(["x"] * 14)])
def test_version_1_may_write_nothing_of_use(table):
    """An empty, cut or odd table is no answer."""
    with pytest.raises(UnreadableError):
        read_version1(table)
