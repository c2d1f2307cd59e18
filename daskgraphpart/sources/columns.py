"""The noun `Column`: a chosen column of a file, and how columns are found by name or number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTEGERS, FLOATS, STRINGS, NO_IDS = "integers", "floats", "strings", ""
MIXED_IDS = "integers and strings are mixed among the IDs of one node type"
MIXED_HINT = "--id-type string makes all of them strings"


@dataclass(frozen=True, slots=True)
class Column:
    """A chosen column: its name or else number, where it is, what its type or its first value says it holds.

    `example` is that place and value, for messages.
    """

    name: str
    position: int
    kind: str = NO_IDS
    example: tuple[str, str] = ("", "")

    @property
    def expected(self) -> str:
        """What all IDs of the node type should be."""
        place, value = self.example
        return f"{self.kind}, as in {place}" + (f" ({value})" if value else "")


def find_columns(
    path: str, wanted: Sequence[str], names: Sequence[str], num_columns: int, num_ids: int
) -> list[tuple[str, int]]:
    """Find columns by name, or else by number: name and position of each; an empty name is the next of the first."""
    if num_columns < num_ids:
        raise InputFileError(
            f"{num_columns} column where there should be {num_ids}",
            file=path,
            found=", ".join(names) or None,
            hint="check --delimiter",
        )
    found = []
    for number, name in enumerate(wanted):
        if not name:
            position = number
        elif names.count(name) == 1:
            position = names.index(name)
        elif name in names:
            raise InputFileError(f"several columns are named {name!r}", file=path, hint="give the number of the column")
        elif name.isdigit() and int(name) < num_columns:
            position = int(name)
        else:
            raise InputFileError(
                f"no column {name!r}",
                file=path,
                expected=f"one of {', '.join(names)}" if names else f"a number below {num_columns}: there are no names",
                hint="check --columns, --edge-columns, --header and --delimiter",
            )
        found.append((names[position] if names else str(position), position))
    return found


def shown(text: str) -> str:
    """Quote a value for a message."""
    return repr(text if len(text) <= 60 else text[:60] + "...")
