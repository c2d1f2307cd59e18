"""What earlier versions wrote is read for ever: graphs, owners, partitions; an unfinished job is refused."""

from __future__ import annotations

import socket
import tarfile
from pathlib import Path

import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import ResumeError

VERSIONS = sorted((Path(__file__).parents[1] / "data" / "versions").glob("*.tar.gz"))


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name.removesuffix(".tar.gz"))
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("parts", ["parts", "graphstorm", "ondisk"])
def test_partitions_hold_their_graph(parts: str, old: Path) -> None:
    report = dgp.verify("graph", parts)
    assert report.ok, report
    assert (report.num_nodes, report.num_edges) == (19, 40)
    assert report.num_files == {"parts": 47, "graphstorm": 20, "ondisk": 18}[parts]


def test_users_ids_are_found(old: Path) -> None:
    parts = dgp.open_partitions("parts")
    new = parts.ids_of("user", ["u3", "u7"])
    assert parts.own_ids("user", new).tolist() == ["u3", "u7"]
    assert parts.nodes["user"].data["age"][new].tolist() == [23, 27]


@pytest.mark.parametrize("form", ["npy", "parquet", "zarr"])
def test_owners_are_read(form: str, old: Path) -> None:
    owners = dgp.read_assignment(f"owners-{form}", "graph")
    assert owners.num_parts == 2
    again = dgp.partition("graph", "again", 2, method=f"owners-{form}")
    assert again.num_nodes("user") == 8
    for part in range(2):
        assert (old / f"again/part{part}/node_feat.dgl").read_bytes() == (
            old / f"parts/part{part}/node_feat.dgl"
        ).read_bytes()


def test_an_unfinished_job_is_refused_and_can_start_over(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # on a machine of its name, it would start over because that has restarted
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    with pytest.raises(ResumeError) as fault:
        dgp.partition("graph", "unfinished", 2, method="random")
    assert fault.value.hint
    assert "restart" in fault.value.hint
    assert dgp.partition("graph", "unfinished", 2, method="random", restart=True).num_parts == 2
