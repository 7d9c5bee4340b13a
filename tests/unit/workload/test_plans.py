"""Plans of language models in job tables: names, units and steps, and what is refused with its row."""

from collections.abc import Callable
from pathlib import Path

import pytest

from artist.errors import InputError
from artist.tables.rows import Table
from artist.workload.build_jobs import to_jobs
from artist.workload.plans import with_plans
from artist.workload.readers.canonical import CanonicalCsv

Write = Callable[..., Path]
COLUMNS = "job_id,submit_s,gpus,duration_s,model,plan,batch,sequence,precision,min_gpus,max_gpus,step"


def planned(write: Write, *rows: str, machine_gpus: int = 8, more: str = "") -> Table:
    """Return a table of rows after `job_id,submit_s`, with plans; a step takes GPUs / 100 s."""
    lines = [f"job-{number},0,{row}" for number, row in enumerate(rows)]
    path = write("\n".join([COLUMNS + more, *lines]) + "\n")
    table = CanonicalCsv(path=path).table()
    return with_plans(table, "jobs.csv", machine_gpus, lambda model, gpus, types: gpus / 100)


def test_a_job_is_of_a_model_with_a_plan(write: Write) -> None:
    """Columns and words of the plan make one name; its iteration is the plan's step; others are as before.

    A language model without a plan is copied to every GPU.
    """
    table = planned(
        write,
        "64,3600,llama3_70b,tp8 pp4,256,8192,FP8,,,",
        "64,3600,Llama3-70B,tp8 pp4 gb256 seq8192 fp8,,,,,,",
        "8,60,VGG16,,,,,,,",
        "8,60,Llama3-8B,,,2048,,,,",
        "8,60,MPT-1B,,,,,,,",
    )
    name = "Llama3-70B tp8 pp4 gb256 seq8192 fp8"
    assert table["model"].tolist() == [name, name, "VGG16", "Llama3-8B seq2048", "MPT-1B"]
    assert table["compute_s"][:2].tolist() == [0.64, 0.64]
    assert table["compute_s"][2] != table["compute_s"][2]  # of its profile
    assert table["unit"].tolist() == [8, 8, 1, 1, 1]


def test_jobs_have_the_stages_and_replicas_of_their_plans(write: Write) -> None:
    """tp8 pp4 is a replica of 32 GPUs; experts over 32 GPUs of each of 8 stages make one of 256."""
    table = planned(
        write,
        "64,3600,llama3_70b,tp8 pp4,256,8192,,,,",
        "512,3600,Qwen3-235B-A22B,tp2 pp8 ep32 vp4,4096,4096,,,,",
        "8,60,VGG16,,,,,,,",
        "8,60,Llama3-8B,fsdp,,2048,,,,",
    )
    jobs = to_jobs(table, lambda model: 10**9)
    groups = [(job.demand.pipeline_stages, job.demand.replica_gpus) for job in jobs]
    assert groups == [(4, 32), (8, 256), (0, 0), (1, 1)]


def test_a_table_without_plans_is_unchanged(write: Write) -> None:
    """Not even a column is added."""
    path = write("job_id,submit_s,gpus,duration_s,model\na,0,8,60,VGG16\n")
    table = CanonicalCsv(path=path).table()
    assert with_plans(table, "jobs.csv", 8, lambda *_: 1.0) is table


@pytest.mark.parametrize(
    ("plan", "machine_gpus", "unit", "segment"),
    [
        ("tp4 pp2", 8, 4, 1),
        ("tp2 cp2 pp2", 8, 4, 1),  # both in a machine
        ("tp8 cp2", 8, 8, 1),  # 16 are not: tensor parallelism alone
        ("tp8 pp2", 4, 4, 8),  # two whole machines of one NVLink domain
        ("tp4", 6, 4, 1),  # once in a machine of 6
        ("fsdp", 8, 1, 1),
        ("pp4", 8, 1, 1),
    ],
)
def test_units_are_tensor_parallel_groups(
    write: Write, plan: str, machine_gpus: int, unit: int, segment: int
) -> None:
    """tp, times cp where a machine holds both; a group larger than a machine is a segment of a rack."""
    table = planned(write, f"16,60,Llama3-70B,{plan},32,,,,,", machine_gpus=machine_gpus)
    assert (table["unit"].tolist(), table["segment"].tolist()) == ([unit], [segment])


