"""Edge lists whose IDs are dense already become chunked graphs, out of any format, in any bites."""

from __future__ import annotations

import gzip
import os
import signal
from threading import Timer
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, FORMS, chunk, chunk_edge_lists, edges_of, originals, path_of_form, write_edge_list
from graphs import file_hashes, load_real_graph
from inside import Resources
from listeners import Listener
from pyarrow import csv, parquet

import daskgraphpart as dgp
from daskgraphpart import partition, read_chunked, read_id_map
from daskgraphpart.errors import InputFileError
from daskgraphpart.ids.id_map import id_map_frame
from daskgraphpart.readers.database import open_database, run
from daskgraphpart.readers.tables.describe import text_rows

if TYPE_CHECKING:
    from pathlib import Path


def random_edges(num_edges: int, num_nodes: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, num_nodes, num_edges), rng.integers(0, num_nodes, num_edges)


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_edges(form: str, tmp_path: Path) -> None:
    src, dst = random_edges(100)
    path = write_edge_list(path_of_form(tmp_path, form), form, src, dst)
    found = edges_of(chunk(tmp_path / "out", path))
    np.testing.assert_array_equal(found, (src, dst))


@pytest.mark.parametrize("edge_format", ["csv", "numpy", "parquet"])
def test_chunks_come_in_every_format_and_number(edge_format: str, tmp_path: Path) -> None:
    src, dst = random_edges(100)
    path = write_edge_list(tmp_path / "e.csv", ",", src, dst)
    out = chunk(tmp_path / "out", path, edge_format=edge_format, num_chunks=3)
    assert len(list((out / "edges").iterdir())) == 3
    np.testing.assert_array_equal(edges_of(out), (src, dst))


def test_bytes_do_not_depend_on_how_rows_are_cut_into_files(tmp_path: Path) -> None:
    src, dst = random_edges(200)
    parts = [(",", 0, 50), ("parquet", 50, 51), ("npz", 51, 130), (",+header", 130, 200)]
    paths = [
        write_edge_list(path_of_form(tmp_path, form).with_stem(f"part-{a}"), form, src[a:b], dst[a:b])
        for form, a, b in parts
    ]
    whole = write_edge_list(tmp_path / "all.csv", ",", src, dst)
    assert file_hashes(chunk(tmp_path / "a", whole)) == file_hashes(chunk(tmp_path / "b", paths))


def test_patterns_are_expanded_in_sorted_order(tmp_path: Path) -> None:
    for i in (2, 0, 1):
        (tmp_path / f"part-{i}.csv").write_text(f"{i},{i}\n")
    assert edges_of(chunk(tmp_path / "out", str(tmp_path / "part-*.csv")))[0].tolist() == [0, 1, 2]


