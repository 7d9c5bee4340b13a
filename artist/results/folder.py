"""Run folders: search under a folder, and the summary and config of one."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

from artist.errors import InputError, regular
from artist.recording.names import CONFIG, ERROR, JOBS, SUMMARY
from artist.results.names import VARIANT
from artist.results.run import AGAIN, Run, damaged

_SWEEP = "multirun.yaml"
_SECTIONS = ("cluster", "topology", "workload", "network", "performance", "stop")


@dataclass(frozen=True, slots=True)
class Found:
    """Runs under the given folders: finished ones, and points of sweeps that failed."""

    runs: tuple[Path, ...]
    failed: tuple[Path, ...]


def find_runs(folders: Sequence[Path]) -> Found:
    """Return the run folders at or under the folders, each once, in order of path.

    Hidden folders are skipped: they hold runs that are still being written.
    """
    finished: dict[Path, Path] = {}
    failed: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise InputError("no such folder", where=str(folder), allowed="a run folder, or a folder of runs")
        for at, below, files in os.walk(folder):
            path = Path(at)
            run_here = not {SUMMARY, ERROR, JOBS}.isdisjoint(files)
            if SUMMARY in files:
                finished.setdefault(path.resolve(), path)
            elif run_here:
                failed.setdefault(path.resolve(), path)
            below[:] = [] if run_here else sorted(name for name in below if not name.startswith("."))
    if not finished:
        what = f"no finished run, {len(failed)} failed" if failed else "no finished run"
        allowed = f"a folder with a {SUMMARY} in it or below it; run artist first"
        raise InputError(what, where=", ".join(map(str, folders)), allowed=allowed)
    return Found(tuple(finished.values()), tuple(failed.values()))


def read_run(folder: str | PathLike[str]) -> Run:
    """Read a run folder; raise InputError if its summary or config is damaged."""
    folder = Path(folder)
    summary = _read_summary(folder / SUMMARY)
    config, written_ns = _read_config(folder / CONFIG), (folder / SUMMARY).stat().st_mtime_ns
    order, command = _order(folder.parent / _SWEEP)
    words = tuple(map(str, summary.get("run", {}).get("overrides") or ()))
    folders = [word for word in words if word.startswith("--config-dir=")] if command else []
    command = ("artist", *["-m"] * bool(command), *folders, *(command or words))
    return Run(folder, summary, config, written_ns, order, command)


@lru_cache(maxsize=16)
def _order(path: Path) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the values of a sweep's settings in the order of its command or experiment, and its overrides.

    Parameters
    ----------
    path
        Hydra's file of the sweep: only for the order, so a damaged one is not an error.
    """
    try:
        config = _read_config(path)
        hydra, variants = config["hydra"], tuple(map(str, config.get("variant") or ()))
        overrides = tuple(map(str, hydra["overrides"]["task"]))
        params = (hydra.get("sweeper") or {}).get("params") or {}
        pairs = [*params.items(), *(text.partition("=")[::2] for text in overrides)]
        order = {str(name).lstrip("+"): _listed(str(text)) for name, text in pairs}
    except (InputError, LookupError, TypeError, AttributeError, ValueError):
        return {}, ()
    return order | ({VARIANT: variants} if variants else {}), overrides


_ITEM = re.compile(r"""(?:[^][(){},'"]|\[[^]]*\]|\{[^}]*\}|'[^']*'|"[^"]*")+""")


def _listed(text: str) -> tuple[str, ...]:
    """Return the values of an override, as a comparison has them.

    >>> _listed("null,rsc1,[{cause: gpu, per_1000_days: 2}]")
    ('none', 'rsc1', "[{'cause': 'gpu', 'per_1000_days': 2}]")
    >>> _listed("choice(fifo, srtf)")
    ('choice', 'fifo', 'srtf')
    """
    values = (_value(item) for item in _ITEM.findall(text))
    return tuple("none" if value is None else str(value) for value in values)


def _value(text: str) -> object:
    import yaml

    from netmodels.inputs.schema import FastLoader

    try:
        return yaml.load(text, Loader=FastLoader)
    except yaml.YAMLError:
        return text.strip()


def _read_summary(path: Path) -> dict[str, Any]:
    from pydantic import ValidationError

    from artist.results.schema import SummaryFile
    from netmodels.inputs.schema import first_problem

    try:
        summary = json.loads(regular(path).read_text(encoding="utf-8"))
        SummaryFile.model_validate(summary)
    except ValidationError as error:
        first = first_problem(error, str(path), SummaryFile.model_fields)
        allowed = f"{first.allowed}; {AGAIN}"
        raise InputError(first.what, where=first.where, found=first.found, allowed=allowed) from error
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    return dict(summary)


def _read_config(path: Path) -> dict[str, Any]:
    import yaml

    from netmodels.inputs.schema import FastLoader

    if not path.exists():
        return {}
    try:
        config = yaml.load(regular(path).read_text(encoding="utf-8"), Loader=FastLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise damaged(path, error) from error
    sections = {name: config.get(name) for name in _SECTIONS} if isinstance(config, dict) else {"": config}
    for name, section in sections.items():
        if section is not None and not isinstance(section, dict):
            where = f"{path}, {name}" if name else str(path)
            raise InputError("not a mapping", where=where, found=section, allowed=AGAIN)
    return config or {}
