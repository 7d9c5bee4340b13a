"""What was simulated, in sentences from the configs of the runs: jobs, cluster, network, costs. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from artist.report.words.wording import per_cent
from artist.results.compare import Comparison
from artist.results.names import listed

_DELAYS = {
    "start_s": "a first start",
    "resume_s": "going on where it was stopped",
    "restart_s": "going on elsewhere",
    "migrate_s": "a move",
    "resize_s": "a change of size",
    "retune_s": "a change of CPUs or memory",
}
_ON_STOP = {
    "keep": "a stopped job loses no work",
    "lose_iteration": "a stopped job loses its unfinished iteration",
    "lose_since_checkpoint": "a stopped job loses what it did since its last checkpoint",
    "lose_all": "a stopped job starts over",
}
_FREE = "starting, moving and preempting a job cost no time"
_PAPERS = {"Derived": "Synergy", "Lyra": "Lyra", "Coda": "CODA"}
_GENERATORS = ("Synthetic", *_PAPERS)
_NAMING = ("Derived", "Coda")  # sources that name the model of every job
_MAX_TEXTS, _MAX_MODELS = 3, 6


def setting(
    comparison: Comparison, gpus: Sequence[float] = (), *, delayed: bool = False
) -> list[tuple[str, str]]:
    """Return the workload and what was assumed, by topic; nothing if the runs hold no configs.

    What differs between runs is told in all its kinds if they are few, and left to the table otherwise.

    Parameters
    ----------
    gpus
        Capacity of the clusters.
    delayed
        Whether jobs lost time to starts and moves: those of some traces bring delays of their own.
    """
    configs = [group.runs[0].config for group in comparison.groups]
    delayed = delayed and not any(_notice(config) or _is_charged(config) for config in configs)
    sentences = (
        ("Workload", (_workload, _arrivals, _models, _needs, _rounds)),
        ("Cluster", (_topology, _machines, _capacity_changes, _use)),
        ("Network model", (_network, _contention)),
        ("Assumed", (_overheads, _notice, _stops, _estimates, _charge, _noise)),
    )
    said = []
    for topic, parts in sentences:
        clauses = [text for part in parts if (text := together(part, configs))]
        clauses = ["delays as jobs state them" if delayed and text == _FREE else text for text in clauses]
        sizes = sorted({int(count) for count in gpus if count > 0})
        if topic == "Cluster" and clauses and 0 < len(sizes) <= _MAX_TEXTS:
            clauses.append(f"{listed([str(size) for size in sizes])} GPUs in all")
        if topic == "Cluster" and clauses and (text := speeds(configs)):
            clauses.append(text)
        if clauses:
            said.append((topic, f"{'; '.join(clauses)}."))
    return said


def together(part: Callable[[Mapping[str, Any]], str], configs: Sequence[Mapping[str, Any]]) -> str:
    """Return what configs say, each text once; empty if they say too many different things."""
    texts = list(dict.fromkeys(filter(None, (part(config) for config in configs))))
    return " or ".join(texts) if len(texts) <= _MAX_TEXTS else ""


def _section(config: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    value: Any = config
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _class(section: Mapping[str, Any], ending: str) -> str:
    """Return the name of the class that makes a part, without a word that says what it is."""
    name = str(section.get("_target_") or "").rsplit(".", 1)[-1]
    return name.removesuffix(ending) or name


def _word(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def _workload(config: Mapping[str, Any]) -> str:
    section = _section(config, "workload")
    name = _class(section, "Trace")
    if section.get("path"):
        file = str(section["path"]).rstrip("/").rsplit("/", 1)[-1]
        return f"{file}, read by {name}" if name else file
    if name == "Synthetic":
        like = section.get("preset")
        return f"synthetic jobs like those of {like}" if like else "synthetic jobs"
    if name in _PAPERS:
        return f"jobs drawn as in the {_PAPERS[name]} paper"
    return name


def _arrivals(config: Mapping[str, Any]) -> str:
    section = _section(config, "arrivals")
    name = _class(section, "Arrivals")
    made = _class(_section(config, "workload"), "Trace") in _GENERATORS
    load = section.get("load")
    rate = f" at load {load}" if load else ""
    if section.get("jobs_per_hour"):
        rate = f", {section['jobs_per_hour']} jobs an hour"
    known = {
        "Trace": "arrivals as generated" if made else "arrivals as in the trace",
        "Batch": "all jobs arrive at once",
        "Poisson": f"Poisson arrivals{rate}",
        "Compress": f"arrivals squeezed or stretched to load {load}",
    }
    return known.get(name, f"arrivals by {name}" if name else "")


def _models(config: Mapping[str, Any]) -> str:
    section = _section(config, "workload", "models")
    if _class(_section(config, "workload"), "Trace") in _NAMING:
        return ""
    names = section.get("names")
    if section.get("rule") == "uniform" and isinstance(names, list) and names:
        which = listed([str(name) for name in names]) if len(names) <= _MAX_MODELS else f"{len(names)} models"
        return f"models drawn evenly from {which} where jobs name none"
    if section.get("rule") == "fixed" and section.get("name"):
        return f"model {section['name']} where jobs name none"
    return ""


def _needs(config: Mapping[str, Any]) -> str:
    """Return whether CPUs and memory matter, and on which of them run times hold."""
    section = _section(config, "performance")
    if not section.get("sensitivity"):
        return ""
    table = str(section["sensitivity"]).rsplit("/", 1)[-1]
    asked = section.get("measured_with") == "request"
    held = "the CPUs and memory asked for" if asked else "CPUs and memory in proportion to GPUs"
    text = f"run times hold for {held} (performance.sensitivity={table})"
    return text + ", and change at the best case only" * (section.get("stall") == "step")


def _rounds(config: Mapping[str, Any]) -> str:
    round_s = _section(config, "performance").get("whole_iterations_s")
    return f"whole iterations in rounds of {round_s:g} s" if _is_positive(round_s) else ""


def _topology(config: Mapping[str, Any]) -> str:
    name = _section(config, "topology").get("name")
    return f"topology {name}" if name else ""


def _machines(config: Mapping[str, Any]) -> str:
    cluster, topology = _section(config, "cluster"), _section(config, "topology")
    kind = cluster.get("machine_type") or topology.get("default_machine_type")
    machine = _section(topology, "machine_types", str(kind))
    said = _groups(cluster, topology)
    if machine.get("gpus") and not said:
        said.append(f"{machine['gpus']} GPUs ({machine.get('gpu_type') or kind}) a machine")
    per_rack = cluster.get("machines_per_rack") or topology.get("machines_per_rack")
    if isinstance(per_rack, int):
        said.append(f"{per_rack} machines a rack")
    return ", ".join(said)


def machine_types(config: Mapping[str, Any]) -> str:
    """Return the machine types of a cluster with their GPUs."""
    said = [
        f"{kind} ({each['gpus']} GPUs, {each.get('gpu_type')})"
        for kind, each in _types(config).items()
        if "gpus" in each
    ]
    return listed(said)


def _types(config: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    cluster, topology = _section(config, "cluster"), _section(config, "topology")
    machines = cluster.get("machines")
    kinds = [cluster.get("machine_type") or topology.get("default_machine_type")]
    if isinstance(machines, list):
        kinds = [group.get("type") for group in machines if isinstance(group, Mapping)]
    return {str(kind): _section(topology, "machine_types", str(kind)) for kind in kinds}


def _groups(cluster: Mapping[str, Any], topology: Mapping[str, Any]) -> list[str]:
    """Return the machines of a cluster that lists them, with their pools if there are several."""
    groups = cluster.get("machines")
    if not isinstance(groups, list):
        return []
    pooled = len({group.get("pool") for group in groups}) > 1
    said = []
    for group in groups:
        kind, count = str(group.get("type")), group.get("count")
        machine = _section(topology, "machine_types", kind)
        if machine.get("gpus") is None:
            return []
        machines = f"{count} machine{'s' * (count != 1)}"
        owner = f" for {group.get('pool')}" * pooled
        if machine["gpus"]:
            said.append(f"{machines} of {machine['gpus']} GPUs ({machine.get('gpu_type') or kind}){owner}")
        else:
            cpus = f", {machine.get('cpus')} CPUs each" * bool(machine.get("cpus"))
            said.append(f"{machines} without GPUs ({kind}{cpus}){owner}")
    return said


def _use(config: Mapping[str, Any]) -> str:
    """Return what inference uses of its machines, where it is drawn."""
    section = _section(config, "signals")
    if _class(section, "") != "InferenceUse":
        return ""
    low, mean, high = (per_cent(float(section.get(name, 0.0))) for name in ("trough", "mean", "peak"))
    return f"inference uses {low} to {high} of its machines, {mean} on average"


def speeds(configs: Sequence[Mapping[str, Any]]) -> str:
    """Return whether speeds of GPUs were compared; empty where all GPUs are alike, or if it is not known."""
    measured_on = {_section(config, "workload").get("measured_on") for config in configs}
    if None in measured_on or len({_gpus(config) for config in configs}) < 2:
        return ""
    if measured_on == {"cluster"}:
        return (
            "durations are taken as measured on each cluster's own GPUs, so speeds of GPUs are not compared"
        )
    if "cluster" in measured_on:
        return "speeds of GPUs are compared only where durations are not taken as the cluster's own"
    return f"durations as measured on {listed(sorted(map(str, measured_on)))}: speeds of GPUs are compared"


def gpu_types(config: Mapping[str, Any]) -> str:
    """Return the GPU types of a cluster."""
    return listed(sorted({kind for kind, _ in _gpus(config)}))


def _gpus(config: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return the GPU types of a cluster, with their speeds."""
    found = _types(config).values()
    return frozenset(
        (str(each.get("gpu_type")), str(each.get("speed"))) for each in found if each.get("gpus") != 0
    )


