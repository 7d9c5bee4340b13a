"""The generated layers against the layer tables that the Dally authors measured on."""

from pathlib import Path

import pytest

from netmodels.architectures import ARCHITECTURES

WORKLOADS = Path(__file__).resolve().parents[3] / ".." / "shared" / "reference" / "astra_sim" / "workloads"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("AlexNet", "alexnet_B512_astra-sim.csv"),
        ("VGG11", "vgg11_B256_astra-sim.csv"),
        ("ResNet18", "resnet18_B512_astra-sim.csv"),
        ("ResNet50", "resnet50_B512_astra-sim.csv"),
    ],
)
def test_weights_are_those_of_the_measured_layers(name, file):
    """Layer by layer, the weight tensors must be the ones that were measured: generated, not copied."""
    assert [4 * each.weights for each in ARCHITECTURES[name]()] == measured_bytes(file)


def test_mobilenet_is_the_small_one():
    """The measured table declares 54 layers and lists 52: all the small model's, in its order."""
    generated = [4 * each.weights for each in ARCHITECTURES["MobileNetV3"]()]
    rest = iter(generated)
    measured = measured_bytes("mobilenet_v3_B512_astra-sim.csv")
    assert (len(generated), len(measured)) == (54, 52)
    assert all(any(each == size for each in rest) for size in measured)


def test_bert_holds_the_measured_layers():
    """The measured table declares 145 layers (24 x 6, a head) and lists 66: all but the head ours."""
    generated = {4 * each.weights for each in ARCHITECTURES["BERT-large"]()}
    measured = set(measured_bytes("BERT-large_B256_astra-sim2.csv"))
    assert measured - generated == {8192}  # qa_outputs: 1024 x 2
    assert len(ARCHITECTURES["BERT-large"]()) == 1 + 24 * 6 + 1


@pytest.mark.parametrize(
    ("name", "giga_macs"),
    [("AlexNet", 0.71), ("VGG11", 7.61), ("MobileNetV3", 0.06), ("ResNet18", 1.81), ("ResNet50", 4.09)],
)
def test_multiply_accumulates_are_the_published_ones(name, giga_macs):
    """They divide the compute time over the layers; torchvision's documentation lists them as GFLOPS."""
    assert sum(each.macs for each in ARCHITECTURES[name]()) / 1e9 == pytest.approx(giga_macs, abs=0.01)


def measured_bytes(file):
    """Return the gradient bytes of a measured table, or skip where it is absent."""
    if not WORKLOADS.is_dir():
        pytest.skip(f"measured layer tables are not on this machine ({WORKLOADS})")
    lines = (WORKLOADS / file).read_text().splitlines()[2:]
    return [int(line.split()[10]) for line in lines if len(line.split()) >= 12]
