"""A small good file of every form that a reader of jobs takes, and the values of its parameters."""

import json
from dataclasses import dataclass, field
from typing import Any

from artist.workload.readers.acme import AcmeTrace
from artist.workload.readers.artist_json import ArtistJson
from artist.workload.readers.canonical import CanonicalCsv
from artist.workload.readers.columns import ColumnsCsv
from artist.workload.readers.gavel import GavelTrace
from artist.workload.readers.helios import HeliosTrace
from artist.workload.readers.kueue import KueueWorkloads
from artist.workload.readers.lingjun import LingjunTrace
from artist.workload.readers.muri import MuriCsv
from artist.workload.readers.openb import OpenbTrace
from artist.workload.readers.pai import PaiTrace
from artist.workload.readers.philly import PhillyTrace
from artist.workload.readers.slurm import SlurmDump
from artist.workload.readers.spot import SpotTrace
from artist.workload.readers.swf import SwfTrace
from artist.workload.readers.tiresias import TiresiasCsv


@dataclass(frozen=True)
class Sample:
    """A good file.

    Attributes
    ----------
    reader
        The class that reads it.
    text
        The file.
    separator
        Between its columns; empty for JSON.
    needs
        Parameters that it cannot be read without.
    may
        Values of parameters that change how it is read.
    """

    reader: type[Any]
    text: str
    separator: str = ","
    needs: dict[str, Any] = field(default_factory=dict)
    may: dict[str, tuple[Any, ...]] = field(default_factory=dict)