def _capacity_changes(config: Mapping[str, Any]) -> str:
    cluster = _section(config, "cluster")
    if not cluster.get("events") and not cluster.get("failures"):
        return ""
    return "machines fail, leave or join" if cluster.get("events") else "machines fail at random"


def is_free(config: Mapping[str, Any]) -> bool:
    """Return whether communication is set to take no time."""
    return _word(_class(_section(config, "network", "model"), "Model")) == "zero"


def _network(config: Mapping[str, Any]) -> str:
    name = _word(_class(_section(config, "network", "model"), "Model"))
    if name == "zero":
        return "none, communication takes no time"
    return f"{name}, {_collectives(config)}" if name == "analytical" and _collectives(config) else name


def _contention(config: Mapping[str, Any]) -> str:
    known = {
        "average": "jobs on the same links slow each other, by how often the others send",
        "phases": "jobs on the same links slow each other while they send at the same time",
    }
    return known.get(str(_section(config, "performance").get("contention")), "")


def _collectives(config: Mapping[str, Any]) -> str:
    """Return whose collectives were priced, and what NCCL's parameters are; empty if it is not said."""
    chosen, topology = _section(config, "network", "system"), _section(config, "topology")
    whose = chosen.get("collectives") or _section(topology, "system").get("collectives")
    if whose == "nccl":
        source = "of the topology's nccl section" if topology.get("nccl") else "derived from data sheets"
        return f"collectives as NCCL's, parameters {source}"
    return "collectives as ASTRA-sim's" if "collectives" in chosen else ""


