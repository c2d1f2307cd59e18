"""Codes of categories, and IDs of nodes, go on from an earlier graph: what was there keeps its number."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import call
from edge_lists import chunk, chunk_edge_lists, edges_of, originals
from graphs import file_hashes
from inside import Resources
from keywords import spelled
from listeners import Listener
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import read_chunked
from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError, OutputExistsError
from daskgraphpart.ids.id_map import write_id_map

if TYPE_CHECKING:
    from pathlib import Path

VISITS = "user:visits:site"
EARLIER = {"u3": "DE", "u5": "NL", "u7": "US"}
LATER = {"u1": "AT", "u3": "US", "u4": "CH", "u7": "DE", "u9": "AT"}  # u5 and NL are gone


def write_tables(root: Path, users: dict[str, str], form: str = "csv") -> Path:
    """Users with a country, and two edges each, with a kind and a device."""
    root.mkdir()
    visits = {
        "src": [name for name in users for _ in range(2)],
        "dst": ["s2", "s8"] * len(users),
        "device": [f"{country}-{i}" for country in users.values() for i in range(2)],
        "kind": ["click", "look"] * len(users),
    }
    for name, table in (("users", {"id": list(users), "country": list(users.values())}), ("visits", visits)):
        frame = pd.DataFrame(table)
        if form == "csv":
            frame.to_csv(root / f"{name}.csv", index=False)
        else:  # the same rows in several files
            (root / f"{name}.csv").mkdir()
            for i in range(0, len(frame), 2):
                frame[i : i + 2].to_parquet(root / f"{name}.csv" / f"{i:02}.parquet")
    return root


def chunk_visits(out: Path, tables: Path, **options: Any) -> Path:
    how: dict[str, Any] = {
        "map_ids": True,
        "nodes": {"user": f"{tables}/users.csv:id"},
        "node_data": {"user": {"country": f"{tables}/users.csv:country"}},
        "edge_features": ("device",),
    }
    return chunk(out, {VISITS: f"{tables}/visits.csv:src,dst"}, **{**how, **options})


def values_of(out: Path, of_type: str, feature: str) -> list[str]:
    """Values of a category by code."""
    table = parquet.read_table(out / "categories" / of_type / f"{feature}.parquet")
    found: list[str] = table["id"].to_pylist()
    return found


def decoded(out: Path, of_type: str, feature: str) -> list[str | None]:
    graph = read_chunked(out)
    data = graph.node_data if of_type in graph.schema.ntypes else graph.edge_data
    codes = data[of_type][feature].compute(scheduler="sync")
    return [None if code < 0 else values_of(out, of_type, feature)[code] for code in codes]


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    return chunk_visits(tmp_path / "earlier", write_tables(tmp_path / "monday", EARLIER))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_codes_go_on_and_values_that_are_gone_keep_theirs(form: str, earlier: Path, tmp_path: Path) -> None:
    tables, notes = write_tables(tmp_path / "friday", LATER, form), Listener()
    out = chunk_visits(tmp_path / "out", tables, codes_from=earlier, progress=notes)
    assert values_of(out, "user", "country") == ["DE", "NL", "US", "AT", "CH"]
    assert decoded(out, "user", "country") == [LATER[name] for name in originals(out, "user")]
    assert originals(out, "user") == sorted(LATER)
    before = values_of(earlier, VISITS, "device")
    after = values_of(out, VISITS, "device")
    assert after[: len(before)] == before
    assert after[len(before) :] == sorted({f"{c}-{i}" for c in ("AT", "CH") for i in (0, 1)})
    assert sorted(decoded(out, VISITS, "device")) == sorted(f"{c}-{i}" for c in LATER.values() for i in (0, 1))
    text = "\n".join(notes.lines)
    assert "5 categories, as codes: 3 old, 2 new; categories/user/country.parquet has them" in text
    third = chunk_visits(tmp_path / "third", tables, codes_from=out)
    assert file_hashes(third) == file_hashes(out)


def test_ids_go_on_and_nodes_that_are_gone_stay_without_edges(earlier: Path, tmp_path: Path) -> None:
    tables, notes = write_tables(tmp_path / "friday", LATER), Listener()
    how = {"ids_from": earlier, "codes_from": earlier, "progress": notes}
    out = chunk_visits(tmp_path / "out", tables, **how)
    assert originals(out, "user") == ["u3", "u5", "u7", "u1", "u4", "u9"]
    assert originals(out, "site") == ["s2", "s8"]
    assert decoded(out, "user", "country") == ["US", None, "DE", "AT", "CH", "AT"]
    src, dst = edges_of(out, VISITS)
    known = {name: i for i, name in enumerate(originals(out, "user"))}
    assert src.tolist() == [known[name] for name in LATER for _ in range(2)]
    assert dst.tolist() == [0, 1] * len(LATER)
    assert (
        "'user' nodes: 3 keep the IDs of the earlier graph, 1 of them gone and without edges; 3 are new" in notes.lines
    )
    assert "'site' nodes: 2 keep the IDs of the earlier graph; 0 are new" in notes.lines
    assert any("these nodes were added" in line or "not in the list: 0" in line for line in notes.lines)


def test_memory_and_workers_change_nothing(earlier: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    found = []
    for name, count in (("a", 100_000), ("b", 150_000)):
        ids = [f"{number:016x}" for number in rng.integers(0, 2**62, count)]
        table = pa.table({"src": ids, "dst": ids[::-1], "kind": [i[:3] for i in ids]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    how: dict[str, Any] = {"map_ids": True, "edge_features": ("kind",)}
    old = chunk(tmp_path / "old", tmp_path / "a.parquet", **how)
    files = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    for workers, memory in ((1, 64 << 20), (2, 1 << 30)):
        out = tmp_path / f"new-{workers}"
        resources = Resources(memory, "threads", workers)
        chunk_edge_lists(out, files, ids_from=old, codes_from=old, **spelled(resources), **how)
        found.append(file_hashes(out))
    assert found[0] == found[1]
    assert originals(out)[:100_000] == originals(old)
    assert originals(out)[100_000:] == sorted(originals(out)[100_000:])


def test_integers_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("src,dst\n10,30\n")
    (tmp_path / "b.csv").write_text("src,dst\n20,30\n-5,20\n")
    old = chunk(tmp_path / "old", tmp_path / "a.csv", map_ids=True)
    out = chunk(tmp_path / "new", tmp_path / "b.csv", map_ids=True, ids_from=old)
    assert originals(out) == [10, 30, -5, 20]


@pytest.mark.parametrize("value", ["12", "2024-05-01", "1e3"])
def test_text_that_looks_like_numbers_is_a_category_if_it_was_one(value: str, earlier: Path, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "friday", dict.fromkeys(LATER, value))
    out = chunk_visits(tmp_path / "out", tables, codes_from=earlier)
    assert values_of(out, "user", "country") == ["DE", "NL", "US", value]


@pytest.mark.parametrize("relation", ["*", "click"])
def test_edge_types_that_are_split_go_on_and_notes_tell_of_codes(relation: str, tmp_path: Path) -> None:
    old_tables, tables = write_tables(tmp_path / "monday", EARLIER), write_tables(tmp_path / "friday", LATER)
    etype = f"user:{relation}:site"

    def split(out: Path, tables: Path, **options: Any) -> Path:
        how: dict[str, Any] = {"map_ids": True, "edge_features": ("device",), "edge_types_from": {etype: "kind"}}
        return chunk(out, {etype: f"{tables}/visits.csv:src,dst"}, **how, **options)

    old, notes = split(tmp_path / "old", old_tables), Listener()
    out = split(tmp_path / "new", tables, codes_from=old, progress=notes)
    for name in ("user:click:site", "user:look:site"):
        before = values_of(old, name, "device")
        assert values_of(out, name, "device")[: len(before)] == before
        assert len(values_of(out, name, "device")) == 10
    text = "\n".join(notes.lines)
    assert "column 'device': 10 categories, as codes: 6 old, 4 new; categories/user:*:site/device.parquet has" in text
    assert "column 'kind': " not in text
    other = tmp_path / "old" / "categories" / "user:look:site" / "device.parquet"
    write_id_map(other, [pa.array(["x"])], is_text=True)
    if relation == "*":
        with pytest.raises(InputFileError, match=r"edge types of user:\*:site have different codes of 'device'"):
            split(tmp_path / "again", tables, codes_from=old)


def test_splitting_edges_hides_no_note_of_node_tables(tmp_path: Path) -> None:
    tables, notes = write_tables(tmp_path / "monday", EARLIER), Listener()
    chunk_visits(tmp_path / "out", tables, edge_types_from="kind", progress=notes)
    text = "\n".join(notes.lines)
    assert "column 'country': 3 categories, as codes; categories/user/country.parquet has them" in text
    assert "column 'device': 6 categories, as codes; categories/user:*:site/device.parquet has them" in text


def test_partitions_lead_to_their_graph(earlier: Path, tmp_path: Path) -> None:
    dgp.partition(earlier, tmp_path / "parts", 2, method="random")
    tables = write_tables(tmp_path / "friday", LATER)
    how = {"fill": {"country": "DE"}}
    found = [
        file_hashes(chunk_visits(tmp_path / f"from-{old.name}", tables, ids_from=old, codes_from=old, **how))
        for old in (earlier, tmp_path / "parts")
    ]
    assert found[0] == found[1]
    write_id_map(earlier / "id_map" / "user.parquet", [pa.array(["u3", "u5", "u8"])], is_text=True)
    with pytest.raises(InputFileError, match=r"user.parquet, codes_from: the graph of these partitions was replaced"):
        chunk_visits(tmp_path / "out", tables, codes_from=tmp_path / "parts")
    shutil.rmtree(earlier)
    with pytest.raises(InputFileNotFoundError, match=r"ids_from: the graph of these partitions is gone"):
        chunk_visits(tmp_path / "out", tables, ids_from=tmp_path / "parts")


def test_partitions_of_tables_go_on_by_their_own_maps_and_codes(tmp_path: Path) -> None:
    def partition(day: str, users: dict[str, str], **options: Any) -> dgp.PartitionedGraph:
        tables = write_tables(tmp_path / f"tables-{day}", users)
        visits = {VISITS: f"{tables}/visits.csv:src,dst"}
        nodes, country = {"user": f"{tables}/users.csv:id"}, {"user": {"country": f"{tables}/users.csv:country"}}
        earlier = {"codes_from": tmp_path / "monday"} if "extend" in options else {}
        spec = dgp.scan_tables(visits, nodes=nodes, node_data=country, map_ids=True, **earlier)
        return dgp.partition(spec, tmp_path / day, 2, **options)

    def owners(parts: dgp.PartitionedGraph, day: str) -> dict[str, int]:
        ids = dgp.read_id_map(tmp_path / day, "user").compute()["id"]
        rows = parts.original_ids["user"].compute()
        return dict(zip(ids[rows], parts.book.nid2partid(np.arange(len(rows)), "user").tolist(), strict=True))

    before = owners(partition("monday", EARLIER, method="random"), "monday")
    after = owners(partition("friday", LATER, extend=tmp_path / "monday", extend_options={"may_move": 0}), "friday")
    assert {user: after[user] for user in before if user in after} == {u: before[u] for u in before if u in LATER}
    assert values_of(tmp_path / "friday", "user", "country")[:3] == ["DE", "NL", "US"]


def test_frames_go_on_as_files_do(earlier: Path, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "friday", LATER)
    expected = chunk_visits(
        tmp_path / "expected",
        tables,
        codes_from=earlier,
        num_chunks=1,
        edge_format="csv",
        edge_features=("device", "kind"),
    )
    edges, users = (pd.read_csv(tables / f"{name}.csv") for name in ("visits", "users"))
    dgp.chunk_graph(
        {VISITS: edges}, "graph", {"user": users}, output_path=tmp_path / "out", map_ids=True, codes_from=earlier
    )
    assert file_hashes(tmp_path / "out") == file_hashes(expected)
    with pytest.raises(OptionError, match="codes_from: only tables"):
        dgp.chunk_graph(([0], [1]), "g", output_path=tmp_path / "none", codes_from=earlier)


def test_the_command_takes_both(
    earlier: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = write_tables(tmp_path / "friday", LATER)
    given = ["--map-ids", "--edges", f"{VISITS}={tables}/visits.csv:src,dst", "--nodes", f"user={tables}/users.csv:id"]
    given += ["--node-data", f"user/country={tables}/users.csv:country"]
    assert call("build", tmp_path / "out", *given, "--ids-from", earlier, "--codes-from", earlier) == 0
    assert originals(tmp_path / "out", "user")[:3] == sorted(EARLIER)
    assert "5 categories, as codes: 3 old, 2 new" in caplog.text
    assert call("build", tmp_path / "again", "--graph", earlier, "--codes-from", earlier) == 2
    assert "--codes-from: a chunked graph has its own IDs and features" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("damage", "options", "error", "words"),
    [
        (None, {"ids_from": "earlier", "map_ids": False}, OptionError, r"map_ids: only mapped IDs.*map_ids=False"),
        (
            None,
            {"ids_from": "nothing"},
            InputFileNotFoundError,
            r"nothing, ids_from: no graph: expected a chunked graph",
        ),
        (None, {"codes_from": "monday"}, InputFileNotFoundError, r"monday, codes_from: no graph"),
        (
            "id_map",
            {"ids_from": "earlier"},
            InputFileError,
            r"earlier, ids_from: .* no ID map of 'site', 'user'",
        ),
        ("categories", {"codes_from": "earlier"}, InputFileError, r"earlier, codes_from: this graph has no codes"),
        (
            None,
            {"ids_from": "of_integers"},
            InputFileError,
            r"ids_from: IDs of 'user' nodes were integers, and are str",
        ),
        (
            None,
            {"codes_from": "of_integers"},
            InputFileError,
            r"user/country: strings, but numbers in the earlier graph",
        ),
        (
            None,
            {"codes_from": "earlier", "node_data": {}, "edge_features": ()},
            OptionError,
            r"none of the features has c",
        ),
        ("twice", {"codes_from": "earlier"}, InputFileError, r"country.parquet: an ID occurs twice.*found 'DE' twice"),
        ("number", {"codes_from": "earlier"}, InputFileError, r"country.parquet: codes of the wrong type: .* integers"),
        ("broken", {"codes_from": "earlier"}, InputFileError, r"country.parquet: not a readable parquet file"),
        ("other", {"codes_from": "earlier"}, InputFileError, r"country.parquet: not an ID map"),
    ],
)
def test_what_cannot_go_on_is_one_error(
    damage: str | None, options: dict[str, Any], error: type[Exception], words: str, earlier: Path, tmp_path: Path
) -> None:
    country = earlier / "categories" / "user" / "country.parquet"
    if damage in ("id_map", "categories"):
        shutil.rmtree(earlier / damage)
    elif damage in ("twice", "number"):
        values = pa.array(["DE", "DE"] if damage == "twice" else [1, 2])
        write_id_map(country, [values], is_text=damage == "twice")
    elif damage == "broken":
        country.write_bytes(b"PAR1")
    elif damage == "other":
        parquet.write_table(pa.table({"id": ["DE"]}), country)
    tables = write_tables(tmp_path / "friday", LATER)
    numbers = write_tables(tmp_path / "numbers", {"1": "4", "2": "5"})
    chunk_visits(tmp_path / "of_integers", numbers)
    with pytest.raises(error, match=words):
        chunk_visits(
            tmp_path / "out", tables, **{n: str(tmp_path / v) if "_from" in n else v for n, v in options.items()}
        )
    assert not (tmp_path / "out").exists()


def test_columns_of_numbers_do_not_go_on_as_codes(earlier: Path, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "friday", LATER)
    parquet.write_table(pa.table({"id": list(LATER), "country": [1] * len(LATER)}), tmp_path / "users.parquet")
    feature = {"user": {"country": f"{tmp_path}/users.parquet:country"}}
    with pytest.raises(
        InputFileError, match=r"users.parquet.*user/country: not strings, as in the earlier graph: .*integers"
    ):
        chunk_visits(
            tmp_path / "out",
            tables,
            codes_from=earlier,
            node_data=feature,
            nodes={"user": f"{tmp_path}/users.parquet:id"},
        )


def test_the_earlier_graph_is_not_replaced_by_what_is_made_from_it(earlier: Path, tmp_path: Path) -> None:
    tables, before = write_tables(tmp_path / "friday", LATER), file_hashes(earlier)
    for option in ("ids_from", "codes_from"):
        with pytest.raises(OutputExistsError):
            chunk_visits(earlier, tables, overwrite=True, **{option: earlier})
    assert file_hashes(earlier) == before


def test_a_graph_whose_ids_go_on_is_extended_by_them(earlier: Path, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "friday", LATER)
    dgp.assign(earlier, 2, method="random", out=tmp_path / "owners")
    out = chunk_visits(tmp_path / "out", tables, ids_from=earlier)
    report = dgp.assign(out, 2, extend=str(tmp_path / "owners"), balance="nodes=0.5").quality
    assert report is not None
    assert report.method == "extend (5 old nodes matched by ID, 0 gone, 3 new; 0 moved)"
