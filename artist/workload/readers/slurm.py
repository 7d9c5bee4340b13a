"""Reader of dumps of Slurm's accounting: `sacct --parsable2`, or the job table of its database."""

import re
from typing import Literal

import numpy as np

from artist.errors import InputError
from artist.tables.rows import Column, Table, coded, to_numbers
from artist.workload.api import Durations, TypedFileParameters
from artist.workload.missing import is_missing, without_fillers
from artist.workload.readers import rules
from artist.workload.readers.gather import gathered
from artist.workload.readers.instants import TimeZone, arrivals, begun, read_times, run_times
from artist.workload.readers.sacct import COMMAND, JOB_ID, SPAN, read_sacct
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_TEXTS = ("user", "account", "partition", "qos", "reservation")
_TOTALS, _PER_NODE = ("alloctres", "reqtres"), ("allocgres", "reqgres")
_GPUS = ("alloctres", "allocgres", "reqtres", "reqgres")  # the first that has GPUs counts
_NEEDED = (
    *("jobid", "jobidraw", "cluster", "submit", "eligible", "start", "end", "elapsed", "elapsedraw"),
    *("suspended", "state", *_GPUS, "nnodes", "allocnodes", "ncpus", "alloccpus", "reqcpus", "reqmem"),
    *("timelimit", "timelimitraw", *_TEXTS, "uid", "priority", "flags"),
)
_FIELDS = {
    **{
        "job_id": "JobID",
        "submit_s": "Submit",
        "gpus": "AllocTRES",
        "duration_s": "Elapsed",
        "cpus": "NCPUS",
    },
    **{"memory_bytes": "ReqMem", "limit_s": "Timelimit", "priority": "Priority", "nodes": "NNodes"},
    "started_s": "Start",
}
_STATES = {  # also as numbers of the database and as letters
    **{"PENDING": (0, "PD"), "RUNNING": (1, "R"), "SUSPENDED": (2, "S"), "COMPLETED": (3, "CD")},
    **{"CANCELLED": (4, "CA"), "FAILED": (5, "F"), "TIMEOUT": (6, "TO"), "NODE_FAIL": (7, "NF")},
    **{"PREEMPTED": (8, "PR"), "BOOT_FAIL": (9, "BF"), "DEADLINE": (10, "DL"), "OUT_OF_MEMORY": (11, "OOM")},
    **{"REQUEUED": (1024, "RQ"), "COMPLETING": (32768, "CG"), "CONFIGURING": (16384, "CF")},
    **{"RESIZING": (8192, "RS"), "REVOKED": (None, "RV"), "SPECIAL_EXIT": (None, "SE")},
    **{"STOPPED": (None, "ST"), "SIGNALING": (None, "SI"), "STAGE_OUT": (None, "SO")},
    **{"REQUEUE_FED": (None, "RF"), "REQUEUE_HOLD": (None, "RH"), "RESV_DEL_HOLD": (None, "RD")},
    **{"LAUNCH_FAILED": (None, "LF"), "RECONFIG_FAIL": (None, "RN"), "POWER_UP_NODE": (None, "PN")},
}
_NAMES = {str(form): name for name, forms in _STATES.items() for form in (name, *forms)}
_WAITING = ("PENDING", "REVOKED", "RESV_DEL_HOLD")
_RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING", "STAGE_OUT")
_AGAIN = (
    *("REQUEUED", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "RESIZING", "PENDING", "REQUEUE_HOLD"),
    *("REQUEUE_FED", "SPECIAL_EXIT", "RUNNING", "LAUNCH_FAILED"),
)
_SLACK = np.timedelta64(60, "s")  # from the end of an attempt to the submission of the next
_LAST_S = 2.5e11  # seconds from 1970 to the year 9892
_MAX_PLAIN = 4e9  # NO_VAL and INFINITE of Slurm are larger
_UNLIMITED = ("UNLIMITED", "PARTITION_LIMIT", "INFINITE")
_COMPONENT = re.compile(r"\+\d+")
_LOOP = re.compile(r"Sched(?:Main|Backfill|Submit)")
_ITEM = re.compile(
    r"(?:gres[/:])?(?:gpu|7696487|1001)(?::([^=:]+))?(?:[:=](\d+))?"
)  # numbers: as Slurm writes it
_SLICE = re.compile(r"(?:^|[._-])(?:mig[-_.])?\d+g\.\d+gb.*", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)i?B?([nc]?)", re.IGNORECASE)
_KIB = {"K": 1, "": 2, "M": 2, "G": 3, "T": 4, "P": 5}


