"""``daskgraphpart parmetis``, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commands import call
from graphs import file_hashes
from parmetis_programs import pm_dglpart, pm_dglpart2

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    sizes = ("--nodes", "2e3", "--edges", "1e4", "--features", "4", "--quiet")
    assert call("generate", tmp_path / "graph", "--kind", "mag", "--name", "mag", *sizes) == 0
    return tmp_path / "graph"


def test_write_partition_read_and_dispatch(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "pm"
    assert call("parmetis", "write", graph, out, "--weight", "train_mask") == 0
    assert "run ParMETIS there, such as: mpirun -np 4 pm_dglpart2 mag 8" in capsys.readouterr().out
    pm_dglpart2(out, "mag", 4, 2)
    assert call("parmetis", "read", graph, out / "mag_part.4", tmp_path / "owners") == 0
    assert "owners" in capsys.readouterr().out
    assert call("dispatch", graph, tmp_path / "owners", tmp_path / "parts", "--quiet") == 0
    assert call("verify", graph, tmp_path / "parts", "--quiet") == 0
    assert (
        call("partition", graph, tmp_path / "more", "--num-parts", "4", "--method", out / "mag_part.4", "--quiet") == 0
    )
    assert call("partition", graph, tmp_path / "less", "--num-parts", "3", "--method", out / "mag_part.4") == 2
    assert "a different number of parts" in capsys.readouterr().err


def test_convert_takes_the_arguments_of_dgls_script(graph: Path, tmp_path: Path) -> None:
    pm = tmp_path / "pm"
    assert call("parmetis", "write", graph, pm, "--quiet") == 0
    pm_dglpart(pm, "mag", 2)
    arguments = ("--graph-name", "mag", "--removed-edges", "mag_removed_edges.txt", "--quiet")
    more = (
        "--schema",
        pm / "mag.json",
        "--num-parts",
        "2",
        "--num-node-weights",
        "4",
        "--workspace",
        tmp_path / "work",
    )
    assert call("parmetis", "convert", "--input-dir", pm, "--output", tmp_path / "one", *arguments, *more) == 0
    assert call("parmetis", "convert", pm, tmp_path / "two", *arguments) == 0
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two")
    assert call("info", tmp_path / "one") == 0
    assert call("parmetis", "convert", pm, tmp_path / "two", *arguments) == 2
