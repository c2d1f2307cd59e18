"""Content of a construction config in either dialect: tables with IDs, features and labels.

Follows GraphStorm 0.5.1: python/graphstorm/gconstruct/construct_graph.py, transform.py and file_io.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from msgspec import Meta, Struct

from daskgraphpart.errors import GraphPartError, InputFileError, MetadataError
from daskgraphpart.readers.names_of_ends import ENDS
from daskgraphpart.readers.type_names import check_type_name
from daskgraphpart.schema import check_name
from daskgraphpart.storage.json_file import convert_json

MASKS = ("train_mask", "val_mask", "test_mask")
UNKNOWN = ""
"""Name of a transform that was refused."""
PROCESSING = "graph."
"""What places in GSProcessing's dialect begin with."""
PLACES = {
    "node_type": "type",
    "node_id_col": "column",
    "source_id_col": "source.column",
    "dest_id_col": "dest.column",
    "relation[0]": "source.type",
    "relation[1]": "relation.type",
    "relation[2]": "dest.type",
    "format.name": "data.format",
    "format.separator": "data.separator",
    "files": "data.files",
    "feature_col": "column",
    "feature_name": "name",
    "out_dtype": "transformation.kwargs.out_dtype",
    "transform.name": "transformation.name",
    "transform": "transformation.kwargs",
    "task_type": "type",
    "label_col": "column",
    "split_pct": "split_rate",
}
"""Places within an object by gconstruct's names: what GSProcessing calls them."""
_PLACE = re.compile(rf"(?<=\]\.)({'|'.join(map(re.escape, PLACES))})(?!\w)")

T = TypeVar("T")
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Names: TypeAlias = Name | Annotated[list[Name], Meta(min_length=1)]
Numbers: TypeAlias = float | Annotated[list[float], Meta(min_length=1)]


class Transform(Struct, frozen=True):
    """Transform of a feature's columns, as gconstruct writes it; in either dialect.

    From GSProcessing alone: `imputer` fills missing values, and categories are ordered by frequency, not by text.
    """

    name: str = "no-op"
    separator: Name | None = None
    truncate_dim: Annotated[int, Meta(ge=1)] | None = None
    max_val: Numbers | None = None
    min_val: Numbers | None = None
    max_bound: float | None = None
    min_bound: float | None = None
    sum: Numbers | None = None
    epsilon: Annotated[float, Meta(gt=1e-15, lt=1)] = 1e-6
    uniquify: bool = False
    mapping: Annotated[dict[str, Annotated[int, Meta(ge=0)]], Meta(min_length=1)] | None = None
    bucket_cnt: Annotated[int, Meta(ge=1)] = 0  # if it was not given
    range: tuple[float, float] = (0.0, 0.0)
    slide_window_size: Annotated[float, Meta(ge=0)] = 0.0
    imputer: Literal["none", "mean", "median", "most_frequent"] = "none"
    by_frequency: bool = False


@dataclass(frozen=True, slots=True)
class Feature:
    """Columns that become one feature; `place` is its place in the config."""

    place: str
    name: str
    columns: tuple[str, ...]
    dtype: str
    transform: Transform

    @property
    def column_place(self) -> str:
        """Place of its columns."""
        return in_dialect(f"{self.place}.feature_col")


@dataclass(frozen=True, slots=True)
class Splits:
    """Files of train, valid and test IDs, and their columns; JSON files have none."""

    place: str
    files: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """A label, and the masks of its sets: drawn by share, or listed in files."""

    place: str
    task: str
    column: str
    shares: tuple[float, ...]
    splits: Splits | None
    masks: tuple[str, ...] = MASKS
    has_stats: bool = False
    is_coded: bool = False

    @property
    def column_place(self) -> str:
        """Place of its column."""
        return in_dialect(f"{self.place}.label_col")

    @property
    def mask_names(self) -> tuple[str, ...]:
        """Names of the masks to write."""
        return self.masks if self.splits is not None or any(self.shares) else ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One table: files, format, ID columns (of a node, or both ends), features and labels."""

    place: str
    of_type: str
    form: str
    delimiter: str
    files: tuple[str, ...]
    ids: tuple[str, ...]
    features: tuple[Feature, ...]
    labels: tuple[Label, ...]

    @property
    def is_edges(self) -> bool:
        """Whether it is a table of edges."""
        return is_of_edges(self.place)

    @property
    def ends(self) -> tuple[str, ...]:
        """Node types of its IDs: of the nodes, or of both ends."""
        return tuple(self.of_type.split(":")[::2]) if self.is_edges else (self.of_type,)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of its IDs in our tables."""
        return ENDS if self.is_edges else ("id",)

    @property
    def names(self) -> list[tuple[str, str]]:
        """Places and names of all that it adds to its type."""
        named = [(feature.place, feature.name) for feature in self.features]
        for label in self.labels:
            named += [(label.place, name) for name in (label.column, *label.mask_names) if name]
        return named


