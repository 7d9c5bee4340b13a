"""One run, from its configuration to its folder. Bad input is returned as an outcome, never raised."""

import errno
import io
import logging
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from signal import SIGINT, default_int_handler, getsignal
from time import perf_counter
from traceback import extract_tb, format_exc
from typing import Any, Literal

import yaml

from artist.bad_input.error_source import own_lines, targets_of
from artist.bad_input.explain import from_library, two_lines
from artist.core.events import Observer
from artist.data import program_version
from artist.errors import InputError, PlanError, Stopped, StuckError, out_of_memory
from artist.performance.input_use import InputUse
from artist.recording.folder import write_run
from artist.recording.inputs import InputColumns
from artist.recording.job_types import JobTypes, has_cpu_jobs
from artist.recording.metrics import summarise
from artist.recording.names import CONFIG, LOG, RESOURCES_FILE
from artist.recording.pools import Pools, has_pools
from artist.recording.recorder import Recorder
from artist.recording.seen import Seen, site_of
from artist.recording.topic import Observing, Topic
from artist.run.ahead import ask_ahead
from artist.run.build import Simulation, build, check_config, with_site
from artist.run.folder import RunFolder
from artist.run.key import code_digest, run_key
from artist.run.lock import LOCKS
from artist.run.lost_time import note_losses
from artist.run.notes import warn_of_jobs_without_cpus
from artist.run.setting import of_preset
from artist.run.user_folder import check_targets, put_on_path, python_files
from artist.units import ns_to_seconds
from netmodels.api import CachedModel
from netmodels.fabric.shape import gpus

log = logging.getLogger("artist")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class Request:
    """The configuration of a run and its folder.

    Attributes
    ----------
    config
        Resolved, without `hydra`.
    policy
        The policy's name in the results.
    folder
        The run folder.
    user_folders
        Folders with a user's own parts.
    alone
        Whether it is the only run of the command, which may then show progress.
    named
        Fields that the command line sets.
    overrides
        Arguments of the command that runs this point alone, for the record.
    """

    config: Mapping[str, Any]
    policy: str
    folder: Path
    user_folders: tuple[Path, ...] = ()
    alone: bool = True
    named: frozenset[str] = frozenset()
    overrides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run, or the reason that there is none.

    Attributes
    ----------
    status
        Finished now; kept because it was finished before; stuck, now or before; bad input; failed.
    message
        Reason that it did not finish.
    log
        Its log, if the message is not everything.
    notes
        Notes for the user on a run that was done now.
    """

    status: Literal["finished", "kept", "stuck", "bad_input", "failed"]
    folder: Path
    summary: dict[str, Any] | None = None
    message: str = ""
    log: Path | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a sweep and its result."""

    overrides: tuple[str, ...]
    outcome: Outcome


def run_point(request: Request) -> Outcome:
    """Run, unless it was run before; write the run folder; leave `error.json` if it fails.

    Only interruptions are raised, including those by a cluster's scheduler.
    """
    lines, notes = io.StringIO(), _Notes()
    output = request.config["output"]
    wanted = (RESOURCES_FILE,) if output.get("resources") else ()
    folder = RunFolder(request.folder, Path(str(output["dir"])).expanduser() / LOCKS, wanted)
    with _logging_to(logging.StreamHandler(lines), notes):
        try:
            return replace(_finish(request, folder, lines), notes=tuple(notes.kept))
        except InputError as error:
            outcome = Outcome("bad_input", request.folder, message=two_lines(error))
        except PlanError as error:
            outcome = Outcome("failed", request.folder, message=f"{type(error).__name__}: {error}")
        except BaseException as error:
            if _is_interruption(error):
                raise
            outcome = _unforeseen(error, request)
            if outcome.log is not None:
                lines.write(format_exc())
    if outcome.log is not None or not request.alone:
        record = {"status": outcome.status, "message": outcome.message, "log": lines.getvalue()}
        folder.fail(record, {CONFIG: _as_yaml(request.config), LOG: lines.getvalue()})
    return outcome


def is_checked(request: Request) -> bool:
    """Return whether the settings of a run are valid, as far as is known before its parts are made."""
    try:
        check_config(request.config)
    except InputError:
        return False
    return True


def _finish(request: Request, folder: RunFolder, lines: io.StringIO) -> Outcome:
    kept = folder.summary()
    if kept is not None:
        _check_kept(request)
    else:
        for user_folder in request.user_folders:
            put_on_path(user_folder)
            check_targets(request.config, user_folder)
        request = replace(request, config=with_site(request.config))
        simulation = build(check_config(request.config), request.named)
        with folder.claim() as scratch:
            if scratch is not None:
                summary = _simulate(request, simulation, scratch)
                (scratch / CONFIG).write_text(_as_yaml(request.config), encoding="utf-8")
                (scratch / LOG).write_text(lines.getvalue(), encoding="utf-8")
                return _ended("finished", request.folder, summary)
        kept = folder.summary()
    return _ended("kept", request.folder, kept)


