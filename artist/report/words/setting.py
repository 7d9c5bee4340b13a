"""The workload and the assumptions of runs, in the sentences that the runs wrote themselves. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from artist.recording.names import NO_COMMUNICATION
from artist.report.words.gpus import speeds
from artist.results.compare import Comparison
from artist.results.run import Run

_MAX_TEXTS, _MAX_POLICIES = 3, 8
_POLICY, _CLUSTER, _NETWORK = "Policy", "Cluster", "Network model"
_OLDER = (
    "made by a version whose parts do not describe themselves; config.yaml in their folders has the settings"
)


def setting(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the sentences on the runs, by topic; of older runs, which have none, a note.

    Where runs differ in a part, their sentences are joined by "or" if they are few, else left to the table.
    """
    runs = [group.runs[0] for group in comparison.groups]
    written = [sentences for run in runs if (sentences := run.summary.get("setting"))]
    policies = {run.summary["policy"]: _sentence(run, _POLICY, "policy") for run in runs}
    topics = [(name, f"{text}.") for name, text in policies.items() if text]
    lines = topics if len(topics) <= _MAX_POLICIES else []
    for topic in _in_order(written):
        texts = [sentences.get(topic, {}) for sentences in written]
        clauses = [joined(of.get(part, "") for of in texts) for part in _in_order(texts)]
        clauses += [speeds([run.config for run in runs])] * (topic == _CLUSTER)
        if topic != _POLICY and any(clauses):
            lines.append((topic, f"{'; '.join(filter(None, clauses))}."))
    older = len(runs) - len(written)
    return [*lines, *[("Older runs" if written else "Runs", f"{_OLDER}.")] * bool(older)]


def joined(texts: Iterable[str]) -> str:
    """Return different texts joined by "or"; empty if they are too many."""
    different = list(dict.fromkeys(filter(None, texts)))
    return " or ".join(different) if len(different) <= _MAX_TEXTS else ""


def is_free(run: Run) -> bool:
    """Return whether communication was set to take no time."""
    return _sentence(run, _NETWORK, "model") == NO_COMMUNICATION


def _sentence(run: Run, topic: str, part: str) -> str:
    return str(run.summary.get("setting", {}).get(topic, {}).get(part, ""))


def _in_order(mappings: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the keys of some mappings, each once, in order of first appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))
