"""Logs of nccl-tests and rccl-tests are read as they are printed; what is no run is named, never dropped."""

import gzip
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from netmodels.inputs.errors import InputError
from netmodels.nccl.logs import LogFacts, Logs, read_log

POINTS = ((1024, 20.0), (1_048_576, 64.0), (1_073_741_824, 5000.0))
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send_receive")
Printed = Callable[..., str]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Logs]:
    """Return a reader of one log of a given text."""

    def reader(text: str | bytes, name: str = "run.log", **given: object) -> Logs:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_log(path, LogFacts(**given))  # type: ignore[arg-type]

    return reader


@pytest.mark.parametrize(("collective", "style"), list(product(COLLECTIVES, ("2.0", "2.13", "2.19", "rccl"))))
def test_every_collective_is_read_in_every_style(printed_log, read, collective, style):
    """Times out of place (5000 us, not the 2500 in place), 2 machines of 8 GPUs by the names of the hosts."""
    (run,) = read(printed_log(POINTS, collective=collective, style=style), f"{collective}_n2.log").runs
    assert (run.collective, run.machines, run.gpus_per_machine, run.points) == (collective, 2, 8, POINTS)


def test_the_program_that_a_log_names_counts_more_than_the_name_of_its_file(printed_log, read):
    """The new programs print theirs, and a command line in the log says it as well."""
    text = printed_log(POINTS, collective="reduce_scatter", style="2.19")
    assert read(text, "all_reduce.log").runs[0].collective == "reduce_scatter"
    text = "+ mpirun -np 16 ./build/all_gather_perf -b 8\n" + printed_log(POINTS, collective="all_gather")
    assert read(text, "all_reduce.log").runs[0].collective == "all_gather"


def test_a_reduction_is_recognised_by_its_bandwidth_ratio(printed_log, read):
    """On 16 GPUs busbw / algbw is 30/16 of an all-reduce, 15/16 of a reduce-scatter, 1 where pairs send."""
    for collective in ("all_reduce", "reduce_scatter", "send_receive"):
        assert read(printed_log(POINTS, collective=collective)).runs[0].collective == collective


def test_all_gather_and_all_to_all_differ_by_their_in_place_check(printed_log, read):
    """Both send 15/16 of the bytes; results of an all-to-all in place are never checked: N/A."""
    assert read(printed_log(POINTS, collective="all_to_all")).runs[0].collective == "all_to_all"
    text = printed_log(POINTS, collective="all_gather")
    with pytest.raises(InputError, match="does not name its collective") as caught:
        read(text)
    assert "all_gather, all_to_all" in caught.value.allowed
    assert read(text, collective="all_gather").runs[0].collective == "all_gather"


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "[1,0]<stdout> ", "0: ", "nccl-launcher: "])
def test_prefixes_of_launchers_are_skipped(printed_log, read, prefix):
    """`mpirun --tag-output`, `srun --label` and logs of pods put a tag before each line."""
    text = "\n".join(prefix + line for line in printed_log(POINTS).splitlines())
    assert read(text, "all_reduce.log").runs[0].points == POINTS


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "[prterun-a-1@1,12]<stdout>: ", "0: ", " 12: "])
def test_tags_of_launchers_inside_a_row_are_skipped(printed_log, read, tag):
    """A row is printed in parts, before and after its collective; a launcher tags both."""
    text = printed_log(POINTS)
    row = next(line for line in text.splitlines() if line.lstrip().startswith("1048576"))
    start, end = row[: row.index("-1") + 2], row[row.index("-1") + 2 :]
    for glued in (f"{tag}{start}{tag}{end}", f"{tag}{start}\n{tag}{end}"):
        assert read(text.replace(row, glued), "all_reduce.log").runs[0].points == POINTS


def blocks(size: int, us: float, gpus: int = 16) -> tuple[dict[str, float], dict[str, float]]:
    """Return the figures of an all-reduce out of place, and in place in half of the time."""
    factor = 2 * (gpus - 1) / gpus
    out, inside = (
        {"time": t, "alg_bw": size / t / 1e3, "bus_bw": factor * size / t / 1e3, "nwrong": 0.0}
        for t in (us, us / 2)
    )
    return out, inside