def _overheads(config: Mapping[str, Any]) -> str:
    section = _section(config, "overheads")
    if not section:
        return ""
    if section.get("table"):
        return f"delays by model and GPUs from {str(section['table']).rsplit('/', 1)[-1]}"
    costs = [
        f"{word} {section[name]:g} s" for name, word in _DELAYS.items() if _is_positive(section.get(name))
    ]
    if costs:
        return f"delays while GPUs are held: {listed(costs)}"
    known = all(isinstance(section.get(name), int | float) for name in _DELAYS)
    return _FREE if known else ""


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0


def _notice(config: Mapping[str, Any]) -> str:
    notice_s = _section(config, "overheads").get("notice_s")
    return f"finishes are noticed every {notice_s:g} s" if _is_positive(notice_s) else ""


def _stops(config: Mapping[str, Any]) -> str:
    section = _section(config, "overheads")
    of_all, of_cpus = (_ON_STOP.get(str(section.get(name)), "") for name in ("on_stop", "cpu_on_stop"))
    return ", ".join(filter(None, (of_all, of_cpus.replace("job", "CPU-only job"))))


def _estimates(config: Mapping[str, Any]) -> str:
    section = _section(config, "estimates")
    name = _class(section, "Estimates")
    known = {
        "Exact": "policies that ask for durations are told the true ones",
        "Noise": f"policies that ask for durations are told noisy ones (level {section.get('level')})",
        "WrongFraction": f"policies that ask for durations are told wrong ones of {section.get('fraction')} "
        "of the jobs",
        "OptimisticProfiling": "policies believe a few measured CPU counts and the rest filled in",
    }
    return known.get(name, f"durations are estimated by {name}" if name else "")


def _is_charged(config: Mapping[str, Any]) -> bool:
    return bool(_section(config, "estimates").get("charge"))


def _charge(config: Mapping[str, Any]) -> str:
    if "charge" not in _section(config, "estimates"):
        return ""
    return "measuring delays first runs" if _is_charged(config) else "measuring takes no time"


def _noise(config: Mapping[str, Any]) -> str:
    noise = _section(config, "estimates").get("noise")
    if noise is None:
        return ""
    return (
        f"measurements are up to {per_cent(noise)} off" if _is_positive(noise) else "measurements are exact"
    )
