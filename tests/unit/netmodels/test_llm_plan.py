"""Plans of language models: words, groups of ranks, and refusals."""

import pytest

from netmodels.inputs.errors import InputError
from netmodels.llm.architecture import architectures, get_architecture
from netmodels.llm.plan import Plan

LLAMA = get_architecture("Llama3-70B")
MIXTRAL = get_architecture("Mixtral-8x7B")


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("GPT3-175B", 175),
        ("MT-NLG-530B", 530),
        ("PaLM-540B", 540),
        ("Llama3-8B", 8.03),
        ("Llama3-70B", 70.6),
        ("Llama3-405B", 405.9),
        ("Mixtral-8x7B", 46.7),
        ("Mixtral-8x22B", 140.6),
        ("Qwen3-30B-A3B", 30.5),
        ("Qwen3-235B-A22B", 235),
        ("DeepSeek-V3", 671),
        ("GPT-OSS-120B", 116.8),
        ("OLMo3-32B", 32.2),
        ("Nemotron4-15B", 15.6),
        ("MPT-7B", 6.65),
    ],
)
def test_parameters_are_those_published(name: str, published: float) -> None:
    """Each sum of matrices is within 0.5 % of the figure that the model's authors give, in 10^9."""
    assert get_architecture(name).parameters / 1e9 == pytest.approx(published, rel=0.005)


def test_every_architecture_has_a_source_and_at_least_twenty_ship() -> None:
    """A figure without a source cannot be checked."""
    assert len(architectures()) >= 20
    assert all(architecture.source for architecture in architectures().values())


def test_active_parameters_are_those_of_the_chosen_experts() -> None:
    """46.7e9 less 6 of 8 experts x 32 layers x 3 x 4096 x 14336, less an embedding: 12.75e9."""
    expected = MIXTRAL.parameters - 6 * 32 * 3 * 4096 * 14336 - 32000 * 4096
    assert MIXTRAL.active_parameters == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tp8",
        "tp8 pp4 vp5",
        "tp8 pp4 cp2 vp5 mb2 gb256 seq8192 zero1 selective fp8",
        "ep8 etp2 fsdp recompute",
    ],
)
def test_a_plan_is_printed_as_it_was_read(text: str) -> None:
    """One text per plan: run folders and digests compare it."""
    plan = Plan.parse(text)
    assert Plan.parse(str(plan)) == plan
    assert set(str(plan).split()) == set(text.split())


def test_settings_beside_the_text_count_and_must_agree() -> None:
    """A trace has batch and sequence in columns of their own."""
    assert Plan.parse("tp2 mb1", batch=64, sequence=None) == Plan(tp=2, batch=64)
    assert Plan.parse("gb64", batch=64).batch == 64
    with pytest.raises(InputError, match="batch is set twice"):
        Plan.parse("gb64", batch=32)


def test_groups_follow_megatrons_order() -> None:
    """16 GPUs, tp2 pp2: tensor groups are neighbours, replicas 2 apart in a stage of 8, stages 8 apart."""
    groups = Plan(tp=2, pp=2).groups(16)
    assert groups["tp"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15]]
    assert groups["dp"].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]
    assert groups["pp"].tolist() == [[rank, rank + 8] for rank in range(8)]


