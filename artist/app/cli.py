"""The command `artist`: one run, or a sweep of runs."""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import hydra
from hydra._internal.utils import _run_hydra, get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import configure_log
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from artist.app.arguments import fields, words
from artist.app.composing import (
    SweepWanted,
    compose_once,
    plain,
    prefer_our_defaults,
    register_topologies,
    with_topology,
    without_hydra,
)
from artist.data import data_path, program_version
from artist.entry import BAD_INPUT, GOES_ON, INTERRUPTED, SOME_FAILED, SUCCESS
from artist.errors import InputError
from artist.run.folder import remove_if_empty
from artist.run.key import run_key
from artist.run.user_folder import as_arguments, check_shadows, put_on_path, python_files

if TYPE_CHECKING:
    from artist.run.point import Outcome, Point, Request

_FEW = 5  # points named of those that fail with one message
_PARENTS = re.compile(r"^[./]*/")  # of `experiment=../x`, which Hydra allows


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, by default that of the process, less the program's name.

    Returns
    -------
    int
        0; 1 if some points of a sweep failed, or a policy did; 2 for bad input, of all points of a sweep.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # so that Hydra raises instead of printing and leaving
    try:
        if not {"--help", "-h"}.isdisjoint(arguments) or arguments[:1] == ["list"]:
            print(_help(arguments), end="")
            return SUCCESS
        register_topologies()
        prefer_our_defaults()
        compose_once()
        hydra.version.setbase("1.3")
        task, parser = _Task(), get_args_parser()
        try:
            options = _checked_arguments(parser, arguments)
            task.wide = options.wide
            _run_hydra(options, parser, task, str(data_path("conf")), "config")
        except SweepWanted as wanted:
            from artist.app.sweep import run_sweep  # with processes, which one run does without

            configure_log(wanted.config.hydra.job_logging, wanted.config.hydra.verbose)
            task.points, task.is_sweep = run_sweep(wanted, request_of_point), True
            task.logged = wanted.config.output.progress is not False
    except KeyboardInterrupt:
        print(f"interrupted; {GOES_ON}", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as leaving:  # --help and the like
        if leaving.code == 1:  # after Hydra's message that --package does not exist
            print("  allowed: what `artist --cfg job` shows, such as policy", file=sys.stderr)
        return BAD_INPUT if leaving.code else SUCCESS
    except Exception as error:
        print(_in_two_lines(error), file=sys.stderr)
        return BAD_INPUT
    return _report(task)


class _Task:
    """The task that Hydra calls with the configuration of a run."""

    points: Sequence["Point"] = ()
    is_sweep = False
    logged = False
    wide = False

    def __call__(self, config: DictConfig) -> None:
        """Run a configuration that is not a sweep."""
        from artist.run.point import Outcome, Point, run_point

        settings = HydraConfig.get()
        folder = Path(settings.runtime.output_dir)
        try:
            request = _request(config, settings, folder)
            outcome = request if isinstance(request, Outcome) else run_point(request)
        finally:  # an unfinished run would leave Hydra's empty folder behind
            remove_if_empty(folder, Path(_folder_of_results(_root_=config)))
        if OmegaConf.select(config, "output.name") is not None:
            note = "output.name is not used: it names the folder of a sweep (-m)"
            outcome = replace(outcome, notes=(*outcome.notes, note))
        self.points = [Point((), outcome)]


def request_of_point(config: DictConfig) -> "Request | Outcome":
    """Return the request of a point of a sweep, or the outcome of one that cannot be resolved."""
    folder = Path(config.hydra.sweep.dir, config.hydra.sweep.subdir).absolute()
    return _request(without_hydra(config), config.hydra, folder)


def _request(config: DictConfig, settings: Any, folder: Path) -> "Request | Outcome":
    from artist.run.point import Outcome

    try:
        launcher = next((o for o in settings.overrides.hydra if o.startswith("hydra/launcher=")), "")
        if launcher and settings.mode != hydra.types.RunMode.MULTIRUN:
            what = "a single run has no launcher"
            raise InputError(what, where="hydra/launcher", found=launcher, allowed="-m, for a sweep")
        return request_of(config, settings, folder)
    except (InputError, OmegaConfBaseException) as error:
        return Outcome("bad_input", folder, message=_in_two_lines(error))


def request_of(config: DictConfig, settings: Any, folder: Path) -> "Request":
    """Return the request of a run.

    Parameters
    ----------
    config
        The composed configuration, less `hydra`.
    settings
        Hydra's settings.
    folder
        The run folder.
    """
    from artist.run.point import Request

    alone = settings.mode != hydra.types.RunMode.MULTIRUN
    resolved = with_topology(plain(config), str(settings.runtime.choices.get("topology")))
    overrides, user_folders = tuple(settings.overrides.task), tuple(_user_folders(settings))
    words = (*as_arguments(user_folders), *overrides)
    return Request(resolved, _policy_name(settings), folder, user_folders, alone, fields(overrides), words)


# --- the report at the end


def _report(task: _Task) -> int:
    from artist.results.folder import read_run
    from artist.results.tables import compare_table, run_table
    from artist.tables.grid import terminal_width

    outcomes = [point.outcome for point in task.points]
    if not outcomes:  # --cfg, --info
        return SUCCESS
    good = [outcome.folder for outcome in outcomes if outcome.summary is not None]
    width = None if task.wide else terminal_width()
    if not task.is_sweep:
        outcome = outcomes[0]
        if outcome.message:
            print(outcome.message + _traceback(outcome), file=sys.stderr)
            if outcome.summary is not None:
                print(f"the run up to there is written to {_short(outcome.folder)}", file=sys.stderr)
            return BAD_INPUT if outcome.status == "bad_input" else SOME_FAILED
        assert outcome.summary is not None
        against_site = "seen" in outcome.summary  # with sentences, which one table of numbers has not
        runs = [read_run(outcome.folder)] if against_site else []
        table = compare_table(runs, width) if runs else run_table(outcome.summary, width)
        print(table.rstrip(), flush=True)
        _print_notes(outcomes)
        print(f"written to {_short(outcome.folder)}", file=sys.stderr)
        return SUCCESS
    if good:
        print(compare_table([read_run(folder) for folder in good], width).rstrip(), flush=True)
    return _report_points(task.points, outcomes, logged=task.logged)


def _print_notes(outcomes: Sequence["Outcome"]) -> None:
    """Print notes once: all those of the first point that has any."""
    notes = dict.fromkeys(note for outcome in outcomes for note in outcome.notes)
    first = dict.fromkeys(next((outcome.notes for outcome in outcomes if outcome.notes), ()))
    if first:
        rest = len(notes) - len(first)
        more = f" (and {rest} of other points; artist.log has them)" if rest else ""
        print("\n".join(first) + more, file=sys.stderr)


def _report_points(points: Sequence["Point"], outcomes: Sequence["Outcome"], *, logged: bool) -> int:
    kept = sum(outcome.status == "kept" for outcome in outcomes)
    done = sum(outcome.status == "finished" for outcome in outcomes)
    failed = [point for point in points if point.outcome.message]
    place = _short(outcomes[0].folder.parent)
    print(f"{done} run now, {kept} kept, {len(failed)} failed; written to {place}", file=sys.stderr)
    _print_notes(outcomes)
    labels_of: dict[str, list[str]] = {}
    for point in failed:
        label = " ".join(point.overrides) + _traceback(point.outcome)
        labels_of.setdefault(point.outcome.message, []).append(label)
    for message, labels in labels_of.items():
        more = [f"... and {len(labels) - _FEW} more"] * (len(labels) > _FEW)
        just_said = logged and len(failed) == len(points)  # with nothing but failures since
        shown = [*(f"failed: {label}" for label in labels[:_FEW]), *more, *[message] * (not just_said)]
        print("\n".join(shown), file=sys.stderr)
    if all(outcome.status == "bad_input" for outcome in outcomes):
        return BAD_INPUT
    return SOME_FAILED if failed else SUCCESS


def _traceback(outcome: "Outcome") -> str:
    return f"; traceback in {_short(outcome.log)}" if outcome.log else ""


def _short(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _in_two_lines(error: Exception) -> str:
    from artist.bad_input.explain import from_library, two_lines  # with pydantic, which help does without

    return two_lines(from_library(error))


# --- around hydra.main


def _help(arguments: Sequence[str]) -> str:
    from artist.app.help import help_text

    words = [word for word in arguments if word != "list"]
    parser = ArgumentParser(add_help=False)
    for names in (["--help", "-h"], ["--multirun", "-m"]):
        parser.add_argument(*names, action="store_true")
    parser.add_argument("--config-dir", "-cd", type=Path, action="append", default=[])
    parser.add_argument("topics", nargs="*")
    known, _ = parser.parse_known_intermixed_args(words)
    return help_text(known.topics, known.config_dir)


def _checked_arguments(parser: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    def refuse(message: str) -> NoReturn:
        allowed = "key=value, -m, --config-dir FOLDER; see artist --help"
        raise InputError(message, where="command line", allowed=allowed)

    parser.error = refuse  # type: ignore[method-assign]
    parser.add_argument("--wide", action="store_true")
    if "--version" in arguments:
        print(f"artist-sim {program_version()}")
        raise SystemExit(SUCCESS)
    options = parser.parse_intermixed_args(words(arguments))
    for override in options.overrides:
        key, _, value = override.lstrip("+").partition("=")
        if key == "experiment" and ("," in value or "(" in value):
            what = "an experiment is a sweep of its own, so several cannot be swept over"
            raise InputError(what, where="experiment", found=value, allowed="one command for each experiment")
    if options.config_dir is not None:
        check_shadows(Path(options.config_dir))
    if options.experimental_rerun is not None:
        refuse("unrecognized arguments: --experimental-rerun")
    return options


# --- the resolvers of config.yaml


def _folder_of_results(*, _root_: DictConfig) -> str:
    """Return `output.dir`, checked here because Hydra creates folders before it calls the task."""
    folder = OmegaConf.select(_root_, "output.dir")
    if not isinstance(folder, str) or not folder.strip():
        raise InputError("wrong value", where="output.dir", found=folder, allowed="a folder")
    return os.path.abspath(os.path.expanduser(folder))


def _sweep_name(*, _root_: DictConfig) -> str:
    """Return the name of a sweep's folder: `output.name`, checked here too, or the experiment's."""
    from artist.run.config import NAME_RULE, checked_name

    name = OmegaConf.select(_root_, "output.name")
    if name is None:
        return _PARENTS.sub("", str(_root_.hydra.runtime.choices.get("experiment") or "sweep"))
    try:
        return checked_name(name)
    except ValueError:
        raise InputError("wrong value", where="output.name", found=name, allowed=NAME_RULE) from None


def _key(*, _root_: DictConfig) -> str:
    """Return the run key. Never raises: an error here would end a whole sweep; the run itself reports it."""
    from artist.run.build import input_files

    settings = _root_.hydra
    config = without_hydra(_root_)
    for folder in _user_folders(settings):
        put_on_path(folder)
    resolved: Any
    try:
        resolved = plain(config)
        files = list(input_files(resolved))
    except OmegaConfBaseException:
        resolved, files = OmegaConf.to_container(config, resolve=False), []
    with suppress(OSError):
        files += python_files(_user_folders(settings), resolved)
    return run_key(resolved, policy=_policy_name(settings), files=files)


def _policy_name(settings: Any) -> str:
    """Return the name of the preset, with that of a policy inside: `dally`, `network_aware(dally)`."""
    choices = settings.runtime.choices
    name, inside = choices.get("policy", ""), choices.get("policy@policy.of")
    return f"{name}({inside})" if inside else str(name)


def _user_folders(settings: Any) -> list[Path]:
    """Return the folders that the user added to the configuration, in any process of a sweep."""
    shipped = data_path("conf").resolve()
    sources = [Path(source.path) for source in settings.runtime.config_sources if source.schema == "file"]
    return [path for path in sources if path.resolve() != shipped]


for _name, _resolver in (("folder", _folder_of_results), ("sweep", _sweep_name), ("run_key", _key)):
    # At import, since a launcher's processes import this module for `_task` and resolve the sweep's folders.
    OmegaConf.register_new_resolver(f"artist.{_name}", _resolver, replace=True)
