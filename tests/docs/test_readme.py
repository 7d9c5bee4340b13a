"""The examples of README.md, docs/ and the pages on policies, effects and networks run as printed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

from artist.core.view import Policy
from artist.policies.basic.ordered import Ordered
from artist.policies.synergy.policy import Synergy
from artist.testing.conformance import PolicyConformance

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
POLICIES = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
BELOW = ("docs/sweeps.md", "docs/networks.md", "docs/your_policy.md", "docs/performance.md")
PAGES = README + POLICIES + "".join((ROOT / page).read_text(encoding="utf-8") for page in BELOW)
FIRST = (ROOT / "docs" / "tutorials" / "my_policy.md").read_text(encoding="utf-8")  # test_tutorials runs it
EXAMPLES = re.findall(r"<!-- example -->\n```bash\n(.*?)```", PAGES, flags=re.DOTALL)
FILES = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", FIRST + PAGES, flags=re.DOTALL)


@dataclass(frozen=True)
class Done:
    """An example that was run, and the folder that it was run in."""

    folder: Path
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Done]:
    """Return a function that runs an example, once, in a folder with the files that its reader writes.

    All workers of pytest-xdist share the folders.
    """
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    @cache
    def once(example: str) -> Done:
        folder = root / f"example{EXAMPLES.index(example)}"
        with FileLock(f"{folder}.lock"):
            result = folder.with_suffix(".json")
            if not result.exists():
                for name, content in FILES:
                    path = folder / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content, encoding="utf-8")
                process = run(folder, example)
                result.write_text(json.dumps([process.returncode, process.stdout, process.stderr]))
        return Done(folder, *json.loads(result.read_text()))

    return once


def run(folder: Path, example: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder."""
    commands = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "ARTIST_CACHE": str(folder / "cache"),
    }
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", example],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_the_page_has_examples() -> None:
    """Runs, traces, sweeps, price, calibration, parts, mechanism, network, Lyra, CODA."""
    assert len(EXAMPLES) == 15
    names = [
        "fewest.py",
        "policy/fewest.yaml",
        "test_fewest.py",
        "parts.py",
        "policy/widest.yaml",
        "latest.py",
        "last_first.py",
        "policy/last_first.yaml",
        "careful.py",
        "policy/careful.yaml",
        "once.py",
        "heaviest.py",
        "policy/once.yaml",
        "waiting.py",
    ]
    assert [name for name, _ in FILES] == [f"mine/{name}" for name in names]


def test_the_page_is_short() -> None:
    """A newcomer reads the first page to its end: at most 900 words and one picture."""
    assert len(README.split()) <= 900
    assert README.count("![") == 1


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link of every page names a file."""
    pages = [path for path in ROOT.rglob("*.md") if not {".venv", "runs"} & set(path.relative_to(ROOT).parts)]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0][:40])
def test_an_example_runs(done: Callable[[str], Done], example: str) -> None:
    """As a reader would run it, in an empty folder; every `artist` prints a table."""
    process = done(example)
    assert process.returncode == 0, process.stderr + process.stdout
    assert process.stdout.count("JCT") >= example.count("artist ")
    assert process.stdout.count("compute") >= example.count("artist-network ")
    assert "artist " not in example or list((process.folder / "runs").rglob("summary.json"))


def test_the_parts_on_the_page_serve_all_jobs() -> None:
    """Also those of one GPU type, on few machines, fungible or elastic, as the suite of the page has them."""
    parts: dict[str, Any] = {}
    exec(dict(FILES)["mine/parts.py"], parts)

    class Suite(PolicyConformance):
        def make_policy(self) -> Policy:
            mine = {"placement": parts["Emptiest"](), "fill": parts["TwiceTheCpus"]()}
            return Ordered(order=parts["Widest"](), **mine, preemptive=True)

    Suite().test_finishes_every_job()
    Suite().test_finishes_jobs_of_several_gpu_types()


def test_the_parts_of_lyra_on_the_page_matter(done: Callable[[str], Done]) -> None:
    """Machines go back by preemption, as the part on the page picks them, and it is not Lyra's schedule."""
    results = {policy: summary for (policy, _), summary in summaries(done, "policy=careful,lyra").items()}
    assert results["careful"]["reclaims"]["preempting"]
    assert results["careful"]["jct_s"] != results["lyra"]["jct_s"]


