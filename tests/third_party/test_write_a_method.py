"""A package of somebody else registers a method: the second example of the page on layouts, installed by pip; ours."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import commands
import numpy as np
import pytest
from foreign_packages import call, forget_packages, install

import daskgraphpart as dgp
from daskgraphpart.errors import EnvironmentFaultError, OptionError, PluginError
from daskgraphpart.testing import MethodSuite, groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "1GB", "workers": 1, "cluster": "threads", "progress": False}


class TestRandom(MethodSuite):
    method, keeps_limits = "random", False


@pytest.mark.long
class TestFennel(MethodSuite):
    method = "fennel"


@pytest.mark.long
class TestMultilevel(MethodSuite):
    method = "multilevel"


@pytest.mark.long
class TestMetis(MethodSuite):
    method = "metis"


class TestKaMinPar(MethodSuite):
    method = "kaminpar"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory into which pip has installed the package."""
    pytest.importorskip("mtkahypar", reason="no mtkahypar: run `make test`")
    target = install("mtkahypar_method", tmp_path_factory)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(target)
        forget_packages()
        yield target
    forget_packages()


@pytest.mark.usefixtures("installed")
class TestMtKaHyPar(MethodSuite):
    method = "mtkahypar"


def test_it_is_in_choices_plan_summary_record_and_compare(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups().write_chunked(tmp_path / "graph", memory="1GB", workers=1)
    options = ("--num-parts", "4", "--cluster", "threads", "--memory", "1GB")
    assert "mtkahypar, or a directory" in " ".join(call(installed, "partition", "--help").stdout.split())

    def shown(command: str, *words: Any, exit_code: int = 0) -> str:
        assert commands.call(command, *words) == exit_code
        return "".join(capsys.readouterr())

    plan = shown("plan", tmp_path / "graph", *options, "--method", "mtkahypar")
    assert re.search(r"method +mtkahypar \(needs about", plan)
    done = shown("assign", tmp_path / "graph", tmp_path / "owners", *options, "--method", "mtkahypar")
    assert "mtkahypar (deterministic, seed 0)" in done
    assert json.loads((tmp_path / "owners" / "assignment.json").read_text())["method"] == "mtkahypar"
    again = ("assign", tmp_path / "graph", tmp_path / "quality", *options, "--method", "mtkahypar", "--method-option")
    assert "mtkahypar (quality, seed 0)" in shown(*again, "preset=quality")
    assert "no option 'preste'. Did you mean preset?" in shown(*again, "preste=quality", exit_code=2)
    assert "Unknown preset 'best'" in shown(*again, "preset=best", "--overwrite", exit_code=2)
    shown("dispatch", tmp_path / "graph", tmp_path / "owners", tmp_path / "parts", *options[2:])
    assert "fennel,random,mtkahypar]" in "".join(call(installed, "compare", "--help").stdout.split())
    compared = call(installed, "compare", tmp_path / "graph", *options, "--methods", "random,mtkahypar").stdout
    cuts = dict(re.findall(r"^ +4  (\w+) +([\d.]+)%", compared, re.MULTILINE))
    assert float(cuts["mtkahypar"]) < 0.5 * float(cuts["random"])
    assert "mtkahypar" not in call(tmp_path, "partition", "--help").stdout


def test_a_limit_that_it_does_not_keep_is_told_and_refined(installed: Path, tmp_path: Path) -> None:
    src = np.concatenate([np.zeros(300, np.int64), np.arange(100)])
    star = dgp.from_edges({"n:r:n": (src, (np.arange(400) * 7 + 1) % 301)}, num_nodes=301)
    given: dict[str, Any] = {"method": "mtkahypar", "balance": "nodes,edges=0.05", **HOW}
    plain, refined = (dgp.assign(star, 3, refine=refine, **given).quality for refine in (False, True))
    assert refined.balance_of("edges").ratio <= plain.balance_of("edges").ratio
    assert all("edges: a part has" in line for line in plain.warnings[:1])


ODD = """
import numpy as np
from daskgraphpart.extension import Method
class Odd(Method):
    def memory(self, num_nodes, num_arcs, num_constraints): return 1000
    def owners(self, job): return np.zeros(len(job.nodes), np.int64)
"""
FAULTS = {
    "too few": (
        ODD.replace("len(job.nodes)", "3"),
        r"expected owners returns .* each of 480 nodes, found int64 \(3,\)",
    ),
    "too large": (ODD.replace("np.zeros", "4 + np.zeros"), "found 4 for node 0"),
    "negative": (ODD.replace("return np", "return -np").replace("zeros", "ones"), "found -1 for node 0"),
    "no numbers": (ODD.replace("np.int64", "float"), r"found float64 \(480,\)"),
    "nothing": (ODD.replace("return np.zeros(len(job.nodes), np.int64)", "pass"), "found NoneType"),
    "raises": (ODD.replace("return np", "1 / 0; return np"), "found ZeroDivisionError: division by zero"),
    "ends": (ODD.replace("return np", "raise SystemExit; return np"), "found SystemExit"),
    "memory is no number": (ODD.replace("1000", "'1 GB'"), "memory returns a number of bytes, found '1 GB'"),
    "no method": ("Odd = dict", "expected a Method, found <class 'dict'>"),
    "abstract": ("from daskgraphpart.extension import Method\nclass Odd(Method): pass", "found no memory, owners"),
    "cannot be imported": ("import nothing_like_this", "[Cc]annot import the method 'odd' of"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_method_is_one_sentence_and_the_rest_works(
    fault: str, register: Callable[[str, str, str], None]
) -> None:
    code, expected = FAULTS[fault]
    register("methods", "odd", code)
    with pytest.raises(PluginError, match=expected) as caught:
        dgp.assign(groups(), 4, method="odd", **HOW)
    assert "he method 'odd' of odd-plugin 2.0" in str(caught.value)
    assert str(caught.value).endswith("Update or uninstall odd-plugin.")
    dgp.assign(groups(), 4, method="fennel", **HOW)


def test_a_method_that_counts_gets_nodes_by_type(register: Callable[[str, str, str], None]) -> None:
    code = ODD.replace("def memory", "reads_edges = False\n    def memory").replace(
        "return np.zeros(len(job.nodes), np.int64)",
        "(name, ids), = job.types(); return (np.array(ids) + (name == 'b')) % job.num_parts",
    )
    register("methods", "turns", code)
    graph = dgp.from_edges({"a:r:b": ([0, 1], [1, 2])}, num_nodes={"a": 5, "b": 4})
    assignment = dgp.assign(graph, 3, method="turns", **HOW)
    assert assignment.owners["a"].compute().tolist() == [0, 1, 2, 0, 1]
    assert assignment.owners["b"].compute().tolist() == [1, 2, 0, 1]
    assert assignment.method == assignment.quality.method == "turns"
    assert dgp.plan(graph, 3, method="turns", memory="1GB").method == "turns"


def test_ours_win_and_a_misspelt_one_is_named(
    register: Callable[[str, str, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    register("methods", "fennel", ODD)
    assert dgp.assign(groups(), 4, method="fennel", **HOW).quality.cut_share < 0.5
    assert caplog.text.count("the method 'fennel' of odd-plugin 2.0 is not used: daskgraphpart has one") == 1
    with pytest.raises(OptionError, match="Did you mean fennel"):
        dgp.assign(groups(), 4, method="fenel", **HOW)


def test_a_job_of_another_version_of_the_package_does_not_resume(
    register: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    register("methods", "odd", ODD.replace("return np", "raise OSError(28, 'full'); return np"))
    graph = groups()
    with pytest.raises(EnvironmentFaultError):
        dgp.assign(graph, 4, method="odd", out=tmp_path / "out", **HOW)
    (metadata,) = tmp_path.glob("site/*.dist-info/METADATA")
    metadata.write_text(metadata.read_text().replace("2.0", "2.1"))
    forget_packages()
    with pytest.raises(dgp.errors.ResumeError, match=r"expected odd of odd-plugin 2\.0, found odd of odd-plugin 2\.1"):
        dgp.assign(graph, 4, method="odd", out=tmp_path / "out", **HOW)


def test_a_job_with_less_memory_than_it_needs_is_refused(register: Callable[[str, str, str], None]) -> None:
    register("methods", "large", ODD.replace("1000", "5 << 30"))
    with pytest.raises(dgp.errors.PlanError, match="Use 5369MB or more"):
        dgp.assign(groups(), 4, method="large", **HOW)
