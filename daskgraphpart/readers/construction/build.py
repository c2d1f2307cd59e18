"""Build a graph from a construction config: check it, read statistics, number nodes, write features and masks.

Beside the graph lie files that GraphStorm's commands read: the config with statistics, and counts of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.errors import InputFileError, OptionError, raise_together
from daskgraphpart.graph.companion_files import list_companions
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.metadata import LABEL_COUNTS, TRANSFORMED
from daskgraphpart.graph.rows import ConstantRows, JoinedRows, KeptRows, ReversedEdges
from daskgraphpart.graph.scan import Scan
from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.readers.construction.config import PROCESSING
from daskgraphpart.readers.construction.gconstruct import OF_PROCESSING
from daskgraphpart.readers.construction.labels import count_classes, draw_masks, list_masks, open_splits
from daskgraphpart.readers.construction.read_config import is_construction, read_config
from daskgraphpart.readers.construction.statistics import Described, bounds, describe_rows, divisor
from daskgraphpart.readers.construction.tables import (
    Ids,
    Table,
    check_ids,
    find_ends,
    find_files,
    finish_nodes,
    kinds_of_ids,
    open_table,
    read_ids,
)
from daskgraphpart.readers.construction.write_features import (
    feature_width,
    mapping_of,
    write_features,
    write_hard_negatives,
)
from daskgraphpart.readers.database import open_database
from daskgraphpart.schema import canonical_tuple, check_name
from daskgraphpart.storage.atomic import write_json

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.readers.construction.config import Construction, Entry, Faults, Feature, Label
    from daskgraphpart.readers.construction.statistics import Described, TransformColumn
    from daskgraphpart.source import Source
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConstructionScan(Scan):
    """A construction config and what to make of it.

    Edges of unknown nodes are refused or dropped; reverse edges are added here only to a homogeneous graph. The seed is
    for splits.
    """

    path: Path
    name: str = "graph"
    drop_unknown: bool = False
    add_reverse: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_name(self.name, "graph name", OptionError, place="--name")

    @classmethod
    def open(cls, given: Any) -> Scan | None:
        """Return a scan of a config, in either dialect."""
        return cls(Path(given)) if is_construction(given) else None

    @property
    def smallest_memory(self) -> int:
        """Bytes without which nothing can be read."""
        return SMALLEST_DATABASE_MEMORY

    def outline(self) -> list[tuple[str, str]]:
        """Say what is known without looking at tables."""
        return [("config", str(self.path)), *([("then", "add-reverse")] if self.add_reverse else [])]

    @property
    def files(self) -> list[str]:
        """All files, found but not opened."""
        config, faults = read_config(self.path)
        tables = [path for e in config.entries for path in find_files(config, f"{e.place}.files", e.files, faults)]
        sets = [label.splits for entry in config.entries for label in entry.labels if label.splits is not None]
        given = [(of.place, paths) for of in sets for paths in of.files.values() if paths]
        listed = [path for place, paths in given for path in find_files(config, place, paths, faults)]
        return [str(self.path), *dict.fromkeys((*tables, *listed))]

    def identity(self) -> dict[str, Any]:
        """Describe what is made of the files."""
        return {"--split-seed": self.seed, "config": str(self.path.absolute()), "reverse": self.add_reverse}

    def read(self, job: ScanJob) -> Graph:
        """Build the graph; ID maps and GraphStorm's JSON files go beside it."""
        with job.runner.for_tasks_of(SMALLEST_DATABASE_MEMORY) as limited:
            return self._build(replace(job, runner=limited))

    def _build(self, job: ScanJob) -> Graph:
        config, faults = read_config(self.path)
        with open_database(job.directory, job.runner.resources) as connection:
            tables = [_open(connection, config, entry, faults) for entry in config.entries]
            are_integers = kinds_of_ids(tables, faults, are_text=config.are_ids_text)
            described = _described(tables, faults)
            job.on_open(self.files)
            # allowed, as in GraphStorm, but perhaps misspelt
            for ntype in sorted(config.ends - {entry.of_type for entry in config.nodes}):
                job.runner.progress.note(f"{ntype!r} nodes have no table, so their IDs come from edges")
            built = _Built(Ids(connection, job.directory, are_integers), self.seed)
            with_ids = [table for table in tables if table.entry.ids]
            _read_ids(built.ids, with_ids, job.companions)
            for of in described:
                built.add(of)
            nodes = {table.entry.of_type: table for table in with_ids if not table.entry.is_edges}
            for table in (table for table in with_ids if table.entry.is_edges):
                ends, kept = find_ends(built.ids, table, nodes, job.runner.progress, drop_unknown=self.drop_unknown)
                built.add_edges(table.entry.of_type, ends, kept)
        write_json(job.companions / TRANSFORMED, describe_transforms(config, described, is_reversed=self.add_reverse))
        write_stats(config, built.stats, job.companions)
        if self.add_reverse and config.is_homogeneous:
            built.double()
        num_nodes = dict(sorted(built.ids.num_nodes.items()))
        edges = {etype: built.edges[etype] for etype in sorted(built.edges, key=canonical_tuple)}
        return replace(graph_of(self.name, num_nodes, edges, built.data), companions=list_companions(job.companions))


