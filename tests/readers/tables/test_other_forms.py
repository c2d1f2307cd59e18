"""Files of other forms are read where that takes a line; else one sentence says what they are, and what to type."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, edges_of

from daskgraphpart import GraphPartError, read_chunked
from daskgraphpart.readers.tables.describe.table_files import TableFile, with_form
from daskgraphpart.readers.tables.describe.text_file import open_text_file
from daskgraphpart.readers.tables.read_options import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path


def refusal(path: Path, content: bytes, **options: object) -> str:
    """What is said about a file of edges with some content."""
    path.write_bytes(content)
    with pytest.raises(GraphPartError) as caught:
        chunk(path.parent / "out", path, **options)
    return caught.value.for_command_line().replace(f"{path.parent}/", "")


def test_lz4_files_are_read_with_all_their_frames(tmp_path: Path) -> None:
    codec = pa.Codec("lz4")
    frames = [codec.compress(text, asbytes=True) for text in (b"src,dst\n0,1\n1,", b"2\n2,0\n")]
    (tmp_path / "e.csv.lz4").write_bytes(b"".join(frames))
    src, dst = edges_of(chunk(tmp_path / "out", tmp_path / "e.csv.lz4"))
    assert [src.tolist(), dst.tolist()] == [[0, 1, 2], [1, 2, 0]]
    assert "damaged, or cut off" in refusal(tmp_path / "cut.lz4", frames[0][:-6])


@pytest.mark.parametrize("name", ["s.npy", "s.npz"])
def test_fields_of_a_structured_array_are_columns(name: str, tmp_path: Path) -> None:
    fields = [("kind", "i1"), ("dst", "<i8"), ("src", ">i4"), ("w", "<f4")]  # not aligned
    rows = np.array([(7, 1, 0, 0.5), (8, 2, 1, 0.25)], fields)
    np.savez(tmp_path / name, rows) if name == "s.npz" else np.save(tmp_path / name, rows)
    out = chunk(tmp_path / "out", tmp_path / name, edge_columns=("w", "kind"))
    assert np.array(edges_of(out)).tolist() == [[0, 1], [1, 2]]
    data = read_chunked(out).edge_data[DEFAULT]
    assert [data["w"].compute().tolist(), data["kind"].compute().tolist()] == [[0.5, 0.25], [7, 8]]


def test_bars_are_a_delimiter_where_nothing_else_is(tmp_path: Path) -> None:
    for text, delimiter in (("a|b|3\n", "|"), ("a|x b|y\n", " "), ("a|x,b\n", ",")):
        (tmp_path / "e.txt").write_text(text)
        file = with_form(TableFile(str(tmp_path / "e.txt"), ReadOptions(header=False)), tmp_path)
        assert open_text_file(file, ["", ""], 2).rows.delimiter == delimiter


def test_archives_are_named_with_what_they_hold(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside/e.csv", "0,1\n")
    said = refusal(tmp_path / "e.zip", packed.getvalue())
    assert "no arrays: inside/e.csv. Unpack it, for example by unzip e.zip" in said
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("e.csv"))
    assert "but a tar archive" in refusal(tmp_path / "e.tar.gz", packed.getvalue())
    assert "is not a table but a tar archive" in refusal(tmp_path / "e.gz", packed.getvalue())


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("k.nt", "<http://a> <http://p> <http://b> .\n", "but RDF: expected a row per edge. Read it with pandas"),
        ("k.txt", "<http://a> <http://p> <http://b> .\n", "but RDF"),
        ("k.xml", "<graphml></graphml>\n", "but GraphML or XML"),
        ("ratings.dat", "1::1193::5\n", r"'1::1193::5'. Replace them, for example by sed 's/::/;/g' ratings.dat"),
        ("out.konect", "% sym positive\n% 3 3\n1 2\n", "line 1: this line may be a comment or a row: '% sym positive'. "
         "Add --comment % to skip"),
        ("e.txt", "// made by hand\na b\n", "'// made by hand'. Add --comment / to skip"),
        ("e.csv", "# c\nab\ncd\n", "line 2: 1 column where there should be 2: 'ab'. Check --delimiter"),
    ],
)  # fmt: skip
def test_text_of_other_forms_is_named_with_its_line_and_what_to_type(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    assert said in refusal(tmp_path / name, text.encode(), map_ids=True)


def test_what_is_advised_about_comments_and_colons_is_right(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("% sym positive\n% 3 3\n1 2\n2 0\n")
    assert np.array(edges_of(chunk(tmp_path / "out", tmp_path / "e.txt", comment="%"))).tolist() == [[1, 2], [2, 0]]
    (tmp_path / "e.txt").write_text("//a b\nb c\n")
    chunk(tmp_path / "rows", tmp_path / "e.txt", comment="", map_ids=True)
    assert read_chunked(tmp_path / "rows").schema.num_edges == 2
    assert "sed 's/::/;/g'" in refusal(tmp_path / "m.dat", b"1::2::5\n", delimiter="::")
    (tmp_path / "m.csv").write_text("1::2::5\n0::1::3\n".replace("::", ";"))
    src, dst = edges_of(chunk(tmp_path / "semicolons", tmp_path / "m.csv"))
    assert [src.tolist(), dst.tolist()] == [[1, 0], [2, 1]]
