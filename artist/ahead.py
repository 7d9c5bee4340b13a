"""Ask a slow network model ahead of the run, in several processes."""

import logging
from collections.abc import Sequence
from contextlib import suppress

from joblib import Parallel, delayed

from artist.build import build
from artist.config import Config
from artist.errors import InputError
from netmodels.cache import CachedModel, Question

log = logging.getLogger("artist")

_BATCHES = 8  # for each process, so that none waits long for the last
_ANALYTICAL = {"_target_": "netmodels.analytical.AnalyticalModel"}


def ask_ahead(config: Config, network: CachedModel) -> int:
    """Fill the cache of a run with the answers that it will probably need; return how many were asked for.

    Which placements come up depends on the answers. So the same run is done with the analytical model
    first, which takes seconds, and its questions are asked, `network.ahead` at once. What comes up beyond
    them is asked when it does. A question that gets no answer here is asked again in the run, which then
    says what is wrong.

    Parameters
    ----------
    config
        Of the run; without `network.ahead` nothing is done.
    network
        The run's network model.

    Raises
    ------
    InputError
        If answers are not kept on disk: other processes could not hand them over.
    """
    processes = config.network.ahead
    if not processes:
        return 0
    if network.folder is None:
        raise InputError(
            "answers asked for ahead need a folder", where="network.cache", found=None, allowed="a folder"
        )
    questions = sorted(foreseen(config), key=lambda question: (question[0].name, question[1]))
    log.info("%d questions to the network model ahead of the run, %d at once", len(questions), processes)
    size = -(-len(questions) // (_BATCHES * processes))  # neighbours together: they may share an answer
    batches = [questions[at : at + size] for at in range(0, len(questions), size or 1)]
    answered = Parallel(n_jobs=processes)(delayed(_ask)(network, batch) for batch in batches)
    log.info("%d of them answered", sum(answered))
    return len(questions)


def foreseen(config: Config) -> Sequence[Question]:
    """Return the questions of the same run with the analytical model."""
    network = config.network.model_copy(update={"model": _ANALYTICAL, "cache": None, "fallback": None})
    dry = build(config.model_copy(update={"network": network}))
    dry.run(())
    return dry.network.questions


def _ask(network: CachedModel, questions: Sequence[Question]) -> int:
    answered = 0
    for question in questions:
        with suppress(InputError):
            network.iteration(*question)
            answered += 1
    return answered
