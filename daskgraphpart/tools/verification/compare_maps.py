"""Compare what numbers stand for: the IDs and categories of the input with those beside the partitions.

Other IDs in the same order, or other words for the same codes, give the same numbers everywhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import GraphPartError
from daskgraphpart.graph.companion_files import map_name, maps_and_codes
from daskgraphpart.ids.hash_id_maps import hash_id_maps
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.known_outputs import DIST_GRAPH
from daskgraphpart.storage.files import file_size, is_file
from daskgraphpart.storage.paths import join_path, to_path
from daskgraphpart.tools.verification.findings import Finding, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.manifest_reader import Manifest
    from daskgraphpart.storage.paths import Location

CHECK = "maps"
ROWS_AT_ONCE = 1 << 16


def map_findings(graph: Graph, manifest: Manifest, runner: Runner, most_bytes: float) -> Iterator[Finding]:
    """Compare maps of IDs, and of codes, of at most some bytes; what was not recorded cannot be compared."""
    here = manifest.path.parent
    try:
        recorded = IdMaps.of(manifest.content, manifest.path)
    except GraphPartError as error:
        yield Finding(CHECK, manifest.path.name, str(error))
        return
    root = here.parent if here.name == DIST_GRAPH else here
    digests = {} if recorded is None else {map_name(of): digest for of, digest in recorded.checksums.items()}
    if recorded is not None:  # beside the partitions, or in the directory of their graph
        root = join_path(here, recorded.directory).parent
    given = maps_and_codes(graph.companions)
    paths = {name: to_path(path) for name, path in given.items() if file_size(path) <= most_bytes}
    others = {name: other for name in paths if is_file(other := join_path(root, name))}
    files = list(dict.fromkeys([*paths.values(), *others.values()]))
    hashed = dict(zip(files, hash_id_maps(files, runner), strict=True)) if files else {}
    for name, path in paths.items():
        there = hashed[others[name]] if name in others else None
        expected = digests.get(name, there)
        if hashed[path] == expected:
            continue
        if name in others and there == expected:
            try:
                yield from _compare_rows(name, path, others[name])
            except GraphPartError as error:
                yield Finding(CHECK, name, str(error))
        elif name in digests:
            what = "checksum of the IDs that the partitions were made with"
            yield Finding(CHECK, name, what, expected=hashed[path], found=expected)


def _compare_rows(name: str, path: Location, other: Location) -> Iterator[Finding]:
    """Find the first row that differs; files of other versions of pyarrow may differ only in bytes."""
    import pyarrow.compute as pc  # most graphs have no maps, and need no pyarrow

    from daskgraphpart.ids.id_map import id_batches, read_map_header  # imports it, too

    def batches(path: Location, count: int) -> Iterator[Any]:
        of_path = id_batches(path, count, ROWS_AT_ONCE)
        next(of_path)  # their type
        return of_path

    (kind, count), (other_kind, other_count) = read_map_header(path), read_map_header(other)
    wrong = [*differences(CHECK, name, {"kind": kind, "rows": count}, {"kind": other_kind, "rows": other_count})]
    yield from wrong
    if wrong:
        return
    first, num_wrong, example = 0, 0, None
    for values, others in zip(batches(path, count), batches(other, count), strict=True):
        rows = np.flatnonzero(pc.not_equal(values, others).to_numpy(zero_copy_only=False))
        if rows.size and example is None:
            row = int(rows[0])
            example = Finding(
                CHECK, name, f"row {first + row:,}", None, first + row, str(values[row]), str(others[row])
            )
        num_wrong, first = num_wrong + rows.size, first + len(values)
    if example is not None:
        yield Finding(CHECK, name, example.what, None, example.row, example.expected, example.found, num_wrong)
