"""Reader of the workloads of Kueue, the job queue of Kubernetes, as kubectl or a table has them."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from artist.errors import InputError
from artist.tables.files import read_json, read_text
from artist.tables.rows import BadRowsError, Column, Table, coded
from artist.workload.api import Durations, TypedFileParameters
from artist.workload.missing import is_missing
from artist.workload.readers import rules
from artist.workload.readers.columns import quantity
from artist.workload.readers.delimited import read_delimited
from artist.workload.readers.instants import TimeZone, arrivals, read_times, run_times
from artist.workload.readers.trace import TraceParameters, TraceReader
from artist.workload.table import check, refuse, typed

_NAMES = {  # of a table, without its spaces, hyphens and underscores
    "name": ("name", "workload", "jobname", "id"),
    "namespace": ("namespace",),
    "queue": ("queue", "localqueue", "queuename"),
    "cluster_queue": ("clusterqueue",),
    "priority": ("priority",),
    "priority_class": ("priorityclass", "priorityclassname"),
    "created": ("created", "creationtimestamp", "submitted", "creationtime"),
    "admitted": ("admitted", "admittedat", "started", "admissiontime"),
    "finished": ("finished", "finishedat", "ended", "finishtime"),
    "gpus": ("gpus", "gpu", "nvidia.com/gpu"),
    "cpus": ("cpus", "cpu"),
    "memory": ("memory", "mem"),
    "pods": ("pods", "count", "replicas"),
    "flavor": ("flavor", "gputype", "resourceflavor"),
    "limit_s": ("maximumexecutiontimeseconds", "limits"),
    "state": ("state", "status", "reason"),
}
_NEEDED = ("created", "admitted", "finished", "gpus")
_FIELDS = {
    **{"job_id": "name", "submit_s": "created", "gpus": "gpus", "duration_s": "finished", "cpus": "cpus"},
    **{"memory_bytes": "memory", "priority": "priority", "limit_s": "maximumExecutionTimeSeconds"},
}
_KEPT = {
    **{"vc": "queue", "partition": "cluster_queue", "account": "namespace", "qos": "priority_class"},
    **{"limit_s": "limit_s", "priority": "priority", "gpu_types": "flavor", "max_machines": "pods"},
}
_CONDITIONS = {"admitted": "Admitted", "finished": "Finished"}
_MIG = "/mig-"
_OURS = {"gpus": "gpus", "cpus": "cpus", "memory": "memory_bytes"}
_RESOURCES = tuple(_OURS)


class KueueWorkloads(TraceReader):
    """Workloads of Kueue; one workload, all its pod sets together, is one job.

    Read are `kubectl get workloads -A -o json`, and a table with a row per workload, of which name, queue,
    priority, created, admitted, finished, gpus, cpu and memory are known, and more; plain or gzipped.

    Rules:

    - A job arrives when it is created, starts when it is admitted, and ends when it is finished. One that has
      not finished ran until the last time in the file (`running=elapsed`) or is left out (`drop`), one that
      was not admitted is left out. Of an evicted workload that was admitted again, the last admission counts.
    - GPUs, CPUs and memory are those of the admission, else the sum over pod sets of pods x requests; GPUs
      are the resources whose name ends in /gpu, and slices of GPUs (nvidia.com/mig-1g.5gb), by
      `fractional_gpus`. The flavor of the GPUs is their type. A job spans at most one machine per pod.
    - vc is the local queue, partition the cluster queue, account the namespace, qos the priority class.
    - Jobs without GPUs follow `cpu_jobs`, those of duration 0 `zero_duration`; jobs with GPUs ask for CPUs
      and memory only with `cpus=keep` and `memory=keep`.
    """

    class Parameters(TraceParameters, TypedFileParameters):
        """Parameters, beside those of every source."""

        durations: Durations = "observed"
        gpu_types: Literal["keep", "drop", "known", "ignore"] = "known"
        time_zone: TimeZone | None = None
        running: Literal["elapsed", "drop"] = "elapsed"
        cpu_jobs: rules.CpuJobs = "drop"
        cpus: rules.UseCpus = "ignore"
        memory: rules.UseCpus = "ignore"
        fractional_gpus: rules.FractionalGpus = "round_up"
        zero_duration: rules.ZeroDuration = "drop"

    parameters: Parameters

    def _read(self) -> Table:
        path = self.parameters.path
        if read_text(path).lstrip()[:1] in ("{", "["):
            return _from_json(read_json(path, "the output of kubectl get workloads -o json"), str(path))
        return read_delimited(path)

    def _renamed(self, raw: Table) -> Table:
        """Return a table's columns by our names."""
        path = self.parameters.path
        plain = {
            name.lower().replace("_", "").replace("-", "").replace(" ", ""): name for name in raw.columns
        }
        theirs = {
            ours: plain[name] for ours, names in _NAMES.items() for name in names[::-1] if name in plain
        }
        if lost := [name for name in _NEEDED if name not in theirs]:
            allowed = ", ".join(name for name in _NAMES)
            raise InputError(
                f"no column {lost[0]}", where=f"{path}, line 1", found=list(raw.columns), allowed=allowed
            )
        return rules.renamed(raw, theirs).assign(sliced=np.zeros(len(raw), dtype=bool))

    def _jobs(self, raw: Table) -> Table:
        chosen, path, where = self.parameters, self.parameters.path, str(self.parameters.path)
        if raw.unit != "entry":
            raw = self._renamed(raw)
        names = ("created", "admitted", "finished")
        submit, start, end = read_times(raw, names, where, chosen.time_zone)
        dated = arrivals(raw, "created", where, submit, chosen.time_zone)
        run_s = run_times(raw, where, names, submit, start, end, np.full(len(raw), np.nan))
        last = np.full(len(raw), np.fmax.reduce([np.fmax.reduce(one) for one in (submit, start, end)]))
        alive = ~np.isnat(start) & np.isnat(end)
        run_s = np.where(alive, rules.seconds_between(start, last), run_s)
        amounts = {name: _amounts(raw, name, where) for name in _RESOURCES}
        columns = {theirs: raw[ours] for theirs, ours in _KEPT.items() if ours in raw} | {
            **dated,
            "started_s": dated["submit_s"] + rules.seconds_between(submit, start),
            "duration_s": run_s,
            "gpus": amounts["gpus"],
            "cpus": np.ceil(amounts["cpus"]),
            "memory_bytes": np.ceil(amounts["memory"]),
            "job_id": _job_ids(raw),
        }
        table = typed(Table(columns, raw.places, raw.unit), where, _FIELDS)
        states = np.where(alive, "running", np.where(np.isnat(start), "never admitted", "finished")).astype(
            object
        )
        if "state" in raw:
            states = np.where(raw["state"] == "", states, raw["state"])
        table = table.assign(state=states, sliced=raw["sliced"], alive=alive)
        table = rules.drop(table, np.isnat(start), path, "not admitted")
        if chosen.running == "drop":
            table = rules.drop(table, table["alive"], path, "still run (running=drop)")
        table = rules.apply_cpu_jobs(table, chosen.cpu_jobs, path)
        table = rules.whole_gpus(table, chosen.fractional_gpus, path)
        table = rules.sliced_gpus(table, chosen.fractional_gpus, path)
        table = rules.apply_zero_duration(table, chosen.zero_duration, path)
        table = rules.apply_use_memory(rules.apply_use_cpus(table, chosen.cpus), chosen.memory)
        rules.note_order(table, path)
        return check(table, where, _FIELDS)


