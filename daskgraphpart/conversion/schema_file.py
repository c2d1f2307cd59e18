"""The schema file of DGL's tools before 1.0: ranges of homogeneous IDs of all types, in JSON.

``{"nid": {ntype: [start, stop]}, "eid": {relation: [start, stop]}}``; the order of the starts is that of the type IDs
(tools/convert_partition.py of DGL 0.6 to 0.8).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError, MetadataError
from daskgraphpart.schema import check_name
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Names of node types and of edge types (canonical, or plain relations), in ID order, with their counts."""

    path: str
    nodes: dict[str, int]
    edges: dict[str, int]


def read_type_counts(path: Path) -> TypeCounts:
    """Read and check a schema file.

    Raises
    ------
    InputFileNotFoundError
        If there is no such file.
    MetadataError
        If the ranges of the types do not follow each other, from 0 on, or a name cannot be one.
    """
    if not path.is_file():
        raise InputFileNotFoundError(
            "no such file", file=str(path), hint='give the schema: {"nid": {ntype: [start, stop]}, "eid": ...}'
        )
    try:
        with attach_path_to_error(path):
            content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as fault:
        raise MetadataError("not valid JSON", file=str(path), found=str(fault)) from fault
    if not isinstance(content, dict):
        raise MetadataError("not a JSON object", file=str(path), found=type(content).__name__)
    nodes, edges = (_counts(path, key, content.get(key)) for key in ("nid", "eid"))
    if not nodes:
        raise MetadataError("no node type", file=str(path), place="nid", expected="at least one")
    for key, names in (("nid", nodes), ("eid", edges)):
        for name in names:
            _check(path, key, name, nodes)
    return TypeCounts(str(path), nodes, edges)


def _counts(path: Path, key: str, ranges: Any) -> dict[str, int]:
    if not isinstance(ranges, dict):
        expected = "{type: [start, stop]}"
        raise MetadataError(
            "not the ranges of the types", file=str(path), place=key, expected=expected, found=str(ranges)[:60]
        )
    for name, of_type in ranges.items():
        whole = isinstance(of_type, list) and all(isinstance(i, int) and not isinstance(i, bool) for i in of_type)
        if not whole or len(of_type) != 2:
            place = f"{key}.{name}"
            raise MetadataError(
                "not a range", file=str(path), place=place, expected="[start, stop]", found=str(of_type)[:60]
            )
    end, counts = 0, {}
    for name, (start, stop) in sorted(ranges.items(), key=lambda item: tuple(item[1])):
        if start != end or stop < start:
            raise MetadataError(
                "the ranges do not follow each other",
                file=str(path),
                place=f"{key}.{name}",
                expected=f"[{end}, {end} or more]",
                found=[start, stop],
            )
        counts[name], end = stop - start, stop
    return counts


def _check(path: Path, key: str, name: str, ntypes: dict[str, int]) -> None:
    ends = name.split(":") if key == "eid" else [name]
    if len(ends) not in (1, 3) or (len(ends) == 3 and not {ends[0], ends[2]} <= set(ntypes)):
        raise MetadataError(
            "not an edge type",
            file=str(path),
            place=f"{key}.{name}",
            expected=f"a relation, or src:relation:dst with ends among {', '.join(ntypes)}",
        )
    try:
        for word in ends:
            check_name(word, "name")
    except MetadataError as fault:
        raise MetadataError(
            fault.what, file=str(path), place=f"{key}.{name}", expected=fault.expected, hint=fault.hint
        ) from fault
