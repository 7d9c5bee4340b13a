"""Files of calibrated profiles: written, read, refused."""

import pytest

from netmodels.calibration.calibrated import CalibratedFile, CalibratedModel, read_calibrated
from netmodels.inputs.errors import InputError
from netmodels.profiles.profile import get_profile


@pytest.fixture
def file(tmp_path):
    """Return a function from a text to the file that holds it."""

    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text)
        return path

    return write


def test_a_few_words_will_do(file):
    """Scale, launch, update delay or all, by any name of the model; other models stay as they are."""
    text = (
        "models:\n  resnet-50: {compute_scale: 0.5, launch_ns: 20000}\n  VGG: {launch_ns: 7, update_ns: 9}\n"
    )
    result = read_calibrated(file(text))
    assert result("ResNet50") == get_profile("ResNet50").scaled(0.5).with_launch(20_000)
    assert result("vgg11") == get_profile("VGG11").with_launch(7).with_update(9)
    assert result("AlexNet") is get_profile("AlexNet")
    assert result.topology == ""


def test_written_profiles_are_read_back(file):
    """The same profiles, to the last digit of the scale."""
    scale = 0.1 + 0.2  # 0.30000000000000004
    written = CalibratedFile(
        method="scale_compute",
        measured={"file": "a.csv", "sha256": "0"},
        topology="here",
        network={"model": "m", "version": "2", "system": {"chunks": 1}},
        models={
            "VGG11": CalibratedModel(compute_scale=scale, measured=0.1, achieved=0.1, gpus=8, source="x: y")
        },
    )
    result = read_calibrated(file(written.text()))
    assert result("VGG11") == get_profile("VGG11").scaled(scale)
    assert result.topology == "here"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "wrong value"),
        ("models: {}", "at least 1 item"),
        ("models: [a]", "models"),
        ("models: {ResNet51: {}}", "did you mean 'ResNet50'"),
        ("models: {VGG11: {compute_scale: 0}}", "models.VGG11.compute_scale"),
        ("models: {VGG11: {compute_scale: .nan}}", "models.VGG11.compute_scale"),
        ("models: {VGG11: {launch_ns: -1}}", "models.VGG11.launch_ns"),
        ("models: {VGG11: {launch_ns: 1.5}}", "models.VGG11.launch_ns"),
        ("models: {VGG11: {scale: 2}}", "did you mean 'compute_scale'"),
        ("models: {VGG11: {}, vgg: {}}", "the same model twice"),
        ("model: {VGG11: {}}", "models"),
        ("models: {VGG11: {", "not YAML"),
    ],
)
def test_a_wrong_file_is_refused(file, text, told):
    """With the file, the field, the value found and the allowed values."""
    with pytest.raises(InputError, match=r"mine\.yaml") as error:
        read_calibrated(file(text))
    assert told in str(error.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """And so is a folder."""
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError, match=r"no such file|is a folder"):
            read_calibrated(path)
