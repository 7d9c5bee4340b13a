"""The workload and the assumptions of runs, in the sentences that the runs wrote themselves. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from artist.recording.names import NO_COMMUNICATION
from artist.report.words.gpus import speeds
from artist.report.words.wording import capital
from artist.results.compare import Comparison
from artist.results.names import listed
from artist.results.run import Run

_MAX_TEXTS, _MAX_POLICIES = 3, 8
_PARTLY = ", but not in all runs"
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
    topics = _policies(runs)
    lines = topics if len(topics) <= _MAX_POLICIES else []
    for topic in _in_order(written):
        texts = [sentences.get(topic, {}) for sentences in written]
        clauses = [_clause([of.get(part, "") for of in texts]) for part in _in_order(texts)]
        clauses += [speeds([run.config for run in runs])] * (topic == _CLUSTER)
        if topic != _POLICY and any(clauses):
            lines.append((topic, f"{'; '.join(filter(None, clauses))}."))
    older = len(runs) - len(written)
    return [*lines, *[("Older runs" if written else "Runs", f"{_OLDER}.")] * bool(older)]


def _policies(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return the sentence of each policy; of one whose runs differ, that they do."""
    texts = [(run.summary["policy"], _sentence(run, _POLICY, "policy")) for run in runs]
    whole = {text for _, text in texts}
    lines = []
    for name in dict.fromkeys(name for name, _ in texts):
        text = joined(of for by, of in texts if by == name)
        depends = " (depending on the run)" * (text not in whole and _PARTLY not in text)
        lines += [(name, f"{capital(text)}{depends}.")] * bool(text)
    return lines


def joined(texts: Iterable[str]) -> str:
    """Return different texts joined by "or", common words once; empty if they are too many.

    >>> joined(["128 GPUs in all", "192 GPUs in all"]), joined(["a, of 2", "b, of 3"])
    ('128 or 192 GPUs in all', 'a, of 2; or b, of 3')
    >>> joined(["first come, first served", "first come, first served; in each virtual cluster"])
    'first come, first served; in each virtual cluster, but not in all runs'
    """
    different = list(dict.fromkeys(filter(None, texts)))
    if len(different) > _MAX_TEXTS:
        return ""
    if len(different) < 2:
        return "".join(different)
    words = [re.findall(r"\w+|\W", text) for text in different]
    same = _common(words)
    rest = [of[same:] for of in words]
    end = _common([of[::-1] for of in rest])
    parts = ["".join(of[: len(of) - end]) for of in rest]
    if len(parts) == 2 and not all(parts):
        return max(different, key=len) + _PARTLY
    if not all(parts) or any("," in part for part in parts):
        return "; or ".join(different)
    return f"{''.join(words[0][:same])}{listed(parts, ' or ')}{''.join(rest[0][len(rest[0]) - end :])}"


def _common(words: Sequence[Sequence[str]]) -> int:
    """Return the number of words with which all texts begin."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))


def _clause(texts: Sequence[str]) -> str:
    """Return a sentence on a part, and whether only some runs have it."""
    text = joined(texts)
    return f"in some runs, {text}" if text and not all(texts) else text


def is_free(run: Run) -> bool:
    """Return whether communication was set to take no time."""
    return _sentence(run, _NETWORK, "model") == NO_COMMUNICATION


def _sentence(run: Run, topic: str, part: str) -> str:
    return str(run.summary.get("setting", {}).get(topic, {}).get(part, ""))


def _in_order(mappings: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the keys of some mappings, each once, in order of first appearance."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))
