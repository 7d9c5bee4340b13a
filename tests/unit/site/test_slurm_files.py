"""The forms of Slurm's files: comments, continued lines, quotes, included files, lists of names."""

from pathlib import Path

import pytest

from artist.errors import InputError
from artist.site.slurm_files import names_in, read_lines


def values(folder: Path, text: str) -> list[dict[str, str]]:
    """Return the values of the lines of a file."""
    path = folder / "slurm.conf"
    path.write_text(text, encoding="utf-8")
    return [line.values for line in read_lines([path])[0]]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("NODENAME=N1 cpus=4", [{"nodename": "N1", "cpus": "4"}]),  # keys of any case, names as they are
        ("A=1 # B=2\n#C=3\n\n  D=4", [{"a": "1"}, {"d": "4"}]),
        ("A=1,\\\n2 \\\n  B=3", [{"a": "1,2", "b": "3"}]),
        ("A=1 \\   \nB=2", [{"a": "1", "b": "2"}]),  # blanks after the backslash
        ("A=1 \\ # of one\nB=2", [{"a": "1", "b": "2"}]),  # a comment after it
        ('W="CPU=1.0,Mem=0.25G" B=2', [{"w": "CPU=1.0,Mem=0.25G", "b": "2"}]),
        ('Reason="two words"', [{"reason": "two words"}]),
        ("A = 1", [{"a": "1"}]),
        ("A=1\r\nB=2\r\n", [{"a": "1"}, {"b": "2"}]),
        ("A=1 \\", [{"a": "1"}]),  # continued by nothing
        (
            "User - 'u1':Fairshare=1:Description='a b'",
            [{"user": "u1", "fairshare": "1", "description": "a b"}],
        ),
        ("Account - 'a':QOS+='x,y'", [{"account": "a", "qos": "x,y"}]),
        ("Name|Priority|GrpTRES\nhigh|10|\n", [{"qos": "high", "priority": "10", "grptres": ""}]),
        ("Configuration data as of 2026-01-01\nKillWait = 30 sec\n\nPrio-x\n", [{"killwait": "30 sec"}]),
    ],
)
def test_each_form_of_a_line_is_read(text: str, lines: list[dict[str, str]], tmp_path: Path) -> None:
    """What Slurm takes, its tools write, or its manual allows."""
    assert values(tmp_path, text) == lines


def test_a_file_is_included_where_it_is_named_and_read_once(tmp_path: Path) -> None:
    """First a, then b of the included file, which names its own includer, then c."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/b.conf").write_text("b=2\nInclude ../slurm.conf\n")
    assert values(tmp_path, "a=1\ninclude parts/b.conf\nInclude parts/b.conf\nc=3\n") == [
        {"a": "1"}, {"b": "2"}, {"c": "3"},
    ]  # fmt: skip


def test_an_absolute_include_is_found_in_a_folder_that_moved(tmp_path: Path) -> None:
    """/etc/slurm/parts/b.conf is parts/b.conf beside the copy of slurm.conf."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/b.conf").write_text("b=2\n")
    assert values(tmp_path, "include /no/such/parts/b.conf\n") == [{"b": "2"}]


def test_topology_and_gres_conf_beside_a_file_are_read(tmp_path: Path) -> None:
    """All files that were read are named, for the key of the run."""
    for name in ("slurm.conf", "topology.conf", "gres.conf", "cgroup.conf"):
        (tmp_path / name).write_text(f"{name[0]}=1\n")
    lines, files = read_lines([tmp_path / "slurm.conf"])
    assert [line.head for line in lines] == ["s", "t", "g"]
    assert [file.name for file in files] == ["slurm.conf", "topology.conf", "gres.conf"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("n[1-3,10]", "n1 n2 n3 n10"),
        ("n[01-03]", "n01 n02 n03"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"),
        ("a[1-2]-ib,b,c[5]", "a1-ib a2-ib b c5"),
        ("gpu-dy-p4d.24xl-[1-2]", "gpu-dy-p4d.24xl-1 gpu-dy-p4d.24xl-2"),
        ("[1-2]x", "1x 2x"),
    ],
)
def test_names_in_ranges(text: str, names: str) -> None:
    """Zeros of the first number give the width; several brackets give all pairs, the last the fastest."""
    assert names_in(text, "") == names.split()


@pytest.mark.parametrize(
    "text", ["n[1-", "n1]", "n[3-1]", "n[a-b]", "n[]", "n[1,,2]", ",n1", "n1,,n2", "n[1-3:2]", "", "n[1[2]]",
             "n[1-200000]", "n[1-999999999999999999]", "a[1-1000]b[1-1000]", "n[-3]"],
)  # fmt: skip
def test_a_list_that_is_none_is_refused(text: str) -> None:
    """Two lines, and no memory for a million names."""
    with pytest.raises(InputError, match="not a list of names"):
        names_in(text, "slurm.conf, line 1")