def _ended(status: Literal["finished", "kept"], folder: Path, summary: dict[str, Any] | None) -> Outcome:
    """Return the outcome of a run that was written; a stuck one is no finished one."""
    if summary is None or not (stuck := summary.get("stuck")):
        return Outcome(status, folder, summary)
    return Outcome("stuck", folder, summary, f"StuckError: {stuck}")


def _check_kept(request: Request) -> None:
    """Refuse a folder that was named by hand (hydra.run.dir) and holds the run of another configuration."""
    if re.search(r"[0-9a-f]{12}$", request.folder.name):  # a run key
        return
    config = yaml.safe_load((request.folder / CONFIG).read_text(encoding="utf-8"))
    if run_key(config) != run_key(request.config):
        allowed = "another hydra.run.dir, or none"
        raise InputError("holds the run of another configuration", where=str(request.folder), allowed=allowed)


def _above_port(network: CachedModel) -> dict[str, Any] | None:
    """Return the entry of the summary on answers with collectives faster than their ports."""
    asked = ((question, network.above_port(*question)) for question in network.questions)
    above = [(question, bound) for question, bound in asked if bound is not None]
    if not above:
        return None
    (profile, shape, *_), worst = max(above, key=lambda pair: pair[1].by_port_ns - pair[1].comm_ns)
    machines = sum(map(len, shape))
    return {
        "questions": len({(question[0].name, question[1]) for question, _ in above}),
        "worst": f"{profile.name} on {gpus(shape)} GPUs of {machines} machine{'s' * (machines > 1)}",
        "comm_s": ns_to_seconds(worst.comm_ns),
        "least_s": ns_to_seconds(worst.by_port_ns),
    }


def _simulate(request: Request, simulation: Simulation, scratch: Path) -> dict[str, Any]:
    config, network = simulation.config, simulation.network
    modules = python_files(request.user_folders, request.config)
    code = code_digest(request.config, files=[*modules, *simulation.input_files])
    started = perf_counter()
    log.info("network model: %s", getattr(network.model, "program", type(network.model).__name__))
    shown = config.output.progress
    if shown is None:
        shown = request.alone and sys.stderr.isatty()
    ask_ahead(config, network, shown=shown)
    log.info(
        "%d jobs on %d GPUs under %s", len(simulation.jobs), simulation.cluster.total_gpus, request.policy
    )
    jobs, cluster = simulation.jobs, simulation.cluster  # jobs as the engine numbers them, by arrival
    recorder = Recorder(jobs, cluster, rates=config.output.rates)
    topics = _topics(simulation, recorder)
    with ExitStack() as stack:
        observers: list[Observer] = [recorder, *(topic for topic in topics if isinstance(topic, Observing))]
        if shown:
            from artist.run.progress import ProgressBar

            observers.append(stack.enter_context(ProgressBar(len(jobs))))
        try:
            result, stuck = simulation.run(observers), ""
        except StuckError as error:
            result, stuck = error.result, str(error)
    for topic in topics:
        if isinstance(topic, Observing):
            topic.close(result.end_ns)
    warn_of_jobs_without_cpus(topics, jobs)
    note_losses(result.columns)
    wall_s = perf_counter() - started
    log.info("stopped by %s after %d events in %.2f s", result.stopped_by, result.events, wall_s)
    if network.back_ends:
        counts = ", ".join(f"{name} {count}" for name, count in network.back_ends.items())
        log.info("questions to the network program, by the back end that answered: %s", counts)
    summary = summarise(
        result,
        policy=request.policy,
        seed=config.seed,
        network_distinct=len(network.distinct),
        network_fallbacks=network.fallbacks,
        network_carried=network.carried,
        network_back_ends=network.back_ends,
        above_port=_above_port(network),
        topics=topics,
        setting=of_preset(simulation.setting, simulation.policy, request.policy, request.user_folders),
        stuck=stuck,
        run={
            "wall_s": round(wall_s, 3),
            "network": f"{type(network.model).__name__} {network.version}",
            "network_calls": network.calls,
            "cache_hits": network.hits,
            "version": program_version(),
            "code": code,
            "host": socket.gethostname(),
            "overrides": list(request.overrides),
        },
    )
    series = getattr(simulation.policy, "series", ())
    write_run(scratch, result, recorder, summary, series, topics)
    return summary


