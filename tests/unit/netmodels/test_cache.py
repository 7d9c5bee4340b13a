"""Answers are computed once, survive on disk, and are never believed when they do not fit the question."""

import dataclasses
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import netmodels.models.cache
from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.inputs.digest import digest_of, digest_of_sources, sources_of
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import AnalyticalModel
from netmodels.models.cache import CachedModel, answer_record, question_record, read_answer
from netmodels.models.zero import ZeroModel

RING = Dimension("ring", 100, 1.0)
FABRIC = Fabric("rings", (RING,), (RING,), (RING,))
PROFILE = Profile("toy", (Layer("a", 50, 0, 50, 6000), Layer("b", 50, 40, 50, 600)))
SHAPE = shape_of([(0, "a", 2), (0, "a", 2)])
QUESTION = (PROFILE, SHAPE, FABRIC, SystemSettings())
ROOT = Path(__file__).resolve().parents[3]


def files(folder):
    """Return all files of a cache folder, temporary ones too; the empty lock files are no entries."""
    return [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "locks"]


def test_memory(tmp_path):
    """A relabelled placement is the same question, a hit; another shape is distinct."""
    model = CachedModel(AnalyticalModel())
    first = model.iteration(*QUESTION)
    assert model.iteration(PROFILE, shape_of([(9, "a", 2), (9, "a", 2)]), FABRIC, SystemSettings()) is first
    model.iteration(PROFILE, shape_of([(0, "a", 4)]), FABRIC, SystemSettings())
    assert (model.calls, model.hits) == (3, 1)
    assert model.distinct == (("toy", SHAPE), ("toy", ((("a", 4),),)))
    assert first == AnalyticalModel().iteration(*QUESTION)


def test_disk_round_trip(tmp_path):
    """Answers of one run are read by the next, equal: here a new cache on the same folder."""
    first = CachedModel(AnalyticalModel(), tmp_path / "new" / "folder")
    written = first.iteration(*QUESTION)
    second = CachedModel(AnalyticalModel(), tmp_path / "new" / "folder")
    assert second.iteration(*QUESTION) == written
    assert (first.hits, second.hits) == (0, 1)
    (path,) = files(tmp_path)
    assert path.parent.name == path.stem[:2]
    assert (
        json.loads(path.read_text())["asked"]["profile"]["name"] == "toy"
    )  # readable: it says what it answers


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace('"exposed_ns":', '"exposed_ns":-'),
        lambda text: text.replace('"name":"toy"', '"name":"joy"'),
        lambda text: text.replace('"tiers":[["machine"', '"tiers":[["moon"'),
        lambda text: text.replace('"comm_ns":', '"comma_ns":'),
        lambda text: "\udcff",
    ],
    ids=["empty", "half", "list", "negative", "other question", "other tier", "other field", "not UTF-8"],
)
def test_damaged_entries_are_computed_again(tmp_path, caplog, damage):
    """A power cut or an editor must cost a warning and a millisecond, never a wrong answer."""
    right = CachedModel(AnalyticalModel(), tmp_path).iteration(*QUESTION)
    (path,) = files(tmp_path)
    whole = path.read_text()
    path.write_text(damage(whole), errors="surrogateescape")
    model = CachedModel(AnalyticalModel(), tmp_path)
    with caplog.at_level(logging.WARNING):
        assert model.iteration(*QUESTION) == right
    assert model.hits == 0
    assert str(path) in caplog.text
    assert path.read_text() == whole  # replaced


def changed(**changes):
    """Return the key of the question with some of its ingredients replaced."""
    parts = {"model": AnalyticalModel(), "profile": PROFILE, "shape": SHAPE, "fabric": FABRIC} | changes
    return digest_of(question_record(**({"system": SystemSettings()} | parts)))


class Newer(AnalyticalModel):
    """The same model, improved."""

    version = "2"


def test_the_key_changes_with_each_ingredient(monkeypatch):
    """Whatever an answer depends on must be in its key, or an old answer would be given to a new question."""
    longer = Profile("toy", (*PROFILE.layers, Layer("c", 1, 1, 1, 4)))
    slower = dataclasses.replace(RING, latency_ns=101)
    keys = [
        changed(),
        changed(profile=longer),
        changed(profile=PROFILE.scaled(0.5)),
        changed(shape=shape_of([(0, "a", 2), (0, "b", 2)])),
        changed(shape=shape_of([(0, "a", 2), (1, "a", 2)])),
        changed(fabric=Fabric("rings", (RING,), (slower,), (RING,))),
        changed(fabric=Fabric("rings", (RING,), (dataclasses.replace(RING, links="members"),), (RING,))),
        changed(system=SystemSettings(endpoint_delay_ns=11)),
        changed(system=SystemSettings(collective_optimization="baseline")),
        changed(model=ZeroModel()),
        changed(model=Newer()),
    ]
    monkeypatch.setattr(netmodels.models.cache, "__version__", "9")
    keys.append(changed())
    assert len(set(keys)) == len(keys)