def test_the_allocator_on_the_page_matters(done: Callable[[str], Done]) -> None:
    """It tunes the first jobs of a model only: fewer retunes than CODA has, more than with CPUs as asked."""
    results = {policy: summary["kinds"] for (policy, _), summary in summaries(done, "policy=once,").items()}
    retunes = {policy: kinds["retunes_per_gpu_job"] for policy, kinds in results.items()}
    assert retunes["coda_no_tuning"] == 0 < retunes["once"] < retunes["coda"]


def test_the_mechanism_on_the_page_serves_all_jobs() -> None:
    """Also CPU-only jobs, those of several GPU types, elastic ones, and those larger than a machine."""
    parts: dict[str, Any] = {}
    exec(dict(FILES)["mine/last_first.py"], parts)

    class Suite(PolicyConformance):
        def make_policy(self) -> Policy:
            return Synergy(mechanism=parts["LastFirst"]())

    Suite().test_finishes_every_job()
    Suite().test_finishes_jobs_of_several_gpu_types()


def test_machines_with_owners_are_configured_as_on_the_page(tmp_path: Path) -> None:
    """Six machines of two pools; without the quotes a shell would take the brackets apart."""
    (pools,) = re.findall(r"`('cluster\.machines=.*?')`", PAGES)
    process = run(tmp_path, f"artist workload.jobs=3 {pools}")
    assert process.returncode == 0, process.stderr
    assert "JCT" in process.stdout


def rows(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the summaries of all runs in a folder by policy and placement."""
    results = {}
    for path in folder.rglob("summary.json"):
        config = yaml.safe_load((path.parent / "config.yaml").read_text(encoding="utf-8"))
        summary = json.loads(path.read_text(encoding="utf-8"))
        results[summary["policy"], str(config["policy"].get("placement"))] = summary
    return results


def summaries(done: Callable[[str], Done], words: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the summaries of the one example that holds some words."""
    (example,) = (text for text in EXAMPLES if words in text)
    assert done(example).returncode == 0
    return rows(done(example).folder / "runs")


def test_the_made_up_site_is_explained_by_first_fit(done: Callable[[str], Done]) -> None:
    """Its starts were made under first fit on 14 machines, then 4 % of its jobs were held for up to 2 h."""
    (example,) = (text for text in EXAMPLES if "seen_against_simulated" in text)
    assert "Can I believe it? Yes (fifo, first fit)" in done(example).stdout + done(example).stderr


def test_the_sweep_shows_the_ratio_of_the_page(done: Callable[[str], Done]) -> None:
    """FIFO's mean completion time is several times SRTF's, or the example has nothing to show."""
    result = summaries(done, "output.name=first")
    fifo, srtf = (result[name, "consolidate"]["jct_s"]["mean"] for name in ("fifo", "srtf"))
    assert fifo > 3 * srtf


def test_the_network_matters_in_the_cases_of_the_page(done: Callable[[str], Done]) -> None:
    """Random placement costs communication and, through it, queueing."""
    result = summaries(done, "policy.placement=consolidate,random")
    near, far = result["fifo", "consolidate"], result["fifo", "random"]
    assert far["comm_overhead"]["mean"] > 2 * near["comm_overhead"]["mean"]
    assert far["jct_s"]["mean"] > 1.2 * near["jct_s"]["mean"]


def test_cpus_memory_and_loans_matter_in_the_cases_of_the_page(done: Callable[[str], Done]) -> None:
    """Tuned CPUs and memory finish jobs sooner than shares, tuned CPUs alone than those asked for; so do
    loans and growth than FIFO without them.
    """
    result = summaries(done, "policy=synergy_proportional,synergy,")
    jct = {policy: summary["jct_s"]["mean"] for (policy, _), summary in result.items()}
    assert len(jct) == 7
    assert jct["coda"] < 0.95 * jct["coda_fifo"]
    assert jct["synergy"] < 0.9 * jct["synergy_proportional"]
    assert jct["lyra"] < 0.9 * jct["lyra_fifo"]


def test_every_policy_is_on_the_page() -> None:
    """The table of policies is the list of files in conf/policy/, no more and no less."""
    rows = [
        row.split("|")[1] for row in POLICIES.splitlines() if row.startswith("| `") and "=" not in row[:12]
    ]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert listed == {path.stem for path in (ROOT / "conf/policy").glob("*.yaml")}
