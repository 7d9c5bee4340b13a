"""The tests in result files of nccl-tests (JSON, `-J`) and rccl-tests (JSON or CSV, `-x`).

The formats are those of `src/util.cu` of github.com/NVIDIA/nccl-tests from version 2.18 on, and of the
`Reporter` of github.com/ROCm/rccl-tests: CSV, or JSON as a list, in older versions as one object per line.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netmodels.nccl.log_lines import Rank, library_of, program_of
from netmodels.nccl.log_tests import BLOCK, Test

_CSV = {"collective", "size", "inplace", "time", "algbw", "busbw"}
_MAX_GPUS = 8  # of one machine of AMD's


@dataclass(slots=True)
class _Result:
    """A size of a test: words before the figures, and the words of `BLOCK` out of place and in place."""

    number: int
    words: tuple[str, ...]
    blocks: dict[bool, tuple[str, ...]] = field(default_factory=dict)


def is_report(text: str) -> bool:
    """Return whether a text is of a format that this module reads."""
    first = text.lstrip()[:4096].partition("\n")[0]
    return first[:1] in ("{", "[") or {name.strip(' "').lower() for name in first.split(",")} >= _CSV


def tests_of_report(text: str, path: str) -> list[Test]:
    """Return the tests of a result file; none for another kind of JSON.

    Raises
    ------
    InputError
        With file, and line or result, if a figure cannot be understood.
    """
    if text.lstrip()[:1] not in ("{", "["):
        lines = csv.reader(text.strip().splitlines(), skipinitialspace=True)
        names = [name.strip().lower() for name in next(lines)]
        rows = [dict(zip(names, map(str.strip, line), strict=False)) for line in lines]
        return _rccl_tests(enumerate(rows, 2), path, "line")
    content = _json(text)
    if isinstance(content, dict) and isinstance(content.get("results"), list):
        return [_nccl_test(content, path)]
    objects = content if isinstance(content, list) else [content]
    rows = [
        {str(name).lower(): str(value) for name, value in row.items()}
        for row in objects
        if isinstance(row, dict) and {"size", "time"} <= set(row)
    ]
    return _rccl_tests(enumerate(rows, 1), path, "result")


def _json(text: str) -> Any:
    """Return the content of JSON, or of one object per line; None for neither."""
    by_line = ",".join(line.strip().rstrip(",") for line in text.splitlines() if line.strip())
    for candidate in (text, f"[{by_line}]"):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return None


def _nccl_test(content: Mapping[str, Any], path: str) -> Test:
    test = Test(path, 1, unit="result", begun=True)
    args, config = content.get("args"), content.get("config")
    test.program = program_of(" ".join(map(str, args)) if isinstance(args, list) else "")
    test.library = library_of(f"nccl-library={content.get('nccl_version')}")
    devices = config.get("devices") if isinstance(config, dict) else None
    for number, device in enumerate(devices if isinstance(devices, list) else ()):
        if isinstance(device, dict):
            test.add_rank(_rank(device), number + 1)
    results = []
    words = ("size", "count", "type", "redop", "root")
    time = "time"
    for number, row in enumerate(content["results"], 1):
        row = row if isinstance(row, dict) else {}
        result = _Result(number, tuple(str(row.get(name, "")).strip() for name in words))
        for name in ("out_of_place", "in_place"):
            block = row.get(name)
            if isinstance(block, dict):
                time = "cpu_time" if "cpu_time" in block else time
                figures = [str(block.get(figure)) for figure in (time, "alg_bw", "bus_bw")]
                result.blocks[name == "in_place"] = (*figures, _wrong(block.get("nwrong")))
        results.append(result)
    _add(test, results, ("redop", "root"), "cputime" if time == "cpu_time" else "time")
    return test


def _rank(device: Mapping[str, Any]) -> Rank:
    rank, group, number = (_whole(device.get(name)) for name in ("rank", "group", "device"))
    host, address, gpu = (str(device.get(name, "")) for name in ("hostname", "device_hex", "device_info"))
    return Rank(rank, group, host, (number, address), gpu.strip())


def _whole(value: object) -> int:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() else 0


def _wrong(value: object) -> str:
    """Return the number of wrong values, as logs have it: N/A where results were not checked."""
    try:
        return f"{float(str(value)):g}"
    except ValueError:
        return "N/A"


def _rccl_tests(rows: Iterable[tuple[int, Mapping[str, str]]], path: str, unit: str) -> list[Test]:
    """Return the tests of rows of rccl-tests: one for each collective on a number of GPUs."""
    tests: dict[tuple[object, ...], tuple[Test, list[_Result]]] = {}
    for number, row in rows:
        name, machines = row.get("collective") or row.get("name", ""), _machines(row)
        test = Test(path, number, unit=unit, begun=True, program=name, stated=machines)
        results = tests.setdefault((name, machines), (test, []))[1]
        words = tuple(row.get(word, "") for word in ("numcycle", "size", "type", "redop"))
        in_place = row.get("inplace") == "1"
        if not results or results[-1].words != words or in_place in results[-1].blocks:
            results.append(_Result(number, words))
        figures = tuple(row.get(figure, "") for figure in ("time", "algbw", "busbw"))
        results[-1].blocks[in_place] = (*figures, _wrong(row.get("#wrong", row.get("wrong"))))
    for test, results in tests.values():
        for result in results:
            _, size, kind, redop = result.words
            result.words = size, "0", kind, redop
        _add(test, results, ("redop",), "time")
    return [test for test, _ in tests.values()]


def _machines(row: Mapping[str, str]) -> tuple[int, int] | None:
    """Return machines and GPUs per machine; None where a whole communicator counts as one machine."""
    without_mpi = "gpus" in row
    machines = 1 if without_mpi else _whole(row.get("nodes"))
    gpus = _whole(row["gpus"]) if without_mpi else _whole(row.get("ranks")) * _whole(row.get("gpusperrank"))
    if not (machines and gpus) or gpus % machines or (machines == 1 and gpus > _MAX_GPUS and not without_mpi):
        return None
    return machines, gpus // machines


def _add(test: Test, results: Sequence[_Result], named: tuple[str, ...], time: str) -> None:
    """Add results to a test: out of place, else in place only."""
    block = (time, *BLOCK[1:])
    out_of_place = all(False in result.blocks for result in results)
    test.columns = named + (block * 2 if out_of_place else block)
    for result in results:
        first = result.blocks.get(not out_of_place, ())
        second = result.blocks.get(True, first) if out_of_place else ()
        test.add_words((*result.words, *first, *second), result.number, begin=True)
    test.check_whole()
