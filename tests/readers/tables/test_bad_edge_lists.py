"""Whatever is wrong with edge lists is one error that names the place, and says what to do."""

from __future__ import annotations

import contextlib
import gzip
import re
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, edges_of, path_of_form, write_edge_list
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from daskgraphpart import GraphPartError
from daskgraphpart.errors import InputFileError, OptionError, OutputExistsError, OutputLockedError, raise_together
from daskgraphpart.storage.lock import DirectoryLock

MAPPED = {"map_ids": True}
MATRIX = "%%MatrixMarket matrix coordinate"
PIECES_OF_TEXT = [b"0", b"12", b"a", b"-", b".5", b",", b" ", b"\t", b'"', b"\n", b"\r\n", b"#", b"\xff"]


def refusal(tmp_path: Path, edges: Any, **options: Any) -> str:
    """The message, without the directory."""
    with pytest.raises(GraphPartError) as caught:
        chunk(tmp_path / "out", edges, **options)
    return caught.value.for_command_line().replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        # rows
        ("1,2\n3,4\n5\n", {}, "e.csv, line 3: wrong number of fields in a line: expected 2 fields, as in the "
         "first line, "
         "found 1: '5'. Check --delimiter and --comment, and that no line is truncated"),
        ("1,2\n" * 50 + "3,4,5\n", {}, "e.csv, line 51: wrong number of fields in a line"),
        ("1,2\n# c\n3,4\n", {}, "e.csv, line 2: wrong number of fields in a line: expected 2 fields, as in the first "
         "line, found 1: '# c'. Remove it: only lines at the top are comments"),
        ("# c\n\n1,2\n3,4,5\n", {}, "e.csv, line 4: wrong number of fields in a line"),
        ('1,2\n3,"4\n', {}, "e.csv, line 2: quotes do not match"),
        ('1,2\n3,"4"x\n', MAPPED, "e.csv, line 2: quotes do not match"),
        ('a,"b\n', MAPPED, "e.csv, line 1: quotes do not match"),
        ("1\n2\n", {}, "e.csv, line 1: 1 column where there should be 2: '1'"),
        ("", {}, "e.csv: empty file"),
        ("# only\n\n", {}, "e.csv: empty file"),
        ("a\0b,c\n", MAPPED, "e.csv, line 1: a zero byte"),
        # Matrix Market
        (f"{MATRIX} complex general\n2 2 1\n1 1 1 1\n", {}, "e.csv, line 1: this kind of Matrix Market is no list of "
         "edges: expected matrix coordinate real|integer|pattern general|symmetric, given to --edges, found matrix "
         "coordinate complex general"),
        (f"{MATRIX} pattern general\n", {}, "e.csv, line 2: invalid size of a matrix: expected numbers of rows, "
         "columns and "
         "entries, each below 2^62, found 'nothing'"),
        (f"{MATRIX} pattern symmetric\n% c\n2 3 1\n1 2\n", {}, "line 3: invalid size of a matrix: expected numbers of "
         "rows, "
         "columns and entries of a square matrix, each below 2^62, found '2 3 1'"),
        (f"{MATRIX} pattern general\n3 2 2\n1 2\n", {}, "line 2: wrong number of entries: expected 2, found 1"),
        (f"{MATRIX} pattern general\n3 3 2\n1 2\n0 3\n", {}, "e.csv, line 4, column 'row': ID of a '_N' node out of "
         "range: expected an ID from 1 and below 4, found '0'"),
        (f"{MATRIX} pattern symmetric\n3 3 2\n1 2\n2 4\n", {}, "line 4, column 'col': ID of a '_N' node out of range"),
        (f"{MATRIX} pattern general\n3 3 2\n1 2\n2 x\n", {}, "line 4, column 'col': not all IDs of '_N' nodes are "
         "integers"),
        (f"{MATRIX} real general\n3 3 1\n1 2\n", {}, "line 3: wrong number of fields in a line: expected 3 fields"),
        # IDs
        ("1,2\n-3,4\n", {}, "e.csv, line 2, column '0': ID of a '_N' node is negative: "
         "expected an integer from 0, found '-3' in '-3,4'. Add --map-ids to use any IDs"),
        ("1,2\n3,9223372036854775808\n", {}, "e.csv, line 2, column '1': not all IDs of '_N' nodes are "
         "integers"),
        ("1,2\n3,9223372036854775807\n", {}, "e.csv, line 2, column '1': ID of a '_N' node out of range"),
        ("src,dst\n1,2\n3,4.5\n", {}, "e.csv, line 3, column 'dst': not all IDs of '_N' nodes are integers: "
         "expected an integer from 0, found '4.5' in '3,4.5'. Add --map-ids"),
        ("1,2\nalice,4\n", {}, "e.csv, line 2, column '0': not all IDs of '_N' nodes are integers"),
        ("alice,bob\n", {"map_ids": False}, "Add --map-ids to use any IDs. Add --header if the first line names the "
         "columns"),
        ("1,2\n3,\n", {}, "e.csv, line 2, column '1': ID is missing"),
        ("a,b\nc,\n", {**MAPPED, "header": False}, "e.csv, line 2, column '1': ID is missing: expected strings"),
        ("0,99999999999\n", {}, "IDs of '_N' nodes are sparse: expected IDs from 0 with few gaps, found "
         "99,999,999,999 as the largest"),
        ("0,5\n", {"num_nodes": {"_N": 5}}, "ID of a '_N' node out of range: expected an ID from 0 and "
         "below 5, found '5'"),
        ("a,1\n", MAPPED, "not all IDs of '_N' nodes are strings: expected strings, as in "
         "e.csv, line 1, column '0' ('a'), found '1' in 'a,1'. Make all of them strings by --id-type string"),
        ("a,x\n", {**MAPPED, "id_type": "integer"}, "not all IDs of '_N' nodes are integers: expected an "
         "integer of 64 bits, found 'a'"),
        # columns
        ("s,d\n1,2\n", {"endpoints": ("s", "x")}, "e.csv: no column 'x': expected one of s, d. Check --endpoints"),
        ("1,2\n", {"endpoints": (0, 7)}, "e.csv: no column '7': expected a number below 2: there are no names"),
        ("s,s\n1,2\n", {"endpoints": ("s", "1")}, "several columns are named 's'"),
        ("s,d\n1,2\n", {"edge_features": ("w",)}, "e.csv: no column 'w': expected one of s, d. Check "
         "--header and --delimiter, and that each file has this column"),
        ("s,d,w\n1,2,1\n1,2,heavy\n", {"edge_features": ("w",)}, "e.csv, line 3, column 'w': not a number: expected "
         "integers, as in line 2, column 'w' ('1'), found 'heavy'"),
        ("s,d,w\n1,2,1\n1,2,\n", {"edge_features": ("w",)}, "e.csv, line 3, column 'w': value is missing: expected "
         "integers, as in line 2, column 'w' ('1'), found nothing in '1,2,'. Give a value by --fill w=VALUE"),
        ("s,d,t\n1,2,2020-01-01\n1,2,late\n", {"edge_features": ("t",)}, "line 3, column 't': not a timestamp"),
        ("s,d,w\n1,2,\n", {"edge_features": ("w",), "fill": "x"}, "--fill: the fill value of a number "
         "must be a number: x"),
    ],
)  # fmt: skip
def test_text_at_fault_is_explained(text: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(text)
    assert message in refusal(tmp_path, tmp_path / "e.csv", **options)


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"a,b\nc,\xff\n")
    assert "e.csv, line 2: text is not UTF-8" in refusal(tmp_path, tmp_path / "e.csv", **MAPPED)


