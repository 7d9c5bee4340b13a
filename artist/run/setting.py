"""Sentences on a run, which its report prints under "What was simulated", by topic and part.

A part that has a method `describe()` gives its own sentence, a clause without a full stop. Any other is named
by its class; a policy by the first line of the docstring of its module or, without one, of its class, or by
the comment of its preset (`of_preset`).
"""

import re
import sys
from collections.abc import Mapping, Sequence
from inspect import getdoc
from pathlib import Path
from typing import Any

from artist.core.cluster import Cluster
from artist.core.compact_jobs import templates_of
from artist.core.job import JobSpec
from artist.data import data_path, first_sentence
from artist.datacenter.config import ClusterConfig
from artist.recording.names import NO_COMMUNICATION
from artist.run.config import Config, PerformanceConfig
from netmodels.fabric.fabric import Topology
from netmodels.fabric.system import SystemSettings
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.zero import ZeroModel

Setting = Mapping[str, Mapping[str, str]]

_CONTENTION = {
    "mean_field": "jobs on the same links slow each other; one that sends more of the time slows others more",
    "packets": "jobs on the same links slow each other, as followed packet by packet",
}
_OWN_DELAYS = "some jobs state delays of their own"


def describe_run(
    config: Config,
    parts: Mapping[str, Any],
    jobs: Sequence[JobSpec],
    cluster: Cluster,
    topology: Topology,
    system: SystemSettings,
    own_parts: Sequence[Any] = (),
) -> Setting:
    """Return the sentences on a run, by topic and part; a part that has none is left out.

    Parameters
    ----------
    parts
        `policy`, `workload`, `arrivals`, `signals`, `overheads`, `estimates` and `network`.
    system
        Settings with which the network model is asked.
    own_parts
        The user's own effects and couplings.
    """
    source = parts["workload"]
    models = "" if getattr(source, "names_models", False) else source.parameters.models.describe()
    delays = _OWN_DELAYS if any(spec.delays_ns for spec in templates_of(jobs)) else ""
    targets = (*config.performance.effects, *config.performance.couplings)
    named_parts = zip(own_parts, (str(target["_target_"]).rsplit(".")[-1] for target in targets), strict=True)
    topics = {
        "Policy": {
            "policy": _policy(parts["policy"]),
            "knowledge": "knows run times in advance" * getattr(parts["policy"], "knows_durations", False),
        },
        "Workload": {
            "source": _source(source),
            "arrivals": _described(parts["arrivals"], "arrivals by {}"),
            "models": models,
            "input": _input(config.performance),
        },
        "Cluster": {
            "topology": f"topology {topology.name}" if topology.name else "",
            "machines": _machines(cluster, topology, config.cluster),
            "GPUs": f"{cluster.total_gpus} GPUs in all",
            "changes": _capacity_changes(config.cluster),
            "costs": _costs(config.cluster),
            "signals": _described(parts["signals"], "signals by {}"),
        },
        "Network model": {
            "model": _network(parts["network"], system, bool(config.topology.get("nccl"))),
            "contention": _CONTENTION.get(config.performance.contention, ""),
        },
        "Assumed": {
            "overheads": _described(parts["overheads"], "delays by {}"),
            "delays": delays,
            "estimates": _described(parts["estimates"], "durations are estimated by {}"),
            **{f"own part {i}": _described(part, name) for i, (part, name) in enumerate(named_parts)},
        },
    }
    texts = {topic: {name: text for name, text in of.items() if text} for topic, of in topics.items()}
    return {topic: of for topic, of in texts.items() if of}


def of_preset(setting: Setting, policy: object, preset: str, folders: Sequence[Path]) -> Setting:
    """Return the setting with the preset's sentence for a policy that gives none itself.

    A class serves several presets: those of a paper's baselines, too.

    Parameters
    ----------
    preset
        `dally`, or `network_aware(dally)` with a policy inside.
    folders
        The user's own folders of configuration.
    """
    name, _, inside = preset.rstrip(")").partition("(")
    files = (folder / "policy" / f"{name}.yaml" for folder in (*reversed(folders), data_path("conf")))
    file = next((path for path in files if path.is_file()), None)
    text = "" if file is None else first_sentence(file).partition(": artist ")[0]
    if not text or callable(getattr(policy, "describe", None)):
        return setting
    return {**setting, "Policy": {**setting["Policy"], "policy": text + f"; around {inside}" * bool(inside)}}