class SlurmDump(TraceReader):
    """Jobs of a Slurm cluster as its accounting has them.

    Read are the output of `sacct` with --parsable2 or --parsable and any delimiter, plain or gzipped, with
    its columns in any order, and the job table of Slurm's database (id_job, time_submit, tres_alloc ...).
    Needed are Submit, Start, End or Elapsed, State, and one of AllocTRES, ReqTRES, AllocGRES, ReqGRES.

    Rules:

    - The run time is Elapsed + Suspended, or, where not known, End - Start. All final states count.
    - GPUs are those allocated, else those asked for: gres/gpu, or the sum of its types if that is more.
      AllocGRES and ReqGRES count per node. A slice of a GPU (MIG) follows `fractional_gpus`. A job runs on
      the GPU types that it got, and on no more machines than it had (`max_machines=any`: any number).
    - Steps (.batch, .extern, .0) are no jobs; a job without GPUs has those of its largest step.
    - Tasks of an array are jobs. Components of a heterogeneous job (123+0, 123+1) are one job: GPUs, CPUs,
      memory and nodes add up, from the latest start to the latest end.
    - Rows of one JobID (sacct --duplicates) are attempts of one job. By `attempts`, it is submitted and
      starts as the first, with the GPU time of all, on the GPUs of the last (sum), or it is its last attempt.
      A JobID that is submitted anew after its job has ended is another job.
    - A job that still runs counts with its time so far, or to its limit (`running`). Jobs that never started
      or have no run time are left out. Jobs left out are counted, with their GPU-hours, by state.
    - Dates are read as by `workload=columns`, and seconds since 1970; of the two times that a clock shows
      twice it is the one with which Elapsed agrees. `arrival=eligible` takes the time from which a job
      could start, such as the end of a job that it depended on.
    - A job without GPUs follows `cpu_jobs`, one of duration 0 `zero_duration`. Jobs with GPUs ask for CPUs
      and memory only with `cpus=keep` and `memory=keep`.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        durations: Durations = "observed"
        gpu_types: Literal["keep", "drop", "known", "ignore"] = "known"
        time_zone: TimeZone | None = None
        timestamp_format: str | None = None
        partitions: tuple[str, ...] | None = None
        arrival: Literal["submit", "eligible"] = "submit"
        attempts: Literal["sum", "last"] = "sum"
        running: Literal["elapsed", "limit", "drop"] = "elapsed"
        max_machines: Literal["nodes", "any"] = "nodes"
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        memory: rules.UseCpus = "ignore"
        fractional_gpus: rules.FractionalGpus = "round_up"
        zero_duration: rules.ZeroDuration = "drop"

    parameters: Parameters

    def _read(self) -> Table:
        return read_sacct(self.parameters.path, _NEEDED)

    def _jobs(self, raw: Table) -> Table:
        path = self.parameters.path
        for names in (("submit",), ("start",), ("end", "elapsed", "elapsedraw"), ("state",), _GPUS):
            if not any(name in raw for name in names):
                fault = f"no column {' or '.join(names)}"
                raise InputError(fault, where=str(path), found=list(raw.columns), allowed=COMMAND)
        raw = raw.assign(job_id=_names(raw, str(path)))
        step = np.array(["." in name.rpartition("/")[2] for name in raw["job_id"].tolist()])
        if step.all():
            allowed = "rows of jobs beside those of their steps"
            raise InputError("no jobs", where=str(path), found=f"{len(raw)} steps", allowed=allowed)
        steps, raw = raw.take(step), raw.take(~step)
        rows = self._timed(raw.assign(state=_states(raw, str(path))))
        jobs = self._joined(rows.assign(**_resources(rows, steps), **_labels(rows)))
        dated = arrivals(jobs, "submit", str(path), jobs["submit"], self.parameters.time_zone)
        waited_s = rules.seconds_between(jobs["submit"], jobs["start"])
        jobs = jobs.assign(**dated, started_s=dated["submit_s"] + waited_s)
        table = self._gathered(typed(jobs, str(path), _FIELDS))
        known = jobs.at(table.places)
        extra = {name: known[name] for name in ("state", "sliced", "start")}
        return self._kept(table.assign(**extra))

    def _timed(self, raw: Table) -> Table:
        """Return the rows with times, run times and limits; of jobs that never started, NaT and NaN."""
        chosen, where = self.parameters, str(self.parameters.path)
        eligible = ["eligible"] if chosen.arrival == "eligible" else []
        if eligible and "eligible" not in raw:
            allowed = "Eligible in sacct --format, or arrival=submit"
            raise InputError("no column eligible", where=where, found=list(raw.columns), allowed=allowed)
        names = [name for name in ("submit", *eligible, "start", "end") if name in raw]
        raw = raw.assign(**{name: _dates(raw[name]) for name in names})
        run_s = _spans(raw, ("elapsed", "elapsedraw"), where)
        run_s = run_s + np.nan_to_num(_spans(raw, ("suspended",), where))
        limit_s = _spans(raw, ("timelimit", "timelimitraw"), where, 60.0)
        times = read_times(raw, names, where, chosen.time_zone, chosen.timestamp_format, run_s)
        never = np.full(len(raw), np.datetime64("NaT", "ns"))
        by_name = dict(zip(names, times, strict=True))
        submit, end = by_name["submit"], by_name.get("end", never)
        refuse(raw, np.isnat(begun(submit, submit)), where, "submit", "is missing", "a time of submission")
        start = begun(by_name["start"], submit)
        idle = np.isin(raw["state"], _WAITING) | np.isnat(start)
        if "alloctres" in raw:
            idle |= (run_s == 0) & (raw["alloctres"] == "")
        start, end = np.where(idle, never, start), np.where(idle, never, end)
        fields, unknown = ("submit", "start", "end"), np.full(len(raw), np.nan)
        between_s = run_times(raw, where, fields, submit, start, end, unknown)
        run_s = np.where(idle, np.nan, np.where(np.isnan(run_s), between_s, run_s))
        dumped = np.full(len(raw), np.fmax.reduce([np.fmax.reduce(column) for column in times]))
        run_s = np.where(
            ~idle & np.isin(raw["state"], _RUNNING),
            np.fmax(
                np.where(np.isnan(run_s), rules.seconds_between(start, dumped), run_s),
                limit_s if chosen.running == "limit" else np.nan,
            ),
            run_s,
        )
        ready = by_name.get("eligible", never)
        submit = np.where(~np.isnat(ready) & ~(ready > start), ready, submit)
        return raw.assign(submit=submit, start=start, duration_s=run_s, limit_s=limit_s)

    def _joined(self, rows: Table) -> Table:
        """Return a row per job, with its attempts."""
        submit, start, run_s = rows["submit"], rows["start"], rows["duration_s"]
        number, _ = coded(rows["job_id"])
        begins = np.where(np.isnat(start), np.inf, start.astype("datetime64[s]").astype(float))
        order = np.lexsort((np.nan_to_num(run_s, nan=-1.0), begins, submit, number))
        same = number[order][1:] == number[order][:-1]
        if not same.any():
            return rows
        once = np.append(~(same & (begins[order][1:] == begins[order][:-1])), True)
        order = order[once]  # of an attempt in two dumps, while it ran and when it had ended, the latter
        before, after = order[:-1], order[1:]
        end = np.where(np.isnat(start), submit, start + np.nan_to_num(run_s * 1e9).astype("timedelta64[ns]"))
        again = (submit[after] <= end[before] + _SLACK) | np.isin(rows["state"][before], _AGAIN)
        same = number[before] == number[after]
        first = np.flatnonzero(np.append(True, ~(same & again)))
        place = np.arange(len(order))
        last = np.append(first[1:], len(order)) - 1
        counts = np.maximum.reduceat(np.where(np.isnat(start[order]), -1, place), first)
        counts = last if self.parameters.attempts == "last" else np.where(counts < 0, last, counts)
        use = place[first] - np.maximum.accumulate(np.where(np.append(True, ~same)[first], place[first], 0))
        jobs = rows.take(order[counts])
        names = zip(jobs["job_id"].tolist(), np.cumsum(use > 0).tolist(), (use > 0).tolist(), strict=True)
        jobs = jobs.assign(job_id=[f"{name}#{n}" if later else name for name, n, later in names])
        gpu_s = rows["gpus"][order] * np.nan_to_num(run_s[order])
        self._log_attempts(len(order) - len(first), (gpu_s.sum() - gpu_s[counts].sum()) / 3600)
        if self.parameters.attempts == "sum":
            whole_s = np.add.reduceat(np.nan_to_num(run_s[order]), first)
            per_gpu_s = np.add.reduceat(gpu_s, first) / np.maximum(jobs["gpus"], 1)
            summed_s = np.where(jobs["gpus"] > 0, per_gpu_s, whole_s)
            jobs = jobs.assign(
                submit=np.minimum.reduceat(submit[order], first),
                start=np.fmin.reduceat(start[order], first),
                duration_s=np.where(np.isnan(jobs["duration_s"]), np.nan, summed_s),
            )
        return jobs.take(np.argsort(jobs.places, kind="stable"))

    def _log_attempts(self, more: int, gpu_h: float) -> None:
        if more:
            counted = "counted" if self.parameters.attempts == "sum" else "not counted"
            note = "%s: %d attempts before the last of their jobs, with %.4g GPU-hours, %s (attempts=%s)"
            rules.log.info(note, self.parameters.path, more, gpu_h, counted, self.parameters.attempts)

    def _gathered(self, table: Table) -> Table:
        """Return the jobs with the components of a heterogeneous one, 123+0 and 123+1, as one."""
        names = table["job_id"].tolist()
        if not any("+" in name for name in names):
            return table
        types: dict[str, list[str]] = {}
        names = [_COMPONENT.sub("", name) for name in names]
        for name, text in zip(names, table["gpu_types"].tolist(), strict=True):
            types.setdefault(name, []).extend(text.split("|") if text else ())
        lists = ["|".join(dict.fromkeys(types[name])) for name in names]
        table, _ = gathered(table.assign(job_id=names, gpu_types=lists), {})
        return table

    def _kept(self, table: Table) -> Table:
        chosen, path = self.parameters, self.parameters.path
        never = np.isnat(table["start"])
        tasks = sum(map(_tasks, table["job_id"][never].tolist())) - int(never.sum())
        more = f", of which rows of arrays have {tasks:,} more" * (tasks > 0)
        table = rules.drop(table, never, path, f"never started{more}")
        if alive := int(np.isin(table["state"], _RUNNING).sum()):
            note = "%s: %d of %d jobs still ran (running=%s)"
            rules.log.info(note, path, alive, len(table), chosen.running)
        if chosen.running == "drop":
            table = rules.drop(table, np.isin(table["state"], _RUNNING), path, "still run (running=drop)")
        table = rules.drop_unfinished(table, path, "no run time: no Elapsed, or no End")
        table = rules.keep_values(table, table, "partition", chosen.partitions, path)
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.sliced_gpus(table, chosen.fractional_gpus, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = rules.apply_use_memory(rules.apply_use_cpus(table, chosen.cpus), chosen.memory)
        nodes = np.nan_to_num(table["nodes"])
        mixed = np.array(["|" in text for text in table["gpu_types"].tolist()], dtype=float)
        table = table.assign(mixed_types=mixed, max_machines=nodes if chosen.max_machines == "nodes" else 0.0)
        rules.note_order(table, path)
        return check(table, str(path), _FIELDS)


def _names(raw: Table, where: str) -> Column:
    """Return the names of jobs and steps, with that of the cluster if there are several."""
    column = next((name for name in ("jobid", "jobidraw") if name in raw), None)
    if column is None:
        raise InputError("no column jobid or jobidraw", where=where, found=list(raw.columns), allowed=COMMAND)
    names = raw[column].tolist()
    wrong = np.array([JOB_ID.fullmatch(name) is None for name in names])
    refuse(raw, wrong, where, column, "is no job of Slurm", "such as 123, 123_4, 123+1 or 123.batch")
    if "cluster" not in raw or len({*raw["cluster"].tolist()} - {""}) < 2:
        return raw[column]
    return np.array([f"{at}/{name}" for at, name in zip(raw["cluster"].tolist(), names, strict=True)], object)


def _tasks(name: str) -> int:
    """Return the number of tasks that have not started in a row of an array, such as 123_[4-9,12%2]."""
    listed, count = name.partition("[")[2].partition("%")[0].rstrip("]"), 0
    for part in listed.split(","):
        first, _, last = part.partition(":")[0].partition("-")
        if first.isdigit():
            count += int(last) - int(first) + 1 if last.isdigit() else 1
    return max(count, 1)


def _states(raw: Table, where: str) -> Column:
    """Return the states by their long names, without the user who cancelled."""
    codes, texts = coded(raw["state"])
    words = [(text.upper().split() or [""])[0] for text in texts]
    cut = [word.removesuffix("+") for word in words]
    names = [
        _NAMES.get(one) or next((name for name in _STATES if word != one and name.startswith(one)), "")
        for word, one in zip(words, cut, strict=True)
    ]
    allowed = ", ".join(_STATES)
    refuse(raw, np.array([not name for name in names])[codes], where, "state", "is unknown", allowed)
    return np.array(names, dtype=object)[codes]


def _dates(column: Column) -> Column:
    """Return a column of dates; seconds since 1970 become dates with a zone."""
    if not all(text.isdigit() for text in column.tolist() if not is_missing(text)):
        return column
    seconds = without_fillers(to_numbers(column), time=True)
    known = np.isfinite(seconds) & (seconds < _LAST_S)
    dates = np.where(known, seconds, 0).astype(np.int64).astype("datetime64[s]")
    return np.array([f"{date}Z" if one else "" for date, one in zip(dates, known, strict=True)], object)


def _spans(raw: Table, names: tuple[str, ...], where: str, plain_s: float = 1.0) -> Column:
    """Return the seconds of the first column that has them, (n_rows,); NaN where none has.

    Parameters
    ----------
    plain_s
        Seconds of 1 in a text without colons.
    """
    seconds = np.full(len(raw), np.nan)
    for name in names:
        if name in raw:
            codes, texts = coded(raw[name])
            values = [_seconds(text, plain_s) for text in texts]
            wrong = np.array([value is None for value in values])[codes]
            refuse(raw, wrong, where, name, "is no time", "such as 1-02:03:04, 02:03:04 or 03:04.567")
            read = np.array([np.nan if value is None else value for value in values])[codes]
            seconds = np.where(np.isnan(seconds), without_fillers(read, time=True), seconds)
    return seconds


def _seconds(text: str, plain_s: float) -> float | None:
    """Return the seconds of a time; NaN for none, None for a text that is no time."""
    if text.isdigit():
        return np.nan if float(text) > _MAX_PLAIN else float(text) * plain_s
    if text and (match := SPAN.fullmatch(text)):
        days, hours, minutes, seconds = match.groups()
        clock = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)
        return clock + int(days or 0) * 86_400
    return np.nan if is_missing(text) or text.upper() in _UNLIMITED else None


def _resources(raw: Table, steps: Table) -> dict[str, Column]:
    """Return GPUs, their types, CPUs, memory and nodes of jobs."""
    nodes = _counts(raw, ("nnodes", "allocnodes"), r"node|4")
    cpus = np.nan_to_num(_counts(raw, ("alloccpus", "ncpus", "reqcpus"), r"cpu|1"))
    gpus, types, sliced = _gpus(raw, nodes)
    if len(steps) and not gpus.all():
        of_steps = _gpus(steps, _counts(steps, ("nnodes", "allocnodes"), r"node|4"))
        most: dict[str, tuple[float, str, bool]] = {}
        names = steps["job_id"].tolist()
        for name, held in zip(names, zip(*map(np.ndarray.tolist, of_steps), strict=True), strict=True):
            job = name.rpartition(".")[0]
            most[job] = max(most.get(job, (0.0, "", False)), held)
        for row in np.flatnonzero(gpus == 0).tolist():
            gpus[row], types[row], sliced[row] = most.get(raw["job_id"][row], (0.0, "", False))
    memory = _memory(raw, "reqmem", np.nan_to_num(nodes, nan=1.0), cpus)
    for name in reversed(_TOTALS):
        if name in raw:
            memory = np.where((known := _memory(raw, name, nodes, cpus)) > 0, known, memory)
    return {
        "gpus": gpus, "gpu_types": types, "sliced": sliced,
        "cpus": cpus, "memory_bytes": memory, "nodes": nodes,
    }  # fmt: skip


def _labels(raw: Table) -> dict[str, Column]:
    """Return the texts of jobs, their priority, and the scheduling loop that started them."""
    labels = {name: raw[name] for name in _TEXTS if name in raw}
    if "user" not in raw and "uid" in raw:
        labels["user"] = raw["uid"]
    if "priority" in raw:
        labels["priority"] = raw["priority"]
    if "flags" in raw:
        codes, texts = coded(raw["flags"])
        loops = [match[0] if (match := _LOOP.search(text)) else "" for text in texts]
        labels["loop"] = np.array(loops, dtype=object)[codes]
    return labels


def _gpus(raw: Table, nodes: Column) -> tuple[Column, Column, Column]:
    """Return the GPUs of jobs, their types as in a|b, and whether some are parts of GPUs, each (n_rows,)."""
    gpus, sliced = np.zeros(len(raw)), np.zeros(len(raw), dtype=bool)
    types = np.full(len(raw), "", dtype=object)
    for name in _GPUS:
        if name not in raw:
            continue
        codes, texts = coded(raw[name])
        counts, kinds, parts = zip(*map(_held, texts), strict=True)
        held = np.array(counts, dtype=float)[codes]
        if name in _PER_NODE:
            held *= np.fmax(nodes, 1)
        first = (gpus == 0) & (held > 0)
        gpus, sliced = np.where(first, held, gpus), np.where(first, np.array(parts)[codes], sliced)
        types = np.where(first | ((types == "") & (held > 0)), np.array(kinds, dtype=object)[codes], types)
    return gpus, types, sliced


def _held(text: str) -> tuple[int, str, bool]:
    """Return the GPUs in a text of TRES or GRES, their types, and whether some are parts of GPUs.

    >>> _held("cpu=8,gres/gpu:a100=8,gres/gpu=8"), _held("gpu:2(IDX:0-1)"), _held("gres/gpu:a100_3g.20gb=1")
    ((8, 'a100', False), (2, '', False), (1, 'a100', True))
    """
    untyped, typed, sliced = 0, 0, False
    types: dict[str, None] = {}
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        if (match := _ITEM.fullmatch(item.strip())) is None:
            continue
        kind, count = match.groups()
        if count is None and (kind is None or kind.isdigit()):
            kind, count = None, kind
        if kind is None:
            untyped += int(count or 1)
            continue
        typed += int(count or 1)
        model = _SLICE.sub("", kind)
        sliced |= model != kind
        if model:
            types[model] = None
    return max(untyped, typed), "|".join(types), sliced


def _counts(raw: Table, names: tuple[str, ...], tres: str) -> Column:
    """Return the first number above 0 of some columns and TRES, (n_rows,); NaN for none."""
    counts = np.full(len(raw), np.nan)
    for name in (*_TOTALS[:1], *names, *_TOTALS[1:]):
        if name in raw:
            codes, texts = coded(raw[name])
            if name in _TOTALS:
                texts = [_in_tres(text, tres) for text in texts]
            numbers = without_fillers(to_numbers(np.array(texts, dtype=object)), 1e7)[codes]
            counts = np.where(np.isnan(counts) & (numbers > 0), numbers, counts)
    return counts


def _memory(raw: Table, name: str, nodes: Column, cpus: Column) -> Column:
    """Return the bytes in a column, (n_rows,); those per node or CPU (500Mn, 2Gc) times their number."""
    if name not in raw:
        return np.zeros(len(raw))
    codes, texts = coded(raw[name])
    sizes = [_SIZE.fullmatch(_in_tres(text, "mem|2") if name in _TOTALS else text) for text in texts]
    amounts = [float(size[1]) * 1024.0 ** _KIB[size[2].upper()] if size else 0.0 for size in sizes]
    per = np.array([size[3].lower() if size else "" for size in sizes], dtype=object)[codes]
    times: Column = np.where(per == "n", nodes, np.where(per == "c", cpus, 1.0))
    memory: Column = np.rint(np.array(amounts)[codes] * times)
    return memory


def _in_tres(text: str, names: str) -> str:
    """Return the value of one of some names in a list such as cpu=8,mem=60G; "" if it has none."""
    match = re.search(rf"(?:^|,)(?:{names})=([^,]+)", text)
    return match[1] if match else ""