def test_a_line_of_megabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n" * 200 + "c," + "d" * 3_000_000 + "\n")
    assert "e.csv, line 201: line too long: expected lines of at most 1 MiB" in refusal(
        tmp_path, tmp_path / "e.csv", header=False, **MAPPED
    )


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"src": [1, None], "dst": [1, 2]}, {}, "e.parquet, row 1, column 'src': ID is missing"),
        ({"src": ["a", None], "dst": ["b", "c"]}, MAPPED, "e.parquet, row 1, column 'src': "),
        ({"src": [1.5], "dst": [2.0]}, {}, "e.parquet, column 'src': IDs are not integers: expected integers "
         "from 0, found floats"),
        ({"src": [1.5], "dst": [2.0]}, MAPPED, "row 0, column 'src': not all IDs of '_N' nodes are integers: "
         "expected integers, as in "),
        ({"src": ["a"], "dst": ["b"]}, {"map_ids": False}, "column 'src': IDs are not integers: expected "
         "integers from 0, found strings. Add --map-ids"),
        ({"src": [1, -2], "dst": [1, 2]}, {}, "e.parquet, row 1, column 'src': ID of a '_N' node is negative: expected "
         "an integer from 0, found '-2'"),
        ({"src": ["a"], "dst": [1]}, MAPPED, "e.parquet, row 0, column 'dst': not all IDs of '_N' nodes are strings"),
        ({"src": ["a"], "dst": ["1"]}, {**MAPPED, "id_type": "integer"}, "e.parquet, row 0, column 'src': not all IDs "
         "of '_N' nodes are integers"),
        ({"src": [[1]], "dst": [1]}, MAPPED, "e.parquet: column 'src' cannot be IDs: expected integers or strings"),
        ({"src": [1]}, {}, "e.parquet: 1 column where there should be 2"),
        ({"src": [1, 2], "dst": [2, 1], "w": [[1.0], [1.0, 2.0]]}, {"edge_features": ("w",)}, "row 1, column 'w': not "
         "a vector like the first one: expected 1 numbers"),
        ({"src": [1], "dst": [2], "w": [None]}, {"edge_features": ("w",)}, "value is missing: expected a value"),
        ({"src": [1], "dst": [2], "w": pa.array([2**64 - 1], pa.uint64())}, {"edge_features": ("w",)}, "feature "
         "'w' has a dtype DGL cannot load: expected one of float16"),
        ({"src": [1, 1], "dst": [2, 2], "w": [1, None]}, {"edge_features": ("w",)}, "row 1, column 'w': value is "
         "missing"),
    ],
)  # fmt: skip
def test_parquet_at_fault_is_explained(
    columns: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet")
    assert message in refusal(tmp_path, tmp_path / "e.parquet", **options)


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"src": np.zeros(3), "dst": np.zeros(3)}, {}, "IDs are not integers"),
        ({"src": np.zeros(3, int), "dst": np.zeros(2, int)}, {}, "array 'dst' has a different length: expected 3, "
         "found 2"),
        ({"a": np.zeros((3, 3, 3), int)}, {}, "not an array of edges"),
        ({"a": np.zeros((3, 1), int)}, {}, "expected shape (rows, 2 or more) or (2, edges), found shape (3, 1)"),
        ({"src": np.array([2**64 - 1], np.uint64), "dst": np.zeros(1, int)}, MAPPED, "row 0, column 'src': not all "
         "IDs of "
         "'_N' nodes are integers: expected integers, as in "),
        ({"src": np.zeros(1, complex), "dst": np.zeros(1, int)}, {}, "array 'src' does not hold numbers or strings"),
        ({"src": np.zeros(1, int), "dst": np.zeros(1, int)}, {"endpoints": ("src", "x")}, "no column 'x': expected "
         "one of src, dst"),
        ({}, {}, "the zip archive has no arrays"),
    ],
)  # fmt: skip
def test_npz_at_fault_is_explained(
    arrays: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "e.npz", **arrays)
    assert message in refusal(tmp_path, tmp_path / "e.npz", **options)