def test_several_types_share_their_nodes(tmp_path: Path) -> None:
    (tmp_path / "writes.csv").write_text("author,paper\n0,3\n4,1\n")
    (tmp_path / "cites.tsv").write_text("# cited\n3\t9\n")
    edges = {"author:writes:paper": tmp_path / "writes.csv", "paper:cites:paper": [tmp_path / "cites.tsv"]}
    schema = read_chunked(chunk(tmp_path / "out", edges, num_nodes={"venue": 7})).schema
    assert {t.name: t.num_nodes for t in schema.node_types} == {"author": 5, "paper": 10, "venue": 7}
    assert {t.name: t.num_edges for t in schema.edge_types} == {"author:writes:paper": 2, "paper:cites:paper": 1}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("1,2\n3,4\n", {}),
        ("a,b\n1,2\n3,4\n", {}),
        ("src;dst\r\n1;2\r\n3;4", {}),
        ("\ufeffsrc,dst\n1,2\n3,4\n", {}),
        ("\ufeff1,2\n3,4\n", {}),
        ("} x\n }3 9\n1 2\n\n  3   4  \n", {"comment": "}"}),
        ("% x\n\n%3 9\n1 2\n\n  3   4  \n", {"comment": "%"}),
        ("1,2\r3,4\r", {}),
        ("src,dst\r1,2\n\n3,4\r\n", {}),
        ("9,9\n1,2\n3,4\n", {"header": True}),
        ("w|dst|src\n0|2|1\n0|4|3\n", {"delimiter": "|", "endpoints": ("src", "dst")}),
        ("0|2|1\n0|4|3\n", {"delimiter": "|", "endpoints": (2, 1)}),
        ('"1","2"\n"3","4"\n', {}),
        ("+1, 002\n3 ,4\n", {}),
    ],
)
def test_text_is_read_as_it_is_meant(text: str, options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(text.encode())
    found = edges_of(chunk(tmp_path / "out", tmp_path / "e.txt", **options))
    np.testing.assert_array_equal(found, ([1, 3], [2, 4]))


def test_what_begins_with_a_hash_is_a_row_after_the_first_one(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("# made by hand\n#\n\ntag,user\n#metoo,ann\n#rust,bob\nplain,ann\n")
    listener = Listener()
    out = chunk(tmp_path / "out", tmp_path / "e.csv", map_ids=True, header=True, progress=listener)
    assert read_id_map(out, "_N")["id"].compute().tolist() == ["#metoo", "#rust", "ann", "bob", "plain"]
    assert any("2 lines of comments at the top skipped" in note for note in listener.lines)
    (tmp_path / "plain.csv").write_text("1,2\n#3,4\n")
    with pytest.raises(InputFileError, match="line 2, column '0': not all IDs of '_N' nodes are integers"):
        chunk(tmp_path / "other", tmp_path / "plain.csv")


def test_quoted_fields_hold_newlines_and_delimiters(tmp_path: Path) -> None:
    texts = ["one\ntwo", 'a "b", c', "\r\n", "", "plain", "#"] * 40_000
    table = pa.table({"src": range(len(texts)), "dst": [0] * len(texts), "text": texts})
    csv.write_csv(table, tmp_path / "e.csv")
    out = chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("text",), workers=2)
    codes = read_chunked(out).edge_data[DEFAULT]["text"].compute(scheduler="sync")
    known = id_map_frame(out / "categories" / DEFAULT / "text.parquet")["id"].compute().tolist()
    assert [known[code] for code in codes] == texts
    (tmp_path / "e.csv").write_text('src,dst,text\n1,2,"a\nb"\n1,2\n')
    with pytest.raises(InputFileError, match="line 4: wrong number of fields"):
        chunk(tmp_path / "other", tmp_path / "e.csv", edge_features=("text",))


def test_a_header_without_rows_is_a_graph_without_edges(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n")
    out = chunk(tmp_path / "out", tmp_path / "e.csv", num_nodes={"_N": 3})
    assert read_chunked(out).schema.node_types[0].num_nodes == 3
    assert len(edges_of(out)[0]) == 0


def test_columns_of_text_become_features(tmp_path: Path) -> None:
    rows = [(i, i + 1, i / 4 if i == 90 else i, 3 * i) for i in range(100)]
    (tmp_path / "e.csv").write_text("src,dst,weight,time\n" + "".join(f"{a},{b},{w},{t}\n" for a, b, w, t in rows))
    data = read_chunked(
        chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("time", "weight"), data_format="parquet")
    ).edge_data[DEFAULT]
    assert data["time"].dtype == np.int64
    assert data["time"].compute(scheduler="sync").tolist() == [t for *_, t in rows]
    assert data["weight"].dtype == np.float64
    assert data["weight"].compute(scheduler="sync").tolist() == [float(w) for *_, w, _ in rows]


def test_columns_of_arrays_become_features_of_their_dtype(tmp_path: Path) -> None:
    src, dst = random_edges(40)
    feat = np.arange(120, dtype=np.float32).reshape(40, 3)
    np.savez(tmp_path / "e.npz", feat=feat, src=src, dst=dst)
    pieces = {"src": src, "dst": dst, "w": np.arange(40, dtype=np.int16)}
    out = chunk(tmp_path / "npz", tmp_path / "e.npz", edge_features=("feat",))
    found = read_chunked(out).edge_data[DEFAULT]["feat"].compute(scheduler="sync")
    np.testing.assert_array_equal(found, feat, strict=True)
    pieces |= {"half": np.arange(40, dtype=np.float16), "is": np.arange(40) % 3 == 0}
    parquet.write_table(pa.table(pieces), tmp_path / "e.parquet")
    for map_ids in (False, True):
        out = chunk(tmp_path / f"{map_ids}", tmp_path / "e.parquet", edge_features=("w", "half", "is"), map_ids=map_ids)
        for name, rows in read_chunked(out).edge_data[DEFAULT].items():
            np.testing.assert_array_equal(rows.compute(scheduler="sync"), pieces[name], strict=True)


@pytest.mark.parametrize(("form", "chunks"), [("numpy", None), ("parquet", 7)])
def test_features_in_files_are_copied(form: str, chunks: int | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    feat = rng.random((50, 4)).astype(np.float16)
    weight = rng.integers(0, 255, 80).astype(np.uint8)
    write_edge_list(tmp_path / "e.csv", ",", *random_edges(80))
    np.save(tmp_path / "feat-0.npy", feat[:20])
    np.save(tmp_path / "feat-1.npy", feat[20:])
    parquet.write_table(pa.table({"w": weight}), tmp_path / "w.parquet", row_group_size=9)
    out = chunk(
        tmp_path / "out",
        tmp_path / "e.csv",
        num_nodes={"_N": 50},
        node_data={"_N": {"feat": str(tmp_path / "feat-*.npy")}},
        edge_data={DEFAULT: {"w": tmp_path / "w.parquet"}},
        data_format=form,
        num_chunks=chunks,
    )
    graph = read_chunked(out)
    np.testing.assert_array_equal(graph.node_data["_N"]["feat"].compute(scheduler="sync"), feat, strict=True)
    np.testing.assert_array_equal(graph.edge_data[DEFAULT]["w"].compute(scheduler="sync"), weight, strict=True)


def test_threads_and_small_budgets_give_the_same_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"node-{i}" for i in rng.integers(0, 3000, 60_000)]
    path = write_edge_list(tmp_path / "e.tsv", "\t", names[::2], names[1::2])
    chunk_edge_lists(tmp_path / "a", path, map_ids=True, memory="1GB", cluster="sync")
    chunk_edge_lists(tmp_path / "b", path, map_ids=True, memory="128MB", cluster="threads", workers=2)
    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b")


def test_the_output_is_partitioned_like_any_graph(tmp_path: Path) -> None:
    path = write_edge_list(tmp_path / "e.csv", ",", *random_edges(500))
    out = chunk(tmp_path / "out", path)
    partition(out, tmp_path / "parts", num_parts=2, method="random")
    assert not dgp.verify(out, tmp_path / "parts").findings


@pytest.mark.real
@pytest.mark.parametrize("name", ["cora", "oewn"])
def test_a_real_graph_comes_out_as_it_went_in(name: str, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    edges = {}
    for number, (etype, (src, dst)) in enumerate(graph.edges.items()):
        edges[etype] = write_edge_list(tmp_path / f"{number}.tsv", "\t+header", src.tolist(), dst.tolist())
    counts = {t.name: t.num_nodes for t in graph.schema.node_types}
    out = chunk_edge_lists(tmp_path / "out", edges, num_nodes=counts).parent
    for etype, ends in graph.edges.items():
        np.testing.assert_array_equal(edges_of(out, etype), ends)
    assert {t.name: t.num_nodes for t in read_chunked(out).schema.node_types} == counts


def test_a_failed_job_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("1,2\n3,x\n")
    with pytest.raises(ValueError, match="line 2"):
        chunk(tmp_path / "out", tmp_path / "e.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["e.csv"]


def test_ctrl_c_ends_a_query_at_once(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background may ignore it
    try:
        with open_database(tmp_path, Resources(64_000_000)) as connection:
            Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            endless = "CREATE TABLE t AS SELECT count(*) FROM range(100000000000) t(i) WHERE i % 7 = hash(i) % 5"
            with pytest.raises(KeyboardInterrupt):
                run(connection, endless)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("symmetry", "field", "name"),
    [
        ("general", "real", "a.mtx"),
        ("symmetric", "real", "a.mtx.gz"),
        ("symmetric", "integer", "a.mtx"),
        ("general", "pattern", "a.mtx.gz"),
    ],
)
def test_matrix_market_gives_the_edges_that_scipy_reads(symmetry: str, field: str, name: str, tmp_path: Path) -> None:
    sparse, io = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.io")
    rng = np.random.default_rng(0)
    values = rng.integers(1, 9, 60).astype(float if field == "real" else int)
    matrix = sparse.coo_array((values, random_edges(60, 20)), (25, 25)).tocsr()
    matrix = matrix + matrix.T if symmetry == "symmetric" else matrix
    io.mmwrite(tmp_path / "a.mtx", matrix, comment="made\nby hand", field=field, symmetry=symmetry)
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    graph = read_chunked(chunk(tmp_path / "out", tmp_path / name))
    assert graph.schema.num_nodes == 25
    features = graph.edge_data.get(DEFAULT, {})
    found = [features["weight"].compute(scheduler="sync")] if features else []
    assert [array.dtype for array in found] == {"real": [np.float64], "integer": [np.int64], "pattern": []}[field]
    expected = io.mmread(tmp_path / "a.mtx").tocsr()
    weights = found[0] if found else np.ones(expected.nnz)
    built = sparse.coo_array((weights, edges_of(tmp_path / "out")), (25, 25))
    assert built.nnz == expected.nnz
    np.testing.assert_array_equal(built.toarray(), expected.toarray())


def test_ids_of_matrix_market_that_are_mapped_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n9 9 2\n3 1\n9 3\n")
    out = chunk(tmp_path / "out", tmp_path / "a.mtx", map_ids=True)
    assert originals(out) == [1, 3, 9]
    np.testing.assert_array_equal(edges_of(out), [[1, 2], [0, 1]])


def test_raw_files_are_read_as_their_words_say(tmp_path: Path) -> None:
    edges = np.stack(random_edges(40), 1).astype(np.uint32)
    edges.tofile(tmp_path / "e.bin")
    np.c_[edges[:, 0], np.arange(40), edges[:, 1]].astype("<i8").tofile(tmp_path / "hrt.bin")
    features, ids = np.random.default_rng(0).random((50, 3), np.float32), np.arange(0, 50, 7)
    features[:20].tofile(tmp_path / "x0.bin")
    features[20:].tofile(tmp_path / "x1.bin")
    ids.astype(np.int32).tofile(tmp_path / "train.bin")
    data = {"_N": {"x": [f"{tmp_path}/x0.bin:float32:3", f"{tmp_path}/x1.bin:float32:3"]}}
    masks = {"_N": {"train_mask": f"{tmp_path}/train.bin:int32"}}
    wanted = chunk(tmp_path / "out", f"{tmp_path}/e.bin:uint32", node_data=data, masks=masks)
    np.testing.assert_array_equal(edges_of(wanted), edges.T)
    found = read_chunked(wanted).node_data["_N"]
    np.testing.assert_array_equal(found["x"].compute(scheduler="sync"), features)
    np.testing.assert_array_equal(np.flatnonzero(found["train_mask"].compute(scheduler="sync")), ids)
    np.testing.assert_array_equal(edges_of(chunk(tmp_path / "3", f"{tmp_path}/hrt.bin:int64:3:0,2")), edges.T)


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (["319,68", "1,5", "7"], {}, [319.68, 1.5, 7.0]),
        (["1,234", "5,678"], {"decimal": "comma"}, [1.234, 5.678]),
        (["1,234", "5,678"], {"decimal": "point"}, None),
        (["1,23", "5,67"], {"decimal": "point"}, [0, 1]),
        (["1,234", "5,678"], {}, None),
        (["a,b", "1,5"], {}, [1, 0]),
        (["7", "-,5", "1,"], {}, [7.0, -0.5, 1.0]),
        (["1.234,50", "7"], {}, None),
        (["1.234,50", "7"], {"decimal": "comma"}, None),
        (["7"] * 300 + ["1,5"], {"decimal": "comma"}, [7.0] * 300 + [1.5]),
        (["x", "1,5"], {"decimal": "comma"}, [1, 0]),
    ],
)
@pytest.mark.parametrize("delimiter", [";", ","])
def test_decimal_commas_are_read_where_they_are_sure(
    values: list[str], options: dict[str, Any], expected: list[float] | None, delimiter: str, tmp_path: Path
) -> None:
    rows = [f'{i}{delimiter}{i + 1}{delimiter}"{value}"\n' for i, value in enumerate(values)]
    (tmp_path / "e.csv").write_text(f"src{delimiter}dst{delimiter}w\n{''.join(rows)}")
    how: dict[str, Any] = {"edge_features": ("w",), **options}
    if expected is None:
        with pytest.raises(
            InputFileError, match=r"column 'w' have commas: .*rite them without separators of thousands"
        ):
            chunk(tmp_path / "out", tmp_path / "e.csv", **how)
        return
    out = chunk(tmp_path / "out", tmp_path / "e.csv", **how)
    assert read_chunked(out).edge_data[DEFAULT]["w"].compute().tolist() == expected


def test_semicolons_delimit_if_commas_are_decimal_ones(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a1;b;3,5\nb;c;4,25\n")
    out = chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("2",), map_ids=True, header=False)
    assert read_chunked(out).edge_data[DEFAULT]["2"].compute().tolist() == [3.5, 4.25]
    assert read_id_map(out, "_N")["id"].compute().tolist() == ["a1", "b", "c"]
    (tmp_path / "e.csv").write_text("a1,b,3;5\nb,c,4;x\n")
    out = chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("2",), map_ids=True, header=False, overwrite=True)
    assert read_id_map(out, "_N")["id"].compute().tolist() == ["a1", "b", "c"]