def _open(connection: duckdb.DuckDBPyConnection, config: Construction, entry: Entry, faults: Faults) -> Table:
    """Open a table and its files of sets; note all faults that headers show."""
    table = open_table(connection, config, entry, faults)
    splits = [label.splits for label in entry.labels if label.splits is not None]
    return replace(table, sets={of.place: open_splits(connection, config, entry, of, faults) for of in splits})


def _read_ids(ids: Ids, tables: Sequence[Table], out: Path) -> None:
    """Read the IDs of all tables that have any, and write their maps."""
    for table in tables:
        read_ids(ids, table)
        if not table.entry.is_edges:
            check_ids(ids, table)
    finish_nodes(ids, out, sorted(table.entry.of_type for table in tables if table.entry.is_edges))


def _described(tables: Sequence[Table], faults: Faults) -> list[Described]:
    """Read statistics of all tables with files; raise all faults of headers and rows."""
    described = [of for table in tables if table.files and (of := _described_alone(table, faults))]
    counts = {of.table.entry.of_type: of for of in described if of.table.entry.ids}
    for of in described:
        if not of.num_rows:
            faults.add(f"{of.table.entry.place}.files", "the table has no rows", file=of.table.files[0])
    for of in described:
        entry, first = of.table.entry, counts.get(of.table.entry.of_type)
        if first is not None and of.num_rows != first.num_rows and not faults.has(f"{entry.place}.files"):
            what = "the table has a different number of rows than the one with the IDs"
            expected = f"{first.num_rows:,}, as in "
            expected, rows = expected + first.table.entry.place, f"{of.num_rows:,}"
            faults.add(f"{entry.place}.files", what, file=of.table.files[0], expected=expected, found=rows)
    raise_together(faults.errors, faults.file)
    return described


def _described_alone(table: Table, faults: Faults) -> Described | None:
    """Read a table's statistics; note unreadable rows, unless its header was noted."""
    try:
        return describe_rows(table, faults)
    except InputFileError as fault:
        if fault.file not in [noted.file for noted in faults.errors]:
            faults.errors.append(fault)
        return None


