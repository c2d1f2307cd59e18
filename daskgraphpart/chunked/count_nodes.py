"""Pass `count-nodes`: the largest IDs of edges, where nobody has said how many nodes there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.metadata import MAX_ROWS
from daskgraphpart.chunked.sources import Rows, cut
from daskgraphpart.engine.runner import Pass, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from daskgraphpart.engine.runner import Runner

EDGES_PER_UNIT = 1 << 18


def count_nodes(
    given: Mapping[str, int | None], edges: Mapping[str, Rows], data: Mapping[str, Mapping[str, Any]], runner: Runner
) -> dict[str, int]:
    """Return all numbers of nodes: as given, else the rows of a feature, else the largest ID and one."""
    counts = {ntype: _known(count, data.get(ntype, {})) for ntype, count in given.items()}
    wanted = {etype: rows for etype, rows in edges.items() if None in map(counts.get, etype.split(":")[::2])}
    units = [
        Unit(piece.read, 16 * piece.num_rows, key=etype)
        for etype, rows in wanted.items()
        for piece in cut(rows, EDGES_PER_UNIT)
    ]
    largest = runner.run(Pass("count-nodes", largest_ids, units, None))
    found = {ntype: 0 for ntype, count in counts.items() if count is None}
    for unit, ids in zip(units, largest, strict=True):
        for ntype, most in zip(unit.key.split(":")[::2], ids, strict=True):
            if ntype in found:
                found[ntype] = max(found[ntype], min(MAX_ROWS, most + 1))
    return {ntype: found[ntype] if count is None else count for ntype, count in counts.items()}


def _known(count: int | None, features: Mapping[str, Any]) -> int | None:
    if count is not None:
        return int(count)
    return next((int(rows.shape[0]) for rows in features.values()), None)


def largest_ids(read: Callable[..., Any], _: None) -> tuple[int, ...]:
    """Return the largest ID of either end."""
    edges = read()
    found: list[int] = edges.max(axis=0).tolist()
    return tuple(found)
