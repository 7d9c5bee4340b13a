"""Damaged entries of the network cache: computed again with a warning, and never believed."""

import json
import logging
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.cache import CachedModel
from tests.fuzz.mutations import damaged, trees
from tests.fuzz.oracle import fuzzed, guarded

_RING = Dimension("ring", 100, 1.0)
_LAYERS = (Layer("a", 50, 0, 50, 6000), Layer("b", 50, 40, 50, 600))
QUESTION = (
    Profile("toy", _LAYERS),
    shape_of([(0, "a", 2), (0, "a", 2)]),
    Fabric("rings", (_RING,), (_RING,), (_RING,)),
    SystemSettings(),
)


class Warnings(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def entry(folder: Path) -> Path:
    """Return the file of the one answer, written anew."""
    for path in folder.rglob("*.json"):
        path.unlink()
    CachedModel(AnalyticalModel(), folder).iteration(*QUESTION)
    (path,) = folder.rglob("*.json")
    return path


def check_entry(folder: Path, path: Path) -> None:
    """Ask again: the answer is right; if it was not the entry's, there is a warning and a whole entry."""
    right = AnalyticalModel().iteration(*QUESTION)
    model, heard = CachedModel(AnalyticalModel(), folder), Warnings()
    logger = logging.getLogger("netmodels.models.cache")
    logger.addHandler(heard)
    try:
        with guarded():
            assert model.iteration(*QUESTION) == right
    finally:
        logger.removeHandler(heard)
    assert len(heard.texts) == 1 - model.hits
    assert all(str(path) in text for text in heard.texts)
    assert CachedModel(AnalyticalModel(), folder).iteration(*QUESTION) == right


@fuzzed(50)
@given(data=st.data())
def test_a_damaged_file_is_never_believed(folder: Path, data: st.DataObject) -> None:
    """A flipped bit may leave good JSON with another number in it."""
    path = entry(folder / "bytes")
    path.write_bytes(data.draw(damaged(path.read_text())))
    check_entry(folder / "bytes", path)


@fuzzed(50)
@given(data=st.data())
def test_wrong_words_are_never_believed(folder: Path, data: st.DataObject) -> None:
    """Whole JSON with other values, of any type and size and depth."""
    path = entry(folder / "words")
    text = json.dumps(data.draw(trees(json.loads(path.read_text()), 3)))
    if data.draw(st.integers(0, 9)) == 0:
        text = text.replace(data.draw(st.sampled_from(("0", "1", '"toy"'))), data.draw(
            st.sampled_from(("[" * 5000 + "]" * 5000, "9" * 5000, "1e999", "NaN"))), 1)  # fmt: skip
    path.write_text(text, errors="replace")
    check_entry(folder / "words", path)