@dataclass(frozen=True, slots=True)
class _Built:
    """The graph so far: ends of edges, features and masks by type, counts of classes; the seed is for masks."""

    ids: Ids
    seed: int
    edges: dict[str, Any] = field(default_factory=dict)
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    masks: set[tuple[str, str]] = field(default_factory=set)
    stats: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

    def add(self, described: Described) -> None:
        """Add a table's features, labels and masks to its type."""
        entry, directory = described.table.entry, self.ids.directory
        data = self.data.setdefault(entry.of_type, {})
        written = write_features(described, directory)
        mask_names = {name for label in entry.labels for name in label.masks}
        for i, feature in enumerate(entry.features):
            if feature.transform.name == "edge_dst_hard_negative":
                (column,), dst = described.columns[feature.place], entry.of_type.split(":")[2]
                path = directory / f"{self.ids.table(entry.of_type)}-negatives{i}.npy"
                data[feature.name] = write_hard_negatives(self.ids, described, column, dst, path)
                continue
            region = written[feature.place]
            if entry.is_edges and feature.name in mask_names and region.shape[1:] == (1,):
                region = replace(region, shape=region.shape[:1])  # masks given as features, with split_pct of zeros
            data[feature.name] = region
        for label in entry.labels:
            values = written.get(label.place)
            if values is not None:
                data[label.column] = values
            if label.mask_names:
                self._add_masks(described, label, values)

    def _add_masks(self, described: Described, label: Label, values: Region | None) -> None:
        of_type = described.table.entry.of_type
        path = self.ids.directory / f"masks{len(self.masks)}"
        if label.splits is not None:
            masks = list_masks(self.ids, described.table, label, described.num_rows, path)
        else:
            key = stream_key(self.seed, f"split/{of_type}/{label.column or label.masks[0]}")
            masks = draw_masks(label, values, described.num_rows, key, path)
        self.data[of_type].update(masks)
        self.masks.update((of_type, name) for name in masks)
        if label.has_stats and values is not None:
            counts = count_classes(values, masks[label.masks[0]])
            self.stats.setdefault(of_type, {})[label.column] = counts

    def add_edges(self, etype: str, ends: Source, kept: Region | None) -> None:
        """Add edges; `kept` are the rows of their table that are left, if some were dropped."""
        self.edges[etype] = ends
        if kept is not None:
            self.data[etype] = {name: KeptRows(rows, kept) for name, rows in self.data.get(etype, {}).items()}

    def double(self) -> None:
        """Append reverse edges, as GraphStorm does in a homogeneous graph.

        They repeat their edges' features and labels, and are in no set.
        """
        for etype, edges in self.edges.items():
            self.edges[etype] = JoinedRows((edges, ReversedEdges(edges)))
            for name, rows in self.data.get(etype, {}).items():
                again: Any = rows
                if (etype, name) in self.masks:
                    again = ConstantRows(np.dtype(np.int8), rows.shape, 0)
                self.data[etype][name] = JoinedRows((rows, again))


RUNTIME_VERSION = "gconstruct-runtime-v0.1"
_STEP = re.compile(r"(\w+)\[(\d+)\]")


def describe_transforms(config: Construction, described: Sequence[Described], *, is_reversed: bool) -> dict[str, Any]:
    """Return gconstruct's form of the config: with statistics of all rows, to transform others alike."""
    content = config.content
    content |= {"version": RUNTIME_VERSION, "is_homogeneous": config.is_homogeneous}
    content["add_reverse_edges"] = is_reversed
    for of in described:
        for feature in of.table.entry.features:
            _add_found(_at(content, feature.place), feature, of.columns[feature.place])
    return content


def _at(content: dict[str, Any], place: str) -> dict[str, Any]:
    inner: Any = content
    for key, index in _STEP.findall(place.removeprefix(PROCESSING)):
        inner = inner[key][int(index)]
    feature: dict[str, Any] = inner
    return feature


def _add_found(described: dict[str, Any], feature: Feature, columns: Sequence[TransformColumn]) -> None:
    how = feature.transform
    described["feature_dim"] = [feature_width(feature, columns)]
    for key in OF_PROCESSING:  # which gconstruct does not know
        described.get("transform", {}).pop(key, None)
    if how.name == "max_min_norm":
        pairs = [bounds(how, column, i) for i, column in enumerate(columns)]
        described["transform"]["max_val"] = _listed([high for _, high in pairs])
        described["transform"]["min_val"] = _listed([low for low, _ in pairs])
    elif how.name == "standard":
        described["transform"]["sum"] = _listed([divisor(how, column, i) for i, column in enumerate(columns)])
    elif how.name == "to_categorical":
        described["transform"]["mapping"] = mapping_of(how, columns[0])


def _listed(values: list[np.ndarray]) -> list[float]:
    listed: list[float] = np.concatenate([np.atleast_1d(value) for value in values]).tolist()
    return listed


def write_stats(config: Construction, stats: dict[str, dict[str, dict[str, int]]], out: Path) -> None:
    """Write the number of rows of each class in the train sets, for all types in the config."""
    for name, entries in zip(LABEL_COUNTS, (config.nodes, config.edges), strict=True):
        if not entries:
            continue
        content = {
            entry.of_type.replace(":", ","): {
                label: {"stats_type": "frequency_cnt", "info": counts}
                for label, counts in stats.get(entry.of_type, {}).items()
            }
            for entry in entries
        }
        write_json(out / name, content)