def _topics(simulation: Simulation, recorder: Recorder) -> list[Topic]:
    """Return the topics that the run records beside its events, in the order of their columns."""
    jobs, cluster, performance = simulation.jobs, simulation.cluster, simulation.performance
    inputs = None if performance.input_stall is None else InputUse(performance.input_stall)
    topics: list[Topic] = []
    if simulation.config.output.resources:
        from artist.recording.resources import Resources  # most runs do without this and the others below

        topics.append(Resources(jobs, cluster, performance.stages, inputs.in_use if inputs else None))
    if inputs is not None:
        topics.append(InputColumns(recorder, inputs))
    if has_pools(cluster):
        topics.append(Pools(jobs, cluster, simulation.signals))
    if has_cpu_jobs(jobs):
        min_cpus_per_gpu = getattr(simulation.policy, "min_cpus_per_gpu", None)
        topics.append(JobTypes(jobs, cluster, performance.drawn, min_cpus_per_gpu))
    fails = any(event.type == "fail" for event in simulation.capacity_events)
    if simulation.failures is not None or fails:
        from artist.recording.failures import FailureAccounts

        at_random = simulation.failures
        per_s = at_random.of_gpus_per_s(1) if at_random else None
        topics.append(FailureAccounts(jobs, cluster, per_s=per_s))
    if simulation.rates is not None:
        from artist.recording.costs import CostAccounts

        topics.append(CostAccounts(jobs, cluster, simulation.rates))
    if (site := site_of(jobs)) is not None:
        topics.append(Seen(jobs, site, recorder))
    if simulation.config.performance.contention != "none":
        from artist.recording.traffic import Traffic

        topics.append(Traffic(jobs, cluster, performance.sending, performance.capacity, performance.answers))
    return topics


def _unforeseen(error: BaseException, request: Request) -> Outcome:
    """Return the outcome of an error that no input should lead to: the system's, a user part's, or ours."""
    lines = own_lines(error, request.config)
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        where = str(error.filename or request.config["output"]["dir"])
        what = f"the disk is full ({os.strerror(error.errno).lower()}); what was finished is kept"
        full = InputError(what, where=where, allowed="room there, or another place for it")
        return Outcome("failed", request.folder, message=two_lines(full))
    if isinstance(error, MemoryError) and not lines:
        message = two_lines(out_of_memory(f"the run under policy {request.policy}"))
        return Outcome("failed", request.folder, message=message)
    if isinstance(error, OSError) and not lines:
        return Outcome("bad_input", request.folder, message=two_lines(from_library(error)))
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    if isinstance(error, SystemExit):
        what = f"it left the program by sys.exit({error.code!r})"
    elif not lines:
        shipped = ("artist.", "netmodels.")
        theirs = [target for target in targets_of(request.config) if not target.startswith(shipped)]
        what += f"; a bug of {' or '.join(theirs)}, or of" if theirs else "; this is a bug of"
        what += " the program"
    at = lines or "{0.filename}:{0.lineno}".format(extract_tb(error.__traceback__)[-1])
    message = f"the run under policy {request.policy} failed: {what}\n  at {at}"
    return Outcome("failed", request.folder, message=message, log=request.folder / LOG)


def _is_interruption(error: BaseException) -> bool:
    """Return whether a signal raised an error, or submitit for a job that is out of time or preempted."""
    by_python = isinstance(error, KeyboardInterrupt) and getsignal(SIGINT) is default_int_handler
    return (
        isinstance(error, Stopped)
        or by_python
        or any("submitit" in Path(frame.filename).parts for frame in extract_tb(error.__traceback__))
    )


def _as_yaml(config: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(dict(config), sort_keys=False)
    return text


class _Notes(logging.Handler):
    """Keeps messages logged with `extra={"note": True}`, which the user sees once for a run or sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not _is_no_note(record):
            self.kept.append(record.getMessage())


def _is_no_note(record: logging.LogRecord) -> bool:
    return not getattr(record, "note", False)


@contextmanager
def _logging_to(*handlers: logging.Handler) -> Iterator[None]:
    root = logging.getLogger()
    level, others = root.level, list(root.handlers)
    for other in others:  # notes are printed at the end
        other.addFilter(_is_no_note)
    root.setLevel(min(level, logging.INFO))  # that of artist.log and of notes, also where Hydra set none
    for handler in handlers:
        handler.setFormatter(logging.Formatter(_LOG_FORMAT))
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
        for other in others:
            other.removeFilter(_is_no_note)
        root.setLevel(level)
