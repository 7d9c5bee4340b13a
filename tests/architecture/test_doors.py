"""The public doors, `artist.api` and `netmodels.api`: complete, documented, and quick to import."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOORS = ("artist.api", "netmodels.api")
PAGES = sorted(
    page
    for folder in ("artist", "netmodels", "traces", "topologies", "conf", "docs", "scripts", "tests", ".")
    for page in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md")
)


@pytest.mark.parametrize("door", DOORS)
def test_a_door_gives_each_name_from_its_home_and_explains_it(door: str) -> None:
    """For readers of types a name is imported from its home, at run time on demand: both give one object."""
    module = import_module(door)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (for_types,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: str(node.module)
        for node in for_types.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(module.__all__) == sorted(homes) == sorted(dir(module))
    explained = set(re.findall(r"`(\w+)", str(module.__doc__)))
    assert set(homes) - explained == set()
    for name, home in homes.items():
        assert getattr(module, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


@pytest.mark.parametrize("door", DOORS)
def test_a_door_imports_no_room_until_a_name_is_asked_for(door: str) -> None:
    """The engine imports a name or two through netmodels.api: what it does not use stays unread."""
    code = f"import sys, {door}; print(*(n for n in sys.modules if n.startswith(('artist.', 'netmodels.'))))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert printed.split() == [door]


def test_the_package_shows_its_names_and_version() -> None:
    """A notebook completes `artist.` with names that are there."""
    import artist

    assert {"__version__", "api", "read_run", "read_sweep", "simulate"} <= set(dir(artist))
    assert re.match(r"\d", artist.__version__)
    assert artist.simulate is artist.api.simulate


def test_examples_of_pages_import_from_the_doors_only() -> None:
    """Whatever lies behind the doors may move; an example that a reader copied goes on running."""
    wrong, blocks = [], 0
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
            blocks += 1
            for node in ast.walk(ast.parse(block)):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                ours = [name for name in names if name.split(".")[0] in ("artist", "netmodels")]
                wrong += [
                    f"{page.relative_to(ROOT)}: {name}" for name in ours if name not in (*DOORS, "artist")
                ]
    assert blocks > 5
    assert wrong == []
