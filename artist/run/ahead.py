"""Ask a slow network model ahead of the run, in several processes."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from artist.errors import InputError
from artist.run.build import build
from artist.run.config import Config
from netmodels.api import NetworkModel
from netmodels.cache import CachedModel, Question

log = logging.getLogger("artist")

_BATCHES = 8  # for each process, so that none waits long for the last
_START_S = 2.0  # until two processes are there with all that they import: 2.9 s measured on two busy cores
_ANALYTICAL = {"_target_": "netmodels.analytical.AnalyticalModel"}


def ask_ahead(config: Config, network: CachedModel, *, shown: bool = False) -> None:
    """Fill the cache of a run with the answers that it will probably need.

    Which placements come up depends on the answers. So the same run is done with the analytical model
    first, which takes seconds, and its questions are asked: for as long as processes would take to start one
    by one, then `network.ahead` at once. What comes up beyond them is asked when it does. The first question
    without an answer ends the run, unless there is a fallback to answer it.

    Parameters
    ----------
    config
        Of the run; without `network.ahead` nothing is done.
    network
        The run's network model.
    shown
        Whether a progress bar is.

    Raises
    ------
    InputError
        If answers are not kept on disk: other processes could not hand them over. And if the network model
        gives no answer.
    """
    processes = config.network.ahead
    if not processes:
        return
    from joblib import Parallel, delayed
    from tqdm import tqdm

    if network.folder is None:
        raise InputError(
            "answers asked for ahead need a folder", where="network.cache", found=None, allowed="a folder"
        )
    questions = sorted(foreseen(config), key=lambda question: (question[0].name, question[1]))
    log.info("%d questions to the network model ahead of the run, %d at once", len(questions), processes)
    questions = _left_by_one(network, questions, stop=not config.network.fallback)
    if not questions:
        log.info("all asked by one process, which others would have helped too late")
        return
    size = -(-len(questions) // (_BATCHES * processes))  # neighbours together: they may share an answer
    batches = [questions[at : at + size] for at in range(0, len(questions), size or 1)]
    asking = Parallel(n_jobs=processes, backend="loky", return_as="generator_unordered")
    tasks = (
        delayed(_ask)(network.model, network.folder, batch, stop=not config.network.fallback)
        for batch in batches
    )
    with tqdm(total=len(questions), unit="question", leave=False, disable=not shown) as bar:
        for done, failed in asking(tasks):
            network.unanswerable.update(failed)
            bar.update(done)
    log.info("all asked; %d without an answer", len(network.unanswerable))


def _left_by_one(network: CachedModel, questions: list[Question], *, stop: bool) -> list[Question]:
    """Ask questions until other processes would have started, and return the rest."""
    assert network.folder is not None
    begun = time.perf_counter()
    for at, question in enumerate(questions):
        if time.perf_counter() - begun >= _START_S:
            return questions[at:]
        network.unanswerable.update(_ask(network.model, network.folder, [question], stop=stop)[1])
    return []


def foreseen(config: Config) -> Sequence[Question]:
    """Return the questions of the same run with the analytical model."""
    network = config.network.model_copy(update={"model": _ANALYTICAL, "cache": None, "fallback": None})
    dry = build(config.model_copy(update={"network": network}))
    dry.run(())
    return dry.network.questions


def _ask(
    model: NetworkModel, folder: Path, questions: Sequence[Question], *, stop: bool
) -> tuple[int, dict[Question, InputError]]:
    """Return how many questions were asked, and those without an answer; with `stop` the first one raises."""
    network, failed = CachedModel(model, folder), {}
    for question in questions:
        try:
            network.iteration(*question)
        except InputError as problem:
            if stop:
                raise
            failed[question] = problem
    return len(questions), failed