def nccl_json(**changed: object) -> dict[str, object]:
    """Return the content of a JSON file of nccl-tests: 2 machines of 8 GPUs."""
    devices = [
        {
            "rank": n,
            "group": 0,
            "pid": n,
            "hostname": f"n{n // 8}",
            "device": n % 8,
            "device_hex": "0000:04:00",
        }
        | {"device_info": "NVIDIA H100 80GB HBM3"}
        for n in range(16)
    ]
    results = [
        {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
        | dict(zip(("out_of_place", "in_place"), blocks(size, us), strict=True))
        for size, us in POINTS
    ]
    head = {"version": 2, "args": ["./build/all_reduce_perf", "-J", "x"], "nccl_version": 22907}
    return {**head, "config": {"nthreads": 1, "devices": devices}, "results": results, **changed}


def test_the_json_file_of_nccl_tests_is_read_as_its_log(read):
    """Times out of place, 2 machines by the names of the hosts, GPU and NCCL 2.29.7."""
    logs = read(json.dumps(nccl_json()), "out.json")
    (run,) = logs.runs
    assert (run.collective, run.machines, run.gpus_per_machine, run.points) == ("all_reduce", 2, 8, POINTS)
    assert (list(logs.gpus), list(logs.libraries)) == (["NVIDIA H100 80GB HBM3"], ["2.29.7"])
    assert run.source == "out.json, result 1"


def test_json_results_in_place_only_of_the_cpu_or_unchecked_follow_the_rules_of_logs(read):
    """`out_of_place: null` leaves half the time; `cpu_time` (-C 1) is no time of a collective."""
    content = nccl_json()
    for result in content["results"]:
        result["out_of_place"], result["in_place"]["nwrong"] = None, None
    (run,) = read(json.dumps(content)).runs
    assert (run.points[1], run.settings) == ((1_048_576, 32.0), "NCCL 2.29.7, float, sum, in place")
    for result in content["results"]:
        result["in_place"]["cpu_time"] = result["in_place"].pop("time")
    assert "CPU times" in read(json.dumps(content)).notes[0]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"results": []}, "no row of nccl-tests"),
        ({"results": [{"size": 8}]}, "result 1"),
        ({"results": [{"size": "8 B", "out_of_place": {}, "in_place": {}}]}, "result 1: not a size"),
        ({"results": [7]}, "result 1"),
        ({"config": None}, "does not name its machines"),
    ],
)
def test_json_that_cannot_be_understood_is_refused(read, changed, told):
    """With the file, and the result where there is one."""
    with pytest.raises(InputError, match=told):
        read(json.dumps(nccl_json(**changed)))
    with pytest.raises(InputError, match="no row of nccl-tests"):
        read(json.dumps(nccl_json())[:-400], "cut.json")


def rccl_rows(machines: dict[str, int], places: tuple[int, ...] = (0, 1)) -> list[dict[str, object]]:
    """Return the rows of a result file of rccl-tests."""
    rows = []
    for size, us in POINTS:
        for in_place in places:
            block = blocks(size, us)[in_place]
            rows.append(
                {
                    "numCycle": 0,
                    "name": "AllReduce",
                    **machines,
                    "size": size,
                    "type": "float",
                    "redop": "sum",
                }
                | {"inPlace": in_place, "time": block["time"], "algBw": block["alg_bw"]}
                | {"busBw": block["bus_bw"], "wrong": "0"}
            )
    return rows


def rccl_texts(rows: list[dict[str, object]]) -> list[str]:
    """Return the rows in the formats of rccl-tests, new and old: a JSON list, one object per line, CSV."""
    names = {
        "name": "collective",
        "inPlace": "inplace",
        "algBw": "algbw",
        "busBw": "busbw",
        "wrong": "#wrong",
    }
    table = [[names.get(name, name) for name in rows[0]], *(list(row.values()) for row in rows)]
    old = [{("#wrong" if name == "wrong" else name): value for name, value in row.items()} for row in rows]
    quoted = [", ".join(f'"{cell}"' if isinstance(cell, str) else str(cell) for cell in row) for row in table]
    return [
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n",
        "\n".join(map(json.dumps, old)),
        "\n".join(",".join(map(str, row)) for row in table),
        "\n".join(quoted),
    ]


@pytest.mark.parametrize("style", range(4))
def test_result_files_of_rccl_tests_are_read_in_every_style(read, style):
    """Two machines of 8 ranks, or 16 GPUs of a program without MPI; times out of place, else in place."""
    two = {"nodes": 2, "ranks": 16, "ranksPerNode": 8, "gpusPerRank": 1}
    (run,) = read(rccl_texts(rccl_rows(two))[style], "x.csv").runs
    assert (run.collective, run.machines, run.gpus_per_machine, run.points) == ("all_reduce", 2, 8, POINTS)
    (run,) = read(rccl_texts(rccl_rows({"gpus": 16}, (1,)))[style], "x.csv").runs
    assert (run.machines, run.gpus_per_machine, run.points[1]) == (1, 16, (1_048_576, 32.0))


