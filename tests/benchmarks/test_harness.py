"""The harness measures whole process trees, takes commands in turn and keeps what is needed to judge a result."""

from __future__ import annotations

import importlib.util
import json
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daskgraphpart.engine.measure import tree_bytes

if TYPE_CHECKING:
    from types import ModuleType

HARNESS = Path(__file__).parent.parent.parent / "benchmarks" / "harness.py"
MEBIBYTE = 1 << 20


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    copy = shutil.copy(HARNESS, tmp_path)  # results go beside it
    spec = importlib.util.spec_from_file_location("harness_under_test", copy)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def holds(mebibytes: int) -> str:
    return f"import time; kept = b'x' * ({mebibytes} << 20); time.sleep(0.4)"


def test_memory_of_children_is_summed(harness: ModuleType) -> None:
    start = f"subprocess.Popen([sys.executable, '-c', {holds(80)!r}])"
    parent = f"import subprocess, sys; found = [{start}, {start}]; [p.wait() for p in found]"
    run = harness.measure([sys.executable, "-c", parent])
    assert run.peak_bytes > 160 * MEBIBYTE
    assert run.seconds >= 0.4
    assert tree_bytes(2**30) == 0, "a process that has ended has no memory"


def test_a_command_that_fails_ends_the_benchmark_with_its_output(harness: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"ended with 3:\nwhy"):
        harness.measure([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"])


def test_commands_run_in_turn_and_ratios_are_of_pairs(harness: ModuleType) -> None:
    order: list[str] = []
    results = harness.in_turn({"a": ["true"], "b": ["true"]}, 3, order.append)
    assert order == ["a", "b"] * 3
    assert {name: len(runs) for name, runs in results.items()} == {"a": 3, "b": 3}
    runs = {name: [harness.Measurement(s, 0) for s in of] for name, of in {"a": (2, 4, 8), "b": (8, 4, 2)}.items()}
    assert harness.ratios(runs, "a", "b") == (0.25, 1, 4)


def test_results_are_appended_without_names_of_machines_or_directories(harness: ModuleType) -> None:
    results = {"a": [harness.Measurement(1.5, 10)]}
    harness.keep("toy", {"edges": "10"}, results)
    harness.keep("toy", {"edges": "20"}, results)
    text = (harness.RESULTS / "toy.jsonl").read_text()
    first, second = map(json.loads, text.splitlines())
    assert (first["setting"], second["setting"]) == ({"edges": "10"}, {"edges": "20"})
    assert first["results"] == {"a": [{"seconds": 1.5, "peak_bytes": 10}]}
    assert first["cores"] >= 1
    assert {"commit", "memory_gib", "python", "versions"} < set(first)
    assert platform.node() not in text
    assert str(HARNESS.parent.parent) not in text
