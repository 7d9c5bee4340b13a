"""The first screen of a page: the answer in a sentence, a small table, and at most six lines. Pure."""

import re
from collections.abc import Collection, Sequence

from artist.report.words.wording import duration, in_cases, per_cent
from artist.results.compare import Comparison
from artist.results.coverage import OVERLOADED
from artist.results.measures import BY_NAME, Metric, estimate
from artist.results.scenarios import Contest

Finding = tuple[str, str]  # question and answer
MAX_LINES = 6
_MAX_CHARS = 230  # of a line's sentences after the first one
_TOP = ("Careful", "Which policy", "What to choose", "Can I believe it?", "What if?", "How sure")
_SIZE = "How many "
_LEAST = ("What drives it", "Who gains, who pays")  # left to the folded part where lines are too many
_MAX_ROWS = 8
_SENTENCE = re.compile(r"(?<=[\w%)\]`])\. (?=[A-Z])")
_COLUMNS = {
    "mean JCT": "jct_mean_s",
    "95 % finish within": "jct_p95_s",
    "mean wait": "queueing_mean_s",
    "GPUs used": "gpu_utilization",
}


def first_screen(findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Return answer, size and certainty, the lines below the table, and the rest of the findings."""
    top = [finding for finding in findings if finding[0] in _TOP or finding[0].startswith(_SIZE)]
    lines = [finding for finding in findings if finding not in top]
    for question in _LEAST:
        if len(lines) > MAX_LINES:
            lines = [finding for finding in lines if finding[0] != question]
    shown = [[(question, _short(text)) for question, text in part] for part in (top, lines[:MAX_LINES])]
    rest = []
    for question, text in findings:
        told = (begun for part in shown for of, begun in part if of == question and text.startswith(begun))
        rest.append((question, text.removeprefix(next(told, "")).strip()))
    return shown[0], shown[1], [(question, text) for question, text in rest if text]


def glance_table(
    comparison: Comparison, contest: Contest, growing: Collection[int] = ()
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the small table: a contender per row, ranges over its scenarios.

    Of one contender a scenario per row. Names of rows whose queue grows are marked.
    """
    groups = comparison.groups
    names = list(dict.fromkeys(contest.contenders))
    if len(names) > 1:
        rows = {name: [i for i, other in enumerate(contest.contenders) if other == name] for name in names}
    else:
        rows = {contest.scenario_of(row).name or groups[row].label: [row] for row in range(len(groups))}
    metrics = {title: BY_NAME[name] for title, name in _COLUMNS.items()}
    cells = []
    for name, members in list(rows.items())[:_MAX_ROWS]:
        name = groups[members[0]].label if len(contest.scenarios) == 1 else name
        marks = sum(row in growing for row in members)
        name += f"{OVERLOADED[:-1]}{in_cases(marks, len(members))}]" * bool(marks)
        cells.append([name, *(_range(metric, comparison, members) for metric in metrics.values())])
    return ["", *metrics], cells


def _range(metric: Metric, comparison: Comparison, rows: Sequence[int]) -> str:
    estimates = [estimate(metric, [run.summary for run in comparison.groups[row].runs]) for row in rows]
    means = [number.mean for number in estimates if number.mean is not None]
    if not means:
        return "-"
    texts = [_text(metric.quantity, value, max(means)) for value in (min(means), max(means))]
    if texts[0] == texts[1]:
        return texts[1]
    unit = texts[1].rpartition(" ")[1:]
    return f"{texts[0].removesuffix(''.join(unit))} to {texts[1]}"


def _text(quantity: str, value: float, largest: float) -> str:
    return (
        duration(value, largest)
        if quantity == "time"
        else per_cent(value)
        if quantity == "fraction"
        else f"{value:.2f}"
    )


def _short(text: str) -> str:
    """Return the first sentence of an answer, and more of them as far as a line or two hold them."""
    first, *others = _SENTENCE.split(text)
    for sentence in others:
        if len(first) + len(sentence) > _MAX_CHARS:
            return f"{first}."
        first += f". {sentence}"
    return first