@pytest.mark.parametrize(("name", "magic"), [("e.parquet", b"PAR1"), ("e.npz", b"PK\x03\x04"), ("e.npy", b"\x93NUMPY")])
def test_broken_files_are_refused(name: str, magic: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(magic + bytes(50))
    assert re.search(r"^e\.\w+(, .*)?: not a readable", refusal(tmp_path, tmp_path / name))
    np.save(tmp_path / "cut.npy", np.zeros((50, 2), int))
    content = (tmp_path / "cut.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(content[:-8])
    assert "cut.npy: not a readable npy file: mmap length is greater than file size" in refusal(
        tmp_path, tmp_path / "cut.npy"
    )


def test_a_compressed_member_that_is_broken_is_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "e.npz", src=np.arange(10_000), dst=np.arange(10_000))
    content = bytearray((tmp_path / "e.npz").read_bytes())
    content[3000:3050] = bytes(50)
    (tmp_path / "e.npz").write_bytes(content)
    assert "e.npz: not a readable npz file" in refusal(tmp_path, tmp_path / "e.npz")


@pytest.mark.parametrize(
    "content", [b"", b"words", b"\x1f\x8bwords", gzip.compress(f"{MATRIX} real general".encode(), mtime=0)[:-9]]
)
def test_a_damaged_file_of_matrix_market_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.mtx.gz").write_bytes(content)
    assert refusal(tmp_path, tmp_path / "a.mtx.gz").startswith(("a.mtx.gz: ", "a.mtx.gz, line 1: "))


def test_files_that_are_missing_or_packed_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.csv: no such file"):
        chunk(tmp_path / "out", tmp_path / "gone.csv")
    with pytest.raises(FileNotFoundError, match=r"gone-\*\.csv: no file matches"):
        chunk(tmp_path / "out", str(tmp_path / "gone-*.csv"))
    with pytest.raises(InputFileError, match="the directory has no files"):
        chunk(tmp_path / "out", tmp_path)
    (tmp_path / "e.csv.bz2").write_bytes(b"BZh91AY&SY")
    with pytest.raises(InputFileError, match="damaged, or cut off"):
        chunk(tmp_path / "out", tmp_path / "e.csv.bz2")
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    with pytest.raises(GraphPartError, match="Delta table"):
        chunk(tmp_path / "out", tmp_path / "delta")
    (tmp_path / "e.csv.gz").write_bytes(b"\x1f\x8b\x08rest")
    with pytest.raises(InputFileError, match="damaged"):
        chunk(tmp_path / "out", tmp_path / "e.csv.gz")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.metis", "2 1\n2\n1\n", "METIS"),
        ("e.txt", "<?xml version='1.0'?>\n<graphml/>\n", "GraphML or XML: .*networkx.read_graphml"),
        ("e.xml", "<graphml>\n", "GraphML or XML: .*networkx.read_graphml"),
        ("e.txt", "<urn:a> <urn:p> <urn:b> .\n", "RDF: .*rdflib"),
        ("e.txt", "_:b0 <urn:p> <urn:b> .\n", "RDF: .*rdflib"),
        ("e.txt", "@prefix e: <http://e/> .\n", "RDF: .*rdflib"),
        ("e.txt", "<rdf:RDF xmlns:rdf='x'>\n", "RDF: .*rdflib"),
        ("e.json", '{"src": 0, "dst": 1}\n', "JSON: .*pandas.read_json"),
        ("e.txt", '{"src": 0, "dst": 1}\n', "JSON"),
        ("e.feather", "FEA1\0\0", "Feather: .*pandas.read_feather"),
        ("e.pt", "PK\3\4", "a pickle: .*torch.load"),
        ("e.db", "SQLite format 3\0", "SQLite: .*pandas.read_sql"),
        ("e.bin", "Obj\1\4", "Avro: .*polars.read_avro"),
    ],
)
def test_formats_that_look_like_text_are_refused_by_name(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    for map_ids in (False, True):
        assert re.search(
            f"^{name}: is not an edge list but {message.replace(': ', ': .*')}",
            refusal(tmp_path, tmp_path / name, map_ids=map_ids, comment="%"),
        )


@pytest.mark.parametrize(("name", "mode"), [("e.csv", "w"), ("e.csv.gz", "w:gz"), ("e.csv.xz", "w:xz")])
def test_a_tar_archive_of_another_name_is_told_by_its_content(name: str, mode: Any, tmp_path: Path) -> None:
    (tmp_path / "inner").write_text("0,1\n")
    with tarfile.open(tmp_path / name, mode) as archive:
        archive.add(tmp_path / "inner", "inner.csv")
    message = (
        f"{name}: is not a table but a tar archive. Unpack it, for example by tar xf FILE, and give what it holds."
    )
    assert refusal(tmp_path, tmp_path / name) == message


def test_arrays_have_no_delimiter_to_check(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", x=np.arange(3))
    assert refusal(tmp_path, tmp_path / "e.npz").endswith("2: x. Give an array or column for each end.")


@pytest.mark.parametrize("text", ["3 3\n2 3\n1 3\n1 2\n", "4 3\n2\n1 3 4\n2\n2\n"])
def test_a_metis_file_is_told_by_its_content(text: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(text)
    assert "e.txt: seems to be not an edge list but METIS" in refusal(tmp_path, tmp_path / "e.txt")
    (tmp_path / "e.txt").write_text("3 3\n2 3\n1 3\n1 0\n")  # METIS counts from 1
    assert edges_of(chunk(tmp_path / "out", tmp_path / "e.txt"))[1].tolist() == [3, 3, 3, 0]


def test_an_array_of_edges_that_can_be_read_in_two_ways_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.array([[0, 1], [2, 3]]))
    assert "shape (2, 2). Add --endpoints 0,1" in refusal(tmp_path, tmp_path / "e.npy")
    src, dst = edges_of(chunk(tmp_path / "out", tmp_path / "e.npy", endpoints=(0, 1)))
    assert (src.tolist(), dst.tolist()) == ([0, 2], [1, 3])


def test_two_jobs_do_not_write_to_one_directory(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "out").mkdir()
    lock = DirectoryLock(tmp_path / "out")
    with pytest.raises(OutputLockedError, match="is writing here"):
        chunk(tmp_path / "out", tmp_path / "e.csv")
    lock.release()
    chunk(tmp_path / "out", tmp_path / "e.csv")
    assert not list((tmp_path / "out").glob(".*"))


def test_kinds_of_ids_may_not_differ_between_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n")
    edges = {"u:r:u": tmp_path / "a.csv", "u:s:u": tmp_path / "b.csv"}
    assert refusal(tmp_path, edges, map_ids=True, header=False) == (
        "b.csv, line 1, column '0': not all IDs of 'u' nodes are integers: expected integers, as in "
        "a.csv, line 1, column '0' ('1'), found 'x' in 'x,y'. Make all of them strings by --id-type string, or "
        "integers such as 7, 07 and 7.0 by --id-type integer."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"node_data": {"user": {"f": "f.npy"}}}, "--node-data: unknown type: expected _N, found user"),
        ({"edge_data": {"a:b:c": {"f": "f.npy"}}}, "--edge-data: unknown type: expected _N:_E:_N, found a:b:c"),
        ({"node_data": {"_N": {"f": "f.npy"}}}, "e.csv: ID of a '_N' node out of range: expected IDs from 0 and "
         "below 3, found 3. Check --num-nodes, or the rows of --node-data"),
        ({"node_data": {"_N": {"f": "f.npy"}}, "num_nodes": {"_N": 9}}, "expected 9 rows, found 3. Give --num-nodes"),
        ({"edge_data": {DEFAULT: {"f": "f.npy"}}}, "has the wrong number of rows: expected 2 rows, found 3. Give one "
         "row per edge"),
        ({"node_data": {"_N": {"f": "f.npy"}}, **MAPPED}, "rows of _N/f have no IDs, and no list "
         "of nodes has them. List the '_N' nodes in the order of the rows by --nodes _N=FILE:COLUMN"),
        ({"node_data": {"_N": {"f": "f.npy"}}, "nodes": {"_N": "two.csv"}, **MAPPED}, "expected 2 rows, found "
         "3. Give one row per edge, or per node of the --nodes list"),
        ({"node_data": {"_N": {"f": "f.npy"}}, "nodes": {"_N": "three.csv"}, **MAPPED}, "three.csv: a '_N' node "
         "is listed twice: "
         "expected every ID once, since features follow the list, found 1"),
        ({"node_data": {"_N": {"f": "g.npy"}}, "nodes": {"_N": "two.csv"}, **MAPPED}, "two.csv, feature "
         "'f': '_N' nodes without a row: 2 of 4. --fill f=VALUE gives them one. Drop unlisted nodes by "
         "--unknown-nodes drop"),
        ({"nodes": {"_N": "two.csv"}, "unknown_nodes": "error"}, "line 2, column '0': the list of '_N' nodes "
         "lacks 2 IDs: expected an ID in two.csv, found '2' in '2,3'. Add these nodes by --unknown-nodes add"),
        ({"masks": {"_N": {"train": "nine.csv"}}}, "nine.csv, line 2, column '0': mask 'train' lists an unknown "
         "'_N' node: '9'"),
        ({"masks": {"_N": {"train": "nine.csv"}}, **MAPPED}, "mask 'train' lists an unknown '_N' node: '9'"),
        ({"node_data": {"_N": {"f": "table.csv:x"}}}, "table.csv: no column 'x': expected one of id, f"),
        ({"node_data": {"_N": {"f": "table.csv:a:b:c"}}}, "suffix ':c' in table.csv:a:b:c. Use FILE:COLUMN"),
        ({"node_data": {"_N": {"f": "table.csv:f"}}}, "table.csv, feature 'f': '_N' nodes without a row: 3 of 4"),
        ({"nodes": {"_N": ["table.csv:id", "table.csv:f"]}}, "two columns of '_N' nodes: expected id, found f"),
        ({"fill": ("1=0", "1=5"), "edge_features": (1,)}, "--fill is given twice for the same: 1=0 1=5. Remove one"),
        ({"fill": {"x": 0}, "edge_features": (1,)}, "--fill: unknown feature: expected one of _N:_E:_N/1, found x"),
        ({"node_data": {"_N": {"f": "g.npy"}}, "nodes": {"_N": "two.csv"}, "fill": "x"}, "the fill value of a number"),
        ({"unknown_nodes": "keep"}, "--unknown-nodes: unknown choice 'keep'. Choose from add, drop, error"),
        ({"num_nodes": {"_N": 9}, **MAPPED}, "--num-nodes: mapped IDs tell the number of nodes"),
        ({"num_nodes": {"_N": -1}}, "invalid number of nodes"),
        ({"num_nodes": {"a/b": 1}}, "Type 'a/b' cannot be used in DGL's files"),
        ({"name": "a/b"}, "--name: graph name 'a/b' cannot be used in DGL's files"),
        ({"endpoints": ("a",)}, "--endpoints: not two columns"),
        ({"edge_features": (2, 2)}, "--edge-features: a column is named twice"),
        ({"id_type": "float"}, "Unknown id type 'float'. Choose from auto, integer, string"),
        ({"delimiter": ":::"}, "--delimiter: bad delimiter"),
        ({"comment": "//"}, "--comment: not one character"),
        ({"edge_format": "xml"}, "--edge-format: unknown format of edges"),
        ({"data_format": "csv"}, "--data-format: unknown format of features"),
        ({"num_chunks": 0}, "--num-chunks: invalid number of files"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_explained(
    options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("0,1\n2,3\n")
    (tmp_path / "two.csv").write_text("0\n1\n")
    (tmp_path / "three.csv").write_text("0\n1\n1\n")
    (tmp_path / "nine.csv").write_text("1\n9\n")
    (tmp_path / "table.csv").write_text("id,f\n3,0.5\n")
    np.save(tmp_path / "f.npy", np.zeros(3))
    np.save(tmp_path / "g.npy", np.zeros(2))
    assert message in refusal(tmp_path, "e.csv", **options)


def test_edge_types_are_checked(tmp_path: Path) -> None:
    for edges, message in (
        ({}, "no edges"),
        ({"a:b": "e.csv"}, "not an edge type: expected SRC:REL:DST, found a:b"),
        ({"a::c": "e.csv"}, "Type '' cannot be used"),
        ({"..:b:..": "e.csv"}, "A type cannot have the name of a directory: expected another name, found .."),
        ({"a:b:c": []}, "no files"),
    ):
        with pytest.raises(OptionError, match=re.escape(message)):
            chunk(tmp_path / "out", edges)


def test_the_output_must_be_empty_or_a_graph_to_replace(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    for overwrite in (False, True):
        with pytest.raises(OutputExistsError, match=r"not empty: thesis\.tex") as caught:
            chunk(tmp_path / "other", tmp_path / "e.csv", overwrite=overwrite)
        assert ("overwrite" in str(caught.value)) != overwrite
    with pytest.raises(OutputExistsError, match="not a directory"):
        chunk(tmp_path / "e.csv", tmp_path / "e.csv")
    out = chunk(tmp_path / "out", tmp_path / "e.csv")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        chunk(out, tmp_path / "e.csv")
    inside = next((out / "edges").iterdir())
    with pytest.raises(OutputExistsError, match="holds the input"):
        chunk(out, inside, overwrite=True)
    assert inside.exists()
    chunk(out, tmp_path / "e.csv", overwrite=True, map_ids=True)


def test_too_little_memory_is_said_before_work_starts(tmp_path: Path) -> None:
    from edge_lists import chunk_edge_lists

    (tmp_path / "e.csv").write_text("0,1\n")
    with pytest.raises(ValueError, match=r"memory 1MB is too small for this job\. Use 64MB or more"):
        chunk_edge_lists(tmp_path / "out", tmp_path / "e.csv", memory="1MB")
    assert not (tmp_path / "out").exists()


@settings(max_examples=20)
@given(text=st.lists(st.sampled_from(PIECES_OF_TEXT)).map(b"".join), map_ids=st.booleans())
def test_any_text_is_a_graph_or_one_error(text: bytes, map_ids: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(GraphPartError):
        path = Path(scratch) / "e.csv"
        path.write_bytes(text)
        chunk(Path(scratch) / "out", path, map_ids=map_ids)


@pytest.mark.parametrize("form", ["npz", "npz-compressed", "npy", "parquet"])
@settings(max_examples=10)
@given(
    places=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=3), map_ids=st.booleans()
)
def test_damaged_files_are_read_or_refused(form: str, places: list[tuple[int, int]], map_ids: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = path_of_form(Path(scratch), form)
        write_edge_list(path, form, np.arange(40), np.arange(40)[::-1])
        content = bytearray(path.read_bytes())
        for place, value in places:
            content[place % len(content)] = value
        path.write_bytes(content)
        with contextlib.suppress(GraphPartError):
            chunk(Path(scratch) / "out", path, map_ids=map_ids)


def test_several_mistakes_are_a_list_with_what_to_do_below() -> None:
    with pytest.raises(OptionError, match=r"(?s)^2 things are wrong:\n  A\n  B: 3\nLeave it out\.$"):
        raise_together([OptionError("a", hint="leave it out"), OptionError("b", found=3, hint="leave it out")])


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("1;2;x;9", "'x' in '1;2;x;9'"),
        ("1;2; ;" + "9" * 90, "nothing in '1;2; ;" + "9" * 54 + "...'"),
        (
            "1;" + "2" * 19 + ';"x;""y""\n";' + "9" * 90,
            "'x;\"y\"\\n' in '..." + "2" * 19 + ';"x;""y""\\n";' + "9" * 29 + "...'",
        ),
        ("1;2;" + "x" * 90 + ";9", "'" + "x" * 60 + "...' in '1;2;" + "x" * 56 + "...'"),
    ],
)
def test_an_error_about_a_value_shows_its_line_and_of_a_long_one_what_is_around_the_value(
    row: str, found: str, tmp_path: Path
) -> None:
    (tmp_path / "e.csv").write_text(f"src;dst;w;é\n0;1;5;\n\n{row}\n")
    with pytest.raises(InputFileError, match=re.escape(found)) as caught:
        chunk(tmp_path / "out", tmp_path / "e.csv", edge_features=("w",))
    assert "e.csv, line 4, column 'w'" in str(caught.value)


def test_paths_in_a_parquet_footer_that_are_not_utf_8_are_not_needed(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"src": [0, 1], "dst": [1, 2]}), tmp_path / "e.parquet", store_schema=False)
    content = (tmp_path / "e.parquet").read_bytes()
    last = content.rindex(b"dst")  # found by fuzzing
    (tmp_path / "e.parquet").write_bytes(content[:last] + b"\xff" + content[last + 1 :])
    assert [end.tolist() for end in edges_of(chunk(tmp_path / "out", tmp_path / "e.parquet"))] == [[0, 1], [1, 2]]
