"""Tables with changes, killed at the begin and at the end of every pass and continued, give the bytes of an undisturbed
job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from faults.kills import Kill, arm, hashes, in_fork

import daskgraphpart as dgp
from daskgraphpart.errors import ResumeError
from daskgraphpart.jobs.fingerprint import check_unchanged, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KNOWS, LIKES = "user:knows:user", "user:likes:item"
CHANGES: dict[str, Callable[[dgp.Scan], dgp.Scan]] = {
    "none": lambda scan: scan,
    "reverse edges": lambda scan: scan.with_reverse_edges("dgl"),
    "reverse types": lambda scan: scan.with_reverse_edges("graphstorm"),
    "deduplicate": lambda scan: scan.without_duplicates(),
    "loops": lambda scan: scan.without_self_loops(),
    "new loops": lambda scan: scan.with_self_loops(),
    "split": lambda scan: scan.split_edges(KNOWS, by="kind"),
    "cast": lambda scan: scan.astype({f"{KNOWS}/weight": "float16"}),
    "reverse, deduplicate": lambda scan: scan.with_reverse_edges("dgl").without_duplicates(),
    "deduplicate, reverse": lambda scan: scan.without_duplicates().with_reverse_edges("dgl"),
    "all": lambda scan: (
        scan.with_reverse_edges("dgl").without_self_loops().without_duplicates()
        .split_edges(KNOWS, by="kind").astype({f"{LIKES}/weight": "float16"}).with_reverse_edges("graphstorm")
    ),
}  # fmt: skip
WAYS = {"numbers": "begin", "columns": "ftruncate", "mapped": "record"}  # how edges are given, and which calls kill


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lists of edges with weights and words, by number and by name."""
    directory: Path = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(3)
    for etype in (KNOWS, LIKES):
        edges = pd.DataFrame({name: rng.integers(0, 40, 300) for name in ("src", "dst")})
        edges = edges.assign(weight=rng.random(300), kind=rng.choice(["old", "new"], 300))
        _, name, dst = etype.split(":")
        edges.to_csv(directory / f"{name}.csv", index=False)
        named = edges.assign(src="u" + edges["src"].astype(str), dst=dst[0] + edges["dst"].astype(str))
        named.to_csv(directory / f"{name}-mapped.csv", index=False)
    return directory


def scan_of(tables: Path, way: str) -> dgp.Scan:
    files = {etype: tables / f"{etype.split(':')[1]}{'-mapped' * (way == 'mapped')}.csv" for etype in (KNOWS, LIKES)}
    if way == "columns":
        return dgp.scan_tables(edges=files, edge_features="*")
    data = {etype: {name: f"{path}:{name}" for name in ("weight", "kind")} for etype, path in files.items()}
    return dgp.scan_tables(edges=files, edge_data=data, map_ids=way == "mapped")


class Job:
    """A partitioning that may be killed."""

    def __init__(self, tables: Path, change: str, way: str, **how: Any) -> None:
        how = {"method": "random", "memory": "256MB", "cluster": "sync", "progress": False, **how}
        self.run = lambda out: dgp.partition(CHANGES[change](scan_of(tables, way)), out, 2, **how)

    def end(self, out: Path, kill: Kill | None = None) -> int:
        """Run it in a fork, perhaps killed; its exit code, or minus the signal."""
        return in_fork(lambda: (kill and arm(kill), self.run(out)))


def test_killed_in_each_pass_in_turn_it_gives_the_same_bytes(tables, tmp_path) -> None:
    job = Job(tables, "all", "mapped")
    job.run(tmp_path / "whole")  # here, so that forks have imported everything
    for number in range(1, 100):
        kill = Kill("begin", number) if number % 2 else Kill("record", 2)  # the first is of what was not recorded
        if job.end(tmp_path / "killed", kill) == 0:
            break
    assert number > 10
    assert hashes(tmp_path / "killed") == hashes(tmp_path / "whole")


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_killed_once_in_any_pass_it_gives_the_same_bytes(change, way, tables, tmp_path) -> None:
    job = Job(tables, change, way)
    job.run(tmp_path / "whole")
    for number in range(1, 100):
        out = tmp_path / f"killed-{number}"
        kill = Kill(WAYS[way], number)
        if job.end(out, kill) == 0:
            break
        assert job.end(out) == 0, kill
        assert hashes(out) == hashes(tmp_path / "whole"), kill
    assert number > 3


def test_tables_by_other_paths_are_refused_by_name(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tables)
    before, now = (fingerprint("partition", dgp.scan_tables(edges=path), {}) for path in ("knows.csv", "./knows.csv"))
    kept = json.loads(json.dumps(before))  # as in a journal
    check_unchanged(kept, before, "work")
    expected = r"edges _N:_E:_N: .* have changed: expected knows.csv, found ./knows.csv"
    with pytest.raises(ResumeError, match=expected):
        check_unchanged(kept, now, "work")
