"""String IDs are mapped without being asked, with a note; a word among numbers stays an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from commands import call

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "200MB", "workers": 1}
NOT_INTEGERS = "(not all IDs of '_N' nodes are integers|ID is missing).*map_ids=True"


@pytest.mark.parametrize("text", ["ann,bob\nbob,cid\n", "NA,bob\nann,cid\n", ",bob\nann,cid\n"])
def test_strings_are_mapped_with_a_note(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"src,dst\n{text}")
    notes = list[str]()
    scan = dgp.scan_tables(tmp_path / "e.csv", missing_ids="drop")
    graph = scan.collect(**HOW, progress=lambda event: notes.append(event.get("text", "")))
    assert graph.id_maps
    assert [note for note in notes if "are strings, as in" in note and note.endswith(": all IDs are mapped")]


@pytest.mark.parametrize("text", ["NA,1\n1,2\n2,0\n", "x1,1\n1,2\n2,0\n", "1,2\n2,x\n", "1.5,1\n2.5,2\n"])
def test_one_word_among_numbers_is_a_mistake(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(f"src,dst\n{text}")
    with pytest.raises(InputFileError, match=NOT_INTEGERS):
        dgp.scan_tables(tmp_path / "e.csv").collect(**HOW)


def test_columns_of_strings_are_mapped_and_those_of_fractions_are_not(tmp_path: Path) -> None:
    frame = pd.DataFrame({"src": ["ann", "bob"], "dst": [1, 2]})
    frame.to_parquet(tmp_path / "e.parquet")
    for given in (tmp_path / "e.parquet", frame):
        assert dgp.scan_tables({"u:r:i": given}).collect(**HOW).id_maps.keys() == {"u", "i"}
    frame.assign(src=[1.0, 2.0]).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(InputFileError, match="IDs are not integers"):
        dgp.scan_tables(tmp_path / "e.parquet").collect(**HOW)


def test_who_gives_numbers_of_nodes_or_rows_in_their_order_means_integers(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\nann,bob\nbob,cid\n")
    for how in ({"map_ids": False}, {"num_nodes": {"_N": 3}}):
        with pytest.raises(InputFileError, match=NOT_INTEGERS):
            dgp.scan_tables(tmp_path / "e.csv", **how).collect(**HOW)  # type: ignore[arg-type]
    np.save(tmp_path / "w.npy", np.ones(3, np.int64))
    with pytest.raises(OptionError, match="node weights without IDs"):
        dgp.assign(tmp_path / "e.csv", 2, balance=f"file:{tmp_path}/w.npy", memory="1GB")
    with pytest.raises(OptionError, match="rows of _N/w have no IDs"):
        dgp.scan_tables(tmp_path / "e.csv", node_data={"w": tmp_path / "w.npy"}).collect(**HOW)


def test_partition_and_verify_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("src,dst\nann,bob\nbob,cid\n")
    assert call("partition", "parts", "--edges", "e.csv", "--num-parts", "2", "--method", "random", "--quiet") == 0
    assert call("verify", "parts", "--edges", "e.csv", "--quiet") == 0
    assert dgp.open_partitions("parts").ids_of("_N", ["ann"]).size == 1
