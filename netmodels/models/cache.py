"""Cache of answers: in memory, and on disk for later runs and other processes.

On disk an answer is one small JSON file, `<folder>/<first two digits of its key>/<key>.json`. The key is the
SHA-256 of everything that the answer depends on, including the sources of the models and of the writers of a
program's input: after a change of the package all is asked again. The file repeats all of that in words, and
has the SHA-256 of the answer. It is written under another name and renamed, so any number of processes and
machines may share a folder: a reader sees a whole file or none. A damaged entry, or one whose words do not
match, is computed again with a warning and replaced.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from netmodels import __version__
from netmodels.collectives.iteration_time import IterationTime, Span
from netmodels.fabric.fabric import Fabric, fabric_record
from netmodels.fabric.shape import Shape, gpus
from netmodels.fabric.system import SystemSettings, system_record
from netmodels.inputs.digest import canonical, digest_of, sources_of
from netmodels.inputs.errors import InputError
from netmodels.models.analytical import PortBound
from netmodels.models.network_model import NetworkModel
from netmodels.profiles.layers import Profile

_log = logging.getLogger(__name__)


_Answer = TypeVar("_Answer")
Question = tuple[Profile, Shape, Fabric, SystemSettings]
Origin = Literal["model", "carried", "fallback"]
"""Origin of an answer: the model; the model, carried over from another placement; the fallback."""


class CachedModel:
    """A network model that never computes the same answer twice.

    Parameters
    ----------
    model
        Answers questions that are not cached.
    folder
        Folder of the answers on disk, created if absent; None: in memory only. Processes that ask the same
        question at once wait for the answer of the first.
    fallback
        Answers questions that the model cannot; its answers are not written to disk. None: no fallback.

    Attributes
    ----------
    calls
        Questions asked.
    hits
        Questions answered from memory or disk.
    unanswerable
        Questions known to be unanswerable for the model: the fallback is asked at once.

    Raises
    ------
    InputError
        If the folder cannot be created.
    """

    def __init__(
        self, model: NetworkModel, folder: Path | None = None, fallback: NetworkModel | None = None
    ) -> None:
        self.model = model
        self.folder = folder = _created(folder) if folder is not None else None
        self.calls = 0
        self.hits = 0
        self.unanswerable: dict[Question, InputError] = {}
        self._fallback = fallback
        self._known: dict[Question, IterationTime] = {}
        self._by_fallback: set[Question] = set()
        self._writable = folder is not None
        if folder is not None and (keep_with := getattr(model, "keep_with", None)) is not None:
            keep_with(self.kept)

    @property
    def version(self) -> str:
        """The model's version."""
        return self.model.version

    @property
    def distinct(self) -> tuple[tuple[str, Shape], ...]:
        """The distinct (profile name, shape) asked so far, in order of the first question."""
        return tuple(dict.fromkeys((profile.name, shape) for profile, shape, _, _ in self._known))

    @property
    def carried(self) -> int:
        """Distinct questions whose answer the model carries over from a placement that it can express."""
        return sum(self.origin(*question) == "carried" for question in self._known)

    def above_port(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> PortBound | None:
        """Return the times of collectives faster than their ports in the answer to an earlier question."""
        question = (profile, shape, fabric, system)
        model = self._fallback if question in self._by_fallback else self.model
        bound: Callable[..., PortBound | None] | None = getattr(model, "above_port", None)
        return None if bound is None else bound(*question)

    @property
    def back_ends(self) -> dict[str, int]:
        """Distinct questions by the program's back end that answered, carried and fallback ones apart.

        Empty for a model in process; a single GPU is no question to a program.
        """
        back_end = getattr(self.model, "backend_of", None)
        if back_end is None:
            return {}
        questions = [question for question in self._known if gpus(question[1]) > 1]
        origins = ((self.origin(*question), question) for question in questions)
        names = (back_end(*question[1:]) if origin == "model" else origin for origin, question in origins)
        return dict(sorted(Counter(names).items()))

    @property
    def fallbacks(self) -> int:
        """Distinct questions that the fallback answered."""
        return len(self._by_fallback)

    def origin(self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings) -> Origin:
        """Return the origin of the answer to a question that was asked before."""
        if (profile, shape, fabric, system) in self._by_fallback:
            return "fallback"
        carries = getattr(self.model, "carries", None)
        asked = (shape, fabric, system) if profile.program is None else (shape, fabric, system, profile)
        return "carried" if carries is not None and carries(*asked) else "model"

    @property
    def questions(self) -> tuple[Question, ...]:
        """All distinct questions asked so far, in order."""
        return tuple(self._known)

    def iteration(
        self, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
    ) -> IterationTime:
        """Return the time of one iteration; see `netmodels.api.NetworkModel`."""
        self.calls += 1
        question = (profile, shape, fabric, system)
        answer = self._known.get(question)
        if answer is not None:
            self.hits += 1
            return answer
        try:
            if question in self.unanswerable:
                raise self.unanswerable[question]
            if self.folder is None:
                answer = self.model.iteration(*question)
            else:
                answer = self._from_disk(self.folder, question)
        except InputError as problem:
            if self._fallback is None:
                raise
            self._by_fallback.add(question)
            if self.fallbacks == 1:
                first = str(problem).partition("\n")[0]
                _log.warning("the fallback answers for the network model: %s", first, extra={"note": True})
            answer = self._fallback.iteration(*question)
        self._known[question] = answer
        return answer

    def kept(self, asked: Mapping[str, object], answer: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return the answer to a question that the model asks itself, from disk if it is there.

        Parameters
        ----------
        asked
            Everything that the answer depends on, as JSON has it.
        answer
            Computes it; several processes may do so at once.
        """
        assert self.folder is not None
        key = digest_of(asked)
        path = self.folder / key[:2] / f"{key}.json"
        known: Mapping[str, Any] | None = _read(path, asked, dict)
        if known is None:
            known = answer()
            if self._writable:
                self._write(path, asked, known)
        return known

    def _from_disk(self, folder: Path, question: Question) -> IterationTime:
        asked = question_record(self.model, *question)
        key = digest_of(asked)
        path = folder / key[:2] / f"{key}.json"
        exists = path.exists()
        answer = _read(path, asked, read_answer) if exists else None
        if answer is None:
            with self._alone(folder, key):
                answer = None if exists else _read(path, asked, read_answer)  # or damaged
                if answer is None:
                    answer = self.model.iteration(*question)
                    if self._writable:
                        self._write(path, asked, answer_record(answer))
                    return answer
        self.hits += 1
        return answer

    @contextmanager
    def _alone(self, folder: Path, key: str) -> Iterator[None]:
        """Keep other processes from computing the same answer; one lock for all keys with the same start."""
        with ExitStack() as stack:
            if self._writable:
                from filelock import FileLock  # takes 7 ms, and most runs keep answers in memory

                try:
                    (folder / "locks").mkdir(exist_ok=True)
                    stack.enter_context(FileLock(folder / "locks" / f"{key[:3]}.lock"))
                except OSError as problem:
                    self._give_up_writing(problem)
            yield

    def _write(self, path: Path, asked: Mapping[str, object], record: Mapping[str, object]) -> None:
        words = f'"asked":{canonical(asked)},\n"answer":{canonical(record)},\n"digest":"{digest_of(record)}"'
        part = path.with_name(f".{path.stem[:16]}-{uuid4().hex}.tmp")
        try:
            path.parent.mkdir(exist_ok=True)
            try:
                part.write_text(f"{{{words}}}\n", encoding="utf-8")
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as problem:
            self._give_up_writing(problem)

    def _give_up_writing(self, problem: OSError) -> None:
        self._writable = False
        _log.warning("cannot write to the cache folder %s (%s): memory only", self.folder, problem.strerror)


def question_record(
    model: NetworkModel, profile: Profile, shape: Shape, fabric: Fabric, system: SystemSettings
) -> dict[str, object]:
    """Return all inputs of an answer as plain values; their digest is the key on disk."""
    return {
        "netmodels": __version__,
        "model": f"{type(model).__module__}.{type(model).__qualname__}",
        "version": model.version,
        "sources": sources_of(type(model).__module__),
        "profile": {"name": profile.name, "factor": profile.factor, "digest": profile.digest},
        "shape": [[list(machine) for machine in rack] for rack in shape],
        "fabric": fabric_record(fabric),
        "system": system_record(system),
    }


def answer_record(answer: IterationTime) -> dict[str, object]:
    """Return an answer as plain values."""
    return {
        "compute_ns": answer.compute_ns,
        "comm_ns": answer.comm_ns,
        "exposed_ns": answer.exposed_ns,
        "tiers": [list(tier) for tier in answer.tiers],
        "spans": [[span.start_ns, span.end_ns, span.tier, span.bytes] for span in answer.spans],
    }


def read_answer(record: Mapping[str, Any]) -> IterationTime:
    """Return an answer from the plain values of `answer_record`."""
    tiers = tuple((tier, busy_ns) for tier, busy_ns in record["tiers"])
    spans = tuple(Span(*span) for span in record["spans"])
    return IterationTime(record["compute_ns"], record["comm_ns"], record["exposed_ns"], tiers, spans)


def _created(folder: Path) -> Path:
    """Create the folder if it does not exist, with `~` expanded."""
    try:
        expanded = folder.expanduser()
        expanded.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError, ValueError) as problem:  # no such home; a name that no file system takes
        raise InputError(
            "cannot make the cache folder",
            where="network.cache",
            found=str(folder),
            allowed=f"a folder that can be made, or null for none ({getattr(problem, 'strerror', problem)})",
        ) from None
    return expanded


def _read(
    path: Path, asked: Mapping[str, object], read: Callable[[Mapping[str, Any]], _Answer]
) -> _Answer | None:
    """Return the answer on disk; None if there is none, or with a warning if it cannot be used."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entry, dict) or entry.get("asked") != asked:
            raise ValueError("it answers another question")
        if digest_of(entry.get("answer")) != entry.get("digest"):
            raise ValueError("its answer was changed")
        return read(entry["answer"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as problem:  # not JSON, not UTF-8, not an answer, too deep
        _log.warning("cache entry %s cannot be used (%s): computed again", path, problem)
        return None