@pytest.mark.parametrize("nbytes", [24, 25, 26, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("header", [True, False])
def test_two_colons_delimit_fields(
    header: bool, packed: bool, nbytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "BYTES_PER_READ", nbytes)
    text = "u::v::w\n" * header + "a:1::b::3\nb:::c::5\nb::b::7\na:1::b::9\n"
    (tmp_path / "e.dat").write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    weight = "w" if header else "2"
    out = chunk(tmp_path / "out", tmp_path / "e.dat", edge_features=(weight,), map_ids=True, header=header)
    ids = read_id_map(out, "_N")["id"].compute().to_numpy()
    graph = read_chunked(out)
    edges = ids[graph.edges[DEFAULT].compute()].tolist()
    assert edges == [["a:1", "b"], ["b", ":c"], ["b", "b"], ["a:1", "b"]]
    assert graph.edge_data[DEFAULT][weight].compute().tolist() == [3, 5, 7, 9]


def test_errors_show_two_colons_as_typed(tmp_path: Path) -> None:
    (tmp_path / "e.dat").write_text("1::2::3\n" * 300 + "1::2\n")
    with pytest.raises(InputFileError, match=r"line 301.*2: '1::2'"):
        chunk(tmp_path / "out", tmp_path / "e.dat")
    (tmp_path / "e.dat").write_text("1::2::3\n" * 300 + "1::x::3\n")
    with pytest.raises(InputFileError, match=r"line 301.*1::x::3"):
        chunk(tmp_path / "out", tmp_path / "e.dat")
    (tmp_path / "e.dat").write_text("1::2\n1::\x1f2\n")
    with pytest.raises(InputFileError, match="unit separator"):
        chunk(tmp_path / "out", tmp_path / "e.dat")


@pytest.mark.parametrize(("first", "last"), [("3,25", "1.234"), ("3", "3,5")])
def test_marks_of_decimals_that_change_below_are_refused(first: str, last: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a;b;w\n" + f"1;2;{first}\n" * 300 + f"1;2;{last}\n")
    with pytest.raises(InputFileError, match=r"line 302, column 'w': not a number"):
        chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("w",))
