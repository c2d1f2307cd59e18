"""Scans of other packages that break: an error that names the package, and the rest works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from installed_copy import write_metadata

import daskgraphpart as dgp
from daskgraphpart import registry
from daskgraphpart.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "1GB", "workers": 1, "cluster": "threads", "progress": False}
SCAN = "from daskgraphpart.graph.scan import Scan\nclass Odd(Scan):\n    @classmethod\n    def open(cls, given): "
BROKEN = {
    "scan cannot be imported": ("scans", "import nothing_like_this", "Cannot import the scan 'aa' of"),
    "scan is none": ("scans", "Odd = dict", "expected a Scan, found <class 'dict'>"),
    "scan raises": ("scans", SCAN + "return 1 / 0", "found ZeroDivisionError: division by zero"),
    "scan lacks methods": ("scans", SCAN + "return cls()", "found TypeError: Can't instantiate abstract class Odd"),
    "scan is a word": ("scans", SCAN + "return 'read'", "expected a Scan or None, found 'read'"),
}


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Install a package with one plug-in, named aa, before all others of its group."""

    def install(group: str, code: str) -> None:
        site = tmp_path / "site"
        site.mkdir()
        monkeypatch.syspath_prepend(site)
        name = f"odd_{abs(hash(code))}"
        (site / f"{name}.py").write_text(code)
        write_metadata(site, "odd-plugin", "2.0", {f"daskgraphpart.{group}": {"aa": f"{name}:Odd"}})
        registry._found.cache_clear()

    yield install
    monkeypatch.undo()
    registry._found.cache_clear()


@pytest.mark.parametrize("fault", BROKEN)
def test_it_is_one_sentence_and_the_rest_works(
    fault: str, register: Callable[[str, str], None], tmp_path: Path
) -> None:
    group, code, expected = BROKEN[fault]
    register(group, code)
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


def test_a_scan_that_fails_to_read_is_one_sentence(register: Callable[[str, str], None], tmp_path: Path) -> None:
    members = 'name, files = "odd", []\n    def identity(self): return {}\n    def outline(self): return []\n'
    code = f"{SCAN}return cls() if given == 3.5 else None\n    {members}    def read(self, job): return 1 / 0"
    register("scans", code)
    with pytest.raises(PluginError, match=r"'aa' of odd-plugin 2\.0 .* expected a Graph, found ZeroDivisionError"):
        dgp.partition(3.5, tmp_path / "out", 2, **HOW)  # type: ignore[arg-type]  # what the plug-in opens
