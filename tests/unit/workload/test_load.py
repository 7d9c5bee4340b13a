"""The whole way from a config file to job specs, as the program goes it."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra.utils import instantiate
from omegaconf import OmegaConf

from artist.core.gpus import Gpu, Gpus
from artist.data import data_path
from artist.errors import InputError
from artist.workload.api import Arrivals, JobSource, SourceParameters
from artist.workload.arrivals import CompressArrivals, TraceArrivals
from artist.workload.load import load_jobs
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.helios import HeliosTrace

TINY = data_path("traces", "tiny.csv")
SOURCES = ("artist_json", "csv", "helios", "philly", "synthetic")
ARRIVALS = ("batch", "compress", "poisson", "trace")
S = 1_000_000_000
GPUS = Gpus(Gpu(), (), {}.__getitem__)  # the reference


def built(group: str, name: str, **overrides: object) -> object:
    """Return the object of a config file, built as by Hydra, with the seed of the run."""
    node = OmegaConf.load(data_path("conf", f"{group}/{name}.yaml"))
    return instantiate(OmegaConf.create({"seed": 5, group: OmegaConf.merge(node, overrides)})[group])


def tenth_of_a_second(model: str) -> int:
    """Return the same profile compute time for every model."""
    return S // 10


@pytest.mark.parametrize("name", SOURCES)
def test_every_workload_file_builds_a_source(name: str) -> None:
    """A misspelt key or target in a YAML would otherwise wait for its first user."""
    source = built("workload", name, **({} if name == "synthetic" else {"path": str(TINY)}))
    assert isinstance(source, JobSource)
    assert source.parameters.seed == 5


@pytest.mark.parametrize("name", SOURCES)
def test_every_workload_file_lists_every_parameter(name: str) -> None:
    """The file is where a user looks for what she can set."""
    node = OmegaConf.load(data_path("conf", f"workload/{name}.yaml"))
    source = built("workload", name, **({} if name == "synthetic" else {"path": str(TINY)}))
    assert {str(key) for key in node} - {"_target_", "_convert_"} == set(type(source.parameters).model_fields)


@pytest.mark.parametrize("name", ARRIVALS)
def test_every_arrivals_file_builds_arrivals(name: str) -> None:
    """The same for the arrivals."""
    assert isinstance(built("arrivals", name), Arrivals)


def test_the_default_workload_fits_the_demo() -> None:
    """400 jobs of at most 64 GPUs at load 0.9 on 128 GPUs: a queue, in seconds of simulation."""
    jobs = load_jobs(built("workload", "synthetic"), built("arrivals", "trace"), 128, tenth_of_a_second, GPUS)
    work = sum(job.demand.gpus * job.ideal_ns for job in jobs)
    assert len(jobs) == 400
    assert max(job.demand.gpus for job in jobs) <= 64
    assert work / (128 * jobs[-1].submit_ns) == pytest.approx(0.9, rel=0.03)


def test_overrides_reach_the_reader() -> None:
    """Effect of workload=csv workload.path=FILE workload.first=3."""
    jobs = load_jobs(
        built("workload", "csv", path=str(TINY), first=3), TraceArrivals(), 4, tenth_of_a_second, GPUS
    )
    assert [job.job_id for job in jobs] == ["a", "b", "c"]
    assert [job.model for job in jobs] == ["ResNet18", "VGG11", "ResNet50"]
    assert [job.iterations for job in jobs] == [1000, 600, 500]  # 100, 60, 50 s / 0.1 s


def test_the_load_counts_the_chosen_jobs_only() -> None:
    """a, b, c: 100 + 120 + 200 = 420 GPU-seconds, 10 s; load 0.5 on 4 GPUs is a span of 210 s."""
    source = CanonicalCsv(path=TINY, first=3)
    jobs = load_jobs(source, CompressArrivals(load=0.5), 4, tenth_of_a_second, GPUS)
    assert [job.submit_ns for job in jobs] == [0, 0, 210 * S]


def test_the_venus_week_at_a_load(traces: Path) -> None:
    """Figures as a user sees them: 4,089 jobs whose work fills 512 GPUs to 0.9 of the span."""
    source = HeliosTrace(path=traces / "helios-venus/venus_gpu_jobs_2020-06-01_1week.csv")
    jobs = load_jobs(source, CompressArrivals(load=0.9), 512, tenth_of_a_second, GPUS)
    work = sum(job.demand.gpus * job.ideal_ns for job in jobs)
    assert len(jobs) == 4_089
    assert work / (512 * jobs[-1].submit_ns) == pytest.approx(0.9, rel=1e-9)


class Homemade:
    """A source of a user's own, which forgot a column."""

    parameters = SourceParameters()
    input_files: tuple[Path, ...] = ()

    def table(self) -> pd.DataFrame:
        """Return a table without GPUs."""
        return pd.DataFrame({"job_id": ["a"], "submit_s": [0.0]})


def test_the_table_of_a_plug_in_is_checked() -> None:
    """Code from outside is input too."""
    assert isinstance(Homemade(), JobSource)
    with pytest.raises(InputError, match="Homemade: column is missing"):
        load_jobs(Homemade(), TraceArrivals(), 4, tenth_of_a_second, GPUS)


class EveryMinute:
    """A rule of arrivals of a user's own, who knows pandas."""

    def apply(self, table: pd.DataFrame, cluster_gpus: float) -> pd.DataFrame:
        """Return the jobs by rising run time, one a minute."""
        ordered = table.sort_values("duration_s")
        return ordered.assign(submit_s=60.0 * np.arange(len(ordered)))


def test_a_reader_and_a_rule_of_a_users_own_work_in_pandas() -> None:
    """Job b takes 10 s, a 20 s: b comes at 0 s, a at 60 s, with missing values as pandas marks them."""
    source = Homemade()
    columns = {"job_id": ["a", "b"], "submit_s": [0, 1], "gpus": pd.array([1, 2], dtype="Int64")}
    columns |= {"duration_s": [20.0, 10.0], "model": "M", "user": ["ann", None]}
    source.table = lambda: pd.DataFrame(columns)  # type: ignore[method-assign]
    jobs = load_jobs(source, EveryMinute(), 4, tenth_of_a_second, GPUS)
    assert [(job.job_id, job.submit_ns, job.user, job.demand.gpus) for job in jobs] == [
        ("b", 0, "", 2),
        ("a", 60_000_000_000, "ann", 1),
    ]


@pytest.mark.parametrize("rule", ["trace", "batch", "poisson"])
def test_jobs_that_arrive_together_keep_the_order_of_the_file(rule: str, tmp_path: Path) -> None:
    """Jobs 0 ... 11 at 5 s, then `early` at 0 s: by the text of their ids, 10 and 11 would overtake 2.

    The rules of arrivals go by the order of arrival of the trace, so `early` comes first under each.
    """
    rows = [f"{number},5,1,10,M" for number in range(12)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["job_id,submit_s,gpus,duration_s,model", *rows, "early,0,1,10,M"]) + "\n")
    arrivals = built("arrivals", rule, **({"load": 0.5} if rule == "poisson" else {}))
    jobs = load_jobs(built("workload", "csv", path=str(path)), arrivals, 8, tenth_of_a_second, GPUS)
    assert [job.job_id for job in jobs] == ["early", *map(str, range(12))]
