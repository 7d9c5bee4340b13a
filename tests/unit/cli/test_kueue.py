"""Exports of Kueue: read as kubectl writes them; ignored parts are named, others refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from artist.errors import InputError
from artist.policies.kueue.configuration import amount, read_objects

Artist = Callable[..., Any]

EXPORT = """
apiVersion: v1
kind: List
items:
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: ClusterQueue
  metadata: {name: a, uid: 5d, generation: 2}
  spec:
    cohort: c
    flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: TryNextFlavor}
    namespaceSelector: {matchLabels: {team: a}}
    preemption:
      borrowWithinCohort: {policy: Never}
      reclaimWithinCohort: Any
      withinClusterQueue: LowerPriority
    queueingStrategy: BestEffortFIFO
    stopPolicy: None
    resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
      - name: gpu
        resources:
        - {name: cpu, nominalQuota: "64"}
        - {name: memory, nominalQuota: 512Gi}
        - {name: nvidia.com/gpu, nominalQuota: "8", borrowingLimit: "4", lendingLimit: "2"}
  status: {pendingWorkloads: 3}
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: LocalQueue
  metadata: {name: team, namespace: ns}
  spec: {clusterQueue: a, stopPolicy: None}
- apiVersion: kueue.x-k8s.io/v1beta1
  kind: ResourceFlavor
  metadata: {name: gpu}
  spec: {nodeLabels: {accelerator: gpu}, tolerations: [{key: gpu}]}