def test_a_report_that_counts_a_communicator_as_one_machine_asks_for_the_machines(read):
    """`nodes` is 1 for any communicator of rccl-tests: 16 GPUs are more than a machine of AMD's has."""
    one = {"nodes": 1, "ranks": 16, "ranksPerNode": 16, "gpusPerRank": 1}
    text = rccl_texts(rccl_rows(one))[0]
    for report in (
        text,
        text.replace('"ranks": 16', '"ranks": 0'),
        text.replace('"nodes": 1', '"nodes": "x"'),
    ):
        with pytest.raises(InputError, match="does not name its machines"):
            read(report)
    assert read(text, machines=2, gpus_per_machine=8).runs[0].machines == 2


def test_messages_of_nccl_in_the_middle_of_a_row_are_skipped(printed_log, read):
    """The first part of a row is printed before its collective runs, which says how NCCL connects."""
    text = printed_log(POINTS)
    row = next(line for line in text.splitlines() if line.lstrip().startswith("1048576"))
    start, end = row[: row.index("-1") + 2], row[row.index("-1") + 2 :]
    message = "node01:77:99 [3] NCCL INFO Connected all rings"
    for glued in (
        f"{start}{message}\n{message}\n{end}",
        f"{start}\nNCCL version 2.18.3+cuda12.2\n[1,0]<stdout>:{end}",
    ):
        (run,) = read(text.replace(row, glued), "all_reduce.log").runs
        assert run.points == POINTS


def test_several_tests_in_one_file_are_several_runs(printed_log, read):
    """A suite: each by the command line before it; broadcast is no collective of ours, and is named."""
    text = "".join(
        f"./build/{program}_perf -g 8\n" + printed_log(POINTS, collective=collective)
        for program, collective in (
            ("all_reduce", "all_reduce"),
            ("broadcast", "send_receive"),
            ("sendrecv", "send_receive"),
        )
    )
    logs = read(text)
    assert [run.collective for run in logs.runs] == ["all_reduce", "send_receive"]
    assert len({run.name for run in logs.runs}) == 2
    (note,) = logs.notes
    assert "broadcast" in note
    assert (
        "line 32" in note
    )  # 3 lines, 16 ranks, 4 of heads, 3 rows, 3 at the end, and two commands before it


def test_cycles_and_types_of_one_test_are_runs_of_their_own(printed_log, read):
    """`-N 2` prints all sizes twice: two runs, each with all sizes."""
    text = printed_log(POINTS)
    rows = [line for line in text.splitlines() if line[:1] == " "]
    again = text.replace("# Out of bounds", "\n".join(["# Testing 2 cycle.", *rows, "# Out of bounds"]), 1)
    assert [run.points for run in read(again, "all_reduce.log").runs] == [POINTS, POINTS]


def test_gzip_is_recognised_by_its_content(printed_log, read):
    """As for traces, whatever the file is called."""
    packed = gzip.compress(printed_log(POINTS).encode())
    assert read(packed, "all_reduce.log").runs[0].points == POINTS


def test_without_ranks_the_place_is_asked_for(printed_log, read):
    """A pasted table: 30/16 says 16 GPUs, but not on how many machines; 7 + 7 is refused by that ratio."""
    text = "\n".join(line for line in printed_log(POINTS).splitlines() if "Rank" not in line)
    with pytest.raises(InputError, match="does not name its machines") as caught:
        read(text)
    assert "1.875" in str(caught.value)
    assert read(text, machines=4, gpus_per_machine=4).runs[0].machines == 4
    with pytest.raises(InputError, match="on 14 GPUs") as caught:
        read(text, "all_reduce.log", machines=2, gpus_per_machine=7)
    assert "1.857" in caught.value.allowed


def test_without_column_names_rows_are_recognised_by_their_length(printed_log, read):
    """Somebody kept the rows alone; 8 values and the words before them are enough."""
    for collective, style in (("all_gather", "2.0"), ("all_reduce", "2.0"), ("all_reduce", "2.13")):
        text = printed_log(POINTS, collective=collective, style=style)
        rows = "\n".join(line for line in text.splitlines() if line[:1] == " ")
        (run,) = read(rows, f"{collective}.log", machines=2, gpus_per_machine=8).runs
        assert run.points == POINTS


