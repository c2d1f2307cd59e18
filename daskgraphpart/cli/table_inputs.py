"""What options that name tables become: keywords of `scan_tables`."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from daskgraphpart.cli.command_options import keywords_of, refuse_options
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.scan import Scan
from daskgraphpart.graph.transforms.changes import GraphChanges
from daskgraphpart.options import by_name
from daskgraphpart.readers.describe_dataset import describe_dataset
from daskgraphpart.readers.tables.describe.table_words import parse_by_type, parse_features, parse_typed
from daskgraphpart.readers.tables.read_options import ReadOptions
from daskgraphpart.readers.tables.scan_tables import described_tables
from daskgraphpart.readers.tables.table_scan import TableScan
from daskgraphpart.readers.type_names import ends_of_types
from daskgraphpart.registry import first_answer
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.units import parse_count


def scan_of_tables(path: str | None, values: dict[str, Any]) -> Scan | None:
    """Return the scan of a table of edges, or of tables that options name; None if another package reads it."""
    if path is not None:
        scan, _ = first_answer("readers", lambda kind: kind.open(path), Scan)
        if not isinstance(scan, TableScan):
            return None
    return described_tables(_tables_of(values if path is None else {**values, "edges": (path,)}))


def _tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `scan_tables`, from options and any public data set, which the options extend."""
    tables = describe_dataset(*values["from"]) if values.get("from") else {}
    refuse_options(("split_seed",), "a job", "only a GraphStorm config has sets to draw")
    if values["edge_types_from"]:
        tables.pop("edge_types_from", None)
    edges = parse_by_type(values["edges"], DEFAULT_ETYPE, "--edges")
    nodes = parse_by_type(values["nodes"], DEFAULT_NTYPE, "--nodes")
    counts, known_edges = _num_nodes(values["num_nodes"]), (*edges, *tables.get("edges", ()))
    ntypes = {*nodes, *counts, *ends_of_types(known_edges)}
    given: dict[str, dict[str, Any]] = {
        "edges": edges,
        "num_nodes": counts,
        "node_data": parse_features(values["node_data"], DEFAULT_NTYPE, "--node-data", ntypes),
        "edge_data": parse_features(values["edge_data"], DEFAULT_ETYPE, "--edge-data", known_edges),
        "split": parse_by_type(values["split"], DEFAULT_NTYPE, "--split"),
        "masks": parse_features(values["masks"], DEFAULT_NTYPE, "--mask"),
    }
    for name, by_type in given.items():
        known = tables.setdefault(name, {})
        for of_type, value in by_type.items():
            known[of_type] = {**known.get(of_type, {}), **value} if isinstance(value, dict) else value
    if values.get("cast"):
        tables["cast"] = {**tables.get("cast", {}), **by_name(values["cast"], "--cast")}
    options = {"name": values["name"] or "graph", "nodes": nodes, **keywords_of(values, ReadOptions)}
    options["edge_features"] = _edge_features(values["edge_features"])
    return {**keywords_of(values, GraphChanges), **tables, **options}


def _edge_features(given: Iterable[str]) -> dict[str, str]:
    """Columns by edge type; a column's name may hold an equals sign."""
    columns: dict[str, str] = {}
    for text in given:
        etype, sign, names = text.partition("=")
        etype, names = (etype, names) if sign and etype.count(":") == 2 else ("", text)
        if etype in columns:
            raise OptionError("given twice for the same", option="edge_features", found=text, hint="remove one")
        columns[etype] = names
    return columns


def _num_nodes(given: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in given:
        ntype, _, count = text.rpartition("=")  # a number is one, whatever files have its name
        if not _is_count(count) or text.startswith("="):
            ntype, count = parse_typed(text, DEFAULT_NTYPE, "--num-nodes")
        ntype = ntype or DEFAULT_NTYPE
        if ntype in counts:
            raise OptionError(f"two numbers of {ntype!r} nodes", option="num_nodes", hint="remove one")
        if not _is_count(count) and Path(count).is_file():
            with gzip.open(count, "rt") if count.endswith(".gz") else Path(count).open() as file:
                count = file.read(64).strip()
        counts[ntype] = parse_count(count)
    return counts


def _is_count(text: str) -> bool:
    try:
        parse_count(text)
    except OptionError:
        return False
    return True
