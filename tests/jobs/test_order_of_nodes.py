"""Weights and owners without IDs need nodes whose order somebody has seen; owners with IDs need the same ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import call

import daskgraphpart as dgp
from daskgraphpart.errors import AssignmentError, OptionError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dgp.Scan:
    """A ring of 20 nodes, not in the order of their IDs; weights, and owners of somebody else."""
    monkeypatch.chdir(tmp_path)
    names = [f"n{i * 7 % 20}" for i in range(20)]
    ring = zip(names, names[1:] + names[:1], strict=True)
    (tmp_path / "e.csv").write_text("src,dst\n" + "".join(f"{src},{dst}\n" for src, dst in ring))
    np.save("w.npy", np.arange(20))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/_N.txt").write_text("0\n1\n" * 10)
    (tmp_path / "metis").symlink_to("mine")  # a method, too: its name alone is the method's
    return dgp.scan_tables("e.csv", map_ids=True)


def test_weights_and_owners_without_ids_are_refused_while_ids_are_mapped(tables: dgp.Scan) -> None:
    changed = tables.with_reverse_edges("dgl").without_self_loops()
    for scan in (tables, changed):
        for job in (partial(dgp.partition, scan, "parts", 2), partial(dgp.assign, scan, 2)):
            with pytest.raises(OptionError, match=r"w.npy, balance: node weights without IDs.*`build --map-ids`"):
                job(balance="nodes,file:w.npy")
            for method in ("mine", "./metis"):
                with pytest.raises(
                    AssignmentError, match="owners without IDs, for nodes whose IDs are mapped only now"
                ):
                    job(method=method)
        with pytest.raises(AssignmentError, match="mine: owners without IDs"):
            dgp.dispatch(scan, "mine", "parts", num_parts=2)
        with pytest.raises(AssignmentError, match="mine: owners without IDs"):
            dgp.plan(scan, 2, method="mine")
        with pytest.raises(OptionError, match="node weights without IDs"):
            dgp.compare(scan, [2], methods=["random"], balance="file:w.npy", progress=False)


def test_a_graph_that_is_there_takes_them(tables: dgp.Scan) -> None:
    graph = tables.collect(progress=False)
    assert dgp.partition(graph, "parts", 2, method="mine", progress=False).num_parts == 2
    assert dgp.assign(graph, 2, method="metis").method == "metis"
    assert dgp.assign(graph, 2, method="./metis").owners["_N"].compute().tolist() == [0, 1] * 10
    owners = dgp.read_assignment("mine", graph, num_parts=2).to_frame("_N").compute()
    assert owners["id"].tolist() == sorted(owners["id"])
    assert dgp.assign(graph, 2, balance="nodes,file:w.npy").num_parts == 2


def test_owners_with_ids_are_taken_for_the_same_ids_only(
    tables: dgp.Scan, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dgp.assign(tables, 2, out="own")
    dgp.partition(tables, "parts", 2, method="own", progress=False)
    dgp.dispatch(tables, "own", "again")
    (tmp_path / "e.csv").write_text((tmp_path / "e.csv").read_text().replace("n1", "m1"))
    for command in (("partition", "--num-parts", "2", "--method", "own"), ("dispatch", "own")):
        assert call(*command, "other", "--edges", "e.csv", "--map-ids") == 2
        assert "own: the owners are of '_N' nodes with other IDs" in capsys.readouterr().err
