"""Every reader beside its YAML."""

from pathlib import Path
from pydoc import locate

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
# Presets of another file, which they name in `defaults`, list what they change of it.
YAMLS = sorted(p for p in (ROOT / "conf/workload").glob("*.yaml") if "_target_" in p.read_text())
HYDRAS_OWN = {"_target_", "_convert_"}


@pytest.mark.parametrize("path", YAMLS, ids=lambda path: path.stem)
def test_a_yaml_lists_every_parameter_with_its_default(path: Path) -> None:
    """The YAML's values are the reader's defaults, but for the path and the seed."""
    values = {key: value for key, value in yaml.safe_load(path.read_text()).items() if key not in HYDRAS_OWN}
    parameters = locate(yaml.safe_load(path.read_text())["_target_"]).Parameters  # type: ignore[attr-defined, union-attr]
    assert set(values) == set(parameters.model_fields)
    missing = {key for key, value in values.items() if value == "???"}
    assert missing == {key for key, field in parameters.model_fields.items() if field.is_required()} - {
        "columns"
    }
    given = {"path": "x", "throughputs": "x", "seed": 0}
    columns = {"columns": {"submit_s": "s", "gpus": "g"}} if path.stem == "columns" else {}
    chosen = {key: given.get(key, value) for key, value in values.items()} | columns
    bare = {key: given[key] for key in ("path", "throughputs") if key in values} | columns
    assert parameters.model_validate(chosen) == parameters.model_validate(
        bare
        | ({key: values[key] for key in ("load", "max_gpus") if path.stem in ("synthetic", "muri_vc", "llm")})
    )
