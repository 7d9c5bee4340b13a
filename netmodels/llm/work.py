"""Work and memory of one GPU that trains its part of a language model.

With t tokens of a micro batch per GPU (micro batch x sequence / cp), and per layer, forward:

    products    2 t (attention + dense or shared experts) / tp FLOPs, parameters as in `Architecture`
    experts     2 t active 3 (2) hidden expert_ffn / tp FLOPs: all GPUs' tokens are evenly spread over experts
    attention   2 t reach heads (head + head of values) / tp FLOPs for scores and values, head sizes with the
                rotary part of latent attention; reach is half a sequence, or w (1 - w / 2 s) of a window w
    passed      t hidden bytes read and written between products, per tp (sequence parallelism)
    output      2 t hidden vocabulary / tp FLOPs, in the last stage

The backward pass has twice the FLOPs (gradients of inputs and of weights); recomputation adds a forward pass,
of attention alone if selective. Narayanan et al., SC'21 (arXiv 2104.04473), section 5.1 and appendix.
"""

from dataclasses import dataclass
from functools import lru_cache

from netmodels.llm.architecture import Architecture
from netmodels.llm.plan import Plan

_FUSED = 2  # bytes of a value in activations and weights


@dataclass(frozen=True, slots=True)
class Work:
    """FLOPs and bytes of one GPU for a micro batch, forward; the module's docstring has the formulas.

    Parameters
    ----------
    products, experts, attention, output
        FLOPs per layer; of the output.
    passed_bytes, routed_bytes, expert_bytes
        Activations of the residual stream per layer; of the tokens that go to experts, per layer; of these
        with the width inside experts.
    tokens
        Of a micro batch per GPU.
    layers
        Of the fullest stage.
    """

    products: float
    experts: float
    attention: float
    output: float
    passed_bytes: float
    routed_bytes: float
    expert_bytes: float
    tokens: float
    layers: float


@lru_cache(maxsize=4096)
def work_of(architecture: Architecture, plan: Plan) -> Work:
    """Return the work of a GPU; a layer is the mean of those with and without experts."""
    tokens = plan.micro_batch * plan.sequence / plan.cp
    share = tokens / plan.tp
    routed = architecture.expert_layers / architecture.layers
    sent = share * architecture.active * routed
    expert = architecture.mlp_parameters(architecture.expert_ffn)
    head, values = architecture.head_size, architecture.head_size
    if architecture.latent:
        head += architecture.latent[2]
    window = min(architecture.window, plan.sequence)
    reach = plan.sequence / 2
    reach += architecture.windowed * (window * (1 - window / 2 / plan.sequence) - reach)
    return Work(
        products=2 * share * architecture.dense_parameters / architecture.layers,
        experts=2 * share * routed * architecture.active * expert,
        attention=2 * share * reach * architecture.heads * (head + values),
        output=2 * share * architecture.embedding_parameters,
        passed_bytes=_FUSED * share * architecture.hidden,
        routed_bytes=_FUSED * sent * architecture.hidden,
        expert_bytes=_FUSED * sent * (architecture.hidden + architecture.expert_ffn),
        tokens=tokens,
        layers=min(plan.layers_per_stage(architecture) * plan.vp, architecture.layers),
    )


@dataclass(frozen=True, slots=True)
class Held:
    """Parameters that the GPU with most of them holds: `layers` of dense, `experts`, `embeddings`."""

    dense: float
    experts: float
    embeddings: float


@lru_cache(maxsize=4096)
def held_by(architecture: Architecture, plan: Plan) -> Held:
    """Return the parameters of a GPU of the fullest stage, without sharding."""
    part = work_of(architecture, plan).layers / architecture.layers
    both = 2 if plan.pp == 1 and not architecture.tied else 1
    return Held(
        part * architecture.dense_parameters / plan.tp,
        part * architecture.expert_parameters / (plan.ep * plan.etp),
        both * architecture.embedding_parameters / plan.tp,
    )


def state_bytes(architecture: Architecture, plan: Plan, gpus: int) -> float:
    """Return the bytes of weights, gradients and Adam's state of a GPU.

    Per parameter 2 of weights, 2 of gradients, and 12 of the copy of the weights and two moments (ZeRO,
    SC'20, section 3.1), the last over data parallelism with `zero1`, all with `fsdp`.
    """
    held = held_by(architecture, plan)
    sizes = plan.members(gpus)
    total = 0.0
    for members, parameters in ((sizes["dp"], held.dense + held.embeddings), (sizes["edp"], held.experts)):
        weights = 4 / (members if plan.sharding == "full" else 1)
        total += parameters * (weights + 12 / (members if plan.sharding != "none" else 1))
    return total


def activation_bytes(architecture: Architecture, plan: Plan, gpus: int, *, recomputed: bool = False) -> float:
    """Return the bytes of activations that a GPU of the first stage keeps for its backward passes.

    Per token and layer 34 hidden bytes, of which recomputation of whole layers leaves 2 (Korthikanti et al.,
    arXiv 2205.05198, equation 2 with sequence parallelism; fused attention keeps no scores), more for wider
    feed-forward networks: 16 hidden and 2 bytes x (matrices) per width of the network. A stage keeps pp micro
    batches, times 1 + (pp - 1) / (pp vp) with virtual stages (equation 8).
    """
    work = work_of(architecture, plan)
    width = architecture.ffn * (architecture.layers - architecture.expert_layers)
    width += (
        architecture.expert_layers * architecture.expert_ffn * (architecture.active + architecture.shared)
    )
    kept = 16 * architecture.hidden + 2 * (3 if architecture.gated else 2) * width / architecture.layers
    if recomputed or plan.recompute == "full":
        kept = 2 * architecture.hidden
    in_flight = min(plan.pp, plan.micro_batches(gpus)) + (plan.pp - 1) / plan.vp * (plan.vp > 1)
    return work.tokens / plan.tp * kept * work.layers * in_flight
