"""Readers of other packages that break: an error that names the package, and the rest works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from commands import call

import daskgraphpart as dgp
from daskgraphpart import registry
from daskgraphpart.errors import PluginError
from daskgraphpart.layouts.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "1GB", "workers": 1, "cluster": "threads", "progress": False}
SCAN = """
from daskgraphpart.graph.scan import Scan
class Odd(Scan):
    name, files = "odd", []
    def identity(self): return {}
    def outline(self): return []
    def read(self, job): return 1 / 0
    @classmethod
    def open(cls, given): """
BROKEN = {
    "scan cannot be imported": ("readers", "import nothing_like_this", "Cannot import the reader 'aa' of"),
    "scan is none": ("readers", "Odd = dict", "expected a Scan, found <class 'dict'>"),
    "scan raises": ("readers", SCAN + "return 1 / 0", "found ZeroDivisionError: division by zero"),
    "scan lacks methods": (
        "readers",
        SCAN.replace("def read", "def reads") + "pass",
        "with all its methods, found no read",
    ),
    "scan is a word": ("readers", SCAN + "return 'read'", "expected a Scan or None, found 'read'"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_it_is_one_sentence_and_the_rest_works(
    fault: str, register: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    group, code, expected = BROKEN[fault]
    register(group, "aa", code)
    with pytest.raises(PluginError) as caught:
        dgp.partition(3.5, tmp_path / "out", 2, **HOW)  # type: ignore[arg-type]  # what no plug-in opens
    message = str(caught.value)
    assert "odd-plugin 2.0" in message
    assert expected in message
    assert message.endswith("Update or uninstall odd-plugin.")
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    dgp.assign(tmp_path / "e.csv", 2, method="random", **HOW)
    graph = dgp.from_edges({"n:r:n": ([0, 1], [1, 2])}, num_nodes=3)
    metadata = graph.write_chunked(tmp_path / "graph", memory="1GB", workers=1)
    dgp.assign(tmp_path / "graph" / "metadata.json", 2, method="random", **HOW)
    dgp.assign(metadata, 2, method="random", **HOW)


@pytest.mark.parametrize(("code", "state"), [(SCAN + "pass", ""), ("import nothing_like_this", ": Cannot import ")])
def test_plugins_are_listed_with_their_package(
    code: str, state: str, register: Callable[[str, str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    register("readers", "aa", code)
    assert call("plugins") == 0
    shown = capsys.readouterr().out.splitlines()
    assert "layout  dgl           daskgraphpart" in shown
    (line,) = (line for line in shown if line.startswith("reader  aa"))
    assert line[22:].startswith(f"odd-plugin 2.0{state}") and bool(state) == (len(line) > 36)


def test_a_scan_that_fails_to_read_is_one_sentence(register: Callable[[str, str, str], None], tmp_path: Path) -> None:
    code = SCAN + "return cls() if given == 3.5 else None"
    register("readers", "aa", code)
    with pytest.raises(PluginError, match=r"'aa' of odd-plugin 2\.0 .* expected a Graph, found ZeroDivisionError"):
        dgp.partition(3.5, tmp_path / "out", 2, **HOW)  # type: ignore[arg-type]  # what the plug-in opens


GUESTS = {
    "ends the process": ("readers", "import sys\nsys.exit(0)", "found SystemExit: 0"),
    "interrupts": ("readers", SCAN + "raise KeyboardInterrupt", "KeyboardInterrupt"),
    "has no memory": ("readers", SCAN + "raise MemoryError('all of it')", "MemoryError: all of it"),
    "has no file": ("readers", SCAN + "raise OSError('gone')", "OSError: gone"),
    "prints": ("readers", "print('hello')\n" + SCAN + "print('there')", ""),
    "is of another time": ("clusters", "Odd = 1", "packages can add layouts, methods and readers only"),
}


@pytest.mark.parametrize("fault", GUESTS)
def test_a_guest_is_named_once_and_passed_over(
    fault: str,
    register: Callable[[str, str, str], None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    group, code, expected = GUESTS[fault]
    register(group, "aa", code)
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    for _ in range(2):
        dgp.assign(tmp_path / "e.csv", 2, method="random", **HOW)
    told = [record.getMessage() for record in caplog.records if "odd-plugin 2.0" in record.getMessage()]
    assert len(told) == bool(expected)
    assert all(expected.removeprefix("found ") in text and "update or uninstall odd-plugin" in text for text in told)
    assert capsys.readouterr().out == ""


def test_one_that_hangs_is_passed_over(
    register: Callable[[str, str, str], None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry._blaming.__wrapped__, "__defaults__", ("the {} fails", 1))
    register("readers", "aa", SCAN + "import time; time.sleep(60)")
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    dgp.assign(tmp_path / "e.csv", 2, method="random", **HOW)
    assert "passed over: TimeoutError: no answer for 1 s" in caplog.text


def test_ctrl_c_of_the_user_stops_the_job(register: Callable[[str, str, str], None], tmp_path: Path) -> None:
    register("readers", "aa", SCAN + "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)")
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    with pytest.raises(KeyboardInterrupt):
        dgp.assign(tmp_path / "e.csv", 2, method="random", **HOW)


def test_one_that_is_asked_for_by_name_is_an_error(register: Callable[[str, str, str], None]) -> None:
    register("layouts", "aa", "Odd = 1")
    assert registry._found("layouts")["ranks"].package == ""
    with pytest.raises(PluginError, match=r"layout 'aa' of odd-plugin 2\.0 .*expected a Layout, found 1"):
        registry.load_class("layouts", "aa", Layout)