def _described(part: object, otherwise: str) -> str:
    """Return the sentence of a part, else one with the name of its class."""
    describe = getattr(part, "describe", None)
    return str(describe()) if callable(describe) else otherwise.format(type(part).__name__)


def _policy(policy: object) -> str:
    texts = (getdoc(sys.modules.get(type(policy).__module__)), getdoc(type(policy)))
    first = next((text.splitlines()[0].rstrip(".") for text in texts if text), type(policy).__name__)
    return _described(policy, first.replace("{", "{{").replace("}", "}}"))


def _source(source: Any) -> str:
    path = getattr(source.parameters, "path", None)
    name = type(source).__name__
    reader = name.removesuffix("Trace") or name
    return _described(source, "{}" if path is None else f"{path.name}, read by {reader}")


def _input(config: PerformanceConfig) -> str:
    """Return the CPUs and memory on which run times hold; empty where jobs need none."""
    if config.sensitivity is None:
        return ""
    held = {"share": "CPUs and memory in proportion to GPUs", "request": "the CPUs and memory asked for"}.get(
        config.measured_with, f"CPUs and memory in proportion to GPUs on machines of {config.measured_with}"
    )
    return f"run times hold for {held} (performance.sensitivity={config.sensitivity.name})"


def _machines(cluster: Cluster, topology: Topology, config: ClusterConfig) -> str:
    """Return the machines, those of a cluster that lists them with counts, and pools if there are several."""
    per_rack = f"{config.machines_per_rack or topology.machines_per_rack} machines per rack"
    if not isinstance(config.machines, list):
        machine = cluster.machines[0]
        return f"{machine.gpus} GPUs ({machine.gpu_type}) per machine, {per_rack}"
    pooled = len({group.pool for group in config.machines}) > 1
    if any(group.rack is not None for group in config.machines):
        per_rack = f"{cluster.n_racks} racks"
    counts: dict[tuple[str, str], int] = {}
    for group in config.machines:
        counts[group.type, group.pool] = counts.get((group.type, group.pool), 0) + group.count
    groups = []
    for (kind, of_pool), count in counts.items():
        facts = topology.machine_types[kind]
        machines = f"{count} machine{'s' * (count != 1)}"
        pool = f" for {of_pool}" * pooled
        if facts.gpus:
            groups.append(f"{machines} of {facts.gpus} GPUs ({facts.gpu_type}){pool}")
        else:
            cpus = f", {facts.cpus} CPUs each" * bool(facts.cpus)
            groups.append(f"{machines} without GPUs ({kind}{cpus}){pool}")
    return ", ".join([*groups, per_rack])


def _capacity_changes(config: ClusterConfig) -> str:
    if config.events is not None:
        return "machines fail, leave or join"
    return "machines fail at random" if config.failures is not None else ""


def _costs(config: ClusterConfig) -> str:
    counted = {"prices per GPU-hour": config.prices, "energy": config.power}
    return " and ".join(words for words, setting in counted.items() if setting is not None)


def _network(model: object, system: SystemSettings, has_parameters: bool) -> str:
    """Return the network model and, where it may be either, whose collectives it prices."""
    if isinstance(model, ZeroModel):
        return NO_COMMUNICATION
    name = type(model).__name__
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.removesuffix("Model") or name).lower()
    text = _described(model, word)
    if not isinstance(model, AnalyticalModel):
        return text
    if system.collectives != "nccl":
        return f"{text}, with the collectives of ASTRA-sim"
    source = "of the topology's nccl section" if has_parameters else "from data sheets"
    return f"{text}, with the collectives of NCCL and parameters {source}"
