"""How edge lists are read."""

from __future__ import annotations

from dataclasses import dataclass

from daskgraphpart.errors import OptionError, check_choice

DELIMITERS = {"comma": ",", "tab": "\t", "space": " ", "semicolon": ";", "\\t": "\t"}
ID_TYPES = ("auto", "integer", "string")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How edge lists are read.

    `columns` are names or numbers of the columns of sources and destinations, empty for the first two; a delimiter or
    header that is None is guessed; an empty comment means that there are none.
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
            expected, found = "those of sources and destinations, such as src,dst or 0,1", ",".join(self.columns)
            raise OptionError("not two columns", place="--columns", expected=expected, found=found)
        if len(set(self.edge_columns)) != len(self.edge_columns):
            raise OptionError("a column is named twice", place="--edge-columns", found=",".join(self.edge_columns))
        check_choice("type of IDs", "--id-type", self.id_type, ID_TYPES)
        if len(self.comment.encode()) > 1:
            expected = "one ASCII character, or ''"
            raise OptionError("not one character", place="--comment", expected=expected, found=repr(self.comment))
        delimiter = self.delimiter_character
        is_one = delimiter is None or (len(delimiter) == 1 and delimiter.isascii())
        if not is_one or delimiter == self.comment or delimiter in ('"', "\n", "\r", "\0"):
            expected = "one ASCII character, comma, tab, space or semicolon"
            raise OptionError("bad delimiter", place="--delimiter", expected=expected, found=repr(self.delimiter))

    @property
    def delimiter_character(self) -> str | None:
        """The delimiter with words replaced by what they mean."""
        return None if self.delimiter is None else DELIMITERS.get(self.delimiter, self.delimiter)
