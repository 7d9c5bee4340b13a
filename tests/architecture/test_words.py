"""Habits of wording are counted over the product, against limits that only fall; the words: docs/terms.md."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORST = 12  # places that a failure lists

# By habit: occurrences, or occurrences per 1,000 docstring words or assigned names. Lower a limit when its
# count has fallen; never raise one.
LIMITS = {
    "what": 0.1,  # per 1,000 docstring words
    "each": 0,  # per 1,000 assigned names, as the next three
    "found": 0.2,
    "made": 0,
    "own": 0,
    "headless captions": 0,
    "most_ and least_ names": 0,
    "verbs of speech and rest in captions": 17,
    "verbs of speech and rest in functions' names": 13,
    "a N for per N": 3,
    "so much for a number": 4,
}
PRONOUNS = ("each", "found", "made", "own")

_QUESTION = r"(?:what|which|how|who|where|when|whether)"
_HEADLESS = re.compile(
    rf"(?:{_QUESTION}|those (?:that|who|of which))\b"
    rf"|(?:return|yield|tell|say|ask|give|compute|find|make|get) (?!whether)"
    rf"(?:by )?(?:{_QUESTION}|those (?:that|who)|(?:so|as) (?:much|many))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z']+")
_TOPIC = re.compile(r"^[\w ,.'-]{1,40}: ")  # of a module
_COUNTED = (
    r"(?:(?:CPU|GPU|machine|rack|job|worker|byte|image|sample|word|link|second|minute|hour)s"
    r"|row|line|panel|bar|one|two|ms|ns)"
)
_PER = r"(?:CPU|GPU|machine|rack|job|worker|row|link|second|iteration|window|seed|model|policy)"
_RATE = re.compile(rf"\b{_COUNTED}\s+(?:#\s+)?an?\s+(?:#\s+)?{_PER}\b")
_VERBS = r"(?:tells?|told|says?|said|stands?(?!_ins?\b)|stood|lies?|goe?s?|comes?|meets?|met|belongs?)"
_SPEECH = re.compile(rf"\b(?!go\b|come\b|met\b){_VERBS}\b", re.IGNORECASE)
_SPEAKING = re.compile(rf"(?:^|_){_VERBS}(?:_|$)")
_SO_MUCH = re.compile(r"\b(?:so|as|that)\s+(?:#\s+)?(?:much|many)\b(?![^.;:\"]{0,60}\bas\b)", re.IGNORECASE)


def habits_of(code: str) -> dict[str, list[int]]:
    """Return the lines of a module at which each habit occurs, and at which words and names are counted."""
    lines: dict[str, list[int]] = {habit: [] for habit in (*LIMITS, "docstring words", "assigned names")}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            note_name(lines, node.id, node.lineno)
        elif isinstance(node, ast.arg):
            note_name(lines, node.arg, node.lineno)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False) or ""
            line = getattr(node, "lineno", 1)
            words = _WORD.findall(text)
            lines["docstring words"] += [line] * len(words)
            lines["what"] += [line] * sum(word.lower() == "what" for word in words)
            if _HEADLESS.match(_TOPIC.sub("", text) if isinstance(node, ast.Module) else text):
                lines["headless captions"].append(line)
            if _SPEECH.search(text.partition("\n")[0]):
                lines["verbs of speech and rest in captions"].append(line)
            if not isinstance(node, ast.Module) and _SPEAKING.search(node.name):
                lines["verbs of speech and rest in functions' names"].append(line)
    for habit, pattern in (("a N for per N", _RATE), ("so much for a number", _SO_MUCH)):
        lines[habit] += [code.count("\n", 0, match.start()) + 1 for match in pattern.finditer(code)]
    return lines


def note_name(lines: dict[str, list[int]], name: str, line: int) -> None:
    """Note an assigned name, under its habit if it is one."""
    lines["assigned names"].append(line)
    if name in PRONOUNS:
        lines[name].append(line)
    elif name.startswith(("most_", "least_")):
        lines["most_ and least_ names"].append(line)


@cache
def product() -> dict[str, list[str]]:
    """Return the places at which each habit occurs in the product, as file:line."""
    places: dict[str, list[str]] = {}
    for part in ("artist", "netmodels", "scripts"):
        for path in sorted((ROOT / part).rglob("*.py")):
            for habit, lines in habits_of(path.read_text(encoding="utf-8")).items():
                places.setdefault(habit, []).extend(f"{path.relative_to(ROOT)}:{line}" for line in lines)
    return places


@pytest.mark.parametrize(
    ("code", "habit", "count"),
    [
        ('"""What is due."""', "headless captions", 1),
        ('"""Event queue: a heap of times."""', "headless captions", 0),
        ('"""Event queue: what is due."""', "headless captions", 1),
        ('def f():\n    """Return how many jobs wait."""', "headless captions", 1),
        ('def f():\n    """Return those that wait."""', "headless captions", 1),
        ('def f():\n    """Return whether a job waits."""', "headless captions", 0),
        ('class A:\n    """One.\n\n    What is what.\n    """', "what", 2),
        ("for each in jobs:\n    own = each", "each", 1),
        ("lambda found: [found for found in found]", "found", 2),
        ("def f(*, least_jobs): least = least_jobs", "most_ and least_ names", 1),
        ('"""Where a job stands."""', "verbs of speech and rest in captions", 1),
        ("def tell_notes(): pass", "verbs of speech and rest in functions' names", 1),
        ("def stand_in(): pass", "verbs of speech and rest in functions' names", 0),
        ("# 8 GPUs a\n# machine", "a N for per N", 1),
        ("# two GPUs of a machine; it frees a machine", "a N for per N", 0),
        ('raise E("so many", "as many GPUs as jobs")', "so much for a number", 1),
    ],
)
def test_habits_are_recognised(code: str, habit: str, count: int) -> None:
    """A counter that misses a habit would let it grow again."""
    assert len(habits_of(code)[habit]) == count


@pytest.mark.parametrize("habit", LIMITS)
def test_habits_of_wording_stay_within_their_limits(habit: str) -> None:
    """The counts of 57aad0ad were the first limits; each fell since, and must not rise again."""
    places = product()
    count = float(len(places[habit]))
    if habit == "what":
        count *= 1000 / len(places["docstring words"])
    elif habit in PRONOUNS:
        count *= 1000 / len(places["assigned names"])
    worst = Counter(place.rpartition(":")[0] for place in places[habit]).most_common(WORST)
    assert count <= LIMITS[habit], (
        f"{habit}: {count:.2f}; most often in {worst}; last {places[habit][-WORST:]}"
    )
