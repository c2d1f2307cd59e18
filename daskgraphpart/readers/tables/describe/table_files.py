"""Find the files of tables, unpack what DuckDB cannot read, and refuse other formats by name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
import stat
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from daskgraphpart.errors import GraphPartError, InputFileError, OptionError, collect_fault, raise_together
from daskgraphpart.readers.list_files import list_files, local_name
from daskgraphpart.readers.tables.describe.table_words import parse_file
from daskgraphpart.readers.tabular import what_to_give
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.paths import is_path

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.read_options import ReadOptions

BYTES_PER_STEP = 1 << 20  # while unpacking
HIVE_MISSING = "__HIVE_DEFAULT_PARTITION__"

_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"PK\x05\x06": "npz", b"\x93NUM": "npy"}
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".npy": "npy"}
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x50\x2a\x4d\x18": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}  # pzstd begins with the latter
_UNPACKED: Mapping[bytes, Any] = {b"BZh": bz2.BZ2Decompressor, b"\xfd7zXZ": lzma.LZMADecompressor}
# refused by first bytes or suffix: format, and what to do
_FRAME = "read it with {}, and give that to daskgraphpart.scan_tables, with map_ids=True if IDs are strings"
# an IRI, a blank node before one, or Turtle's words; XML has a name, a sign or no colon after its bracket
RDF_BEGIN = re.compile(rb"<[A-Za-z][A-Za-z0-9+.-]*:|_:\w+\s+<|@(prefix|base)\b")
TAR = "a tar archive", "unpack it, for example by tar xf FILE, and give what it holds"
_GRAPH = "read it with {}, and give that to daskgraphpart.partition"
RDF = (
    "read it with pandas.DataFrame(rdflib.Graph().parse(FILE), columns=['subject', 'predicate', 'object']).astype(str)"
    ", and give that to daskgraphpart.scan_tables: scan_tables({'entity:*:entity': frame}, map_ids=True)"
    ".split_edges(by='predicate')"
)
METIS = "METIS", "name it FILE.graph, and give it in the place of a graph: partition FILE.graph OUT"
_FOREIGN = (
    (None, (".metis", ".graph"), *METIS),
    (None, (".tar", ".tgz", ".tbz2", ".txz"), *TAR),
    (RDF_BEGIN, (".nt", ".nq", ".ttl", ".n3", ".rdf", ".trig"), "RDF", RDF),
    (b"<", (".graphml", ".gexf", ".xml"), "GraphML or XML", _GRAPH.format("networkx.read_graphml(FILE)")),
    (
        b"{",
        (".json",),
        "JSON",
        "name it FILE.jsonl if it has an object per line, or " + _FRAME.format("pandas.read_json(FILE)"),
    ),
    (b"FEA1", (".feather", ".arrow"), "Feather", _FRAME.format("pandas.read_feather(FILE)")),
    (b"ORC", (".orc",), "ORC", _FRAME.format("pandas.read_orc(FILE)")),
    (b"Obj\x01", (".avro",), "Avro", _FRAME.format("polars.read_avro(FILE)")),
    (
        b"SQLite",
        (".sqlite", ".sqlite3"),
        "SQLite",
        _FRAME.format("pandas.read_sql('SELECT * FROM TABLE', sqlite3.connect(FILE))"),
    ),
    (None, (".xlsx", ".xls"), "Excel", "save it as CSV"),
    (None, (".pt", ".pth", ".pkl"), "a pickle", _GRAPH.format("torch.load(FILE, weights_only=False)")),
)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table: its name in messages, how to read it, columns asked for, place of its content.

    With a dtype, it is raw: rows of that shape, little-endian, no header. `with_form` finds its form and packing.
    """

    path: str
    options: ReadOptions
    columns: tuple[str, ...] = ()
    content: str = ""
    dtype: str = ""
    row_shape: tuple[int, ...] = ()
    form: str = ""
    packing: str = "none"
    ends: tuple[str, ...] = ()  # node types of edges

    @property
    def constants(self) -> dict[str, str | None]:
        """Columns whose values are in directory names, as by Hive and Spark: ``year=2024/part-0.parquet``.

        A missing value is None.
        """
        texts = dict(name.split("=", 1) for name in Path(self.path).parts[:-1] if "=" in name)
        return {name: None if text == HIVE_MISSING else unquote(text) for name, text in texts.items()}


def are_files(given: Any) -> bool:
    """Whether something names files, one or several."""
    several = isinstance(given, (list, tuple)) and all(map(_is_file, given))
    return _is_file(given) or several


def _is_file(given: Any) -> bool:
    return isinstance(given, TableFile) or is_path(given)


def find_files(given: Any, place: str, options: ReadOptions, columns: tuple[str, ...] = ()) -> tuple[TableFile, ...]:
    """Find files, in natural order within patterns and directories; words after a colon say how to read them."""
    if not are_files(given):
        expected, kind, hint = "a frame, a path or a list of paths", type(given).__name__, what_to_give(given)
        raise OptionError("not a table", place=place, expected=expected, found=kind, hint=hint)
    files, faults = list[TableFile](), list[GraphPartError]()
    for one in [given] if _is_file(given) else given:
        with collect_fault(faults):
            files += [one] if isinstance(one, TableFile) else _list_tables(local_name(one), place, options, columns)
    raise_together(faults)
    if not files:
        raise OptionError("no files", place=place)
    return tuple(files)