def test_context_is_between_tensors_and_data_and_shares_gradients() -> None:
    """8 GPUs, tp2 cp2: context groups are 2 apart; gradients are shared by context and data: 0, 2, 4, 6."""
    groups = Plan(tp=2, cp=2).groups(8)
    assert groups["cp"].tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups["dp"].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_experts_have_an_order_of_their_own() -> None:
    """8 GPUs, tp2 ep4: the four experts' GPUs are neighbours whatever tp; copies of an expert are 4 apart."""
    groups = Plan(tp=2, ep=4).groups(8)
    assert groups["ep"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups["edp"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert Plan(tp=2, ep=2, etp=2).groups(8)["ep"].tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]


def test_another_order_moves_the_roles() -> None:
    """tp2 pp2 on 8 GPUs with pipelines before data: stages are 2 apart, replicas 4."""
    groups = Plan.parse("tp2 pp2 tp-cp-ep-pp-dp").groups(8)
    assert groups["pp"].tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert groups["dp"].tolist() == [[0, 4], [1, 5], [2, 6], [3, 7]]


def test_units_of_a_placement() -> None:
    """tp8 pp4 on 256: units of 8, stages of 64, replicas of 32; of tp2 with ep16 pp2, lcm(4, 32) = 32."""
    plan = Plan(tp=8, pp=4)
    assert (plan.unit, plan.segment(256), plan.replica, plan.dp(256)) == (8, 64, 32, 8)
    assert Plan(tp=2, pp=2, ep=16).replica == 32
    assert Plan(tp=2, etp=4).unit == 4


def test_context_parallelism_shares_gradients() -> None:
    """tp2 cp2 on 8: 4 GPUs share the gradients of a tensor's part; all 8 those of undivided experts."""
    members = Plan(tp=2, cp=2).members(8)
    assert (members["dp"], members["edp"]) == (4, 8)


def test_micro_batches_of_a_replica() -> None:
    """Batch 256 on dp4 with micro batches of 2: 32; unset: 4 per stage, or 1 without a pipeline."""
    assert Plan(tp=8, pp=2, micro_batch=2, batch=256).micro_batches(64) == 32
    assert Plan(pp=4).micro_batches(8) == 16
    assert Plan(tp=8).micro_batches(8) == 1


@pytest.mark.parametrize(
    ("text", "gpus", "model", "message"),
    [
        ("tp8 pp4", 48, LLAMA, "does not divide the GPUs"),
        ("tp8 pp4", 0, LLAMA, "does not divide the GPUs"),
        ("ep16", 24, MIXTRAL, "etp x ep x pp does not divide the GPUs"),
        ("pp3", 3, LLAMA, "layers of Llama3-70B do not divide"),
        ("pp4 vp3", 4, LLAMA, "layers of Llama3-70B do not divide"),
        ("tp3", 3, LLAMA, "heads of Llama3-70B do not divide by tp"),
        ("ep3", 3, MIXTRAL, "experts of Mixtral-8x7B do not divide by ep"),
        ("ep2", 2, LLAMA, "has no experts"),
        ("cp3", 3, LLAMA, "tokens of a sequence of Llama3-70B do not divide by cp"),
        ("gb12", 8, LLAMA, "the batch does not divide"),
        ("pp4 vp2 gb6", 4, LLAMA, "micro batches of a replica do not divide"),
        ("tp-cp-ep-pp-dp ep4 pp2", 8, MIXTRAL, "other pipelines than attention"),
    ],
)
def test_what_does_not_divide_is_refused(text: str, gpus: int, model: object, message: str) -> None:
    """Each product and each size of the model, with the value found and what is allowed."""
    with pytest.raises(InputError, match=message) as caught:
        Plan.parse(text).check(model, gpus)  # type: ignore[arg-type]
    assert "allowed" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tp8 tq4", "unknown word"),
        ("tp8 tp4", "tp is set twice"),
        ("fp8 bf16", "precision is set twice"),
        ("dp8", "data parallelism is what"),
        ("tp0", "wrong tp"),
        ("tp-cp-ep-dp-dp", "wrong order of ranks"),
        ("vp2", "virtual stages without a pipeline"),
        ("tp-8", "unknown word"),
        ("tp99999999999", "wrong tp"),
    ],
)
def test_words_that_mean_nothing_are_refused(text: str, message: str) -> None:
    """Two lines: where and what; found and allowed."""
    with pytest.raises(InputError, match=message) as caught:
        Plan.parse(text)
    assert len(str(caught.value).splitlines()) == 2


def test_layers_divide_with_embedding_and_output_too() -> None:
    """Llama 3 405B: 126 layers and 2 on 16 x 8 stages of one, as its authors ran it; DeepSeek-V3 on 16."""
    plan = Plan.parse("tp8 pp16 vp8 gb16")
    plan.check(get_architecture("Llama3-405B"), 128)
    assert plan.layers_per_stage(get_architecture("Llama3-405B")) == 1
    assert Plan(pp=16).layers_per_stage(get_architecture("deepseek_v3")) == 4


def test_data_parallelism_alone_is_no_plan() -> None:
    """Whatever batch, sequence and precision: every GPU has the whole model."""
    assert Plan.parse("mb4 gb64 fp8").is_data_parallel
    assert not any(Plan.parse(text).is_data_parallel for text in ("tp2", "pp2", "cp2", "ep2", "fsdp"))
