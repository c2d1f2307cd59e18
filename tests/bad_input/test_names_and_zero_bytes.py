"""Names of outputs that are no UTF-8, and zero bytes in text, are one error that says where."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

EDGES = "src,dst\n" + "".join(f"u{i},u{7 * i % 50}\n" for i in range(50))
HOW: dict[str, Any] = {"method": "random", "memory": "500MB", "workers": 1}


@pytest.mark.parametrize("which", ["out", "workspace", "chunked"])
def test_a_name_that_is_no_utf8_is_refused_before_work(which: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    scan = dgp.scan_tables(edges=tmp_path / "edges.csv", map_ids=True)
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    writes = {
        "out": lambda: dgp.partition(scan, name, 2, **HOW),
        "workspace": lambda: dgp.partition(scan, tmp_path / "out", 2, workspace=name, **HOW),
        "chunked": lambda: scan.collect(memory="500MB").write_chunked(name),
    }
    with pytest.raises(OptionError, match=r"\\xff: the name is not UTF-8") as caught:
        writes[which]()
    str(caught.value).encode()
    assert os.listdir(tmp_path) == ["edges.csv"]


@pytest.mark.parametrize("line", [b"u1,u2\x00", b"\x00", b"u\x001,u2", b'"a\x00b",u1'])
@pytest.mark.parametrize("map_ids", [True, False])
def test_a_zero_byte_on_any_line_is_no_text(line: bytes, map_ids: bool, tmp_path: Path) -> None:
    text = (EDGES if map_ids else EDGES.replace("u", "")).encode()
    (tmp_path / "edges.csv").write_bytes(text + line + b"\n" + text.partition(b"\n")[2])
    with pytest.raises(InputFileError, match=r"line 52.*a zero byte"):
        dgp.scan_tables(edges=tmp_path / "edges.csv", map_ids=map_ids).collect(memory="500MB", workers=1)