def test_a_unit_of_the_table_is_kept(write: Write) -> None:
    """A user may ask for whole machines of a tp4 job."""
    table = planned(write, "16,60,Llama3-70B,tp4,32,,,,,")
    again = with_plans(table.assign(model="Llama3-70B", unit=8), "jobs.csv", 8, lambda *_: 1.0)
    assert again["unit"].tolist() == [8]


def test_plans_may_be_on_pieces_of_machines(write: Write) -> None:
    """workload.unit=1 replaces the units of plans, for a comparison."""
    table = planned(write, "16,60,Llama3-70B,tp4,32,,,,,").assign(model="Llama3-70B", unit=1)
    again = with_plans(table, "jobs.csv", 8, lambda *_: 1.0, in_units=False)
    assert again["unit"].tolist() == [1]


def test_elastic_jobs_change_by_replicas(write: Write) -> None:
    """tp4 pp2: 8 GPUs per replica; 8, 16, 24 and 32 GPUs have 1 to 4 copies, of 24 sequences each a part."""
    assert planned(write, "16,60,Llama3-70B,tp4 pp2,24,,,8,32,")["step"].tolist() == [8]
    assert planned(write, "16,60,Llama3-70B,tp4 pp2,24,,,16,32,16")["step"].tolist() == [16]


def test_copies_alone_have_a_batch_per_gpu(write: Write) -> None:
    """16 sequences on 4 GPUs are a micro batch of 4, so that the profile holds for any number of GPUs."""
    table = planned(write, "4,60,MPT-1B,,16,,,,,")
    assert table["model"].tolist() == ["MPT-1B mb4"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("60,60,Llama3-70B,tp8 pp4,,,,,,", ["does not divide the GPUs", "60 GPUs", "multiples of 32"]),
        ("72,60,Llama3-70B,tp8 pp3,,,,,,", ["the layers", "do not divide", "pp3"]),
        ("96,60,Llama3-70B,tp3,,,,,,", ["heads", "do not divide by tp"]),
        ("64,60,Qwen3-30B-A3B,ep3,,,,,,", ["ep", "64"]),
        ("64,60,Llama3-70B,ep8,,,,,,", ["has no experts"]),
        ("64,60,Llama3-70B,tp8 pp4,33,,,,,", ["the batch does not divide", "33"]),
        ("64,60,Llama3-70B,tp8 dp8,,,,,,", ["data parallelism is what", "dp8"]),
        ("64,60,Llama3-70B,tp8 foo,,,,,,", ["unknown word", "foo"]),
        ("64,60,Llama3-70B,tp8 gb32,64,,,,,", ["batch is set twice"]),
        ("64,60,Llama3-70B,tp8,,,FP7,,,", ["unknown precision", "fp7"]),
        ("64,60,VGG16,tp8,,,,,,", ["unknown language model", "VGG16"]),
        ("64,60,Mamba-2.8B,tp8,,,,,,", ["unknown language model"]),
        ("16,60,Llama3-70B,tp4 pp2,24,,,4,32,", ["not whole replicas", "multiples of 8"]),
        ("16,60,Llama3-70B,tp4 pp2,24,,,8,32,4", ["not whole replicas", "by 4"]),
        ("16,60,Llama3-70B,tp4 pp2,32,,,8,24,", ["the batch does not divide", "dp3"]),
    ],
)
def test_what_cannot_be_is_refused_with_its_row(write: Write, row: str, words: list[str]) -> None:
    """File, line and job, and the fault in the plan's own words."""
    with pytest.raises(InputError) as caught:
        planned(write, "8,60,VGG16,,,,,,,", row)
    for word in ["jobs.csv, line 3, job job-1", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(("column", "words"), [("fungible", "fungible"), ("mixed_types", "mixed GPU types")])
def test_replicas_are_whole_and_of_one_type(write: Write, column: str, words: str) -> None:
    """A fungible job takes as many GPUs as their type needs; mixed types would slow a replica's stages."""
    with pytest.raises(InputError, match=words):
        planned(write, "16,60,Llama3-70B,tp4 pp2" + ",,,,,,,1", more=f",{column}")