_ORIGINS = (None, "2020-06-01 00:00:00", "9999-12-31 23:00:00", "0001-01-01 00:00:00", "1700-01-01 00:00:00")
_ZERO = {"zero_duration": ("drop", "one_second")}
_CPUS = {"cpus": ("ignore", "keep"), "cpu_jobs": ("drop", "keep")}
_PARTS = {"fractional_gpus": ("round_up", "drop")}
_OFFSETS = {"time_zone": ("Etc/GMT+12", "Asia/Kolkata", "Europe/Berlin")}
_ANY_TYPE = {"gpu_types": "ignore"}
_ATTEMPTS = [
    {
        "start_time": "2017-10-07 00:00:10",
        "end_time": "2017-10-07 00:01:10",
        "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
    },
    {"start_time": "2017-10-07 00:02:00", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
]
_PHILLY_LOG = [
    {
        "jobid": name,
        "vc": "v",
        "user": "u",
        "status": "Pass",
        "submitted_time": "2017-10-07 00:00:00",
        "attempts": _ATTEMPTS,
    }
    for name in ("a", "b")
]
_DALLY = [
    {
        "job_id": str(number),
        "arrival_time": "10.5",
        "max_parallelism": "4",
        "total_iterations": "1000",
        "time_per_iteration": "0.25",
        "model": "VGG",
        "user": "u",
        "cpu_num": 8,
    }
    for number in (1, 2)
]
SPEEDS = {
    "v100": {"('LM (batch size 40)', 2)": {"null": 80.0}, "('CycleGAN', 1)": {"null": 4.0}},
    "k80": {"('CycleGAN', 1)": {"null": 0.0}},
}
TABLE = """\
name,begin,finish,nodes,per_node,kind,took,state
a,2023-05-17 11:00:58,2023-05-17 11:10:58,2,4,VGG11,600,DONE
b,2023-05-17 11:01:58+00:00,2023-05-17 11:10:58+00:00,1,0.5,,30,DONE
"""
_DATED = {
    "columns": {
        "job_id": "name",
        "submit_s": "begin",
        "end_s": "finish",
        "start_s": "begin",
        "gpus": "per_node",
    },
    "units": {"submit_s": "timestamp", "start_s": "timestamp", "end_s": "timestamp"},
}
_COUNTED = {
    "columns": {"submit_s": "took", "gpus": ["nodes", "per_node"], "duration_s": "took", "model": "kind"},
    "units": {"submit_s": "d", "duration_s": "us"},
}

_KUEUE = [
    {
        "metadata": {"name": "w", "namespace": "lab", "creationTimestamp": "2026-08-01T00:00:00Z"},
        "spec": {
            "queueName": "t",
            "priority": 5,
            "podSets": [
                {
                    "name": "p",
                    "count": 2,
                    "template": {
                        "spec": {
                            "containers": [
                                {"resources": {"requests": {"nvidia.com/gpu": "2", "cpu": "500m"}}}
                            ]
                        }
                    },
                }
            ],
        },
        "status": {
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": f"2026-08-01T0{hour}:00:00Z"}
                for hour, kind in ((1, "Admitted"), (2, "Finished"))
            ]
        },
    }
]
SAMPLES: dict[str, Sample] = {
    "csv": Sample(
        CanonicalCsv,
        "job_id,submit_s,gpus,duration_s,iterations,compute_s,model,user,vc,cpus,memory_bytes,min_gpus,max_gpus,"
        "submit_date\n"
        "a,0,1,600,,,ResNet18,u,v,4,1024,1,2,2020-06-01 12:30:00\n"
        "b,60.5,16,,1000,0.25,,u,w,,,,,2020-06-01 12:31:00\n"
        "c,90,0,300,10,,,,,8,,,,2020-06-01 12:32:00\n",
    ),
    "helios log": Sample(
        HeliosTrace,
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
        "7,u1,v1,8,16,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:01:20,60,10\n"
        "8,u2,v2,0,4,1,FAILED,2020-04-01 00:00:00,2020-04-01 00:00:00,2020-04-01 00:00:05,5,0\n",
        may=_ZERO | _CPUS | {"states": (["COMPLETED"], ["x"], [])},
    ),
    "helios recovered": Sample(
        HeliosTrace,
        "job_id,arrival_s,service_sec,gpu_count\n7#0,100.0,60.0,8\n9#2,150.0,5.0,1\n",
        may=_ZERO | {"origin": _ORIGINS},
    ),
    "philly log": Sample(
        PhillyTrace,
        json.dumps(_PHILLY_LOG),
        "",
        may=_ZERO | {"attempt_time": ("sum", "last", "first_to_last"), "states": (["Pass"], ["x"])},
    ),
    "philly passed": Sample(
        PhillyTrace,
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-06 23:27:26,100.0,4,400.0,v1\n2017-10-06 23:27:16,50.0,1,50.0,v2\n",
        may=_ZERO,
    ),
    "philly all": Sample(
        PhillyTrace,
        "#job id,arrival time (sec),topology,shape,size,duration (sec)\n"
        "11,60.0,CLOS,1,1,108.0\n12,70.0,CLOS,2,2,0\n",
        may=_ZERO,
    ),
    "lingjun": Sample(
        LingjunTrace,
        "#job id,arrival time (sec),topology,shape,size,duration (sec)\n"
        "0,0.0,CLOS,48,48,720.0\n2,60.0,CLOS,2,2,120\n",
        may=_ZERO | {"origin": _ORIGINS},
    ),
    "acme log": Sample(
        AcmeTrace,
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
        "1,u1,1,8,96,Pretrain,COMPLETED,2023-03-01 09:00:00+08:00,2023-03-01 09:01:00+08:00,"
        "2023-03-01 09:03:00+08:00,120,60,960\n"
        "2,u2,1,0,16,Other,FAILED,2023-03-01 09:00:10+08:00,2023-03-01 09:00:10+08:00,"
        "2023-03-01 09:00:40+08:00,30,0,0\n",
        may=_ZERO | _CPUS | _OFFSETS | {"states": (["COMPLETED"],), "types": (["Other"], ["x"])},
    ),
    "acme sample": Sample(
        AcmeTrace,
        "source_trace_id,gpu_type,gpu_count,timestamp,e2e_latency_s,queue_wait_s\n"
        "acme:a,A100,64,2023-05-17 11:00:58+00:00,18.0,10.0\n"
        "acme:b,A100,8,2023-05-17 20:00:58+00:00,100.0,7.0\n",
        needs=_ANY_TYPE,
        may=_ZERO | _OFFSETS,
    ),
    "acme converted": Sample(
        AcmeTrace,
        "job_id,arrival_time,num_iteration,iteration_computing_time,gpu_workers,gpu_per_worker\n"
        "0,0.0,208,0.5,8,8.0\n1,10.0,100,0.5,2,1.0\n",
        may=_ZERO | _OFFSETS,
    ),
    "openb": Sample(
        OpenbTrace,
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
        "scheduled_time\n"
        "whole,12000,1024,1,1000,,LS,Running,0,500,10\npart,6500,2048,1,460,,BE,Failed,20,300,20\n"
        "none,1500,10,0,0,,BE,Running,7,100,8\n",
        may=_ZERO | _CPUS | _PARTS | {"memory": ("keep",), "qos": (["BE"],), "states": (["Running"],)},
    ),
    "pai tasks": Sample(
        PaiTrace,
        "j1,worker,2.0,Terminated,100.0,160.0,600.0,29.3,50.0,V100\n"
        "j1,ps,1.0,Terminated,90.0,160.0,150.0,29.3,,MISC\nj2,worker,3.0,Failed,50.0,80.0,600.0,29.3,200.0,V100\n",
        needs=_ANY_TYPE,
        may=_ZERO | _CPUS | _PARTS | {"origin": _ORIGINS, "states": (["Failed"],)},
    ),
    "pai recovered": Sample(
        PaiTrace,
        "job_id,arrival_s,service_sec,gpu_count\nali-b,70.0,4305.0,1\nali-a,60.0,95.0,20\n",
        may=_ZERO | {"origin": _ORIGINS},
    ),
    "spot": Sample(
        SpotTrace,
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type\n"
        "old,1,A10,4,1,1,0,900,HP\nwide,2,A100-SXM4-80GB,32.5,8,4,60,100,HP\npart,2,A10,4,0.5,2,70,10,Spot\n",
        needs=_ANY_TYPE,
        may=_ZERO | _CPUS | _PARTS | {"origin": _ORIGINS, "at_start": ("drop",), "job_types": (["HP"],)},
    ),
    "muri": Sample(
        MuriCsv,
        "job_id,num_gpu,submit_time,iterations,model_name,duration,iteration_time,"
        "resource_time_0,resource_time_1,resource_time_2\n"
        "0,8,0,1000,bert,210000,200,0.5,140,50\n1,1,28000,10,vgg16,2140,214,82,75,0\n",
        may=_ZERO | {"work": ("iterations", "duration"), "network": ("keep", "subtract")},
    ),
    "tiresias": Sample(
        TiresiasCsv,
        "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
        "0,1,0,600,vgg19,150,30\n1,8,30,133,inception4,0,23\n2,2,20,100,resnet50,50,26\n",
        may=_ZERO | {"iterations": ("keep", "ignore")},
    ),
    "gavel": Sample(
        GavelTrace,
        "LM (batch size 40)\tpython3 x.py\tlm\t--steps\t1\t4000\t2\t1\t-1.0\t30\n"
        "CycleGAN\tpython3 x.py\tlm\t--steps\t1\t100\t1\t1\t-1.0\t0\n",
        "\t",
        needs={"throughputs": "speeds.json"},
        may={"worker": ("v100", "k80", "x")},
    ),
    "dally": Sample(
        ArtistJson, json.dumps(_DALLY), "", may={"work": ("per_job", "per_gpu"), "cpus": ("keep",)}
    ),
    "slurm": Sample(
        SlurmDump,
        "JobID|User|Submit|Start|End|Elapsed|State|Timelimit|Priority|AllocTRES|NNodes|Flags|JobName\n"
        "1|u|2026-08-01T00:00:00|2026-08-01T00:01:00|2026-08-01T01:01:00|01:00:00|PREEMPTED|1-00:00:00|12|"
        "cpu=9,gres/gpu:a100=8,gres/gpu=8,mem=60G|1|SchedMain|a\n"
        "1|u|2026-08-01T01:01:00|2026-08-01T02:00:00|2026-08-01T02:01:00|01:00|COMPLETED|UNLIMITED|12|gres/gpu=8|1||a|b\n"
        "2+0|u|2026-08-01T00:00:00|2026-08-01T00:01:00|Unknown|01:00:00|RUNNING||12|gres/gpu=2|1||c\n"
        "2+1|u|2026-08-01T00:00:00|2026-08-01T00:01:00|Unknown|01:00:00|RUNNING||12|gres/gpu=1|1||c\n"
        "2+0.batch||2026-08-01T00:01:00|2026-08-01T00:01:00|Unknown|01:00:00|RUNNING|||gres/gpu=2|1||batch\n"
        "3_[4-9%2]|u|2026-08-01T00:00:00|Unknown|Unknown|00:00:00|PENDING||12||1||d\n",
        "|",
        may=_ZERO
        | _CPUS
        | _PARTS
        | _OFFSETS
        | {
            "attempts": ("last",),
            "running": ("limit", "drop"),
            "max_machines": ("any",),
            "memory": ("keep",),
        },
    ),
    "swf": Sample(
        SwfTrace,
        "; UnixStartTime: 1785542400\n1 0 10 100 8 -1 -1 8 200 -1 1 3 2 -1 1 1 -1 -1\n"
        "2 5 -1 50 -1 -1 -1 12 -1 -1 0 4 2 -1 1 -1 -1 -1\n",
        " ",
        may=_ZERO | {"origin": _ORIGINS, "processors_per_gpu": (6, 10**6)},
    ),
    "kueue table": Sample(
        KueueWorkloads,
        "name,queue,priority,created,admitted,finished,gpus,cpu,memory\n"
        "a,t,100,2026-08-01T00:00:00Z,2026-08-01T00:00:05Z,2026-08-01T01:00:05Z,8,16,64Gi\n"
        "b,t,0,2026-08-01T00:00:01Z,2026-08-01T00:00:06Z,,8,1500m,64Gi\n",
        may=_ZERO | _CPUS | _PARTS | _OFFSETS | {"running": ("drop",), "memory": ("keep",)},
    ),
    "kueue": Sample(
        KueueWorkloads,
        json.dumps(_KUEUE),
        "",
        may=_ZERO | _CPUS | _PARTS | _OFFSETS | {"running": ("drop",), "memory": ("keep",)},
    ),
    "columns, dates": Sample(
        ColumnsCsv,
        TABLE,
        needs=_DATED | {"time_zone": "UTC"},
        may=_ZERO | _PARTS | _OFFSETS | {"timestamp_format": ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S%z")},
    ),
    "columns, numbers": Sample(
        ColumnsCsv,
        TABLE,
        needs=_COUNTED,
        may=_ZERO
        | _PARTS
        | {"origin": _ORIGINS, "duplicates": ("first", "number"), "filters": ({"state": ["DONE"]},)}
        | {
            "no_duration": ("refuse",),
            "separator": ("tab", ";", "D"),
            "comment": ("#", "a"),
            "header": (list("abc"),),
        },
    ),
}
