"""Options of tables: where they are, and how to read them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.graph.transforms.changes import name_of
from daskgraphpart.options import by_name, check_options, option, words_of

SPLIT = ":split"
"""Name of a column of sets while it is a feature; no feature has it."""
UNKNOWN_NODES = ("add", "drop", "error")
COLONS = "::"
DELIMITERS = {"comma": ",", "tab": "\t", "space": " ", "semicolon": ";", "\\t": "\t", "colons": COLONS}


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of edges and nodes, and known counts of their rows."""

    edges: Mapping[str, Any] = option(
        (),
        "Tables of edges, by edge type. Types are src:rel:dst, by default _N:_E:_N. Text, Parquet, JSON lines, Arrow, "
        "Matrix Market, npz or npy; a file, a directory (Delta and Iceberg, too), a quoted pattern, a pipe, or - for "
        "standard input. Words after a colon say how to read it: header, no-header, comma, tab, space, semicolon, "
        "decimal-comma, two columns such as user,item, or for raw binary rows their dtype and width: uint32, int64:3.",
        values="[TYPE=]FILE[:WORD]",
        common=True,
        given="Mapping[Any, Table] | Table",
    )
    num_nodes: Mapping[str, int] = option(
        (),
        "Number of nodes of a type whose IDs are not mapped, or a file that holds it (./10 if its name is a number). "
        "Default: the rows of a feature, else the largest ID plus one.",
        values="[TYPE=]N|FILE",
    )
    num_edges: Mapping[str, int] = option((), "Number of rows that the files of each edge type must have.")
    nodes: Mapping[str, Any] = option(
        (),
        "A list of nodes, which may have no edges. IDs are in the column id by default, else in the first.",
        values="[TYPE=]FILE[:COLUMN]",
        common=True,
        given="Mapping[str, Table | tuple[Paths, str]]",
    )
    node_data: Mapping[str, Mapping[str, Any]] = option(
        (),
        "A node feature; a column is joined by node ID. * takes each column as a feature. IDs are by default in the "
        "column that the list of nodes has them in, id, or the first. A whole file (npy, Parquet, CSV, or raw binary, "
        "such as feat.bin:float32:128) or an array of an npz file has its rows in the order of the list of nodes, or "
        "of IDs if they are not mapped.",
        values="[TYPE/]NAME=FILE[:[ID:]COLUMN],...",
        common=True,
        given="Mapping[str, Mapping[str, Rows] | Rows]",
    )
    edge_data: Mapping[str, Mapping[str, Any]] = option(
        (),
        "An edge feature from npy, Parquet or CSV, its rows in the order of the edges; * takes each column as a "
        "feature.",
        values="[TYPE/]NAME=FILE[:COLUMN],...",
        given="Mapping[str, Mapping[str, Rows] | Rows]",
    )
    split: Mapping[str, Any] = option(
        (),
        "A column of nodes that names their sets: train, val (valid, validation) or test. It becomes train_mask, "
        "val_mask and test_mask; nodes without a word or without a row are in none. The column, split by default, is "
        "joined by node ID, as for features.",
        values="[TYPE=]FILE[:[ID:]COLUMN]",
        given="Mapping[str, Rows]",
    )
    masks: Mapping[str, Mapping[str, Any]] = option(
        (),
        "A list of node IDs that becomes a mask, such as train_mask.",
        values="[TYPE/]NAME=FILE[:COLUMN],...",
        given="Mapping[str, Mapping[str, Rows] | Rows]",
    )

    @property
    def features(self) -> Iterator[tuple[str, str, str, Any]]:
        """Yield every feature that is not in tables of edges or nodes: its option, type, name, and files or rows."""
        for place, data in (("--node-data", self.node_data), ("--edge-data", self.edge_data), ("--mask", self.masks)):
            for of_type, features in data.items():
                yield from ((place, of_type, name, given) for name, given in features.items())
        for ntype, given in self.split.items():
            yield "--split", ntype, SPLIT, given


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read tables of edges and nodes."""

    endpoints: tuple[str, ...] = option(
        None,
        "Names or 0-based numbers of the ID columns. Default: those named src and dst, or alike; without a header the "
        "first two.",
        values="SRC,DST",
        kind=tuple,
    )
    edge_features: Mapping[str, tuple[str, ...]] = option(
        (),
        "Columns to keep as edge features, of the tables of one edge type, or of all. Numbers in text become int64, or "
        "float64 if one is not an integer.",
        values="[SRC:REL:DST=]NAME,...",
        given="str | Sequence[str] | Mapping[str, str | Sequence[str]]",
    )
    delimiter: str | None = option(
        None,
        "What separates fields of text; guessed by default. space is any run of spaces and tabs; colons are two, ::.",
        choices=("comma", "tab", "space", "semicolon", "colons"),
        values="comma|tab|space|semicolon|colons|CHAR",
    )
    decimal: str | None = option(
        None,
        "What separates fractions in text; guessed by default. Commas that may separate thousands are refused unless "
        "you say comma.",
        choices=("point", "comma"),
    )
    header: bool | None = option(
        None, "Whether the first line of text names the columns; guessed by default.", kind=bool
    )
    comment: str = option("#", "Skip lines at the top of text that begin with this character; '' for none.")
    map_ids: bool | None = option(
        None,
        "Map string or sparse IDs to 0, 1, 2 and so on. They are sorted by number, or by UTF-8 bytes; "
        "id_map/<type>.parquet in the output keeps the map. Default: if IDs are strings, as their columns or most of "
        "the first rows tell.",
        kind=bool,
        common=True,
    )
    ids_from: str | os.PathLike[str] | None = option(
        None,
        "Continue the mapped IDs of an earlier graph, or of its partitions. Other nodes follow. Nodes that are gone "
        "stay, without edges.",
        values="OLD",
    )
    codes_from: str | os.PathLike[str] | None = option(
        None,
        "Keep the codes that strings have in an earlier graph. Or in its partitions, if they have ID maps. Other "
        "strings follow.",
        values="OLD",
    )
    id_type: str = option(
        "auto",
        "What mapped IDs are. auto takes integers if all look like integers, and refuses a mixture.",
        choices=("auto", "integer", "string"),
    )
    unknown_nodes: str = option(
        "add",
        "What to do with nodes that edges name and node lists do not. They are added, dropped with their edges, or "
        "refused.",
        choices=UNKNOWN_NODES,
    )
    missing_ids: str = option(
        "error",
        "What to do with rows that have no ID. They are refused, or dropped and counted.",
        choices=("error", "drop"),
    )
    fill: Mapping[str, object] | object = option(
        (),
        "Value for missing entries of a feature, or of all features. Without it missing numbers are an error, and "
        "missing strings get the code -1; for these, name a category. The dtype grows to hold the value.",
        values="[[TYPE/]NAME=]VALUE",
    )

    def __post_init__(self) -> None:
        check_choice("choice", "--unknown-nodes", self.unknown_nodes, UNKNOWN_NODES)  # not "unknown unknown nodes"
        check_options(self)
        object.__setattr__(self, "edge_features", columns_by_type(self.edge_features))
        if self.endpoints and len(self.endpoints) != 2:
            expected, shown = "those of sources and destinations, such as src,dst or 0,1", ",".join(self.endpoints)
            raise OptionError("not two columns", option="endpoints", expected=expected, found=shown)
        for names in self.edge_features.values():
            if len(set(names)) != len(names):
                raise OptionError("a column is named twice", option="edge_features", found=",".join(names))
        if self.ids_from is not None or self.id_type == "string":
            if self.map_ids is False:
                what = "only mapped IDs can continue others, or be strings"
                raise OptionError(what, option="map_ids", hint="leave out --no-map-ids")
            object.__setattr__(self, "map_ids", True)
        if len(self.comment.encode()) > 1:
            expected = "one ASCII character, or ''"
            raise OptionError("not one character", option="comment", expected=expected, found=repr(self.comment))
        delimiter = self.delimiter_character
        is_one = delimiter in (None, COLONS) or (len(str(delimiter)) == 1 and str(delimiter).isascii())
        if not is_one or delimiter == self.comment or delimiter in ('"', "\n", "\r", "\0"):
            expected = "one ASCII character, ::, comma, tab, space, semicolon or colons"
            raise OptionError("bad delimiter", option="delimiter", expected=expected, found=repr(self.delimiter))

    def columns_of(self, etype: str) -> tuple[str, ...]:
        """Columns of an edge type's tables that become features."""
        return self.edge_features.get(etype, self.edge_features.get("", ()))

    @property
    def fills(self) -> dict[str, str]:
        """Fill values as text, by feature; "" for all."""
        if isinstance(self.fill, (tuple, Mapping)):
            return by_name(self.fill, "--fill")
        return {} if self.fill is None else {"": str(self.fill)}

    @property
    def delimiter_character(self) -> str | None:
        """The delimiter, with words replaced by characters."""
        return None if self.delimiter is None else DELIMITERS.get(self.delimiter, self.delimiter)


def columns_by_type(given: Any) -> dict[str, tuple[str, ...]]:
    """Names of columns by edge type, or those of all under ""."""
    named = given.items() if isinstance(given, Mapping) else [("", given)] if given else ()
    return {name_of(etype): words_of(names) for etype, names in named}