def _list_tables(text: str, place: str, options: ReadOptions, columns: tuple[str, ...]) -> list[TableFile]:
    words = parse_file(text, place)
    said: dict[str, Any] = {"header": words.header, "delimiter": words.delimiter, "decimal": words.decimal}
    of_file = replace(options, **{name: value for name, value in said.items() if value is not None})
    paths = map(os.path.abspath, list_files(words.path))
    return [TableFile(p, of_file, words.columns or columns, "", words.dtype, words.row_shape) for p in paths]


def is_pipe(file: TableFile) -> bool:
    """Whether a file is standard input or a pipe, which can be read once."""
    return file.path == "/dev/stdin" or (not file.content and not os.path.isfile(file.path))


def refuse_pipes_twice(files: Sequence[TableFile]) -> None:
    """Refuse a pipe, or standard input, given twice: its bytes come once."""
    seen = set[tuple[int, int]]()
    for file in files:
        if is_pipe(file):
            status = os.stat(file.path)
            if (status.st_dev, status.st_ino) in seen:
                name = "standard input" if file.path == "/dev/stdin" else "a pipe"
                hint = "save it as a file, and give that"
                raise OptionError(f"{name} is given twice but can be read only once", file=file.path, hint=hint)
            seen.add((status.st_dev, status.st_ino))


def with_form(file: TableFile, directory: Path) -> TableFile:
    """Return a file with its content's place, form and packing; copies pipes and bzip2 to the directory."""
    content = file.content or file.path
    if not os.path.isfile(content):
        if not stat.S_ISFIFO(os.stat(content).st_mode):
            raise InputFileError("is neither a file, a directory nor a pipe", file=file.path)
        content = _copy(open, content, directory)
    if file.dtype:
        return replace(file, content=content, form="raw")
    with attach_path_to_error(file.path), open(content, "rb") as opened:
        begin = opened.read(16)
    for magic in _UNPACKED:
        if begin.startswith(magic):
            content = _unpack_streams(replace(file, content=content), magic, directory)
            with open(content, "rb") as opened:
                begin = opened.read(16)
    if not begin:
        raise InputFileError("empty file", file=file.path, expected="rows", found="0 bytes")
    packing = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), "none")
    from daskgraphpart.readers.tables.describe.convert_files import converter  # pyarrow, which not all venvs have

    if (convert := converter(file.path, begin, packing)) is not None:
        copy = str(_next_copy(directory))
        convert(content, copy)
        return replace(file, content=copy, form="parquet")
    refuse_foreign(file.path, begin)
    form = _MAGIC.get(begin[:4]) or _SUFFIXES.get(Path(file.path).suffix.lower(), "text")
    return replace(file, content=content, form=form, packing=packing)


def _copy(opener: Any, path: str, directory: Path) -> str:
    copy = _next_copy(directory)
    with opener(path, "rb") as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target, BYTES_PER_STEP)
    return str(copy)


def _next_copy(directory: Path) -> Path:
    return directory / f"unpacked-{len(list(directory.glob('unpacked-*')))}"


def _unpack_streams(file: TableFile, magic: bytes, directory: Path) -> str:
    """Unpack all streams of a file of xz or bzip2, with zeros between them; return the copy.

    Python's own readers end without an error where a stream after the first is damaged.
    """
    copy, unpacker = _next_copy(directory), None
    try:
        with open(file.content, "rb") as source, copy.open("wb") as target:
            for piece in iter(partial(source.read, BYTES_PER_STEP), b""):
                while piece := piece if unpacker else piece.lstrip(b"\0"):
                    unpacker = unpacker or _UNPACKED[magic]()
                    target.write(unpacker.decompress(piece))
                    piece, unpacker = (unpacker.unused_data, None) if unpacker.eof else (b"", unpacker)
        if unpacker is not None:
            raise EOFError("the last stream is cut off")
    except (EOFError, lzma.LZMAError, OSError, ValueError) as fault:
        if getattr(fault, "errno", None):
            raise
        what, hint = "damaged, or cut off", "copy or download the file again"
        raise InputFileError(what, file=file.path, found=str(fault), hint=hint) from fault
    return str(copy)


def refuse_foreign(path: str, begin: bytes) -> None:
    """Refuse formats that look like text or like archives of arrays, and say what to do."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    for magic, endings, name, hint in _FOREIGN:
        stripped = begin.lstrip()
        has_magic = stripped.startswith(magic) if isinstance(magic, bytes) else magic and magic.match(stripped)
        if has_magic or any(suffix in endings for suffix in suffixes):
            raise InputFileError(f"is not an edge list but {name}", file=path, expected="a row per edge", hint=hint)


def check_packed(file: TableFile, directory: Path) -> TableFile:
    """Unpack a file, and refuse it if it is cut off or not what its checksums say.

    A gzip file with padding, which Arrow refuses, is copied to the directory.
    """
    import pyarrow as pa  # slow to import

    content, packing, path = file.content, file.packing, file.path

    try:
        with attach_path_to_error(path), pa.CompressedInputStream(pa.OSFile(content), packing) as unpacked:
            while unpacked.read(BYTES_PER_STEP):
                pass
        return file
    except OSError as fault:
        if fault.errno is not None:
            raise  # the machine's fault
        if packing == "gzip":
            with suppress(EOFError, gzip.BadGzipFile, zlib.error):
                return replace(file, content=_copy(gzip.open, content, directory), packing="none")
        what, hint = "damaged, or cut off", "copy or download the file again"
        raise InputFileError(what, file=path, expected=f"a whole {packing} file", found=fault, hint=hint) from fault
