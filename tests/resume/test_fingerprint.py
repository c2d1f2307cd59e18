"""A job that is continued has the input that it was begun with, whatever sizes and times of files say."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from remote_stores import make_graph

import daskgraphpart as dgp
from daskgraphpart.api.fingerprint import check_unchanged, fingerprint
from daskgraphpart.errors import ResumeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def swap_files(graph: Path) -> None:
    """Change the order of two files, and nothing that `stat` of another program would restore."""
    path = graph / "metadata.json"
    status, content = path.stat(), json.loads(path.read_text())
    content["edges"]["user:knows:user"]["data"].reverse()
    path.write_text(json.dumps(content))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(graph: Path) -> None:
    """Put another file of the same size and time in the place of one."""
    path = next(graph.rglob("*.npy"))
    status = path.stat()
    (graph / "new").write_bytes(path.read_bytes())
    os.utime(graph / "new", ns=(status.st_atime_ns, status.st_mtime_ns))
    (graph / "new").replace(path)


@pytest.mark.parametrize("change", [swap_files, replace_file])
def test_a_changed_input_is_noticed(change: Callable[[Path], None], tmp_path: Path) -> None:
    make_graph().write(tmp_path / "graph", data_format="numpy", num_chunks=2)
    before, again = (fingerprint("partition", dgp.read_chunked(tmp_path / "graph"), {}) for _ in range(2))
    check_unchanged(before, again, "work")
    change(tmp_path / "graph")
    with pytest.raises(ResumeError, match="what it was begun with has changed"):
        check_unchanged(before, fingerprint("partition", dgp.read_chunked(tmp_path / "graph"), {}), "work")
