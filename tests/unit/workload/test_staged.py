"""Jobs of models with measured stages."""

import pytest

from artist.errors import InputError
from artist.workload.fields import STAGE_COLUMNS
from artist.workload.staged import StagedTrace


def staged(**parameters):
    """Return 300 jobs drawn like Muri's."""
    how = {"jobs": 300, "load": 0.8, **parameters}
    return StagedTrace(**how).table().frame()


def test_a_job_has_the_stages_of_its_model_and_gpus():
    """VGG16 on 8 GPUs: 214 ms, of which storage 70.29, CPU 11.71, GPU 75, network 66; busy for 75 / 214."""
    jobs = staged()
    row = jobs[(jobs["model"] == "VGG16") & (jobs["gpus"] == 8)].iloc[0]
    expected = [0.214, 0.07029, 0.01171, 0.075, 0.066]
    assert row[["compute_s", *STAGE_COLUMNS]].tolist() == pytest.approx(expected)
    assert row["gpu_utilization"] == pytest.approx(75 / 214)
    assert row["iterations"] == round(row["duration_s"] / 0.214)


def test_the_network_stage_can_be_left_to_a_model():
    """VGG16 on 8 GPUs: 214 - 66 ms, as many iterations; its GPUs are busy for 75 of the 148."""
    keep, subtract = (staged(network=value, structure="none") for value in ("keep", "subtract"))
    vgg = (keep["model"] == "VGG16") & (keep["gpus"] == 8)
    assert subtract[vgg]["compute_s"].iloc[0] == pytest.approx(0.148)
    assert subtract[vgg]["gpu_utilization"].iloc[0] == pytest.approx(75 / 148)
    assert subtract["iterations"].equals(keep["iterations"])
    bert = (keep["model"] == "BERT-large") & (
        keep["gpus"] == 32
    )  # 260 - 133 < 166 ms on the GPU: some overlaps
    assert subtract[bert]["compute_s"].iloc[0] == pytest.approx(0.166)
    assert (subtract["compute_s"] >= subtract["gpu_s"] - 1e-9).all()


def test_gpus_between_the_measured_ones_take_the_next_fewer():
    """A2C on 5 to 7 GPUs: as on 4, 533 ms."""
    jobs = staged(preset="helios_venus", models={"rule": "fixed", "name": "A2C"}, jobs=5000)
    odd = jobs[(jobs["gpus"] > 4) & (jobs["gpus"] < 8)]
    assert len(odd) > 5
    assert (odd["compute_s"] == 0.533).all()


def test_the_jobs_are_those_of_the_generator_in_its_order():
    """Only the models and what follows from them is added; half of the jobs are guaranteed, all if asked."""
    jobs, all_promised = staged(), staged(guaranteed_share=1)
    assert jobs["model"].nunique() == 8
    assert jobs["submit_s"].is_monotonic_increasing
    assert jobs["guaranteed"].mean() == pytest.approx(0.5, abs=0.1)
    assert all_promised["guaranteed"].all()
    assert all_promised["model"].equals(jobs["model"])


def test_jobs_like_trace_3_are_like_trace_3():
    """992 jobs of 116,689 GPU-hours, 9.42 GPUs each; of 100,000 drawn, within 5 %."""
    jobs = staged(jobs=100_000)
    gpu_hours = float((jobs["gpus"] * jobs["duration_s"]).sum()) / 3600 * 992 / 100_000
    assert gpu_hours == pytest.approx(116_689, rel=0.05)
    assert jobs["gpus"].mean() == pytest.approx(9.42, rel=0.05)


def test_job_types_are_bottlenecks():
    """One: GPU only; two: also network. What is drawn beside the model does not change."""
    one, two, four = staged(job_types=1), staged(job_types=2), staged()
    assert set(one["model"]) == {"BERT-large", "GPT-2"}
    assert set(two["model"]) == {"BERT-large", "GPT-2", "VGG16", "VGG19"}
    assert one[["submit_s", "gpus", "duration_s"]].equals(four[["submit_s", "gpus", "duration_s"]])


def test_models_without_stages_are_refused():
    """ResNet50 was not measured; A2C is bound by the CPU, the fourth type: the error lists the others."""
    for models, value in (("ResNet50", "ResNet50"), ("A2C", "A2C")):
        with pytest.raises(InputError, match="no stages measured") as caught:
            staged(models={"rule": "fixed", "name": models}, job_types=2)
        assert (caught.value.found, caught.value.allowed) == (value, "BERT-large, GPT-2, VGG16, VGG19")