def _job_ids(raw: Table) -> Column:
    """Return the names of workloads, with their namespaces if there are several; "" for none."""
    if "name" not in raw:
        return np.full(len(raw), "", dtype=object)
    if "namespace" not in raw or len({*raw["namespace"].tolist()}) < 2:
        return raw["name"]
    pairs = zip(raw["namespace"].tolist(), raw["name"].tolist(), strict=True)
    return np.array([f"{namespace}/{name}" for namespace, name in pairs], dtype=object)


def _amounts(raw: Table, name: str, where: str) -> Column:
    """Return quantities of Kubernetes, such as 1500m and 64Gi, as numbers, (n_jobs,); 0 for none."""
    if name not in raw:
        return np.zeros(len(raw))
    codes, texts = coded(raw[name])
    amounts = np.array([0.0 if is_missing(text) else quantity(text, _OURS[name]) for text in texts])[codes]
    allowed = "a number, or a quantity such as 1500m or 64Gi"
    refuse(raw, np.isnan(amounts), where, name, "is no quantity", allowed)
    return amounts


def _from_json(content: Any, where: str) -> Table:
    """Return the workloads of a list, or one, as kubectl writes them."""
    items = content.get("items", [content]) if isinstance(content, dict) else content
    if not isinstance(items, list):
        raise InputError("no list", where=where, found=items, allowed="items: a list of workloads")
    rows, faults = [], {}
    for entry, item in enumerate(items, 1):
        try:
            rows.append(_record(item))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            rows.append(dict.fromkeys(_JSON, "") | {"sliced": False})
            faults[entry] = f"{type(error).__name__}: {error}"
    if not rows:
        raise InputError("no jobs", where=where, found="0 items", allowed="at least one workload")
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in _JSON}
    columns["sliced"] = np.array(columns["sliced"], dtype=bool)
    table = Table(columns, np.arange(1, len(rows) + 1), "entry")
    if faults:
        bad = np.isin(table.places, list(faults))
        allowed = "metadata.name, metadata.creationTimestamp and spec.podSets of a Workload"
        value = next(iter(faults.values()))
        fault = BadRowsError("no workload of Kueue", table, bad, where=where, value=value, allowed=allowed)
        fault.rest = table.take(~bad)
        raise fault
    return table


