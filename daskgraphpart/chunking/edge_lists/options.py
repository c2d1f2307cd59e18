"""How edge lists are read and chunked graphs are written, and the bites of the passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.chunked.metadata import DATA_FORMATS
from daskgraphpart.chunked.write_pieces import SUFFIXES
from daskgraphpart.errors import OptionError, check_choice

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources

DELIMITERS = {"comma": ",", "tab": "\t", "space": " ", "semicolon": ";", "\\t": "\t"}
ID_TYPES = ("auto", "integer", "string")

MOST_BLOCK_BYTES, LEAST_BLOCK_BYTES = 16 << 20, 1 << 16


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How edge lists are read.

    Parameters
    ----------
    columns : tuple of str
        Names or 0-based numbers of the columns of sources and destinations; empty for the first two.
    edge_columns : tuple of str
        Columns that become features of the edges.
    delimiter : str or None
        Between fields of text: a character, or one of the words of `DELIMITERS`; None: guessed from the first line.
    header : bool or None
        Whether the first line of text names the columns; None: guessed.
    comment : str
        Character at the beginning of lines of text that are skipped; empty for none.
    map_ids : bool
        Whether IDs are mapped to dense ones.
    id_type : str
        What IDs are when they are mapped: ``"integer"``, ``"string"``, or what they look like, ``"auto"``.
    """

    columns: tuple[str, ...] = ()
    edge_columns: tuple[str, ...] = ()
    delimiter: str | None = None
    header: bool | None = None
    comment: str = "#"
    map_ids: bool = False
    id_type: str = "auto"

    def __post_init__(self) -> None:
        if self.columns and len(self.columns) != 2:
            raise OptionError(
                "not two columns",
                place="--columns",
                expected="the columns of sources and destinations, such as src,dst or 0,1",
                found=",".join(self.columns),
            )
        if len(set(self.edge_columns)) != len(self.edge_columns):
            raise OptionError("a column is named twice", place="--edge-columns", found=",".join(self.edge_columns))
        check_choice("type of IDs", "--id-type", self.id_type, ID_TYPES)
        if len(self.comment.encode()) > 1:
            raise OptionError(
                "not one character", place="--comment", expected="one ASCII character, or ''", found=repr(self.comment)
            )
        delimiter = self.delimiter_character
        bad = delimiter is not None and (
            len(delimiter.encode()) != 1 or delimiter in '"\n\r\0' or delimiter == self.comment
        )
        if bad:
            raise OptionError(
                "bad delimiter",
                place="--delimiter",
                expected="one ASCII character, comma, tab, space or semicolon",
                found=repr(self.delimiter),
            )

    @property
    def delimiter_character(self) -> str | None:
        """The delimiter with words replaced by what they mean."""
        return None if self.delimiter is None else DELIMITERS.get(self.delimiter, self.delimiter)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How the chunked graph is written.

    Parameters
    ----------
    edge_format : str
        ``"csv"``, ``"numpy"`` or ``"parquet"``.
    data_format : str
        ``"numpy"`` or ``"parquet"``.
    num_chunks : int or None
        Files for each edge type and each feature; None: by size.
    """

    edge_format: str = "parquet"
    data_format: str = "numpy"
    num_chunks: int | None = None

    def __post_init__(self) -> None:
        check_choice("format of edges", "--edge-format", self.edge_format, SUFFIXES)
        check_choice("format of features", "--data-format", self.data_format, DATA_FORMATS)
        if self.num_chunks is not None and self.num_chunks < 1:
            raise OptionError(
                "impossible number of files", place="--num-chunks", expected="1 or more", found=self.num_chunks
            )


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bites of the passes; they follow the budget and change no byte of the output.

    Parameters
    ----------
    block_bytes : int
        Bytes of text, or of columns, that a task reads.
    bucket_bytes : int
        Bytes of original IDs that a task sorts.
    row_block_bytes : int
        Bytes of features that a task moves.
    """

    block_bytes: int
    bucket_bytes: int
    row_block_bytes: int


def choose_sizes(resources: Resources) -> Sizes:
    """Bites that fit into the memory of a task."""
    memory = resources.task_memory
    # lines of "1 2" need forty times their size: fields, numbers, sorted copies. Larger blocks gain no speed.
    block = min(MOST_BLOCK_BYTES, max(LEAST_BLOCK_BYTES, memory // 48))
    # keys of several runs, those that were different so far, a hash table of them, and the sorted ones: strings of
    # twenty bytes, none of which repeats, were measured to need fourteen times the size of a bucket
    bucket = min(4 * MOST_BLOCK_BYTES, max(LEAST_BLOCK_BYTES, memory // 24))
    return Sizes(block, bucket, min(4 * MOST_BLOCK_BYTES, max(LEAST_BLOCK_BYTES, memory // 8)))
