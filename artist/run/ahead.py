"""Ask a slow network model ahead of the run, in several processes."""

import logging
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from artist.errors import InputError
from artist.run.build import build
from artist.run.config import Config
from netmodels.api import CachedModel, NetworkModel
from netmodels.models.cache import Question

log = logging.getLogger("artist")

_BATCHES = 8  # for each process, so that all end at about the same time
_ANALYTICAL = {"_target_": "netmodels.models.analytical.AnalyticalModel"}


def ask_ahead(config: Config, network: CachedModel, *, shown: bool = False) -> None:
    """Fill the cache of a run with the answers that it will probably need.

    Which placements come up depends on the answers. So the same run is done with the analytical model
    first, which takes seconds, and its questions are asked, `network.ahead` at once. Others are asked when
    they come up. The first question without an answer ends the run, unless there is a fallback.

    Raises
    ------
    InputError
        If answers are not kept on disk, since processes pass them on there, or if the network model gives no
        answer.
    """
    processes = config.network.ahead
    if not processes:
        return
    from tqdm import tqdm

    from artist.run.workers import Workers

    if network.folder is None:
        raise InputError(
            "answers asked for ahead need a folder", where="network.cache", found=None, allowed="a folder"
        )
    questions = sorted(foreseen(config), key=lambda question: (question[0].name, question[1]))
    log.info("%d questions to the network model ahead of the run, %d at once", len(questions), processes)
    size = -(-len(questions) // (_BATCHES * processes))  # neighbours together: they may share an answer
    batches = [questions[at : at + size] for at in range(0, len(questions), size or 1)]
    stop = not config.network.fallback
    workers = Workers(partial(_ask, network.model, network.folder, stop=stop), processes)
    with tqdm(total=len(questions), unit="question", leave=False, disable=not shown) as bar:
        try:
            while batches or workers.busy:
                while batches and len(workers.busy) < workers.limit:
                    workers.start(len(batches), batches.pop(0))
                for _, batch, failed in workers.ended():
                    network.unanswerable.update(failed or {})  # a killed worker's come up in the run
                    if failed and stop:
                        raise next(iter(failed.values()))
                    bar.update(len(batch))
        finally:
            workers.stop()
    log.info("all asked; %d without an answer", len(network.unanswerable))


def foreseen(config: Config) -> Sequence[Question]:
    """Return the questions of the same run with the analytical model."""
    network = config.network.model_copy(update={"model": _ANALYTICAL, "cache": None, "fallback": None})
    dry = build(config.model_copy(update={"network": network}))
    dry.run(())
    return dry.network.questions


def _ask(
    model: NetworkModel, folder: Path, questions: Sequence[Question], *, stop: bool
) -> dict[Question, InputError]:
    """Ask questions; return those without an answer, with `stop` only the first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a model tidies up
    network, failed = CachedModel(model, folder), dict[Question, InputError]()
    for question in questions:
        try:
            network.iteration(*question)
        except InputError as problem:
            failed[question] = problem
            if stop:
                break
        except Exception:  # of a user's own model: it comes up in the run, which names the lines
            break
    return failed