_JSON = (*_NAMES, "sliced")


def _record(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workload of Kueue as a row; raise KeyError, TypeError ... if it is none."""
    about, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    since = {one["type"]: one for one in status.get("conditions") or () if one.get("status") == "True"}
    admission = status.get("admission") or {}
    assigned_sets = {one["name"]: one for one in admission.get("podSetAssignments") or ()}
    totals, flavors, pods = dict.fromkeys(_RESOURCES, 0.0), dict[str, None](), 0
    sliced = False
    for group in spec["podSets"]:
        assigned = assigned_sets.get(group["name"], {})
        count = int(assigned.get("count", group.get("count", 1)))
        usage = assigned.get("resourceUsage") or _requests(group["template"]["spec"], count)
        held = {name: _held(usage, name) for name in _RESOURCES}
        pods += count * (held["gpus"] > 0)
        sliced |= any(_MIG in name for name in usage)
        totals = {name: totals[name] + held[name] for name in _RESOURCES}
        kinds = (kind for name, kind in (assigned.get("flavors") or {}).items() if _is_gpu(name))
        flavors |= dict.fromkeys(kinds)
    times = {
        name: (since.get(kind) or {}).get("lastTransitionTime", "") for name, kind in _CONDITIONS.items()
    }
    ended = since.get("Finished") or {}
    return {
        **times, **{name: str(total) for name, total in totals.items()},
        "name": about["name"], "namespace": about.get("namespace", ""), "created": about["creationTimestamp"],
        "queue": spec.get("queueName", ""), "cluster_queue": admission.get("clusterQueue", ""),
        "priority": str(spec.get("priority", "")), "priority_class": spec.get("priorityClassName", ""),
        "limit_s": str(spec.get("maximumExecutionTimeSeconds", "")), "pods": str(pods),
        "flavor": "|".join(flavors), "state": ended.get("reason", ""), "sliced": sliced,
    }  # fmt: skip


def _requests(pod: Mapping[str, Any], count: int) -> dict[str, str]:
    """Return the requests of pods: the sum over containers, or the maximum of one that runs before them."""
    asked: dict[str, float] = {}
    for container in pod["containers"]:
        for name, amount in _amounts_of(container).items():
            asked[name] = asked.get(name, 0.0) + amount
    for container in pod.get("initContainers") or ():
        for name, amount in _amounts_of(container).items():
            asked[name] = max(asked.get(name, 0.0), amount)
    return {name: str(amount * count) for name, amount in asked.items()}


def _amounts_of(container: Mapping[str, Any]) -> dict[str, float]:
    resources = container.get("resources") or {}
    asked = (resources.get("limits") or {}) | (resources.get("requests") or {})
    return {name: _amount(name, text) for name, text in asked.items()}


def _amount(name: str, text: object) -> float:
    """Return a quantity as a number; raise ValueError if it is none."""
    amount = quantity(text, "memory_bytes" if name == "memory" else "cpus")
    if amount != amount:
        raise ValueError(f"{name}: {text} is no quantity")
    return amount


def _held(usage: Mapping[str, Any], resource: str) -> float:
    key = {"cpus": "cpu"}.get(resource, resource)
    names = [name for name in usage if (_is_gpu(name) if resource == "gpus" else name == key)]
    return sum(_amount(name, usage[name]) for name in names)


def _is_gpu(name: str) -> bool:
    return name.endswith("/gpu") or _MIG in name