def test_answers_read_back_equal():
    """Spans and tiers too, not only the totals."""
    answer = AnalyticalModel().iteration(*QUESTION)
    assert len(answer.spans) > 1
    assert read_answer(json.loads(json.dumps(answer_record(answer)))) == answer


def test_a_folder_that_cannot_be_made_is_bad_input(tmp_path):
    """A path below a file, the home of nobody, a null byte: said before the clock starts."""
    (tmp_path / "file").touch()
    for wrong in (tmp_path / "file" / "cache", Path("~nobody_of_this_name/cache"), tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot make the cache folder"):
            CachedModel(AnalyticalModel(), wrong)


def test_an_unwritable_folder_is_warned_about_once(tmp_path, caplog, monkeypatch):
    """A full disk must not stop a run: memory only, one warning. (Faked: root may write anywhere.)"""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    model = CachedModel(AnalyticalModel(), tmp_path)
    with caplog.at_level(logging.WARNING):
        model.iteration(*QUESTION)
        model.iteration(PROFILE, shape_of([(0, "a", 4)]), FABRIC, SystemSettings())
    assert caplog.text.count("memory only") == 1
    assert files(tmp_path) == []


WRITER = """
import sys
from pathlib import Path
from netmodels.models.analytical import AnalyticalModel
from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.models.cache import CachedModel
ring = Dimension("ring", 100, 1.0)
fabric = Fabric("rings", (ring,), (ring,), (ring,))
profile = Profile("toy", (Layer("a", 50, 0, 50, 6000), Layer("b", 50, 40, 50, 600)))
total = 0
for _ in range(20):
    model = CachedModel(AnalyticalModel(), Path(sys.argv[1]))
    for gpus in range(2, 9):
        total += model.iteration(profile, shape_of([(0, "a", gpus)]), fabric, SystemSettings()).total_ns
print(total)
"""


def test_many_processes_share_a_folder(tmp_path):
    """Four processes with four hash seeds share 7 answers: no warning, no stray file."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
        )
        for seed in range(4)
    ]
    printed = [process.communicate(timeout=60) for process in processes]
    assert len(set(printed)) == 1
    assert printed[0][1] == ""
    assert len(files(tmp_path)) == 7
    assert {path.suffix for path in files(tmp_path)} == {".json"}


ASKER = """
import sys
from pathlib import Path
from netmodels.api import Dimension, Fabric, Layer, Profile, SystemSettings, shape_of
from netmodels.models.cache import CachedModel
from {module} import ZeroModel
ring = Dimension("ring", 100, 1.0)
fabric = Fabric("rings", (ring,), (ring,), (ring,))
model = CachedModel(ZeroModel(), Path("cache"))
profile = Profile("toy", (Layer("a", 50, 0, 50, 8),))
print(model.iteration(profile, shape_of([(0, "a", 2)]), fabric, SystemSettings()).total_ns, model.hits)
"""


def asked(module, folder):
    """Return the total ns, and the hits, of a question to a model of a module in a folder."""
    command = [sys.executable, "-B", "-c", ASKER.format(module=module)]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder, env=environment)
    return tuple(map(int, printed.stdout.split()))


@pytest.mark.parametrize("module", ["netmodels.models.zero", "mine"])
def test_an_answer_of_an_older_version_is_not_used(tmp_path, module):
    """A source is changed, its `version` is not: 100 ns of compute on disk, then 7 ns of communication, too.

    So for a model of the package, and for one that lies beside it, as a user's own does.
    """
    shutil.copytree(ROOT / "netmodels", tmp_path / "netmodels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "netmodels" / "models" / "zero.py", tmp_path / "mine.py")
    assert asked(module, tmp_path) == (100, 0)
    assert asked(module, tmp_path) == (100, 1)
    source = tmp_path / f"{module.replace('.', '/')}.py"
    source.write_text(source.read_text().replace("profile.compute_ns, 0, 0", "profile.compute_ns, 7, 7"))
    assert asked(module, tmp_path) == (107, 0)


def test_sources_of_a_shipped_model_are_all_of_netmodels():
    """Another room's rule may change the answer: fabrics and collectives count, too."""
    assert sources_of("netmodels.models.zero") == digest_of_sources(ROOT / "netmodels")


def test_every_source_counts_and_nothing_else(tmp_path):
    """Writers in a subpackage count like the rest; compiled files, links to folders and the place do not."""
    digests = []
    for place in ("a", "b"):
        package = tmp_path / place / "package"
        (package / "writers").mkdir(parents=True)
        for name in ("model.py", "writers/files.py"):
            (package / name).write_text(name)
        digests.append(digest_of_sources(package))
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "model.pyc").write_text("compiled")
    (package / "loop").symlink_to(package)
    assert digest_of_sources(package) == digests[0] == digests[1]
    (package / "writers" / "files.py").write_text("mended")
    assert digest_of_sources(package) != digests[0]