- {apiVersion: v1, kind: WorkloadPriorityClass, metadata: {name: high}, value: 5, description: d}
- {apiVersion: kueue.x-k8s.io/v1beta1, kind: Cohort, metadata: {name: c}, spec: {parentName: all}}
- {apiVersion: kueue.x-k8s.io/v1beta1, kind: Topology, metadata: {name: t}, spec: {levels: []}}
"""
QUEUE, GROUP = ("items", 0, "spec"), ("items", 0, "spec", "resourceGroups", 0)
QUOTA = (*GROUP, "flavors", 0, "resources", 2)


def changed(path: tuple[str | int, ...], value: object) -> Any:
    """Return the export with another value at a place, without it for None."""
    document: Any = copy.deepcopy(yaml.safe_load(EXPORT))
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Any]:
    """Return a function that reads a text."""

    def _read(text: str) -> Any:
        path = tmp_path / "kueue.yaml"
        path.write_text(text)
        return read_objects(path)

    return _read


def test_lists_documents_and_json_are_the_same_export(read: Callable[[str], Any]) -> None:
    """As one List, as a document per object, in JSON; parts without effect are named once each."""
    objects, ignored = read(EXPORT)
    queue = objects["ClusterQueue"][0]
    assert queue.parentName == "c"
    assert queue.preemption.reclaimWithinCohort == "Any"
    quota = queue.quotas["gpu", "nvidia.com/gpu"]
    assert (quota.nominalQuota, quota.borrowingLimit, quota.lendingLimit) == (8, 4, 2)
    assert queue.quotas["gpu", "memory"].nominalQuota == 512 * 2**30
    assert ignored == ["namespaceSelector", "tolerations", "description", "kind Topology"]
    items = yaml.safe_load(EXPORT)["items"]
    assert read(yaml.safe_dump_all([*items, None])) == (objects, ignored)
    assert read(json.dumps(yaml.safe_load(EXPORT))) == (objects, ignored)


def test_quantities_have_decimal_and_binary_suffixes() -> None:
    """As Kubernetes writes them: m is a thousandth, M 10^6, Mi 2^20, e3 10^3."""
    texts = ("8", "1500m", "2.5", "3k", "4M", "1Ki", "2Gi", "1e3", 7)
    assert [amount(text) for text in texts] == [8, 1.5, 2.5, 3e3, 4e6, 1024, 2 * 2**30, 1e3, 7]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*QUEUE, "stopPolicy"), "Hold", "ClusterQueue a: stopPolicy would change the schedule"),
        ((*QUEUE, "admissionChecks"), ["x"], "admissionChecks would change"),
        (
            (*QUEUE, "admissionChecksStrategy"),
            {"admissionChecks": [1]},
            "admissionChecksStrategy would change",
        ),
        ((*QUEUE, "admissionScope"), {"admissionMode": "x"}, "admissionScope would change"),
        ((*QUEUE, "concurrentAdmissionPolicy"), {"m": 1}, "concurrentAdmissionPolicy would change"),
        ((*QUEUE, "flavorFungibility"), {"whenCanBorrow": "TryNextFlavor"}, "flavorFungibility would change"),
        ((*QUEUE, "quotas"), 3, "quotas would change"),
        ((*QUEUE, "preemption", "within"), "Any", "within would change"),
        ((*QUEUE, "queueingStrategy"), "FIFO", "found 'FIFO'; allowed: 'BestEffortFIFO' or 'StrictFIFO'"),
        ((*QUEUE, "preemption", "reclaimWithinCohort"), "Lower", "'Never', 'LowerPriority' or 'Any'"),
        ((*QUEUE, "preemption", "withinClusterQueue"), "Any", "'LowerOrNewerEqualPriority'"),
        ((*QUEUE, "preemption", "borrowWithinCohort"), {"maxPriorityThreshold": "x"}, "allowed: an integer"),
        ((*QUEUE, "resourceGroups"), {"a": 1}, "allowed: a list"),
        ((*GROUP, "coveredResources"), ["cpu"], "one quota in flavor gpu for each of coveredResources"),
        ((*GROUP, "flavors", 0, "resources"), None, "resources: field missing"),
        ((*QUOTA, "nominalQuota"), "8 GPUs", "a quantity such as 8, 1500m or 64Gi"),
        ((*QUOTA, "nominalQuota"), -3, "found -3; allowed: a quantity"),
        ((*QUOTA, "borrowingLimit"), True, "found True; allowed: a quantity"),
        ((*QUOTA, "lendingLimit"), [3], r"found \[3\]; allowed: a quantity"),
        (("items", 0, "metadata"), {}, "name: field missing"),
        (("items", 0, "metadata"), {"name": 3}, "name: wrong value"),
        (("items", 0, "metadata"), None, "allowed: metadata and spec"),
        (("items", 0, "spec"), [1], "allowed: metadata and spec"),
        (("items", 0, "kind"), None, "no object of Kubernetes"),
        (("items", 0), "text", "no object of Kubernetes"),
        (("items",), [], "no cluster queue"),
        (("items", 0, "kind"), "Queue", "no cluster queue"),
        (("items", 1, "spec", "clusterQueue"), None, "clusterQueue: field missing"),
        (("items", 1, "spec", "stopPolicy"), "HoldAndDrain", "LocalQueue team: stopPolicy would change"),
        (("items", 1, "kind"), "ClusterQueue", "clusterQueue would change"),
        (("items", 2, "spec", "nodeLabels"), [3], "allowed: a mapping"),
        (("items", 3, "value"), "high", "value: wrong value"),
        (("items", 3, "value"), None, "value: field missing"),
        (("items", 4, "metadata", "name"), "", "name: wrong value"),
    ],
)
def test_parts_that_would_change_the_schedule_are_refused(
    read: Callable[[str], Any], path: tuple[str | int, ...], value: object, message: str
) -> None:
    """With the object and the field, the value found and those that are allowed."""
    with pytest.raises(InputError, match=message) as error:
        read(yaml.safe_dump(changed(path, value)))
    assert str(error.value).count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML"),
        ("kind: List\nkind: List", "the same key twice"),
        ("[" * 200 + "]" * 200, "nested more than 100 levels deep"),
        ("---\n".join([EXPORT, EXPORT]), "the same object twice"),
        ("text", "no object of Kubernetes"),
        ("[a]", "no object of Kubernetes"),
        ("", "no cluster queue"),
    ],
)
def test_other_files_are_refused(read: Callable[[str], Any], text: str, message: str) -> None:
    """A file that is no export, or not YAML, ends in two lines."""
    with pytest.raises(InputError, match=message) as error:
        read(text)
    assert str(error.value).count("\n") == 1


def test_a_bomb_of_aliases_is_refused_in_any_document(read: Callable[[str], Any]) -> None:
    """Ten to the fourth values by aliases, in the second document."""
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 5)]
    with pytest.raises(InputError, match="aliases"):
        read("---\n".join([EXPORT, "\n".join(lines)]))


# --- from the command line

SETTINGS = "workload=csv", "workload.path=jobs.csv", "policy=kueue", "network=zero", "cluster.machines=2"


def write_jobs(*rows: str) -> None:
    """Write jobs of `job_id,submit_s,gpus,duration_s,vc,account,qos`."""
    Path("jobs.csv").write_text("\n".join(["job_id,submit_s,gpus,duration_s,vc,account,qos", *rows]) + "\n")
    Path("kueue.yaml").write_text(EXPORT.replace("accelerator: gpu", "accelerator: NVIDIA-H100-80GB"))


def test_a_job_waits_for_the_quota_of_its_local_queues_cluster_queue(artist: Artist) -> None:
    """8 GPUs, none to borrow: h, of class high, preempts y (4), admitted at 0 as x, and ends at 52.

    Then y, of 0 s, is before z, of 1 s, which waits for x to end at 100.
    """
    write_jobs("x,0,4,100,team,ns,", "y,0,4,200,team,ns,", "z,1,4,50,team,ns,", "h,2,4,50,team,ns,high")
    ran = artist(*SETTINGS, "policy.conf=kueue.yaml")
    assert ran.code == 0
    assert "without effect here: namespaceSelector, tolerations, description, kind Topology" in ran.err
    (path,) = Path("runs").rglob("jobs.parquet")
    jobs = pd.read_parquet(path).set_index("job_id")
    assert jobs["first_start_s"].round(3).to_dict() == {"x": 0, "y": 0, "z": 100, "h": 2}
    assert jobs["preemptions"].to_dict() == {"x": 0, "y": 1, "z": 0, "h": 0}


@pytest.mark.parametrize(
    ("row", "setting", "message"),
    [
        ("j,0,4,9,tem,ns,", "seed=0", "job 'j': no cluster queue\n  found 'tem'"),
        ("j,0,4,9,team,other,", "seed=0", "job 'j': no cluster queue"),
        ("j,0,4,9,team,ns,hi", "seed=0", "job 'j': no such priority class\n  found 'hi'; allowed: high"),
        ("j,0,9,9,team,ns,", "seed=0", "cluster queue a can never admit the job\n  found '9 GPUs"),
        ("j,0,4,9,team,ns,", "policy.gpu_types={gpus: H100}", "policy.gpu_types: no such flavor"),
        ("j,0,4,9,team,ns,", "policy.gpu_types={gpu: H10}", "flavor gpu: no GPU type of the cluster"),
        ("j,0,4,9,team,ns,", "policy.conf=no.yaml", "no.yaml: no such file"),
        ("j,0,4,9,team,ns,", "policy.topology=rack", "policy.topology: wrong value"),
        (
            "j,0,4,9,team,ns,",
            "policy.waitForPodsReady={timeout: 0}",
            "policy.waitForPodsReady.timeout: wrong value",
        ),
    ],
)
def test_faults_of_jobs_and_settings_end_in_two_lines(
    artist: Artist, row: str, setting: str, message: str
) -> None:
    """Before the clock starts, with exit code 2."""
    write_jobs(row)
    ran = artist(*SETTINGS, "policy.conf=kueue.yaml", setting)
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.strip().splitlines()) == 2
