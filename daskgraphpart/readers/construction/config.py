"""Content of a construction config in either dialect: tables with IDs, features and labels.

Follows GraphStorm 0.5.1: python/graphstorm/gconstruct/construct_graph.py, transform.py and file_io.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from daskgraphpart.errors import GraphPartError, InputFileError, MetadataError
from daskgraphpart.readers.names_of_ends import ENDS
from daskgraphpart.readers.type_names import check_type_name
from daskgraphpart.schema import check_name

MASKS = ("train_mask", "val_mask", "test_mask")
UNKNOWN = ""
"""Name of a transform that was refused."""
_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Transform:
    """Transform of a feature's columns; `name` is gconstruct's in either dialect.

    `imputer` fills missing values. Categories are ordered by text, or by frequency.
    """

    name: str = "no-op"
    separator: str | None = None
    truncate_dim: int | None = None
    max_val: tuple[float, ...] | None = None
    min_val: tuple[float, ...] | None = None
    max_bound: float | None = None
    min_bound: float | None = None
    sum: tuple[float, ...] | None = None
    epsilon: float = 1e-6
    uniquify: bool = False
    mapping: Mapping[str, int] | None = None
    bucket_cnt: int = 0
    range: tuple[float, float] = (0.0, 0.0)
    slide_window_size: float = 0.0
    imputer: str = "none"
    by_frequency: bool = False


@dataclass(frozen=True, slots=True)
class Feature:
    """Columns that become one feature; `place` is its place in the config."""

    place: str
    name: str
    columns: tuple[str, ...]
    dtype: str
    transform: Transform


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
        return self.place.rpartition(".")[2].startswith("edges")

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
        self.errors.append(kind(what, place=place, file=file, **details))

    def check_name(self, place: str, name: str, what: str) -> None:
        """Note a name that no type or feature can have; GraphStorm names directories by type, too."""
        try:
            check_type_name(name, MetadataError) if what == "type" else check_name(name, what)
        except MetadataError as fault:
            self.add(place, fault.what, expected=fault.expected, found=fault.found)

    def has(self, *places: str) -> bool:
        """Whether a place, or anything inside, has a fault."""
        return any(str(fault.place).startswith(places) for fault in self.errors)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a JSON object at a place; notes faults and uses defaults."""

    content: Mapping[str, Any]
    place: str
    faults: Faults

    def add(self, key: str, what: str, **details: Any) -> None:
        """Note a key's fault."""
        self.faults.add(self.at(key), what, **details)

    def at(self, key: str) -> str:
        """Place of a key."""
        return f"{self.place}.{key}" if self.place else key

    def has(self, key: str) -> bool:
        """Whether a key exists and is not null."""
        return self.content.get(key) is not None

    def take(self, key: str, kind: type | tuple[type, ...], expected: str, default: Any = _REQUIRED) -> Any:
        """Return a value of a kind; bool is no number."""
        value = self.content.get(key)
        if value is None and default is not _REQUIRED:
            return default
        if value is None or not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            shown = "nothing" if value is None else repr(value)
            self.add(key, "missing" if value is None else "invalid value", expected=expected, found=shown)
            return None if default is _REQUIRED else default
        return value

    def text(self, key: str, expected: str, default: Any = _REQUIRED) -> str:
        """Return a non-empty text."""
        value = self.take(key, str, expected, default)
        if value == "" and default != "":
            self.add(key, "empty", expected=expected)
        return "" if value is None else str(value)

    def texts(self, key: str, expected: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """Return a text, or a list of them, as a tuple."""
        value = self.take(key, (str, list), expected, default)
        given = [value] if isinstance(value, str) else list(value or ())
        if not all(isinstance(item, str) and item for item in given) or (isinstance(value, (str, list)) and not given):
            self.add(key, "invalid value", expected=expected, found=repr(value))
            return ()
        return tuple(given)

    def number(self, key: str, expected: str, default: Any = _REQUIRED) -> Any:
        """Return a number."""
        return self.take(key, (int, float), expected, default)

    def numbers(self, key: str, count: int | None = None) -> tuple[float, ...] | None:
        """Return a number, or a list of them, as a tuple; None if there are none."""
        expected = "a number" if count is None else f"a list of {count} numbers"
        value = self.take(key, (int, float, list), expected, None)
        if value is None:
            return None
        given = value if isinstance(value, list) else [value]
        is_numbers = all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in given)
        if not is_numbers or not given or count not in (None, len(given)):
            self.add(key, "invalid value", expected=expected, found=repr(value))
            return None
        return tuple(given)

    def object(self, key: str) -> Reader:
        """Return a reader of an inner object; empty if missing."""
        value = self.take(key, dict, "an object", {})
        return replace(self, content=value, place=self.at(key))

    def objects(self, key: str) -> list[Reader]:
        """Return readers of a list of objects."""
        readers = []
        for i, item in enumerate(self.take(key, list, "a list of objects", [])):
            if isinstance(item, dict):
                readers.append(replace(self, content=item, place=f"{self.at(key)}[{i}]"))
            else:
                self.add(f"{key}[{i}]", "not an object", found=repr(item))
        return readers

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of some texts."""
        value = self.take(key, str, " or ".join(choices), default)
        if value not in choices:
            self.add(key, "unknown", expected=" or ".join(choices), found=repr(value))
            return default
        return str(value)