@dataclass(frozen=True, slots=True)
class Construction:
    """All tables of a graph, and gconstruct's form of the config; IDs may be forced to text."""

    path: Path
    nodes: tuple[Entry, ...]
    edges: tuple[Entry, ...]
    content: dict[str, Any]
    are_ids_text: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All tables."""
        return self.nodes + self.edges

    @property
    def ends(self) -> set[str]:
        """Node types at the ends of edges."""
        return {end for entry in self.edges for end in entry.ends}

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is one node type with one relation; both then lose their names."""
        ntypes, etypes = {entry.of_type for entry in self.nodes}, {entry.of_type for entry in self.edges}
        return len(etypes) == 1 and len(ntypes) == 1 and self.ends == ntypes


@dataclass(frozen=True, slots=True)
class Faults:
    """All faults of a config and of its tables' headers."""

    file: str
    errors: list[GraphPartError] = field(default_factory=list)

    def add(self, place: str, what: str, *, file: object = None, **details: Any) -> None:
        """Note a fault at a place of the config, perhaps with a file."""
        kind = MetadataError if file is None else InputFileError
        self.errors.append(kind(what, place=in_dialect(place), file=file, **details))

    def check_name(self, place: str, name: str, what: str) -> None:
        """Note a name that no type or feature can have; GraphStorm names directories by type, too."""
        try:
            check_type_name(name, MetadataError) if what == "type" else check_name(name, what)
        except MetadataError as fault:
            self.add(place, fault.what, expected=fault.expected, found=fault.found)

    def has(self, *places: str) -> bool:
        """Whether a place, or anything inside, has a fault."""
        return any(str(fault.place).startswith(tuple(map(in_dialect, places))) for fault in self.errors)

    def read(self, kind: type[T], content: Any, place: str) -> T | None:
        """Return the object at a place, whose null keys count as missing; note what is wrong with it."""
        given = content
        if isinstance(content, dict):
            given = {key: value for key, value in content.items() if value is not None}
        try:
            return convert_json(given, kind, MetadataError, "invalid value", place=place)
        except MetadataError as fault:
            missing = {"what": "missing", "expected": None} if fault.found is None else {}
            self.errors.append(fault.restated(MetadataError, place=in_dialect(fault.place or ""), **missing))
            return None

    def read_each(self, kind: type[T], content: Iterable[Any], place: str) -> Iterator[tuple[str, T]]:
        """Yield the objects of a list that have no faults, with their places."""
        for i, item in enumerate(content):
            if (read := self.read(kind, item, f"{place}[{i}]")) is not None:
                yield f"{place}[{i}]", read

    def choose(self, place: str, given: Any, choices: tuple[str, ...]) -> str:
        """Return one of some texts; the first, if it is another."""
        if given not in choices:
            self.add(place, "unknown", expected=" or ".join(choices), found=repr(given))
            return choices[0]
        return str(given)


def is_of_edges(place: str) -> bool:
    """Whether a place is in a table of edges."""
    return place.removeprefix(PROCESSING).startswith("edges")


def is_in_processing(place: str) -> bool:
    """Whether a place is in a config of GSProcessing."""
    return place.startswith(PROCESSING)


def in_dialect(place: str) -> str:
    """Return a place as the config has it."""
    return _PLACE.sub(lambda name: PLACES[name[0]], place) if is_in_processing(place) else place


def as_tuple(names: str | list[str]) -> tuple[str, ...]:
    """Return a name, or several."""
    return (names,) if isinstance(names, str) else tuple(names)
