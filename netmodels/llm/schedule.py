"""Length of a pipeline's schedule in closed form: 1F1B, and interleaved with virtual stages.

With p stages of times t_i (forward and backward of a micro batch through all layers of a GPU), m micro
batches, v virtual stages and c the time of a message between stages,

    compute  m t + (sum of the other stages' t_i) / v,    t the longest stage
             Every micro batch passes the longest stage; it waits while the first and last one pass the others
             (Narayanan et al., SC'21, section 2.2: a bubble of (p - 1) / v of a stage's time).
    sends    1F1B: 2 c (p - 1) to fill and drain, and 2 c (p - 1) / p per further micro batch: a stage has
             at most p in flight, whose round trip has 2 (p - 1) messages
             interleaved: 2 c (p - 1 + p (v - 1)) to fill and drain; others are hidden, since a stage has
             micro batches of other chunks to compute
"""

from collections.abc import Sequence


def compute_ns(stages: Sequence[float], micro_batches: int, virtual: int) -> float:
    """Return the time of a schedule without messages.

    Parameters
    ----------
    stages
        Time of a micro batch, forward and backward, of each stage's GPU.
    micro_batches, virtual
        Micro batches, and stages per GPU.
    """
    longest = max(stages)
    return micro_batches * longest + (sum(stages) - longest) / virtual


def sends_ns(send_ns: float, stages: int, micro_batches: int, virtual: int) -> float:
    """Return the time that messages between stages add.

    Parameters
    ----------
    send_ns
        Of one message.
    stages, micro_batches, virtual
        GPUs of a pipeline; micro batches; stages per GPU.
    """
    if virtual > 1:
        return 2 * send_ns * (stages - 1 + stages * (virtual - 1))
    return 2 * send_ns * (stages - 1) * (1 + (micro_batches - 1) / stages)


def order(stage: int, stages: int, micro_batches: int, virtual: int) -> list[tuple[bool, int, int]]:
    """Return the passes of a stage's GPU in the order of Megatron's schedules: (forward, micro batch, chunk).

    Parameters
    ----------
    stage, stages, micro_batches, virtual
        Place in the pipeline; GPUs of it; micro batches; stages per GPU, of which `chunk` is one.
    """
    turn, total = stages * virtual, micro_batches * virtual

    def part(number: int, forward: bool) -> tuple[bool, int, int]:
        chunk = number % turn // stages
        batch = number // turn * stages + number % stages if virtual > 1 else number
        return forward, batch, chunk if forward else virtual - 1 - chunk

    ahead = stages - stage - 1 if virtual == 1 else 2 * (stages - stage - 1) + (virtual - 1) * stages
    ahead = min(ahead, total)
    passes = [part(number, True) for number in range(ahead)]
    for number in range(total - ahead):
        passes += [part(ahead + number, True), part(number, False)]
    return passes + [part(number, False) for number in range(total - ahead, total)]