def test_machines_of_one_name_are_distinguished_by_their_gpus(printed_log, read):
    """Containers that are all called `localhost`: GPU 0 stands in two machines."""
    text = printed_log(POINTS).replace("node01", "localhost").replace("node02", "localhost")
    (run,) = read(text).runs
    assert (run.machines, run.gpus_per_machine) == (2, 8)


def test_logs_without_a_usable_run_are_named(printed_log, read):
    """CPU times, machines of 8 and 7 GPUs, split communicators, a test that was ended in its first row."""
    text = printed_log(POINTS)
    last = next(line for line in text.splitlines() if "Rank 15" in line)
    row = next(line for line in text.splitlines() if line[:1] == " ")
    for other, reason in (
        (text.replace("     time", "  cputime"), "CPU times"),
        (text.replace(last + "\n", ""), "7 and 8 GPUs"),
        (text.replace("Rank 15 Group  0", "Rank  0 Group  1"), "several communicators"),
        (text[: text.index(row) + 50], "the last row is cut short"),
    ):
        logs = read(printed_log(POINTS) + other, "all_reduce.log")
        assert len(logs.runs) == 1
        assert reason in logs.notes[0], logs.notes


def test_rows_of_zero_bytes_are_left_out_and_wrong_results_reported(printed_log, read):
    """Small all-gathers have 0 bytes a GPU; `#wrong` above 0 is a fabric to be mended."""
    text = printed_log(((1024, 20.0), (1_048_576, 64.0)))
    row = next(line for line in text.splitlines() if line[:1] == " ")
    zero = "           0             0     float     sum      -1" + 2 * "     0.12    0.00    0.00      0"
    logs = read(text.replace(row, zero + "\n" + row.replace("  0 ", "  7 ", 1)), "all_reduce.log")
    assert [size for size, _ in logs.runs[0].points] == [1024, 1_048_576]
    assert "1 rows of 0 bytes" in logs.notes[0]
    assert "wrong results in 1 rows" in logs.doubts[0]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("   64.00 ", "    nan ", "not a number in column time"),
        ("   64.00 ", "    0.00 ", "no time of a collective"),
        ("   64.00 ", "   0.064 ", "do not fit together"),  # ms for us
        ("   64.00 ", "   ", "cut short"),
        ("   64.00 ", "   64.00 64.00 ", "14 values in a row"),
        ("algbw", "speed", "unknown columns"),
        ("Rank 15", "Rank 14", "two programs print into one log"),
    ],
)
def test_malformed_rows_are_refused_with_their_line(printed_log, read, old, new, what):
    """Each wrong cell ends in an error that names file, line, the value found and the allowed values."""
    with pytest.raises(InputError, match=what) as caught:
        read(printed_log(POINTS).replace(old, new), "all_reduce.log")
    assert "all_reduce.log, line " in str(caught.value)
    assert caught.value.allowed


def test_files_that_are_no_logs_are_refused(tmp_path, read):
    """An empty file, a picture, a log of something else, none at all."""
    for content in ("", b"\x89PNG\r\n", "epoch 1 loss 0.3\n"):
        with pytest.raises(InputError, match=r"an empty file|no row of nccl-tests"):
            read(content)
    with pytest.raises(InputError, match="no such file"):
        read_log(tmp_path / "absent.log")


def test_gpus_and_versions_are_reported(printed_log, read):
    """Two clusters in one call are refused by the name of the GPU; a fit holds for one version of NCCL."""
    logs = read(printed_log(POINTS, style="2.19"))
    assert list(logs.gpus) == ["NVIDIA H100 80GB HBM3"]
    assert list(logs.libraries) == ["2.22.3"]
    assert logs.runs[0].settings == "NCCL 2.22.3, float, sum"


def test_values_of_a_log_override_given_values(printed_log, read):
    """2 x 8 GPUs by its ranks, 4 x 4 given: 2 x 8, and told."""
    logs = read(printed_log(POINTS), machines=4, gpus_per_machine=4)
    assert (logs.runs[0].machines, logs.runs[0].gpus_per_machine) == (2, 8)
    (doubt,) = logs.doubts
    assert "have 2 x 8 GPUs" in doubt
    assert not read(printed_log(POINTS), machines=2, gpus_per_machine=8).doubts


def test_a_broadcast_is_recognised_by_its_root(printed_log, read):
    """Its bandwidths are those of pairs, but it has a root, 0; all of ours have -1."""
    logs = read(printed_log(POINTS, collective="send_receive").replace("      -1", "       0"))
    assert not logs.runs
    assert "root 0, as of a broadcast" in logs.notes[0]
