"""Every number of the package at which its code changes its way: what it is, and what tests lower it to.

`tests/properties/test_thresholds.py` finds the constants of the package by itself, so that none can be left out here.
"""

from __future__ import annotations

import ast
import importlib
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import daskgraphpart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PACKAGE = daskgraphpart.__name__
SMALLEST = 200  # of the integers that are looked at; smaller ones count parts, names and tries

ROWS, BYTES = 53, 1009
"""Small, and divisors of nothing: blocks end in the middle of everything."""
CUTS = {
    "assignment.assignment:ROWS_PER_BATCH": ROWS,
    "assignment.from_arrays:ROWS_AT_ONCE": ROWS,
    "assignment.owner_parts:ROWS_PER_UNIT": ROWS,
    "assignment.trainers:EDGES_PER_BLOCK": ROWS,
    "assignment.weigh_nodes:ROWS_PER_UNIT": ROWS,
    "adjacency.split_edges:ARCS_PER_READ": ROWS,
    "adjacency.split_edges:MAX_ROWS": 700,
    "adjacency.split_edges:MIN_ROWS": 400,
    "adjacency.split_edges:SMALL_ROWS": ROWS,
    "adjacency.weigh_edges:EDGES_PER_UNIT": ROWS,
    "adjacency.weigh_edges:ROWS_PER_UNIT": ROWS,
    "chunked.output:BYTES_PER_PIECE": BYTES,
    "chunked.output:EDGES_PER_PIECE": ROWS,
    "chunked.read_csv:BYTES_PER_LOOK": 64,
    "chunked.read_parquet:BUFFER_NBYTES": BYTES,
    "chunked.read_parquet:ROWS_PER_BATCH": ROWS,
    "chunked.read_parquet:VALUES_PER_BATCH": 5 * ROWS,
    "chunked.share_arrays:BYTES_PER_PIECE": BYTES,
    "chunked.stage_collections:BYTES_PER_BLOCK": BYTES,
    "chunked.stage_collections:ROWS_PER_UNIT": ROWS,
    "dispatching.compress_graph:MAX_BUCKETS": 3,
    "dispatching.edges:SMALL_ROWS": ROWS,
    "dispatching.features:IDS_PER_PIECE": ROWS,
    "dispatching.mark_halo:ROWS_PER_READ": ROWS,
    "dispatching.part_graph:NODES_PER_WRITE": 128,
    "engine.runner:SMALL_NBYTES": 64,
    "layouts.dgl_graph:EDGES_PER_PIECE": ROWS,
    "layouts.graphbolt:ROWS_PER_PIECE": ROWS,
    "partitioned.part_collections:BYTES_PER_CHUNK": BYTES,
    "partitioned.part_collections:EDGES_PER_PARTITION": ROWS,
    "partitioned.stored_rows:BLOCK_NBYTES": BYTES,
    "plugins.construction.labels:ROWS": ROWS,
    "plugins.construction.write_features:BYTES_PER_BLOCK": BYTES,
    "plugins.extend.match_nodes:ROWS_AT_ONCE": ROWS,
    "plugins.extend.old_owners:ROWS_AT_ONCE": ROWS,
    "plugins.graphstorm.graphstorm_layout:ROWS_PER_PIECE": ROWS,
    "plugins.objects.count_nodes:EDGES_PER_UNIT": ROWS,
    "plugins.remap.reorder:IDS_PER_READ": ROWS,
    "plugins.report.fetching:ROWS_PER_READ": ROWS,
    "plugins.report.report_parts:BYTES_OF_BLOCKS": 4 * BYTES,
    "plugins.report.report_parts:EDGES_PER_PIECE": ROWS,
    "plugins.report.report_parts:ROWS_PER_READ": ROWS,
    "plugins.store_workspace.spool:HELD_NBYTES": BYTES,
    "plugins.store_workspace.store_depot:COPIED_NBYTES": BYTES,
    "plugins.store_workspace.store_log:HELD_NBYTES": 64,
    "plugins.tables.describe.column_file:BYTES_PER_BATCH": 4 * BYTES,
    "plugins.tables.describe.map_arrays:MAX_READ_NBYTES": BYTES,
    "plugins.tables.describe.parquet_batches:BYTES_PER_READ": BYTES,
    "plugins.tables.describe.parquet_batches:LONG": 3,
    "plugins.tables.describe.text_rows:BOUNDS_PER_BATCH": ROWS,
    "plugins.tables.describe.text_rows:BYTES_PER_READ": BYTES,
    "plugins.tables.load.plain_edges:MAX_BLOCK_BYTES": 4 * BYTES,
    "plugins.tables.load.plain_edges:MIN_BLOCK_BYTES": BYTES,
    "plugins.tables.load.plain_edges:ROWS_PER_UNIT": ROWS,
    "plugins.tables.place.unknown_nodes:ROWS_AT_ONCE": ROWS,
    "plugins.verification.compare_maps:ROWS_AT_ONCE": ROWS,
    "plugins.verification.headers:QUICK_NBYTES": BYTES,
    "plugins.verification.row_sums:NUM_STRETCHES": 7,
    "plugins.verification.verify_partitions:MAX_PIECE_ROWS": ROWS,
    "plugins.verification.verify_run:KEPT_PARTS": 2,
    "plugins.verification.verify_run:MAX_GROUPS": 2,
    "plugins.verification.verify_run:MIN_WINDOW": 16,
    "plugins.verification.verify_run:NUM_WINDOWS": 5,
    "sampling.part_columns:EDGES_PER_PIECE": ROWS,
    "sampling.part_columns:MAX_SORTED_NBYTES": BYTES,
    "sources.database:ROWS_PER_BATCH": ROWS,
    "storage.checksums:PIECE_NBYTES": BYTES,
    "storage.region:MAX_WHOLE_NBYTES": 300,
    "storage.region:MAX_WRITE_NBYTES": 128,
    "storage.region:_MAX_READ_NBYTES": BYTES,
    "storage.stores:BUFFER_NBYTES": 512,
    "storage.stores:MAX_GAP_NBYTES": 64,
    "storage.stores:MAX_REQUEST_NBYTES": BYTES,
}
"""Where work is cut, and what is held in memory at most: no byte of a result follows it."""
DECIDE = (
    "ids.id_map:BYTES_PER_GROUP", "ids.id_map:IDS_PER_GROUP",
    "adjacency.build_adjacency:MAX_BLOCK_ARCS", "adjacency.build_adjacency:MIN_BLOCK_ARCS",
    "assignment.choose:COARSE_ARCS", "assignment.choose:LARGE_ARCS", "assignment.choose:MULTILEVEL_ARCS",
    "assignment.multilevel.cycle:LEAST_NODES", "assignment.multilevel.extend:MAX_ARCS_IN_MEMORY",
    "assignment.multilevel.stream:STRETCH_ARCS", "assignment.multilevel.weighted_graph:MOST_ARCS_OF_ONE_BLOCK",
    "assignment.partition_pass:MOST_STREAMED", "chunked.write_graph:BYTES_PER_FILE",
    "chunked.write_graph:EDGES_PER_FILE", "kernels.move_nodes:HUB", "plugins.delivery.staged_array:CHUNK_NBYTES",
    "plugins.layouts.parquet:ROW_GROUP_NBYTES", "plugins.owner_forms.zarr_owners:MAX_CHUNK_NBYTES",
    "assignment.owner_collections:ROWS_PER_CHUNK", "chunked.collections:NBYTES_PER_PARTITION",
    "plugins.tables.place.node_ids:DENSE_BELOW", "plugins.tables.place.node_ids:IDS_PER_EDGE",
    "plugins.construction.labels:_BINS", "plugins.construction.statistics:MAX_CATEGORIES",
    "plugins.tables.describe.text_file:ROWS_LOOKED_AT",
)  # fmt: skip
"""What decides the result or the files of it, with the graph: the tests of methods and formats go beyond these."""
LIMITS = (
    "assignment.assignment:MAX_PARTS", "assignment.balance:MAX_TOLERANCE", "assignment.weigh_nodes:MAX_TOTAL",
    "chunked.metadata:MAX_ROWS",
    "chunked.read_csv:LONGEST_LINE", "kernels.cut_rows:MAX_ROW_BYTES", "layouts.dgl_graph:MAX_ARRAYS",
    "layouts.dgl_graph:MAX_NAME_NBYTES", "plugins.tables.changes.change_graph:MAX_SPLIT",
    "plugins.tables.load.find_faults:MAX_ID", "sampling.fanouts:MOST_NEIGHBOURS", "schema:LONGEST_NAME",
    "storage.json_file:MAX_NBYTES", "storage.lock:MAX_NBYTES", "storage.region:MAX_NBYTES",
    "storage.region:MAX_NPY_HEADER", "engine.resources:SMALLEST_DATABASE_MEMORY",
    "engine.resources:SMALLEST_TASK_MEMORY",
)  # fmt: skip
"""Beyond these is an error, of which the tests of bad input know."""
OTHERS = (
    "assignment.choose:BLOCK_NBYTES", "assignment.choose:METIS_PER_NODE", "assignment.choose:TASK_NBYTES",
    "assignment.libraries.call:SCALE", "assignment.multilevel.extend:UNLIMITED",
    "engine.local:BLOCK_NBYTES", "engine.local:KEPT_NBYTES", "errors:LONGEST_VALUE",
    "kernels.hashing:GOLDEN", "kernels.owner_sort:EDGES_PER_LOOK_UP", "kernels.parse_ints:LARGEST_BEFORE_DIGIT",
    "layouts.dgl_encoding:MAGIC_ARRAY", "layouts.dgl_encoding:MAGIC_COO", "layouts.dgl_encoding:MAGIC_CSR",
    "layouts.dgl_encoding:MAGIC_GRAPH_FILE", "layouts.dgl_encoding:MAGIC_HETEROGRAPH",
    "layouts.dgl_encoding:MAGIC_METAGRAPH", "layouts.dgl_encoding:MAGIC_RELATION",
    "layouts.dgl_encoding:MAGIC_TENSOR_FILE", "layouts.dgl_graph_file:BITMASK",
    "layouts.dgl_graph_file:METADATA_NBYTES", "layouts.layout:LEAST_RESERVED_NBYTES",
    "plugins.clusters.on_cluster:WITNESS_NBYTES", "plugins.datasets.igb:WIDTH",
    "plugins.owner_forms.zarr_chunks:_SLACK_NBYTES", "plugins.parmetis.parmetis_files:EXACT",
    "plugins.parmetis.write_text:EDGE_NBYTES", "plugins.parmetis.write_text:MAX_ROWS",
    "plugins.report.figures:MAX_MATRIX", "plugins.report.report_parts:MAX_CLASSES",
    "plugins.store_workspace.traffic:STATUS_FAILED", "sampling.sampler:SMALLEST_TABLE",
    "sources.database:MEMORY_PER_THREAD", "storage.upload:MAX_REQUESTS", "storage.upload:SEND_NBYTES",
)  # fmt: skip
"""Numbers of formats, estimates, what numba compiles in, and what a page shows."""


def constants() -> dict[str, int]:
    """Integers of at least `SMALLEST` that modules of the package name, by ``module:NAME``."""
    root = Path(daskgraphpart.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for statement in ast.parse(path.read_text()).body:
            for name in _names(statement):
                value = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
                if isinstance(value, int) and value >= SMALLEST:
                    found[f"{module}:{name}"] = value
    return found


def _names(statement: ast.stmt) -> Iterator[str]:
    """Names in capitals to which a statement assigns arithmetic."""
    value = getattr(statement, "value", None)
    kinds = (
        ast.Constant | ast.BinOp | ast.Name | ast.Tuple | ast.operator | ast.expr_context | ast.UnaryOp | ast.unaryop
    )
    if value is None or not all(isinstance(each, kinds) for each in ast.walk(value)):
        return
    if any(isinstance(each, ast.Constant) and isinstance(each.value, str | None) for each in ast.walk(value)):
        return
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name) and each.id.isupper():
                    yield each.id
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield from [statement.target.id] if statement.value and statement.target.id.isupper() else []


@contextmanager
def lowered(values: Mapping[str, int]) -> Iterator[None]:
    """Give constants other values, wherever they are imported, for a while."""
    before = lower(values)
    try:
        yield
    finally:
        for each, name, old in before:
            setattr(each, name, old)


def lower(values: Mapping[str, int]) -> list[tuple[object, str, int]]:
    """Give constants other values in this process; return where they were, with their names and old values."""
    before: list[tuple[object, str, int]] = []
    for place, value in values.items():
        module, name = place.split(":")
        old = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
        for each in [m for n, m in sys.modules.items() if n.split(".")[0] == PACKAGE]:
            if each.__dict__.get(name) is old and (each.__name__ == f"{PACKAGE}.{module}" or _imports(each, place)):
                before.append((each, name, old))
                setattr(each, name, value)
    return before


def _imports(module: object, place: str) -> bool:
    """Whether a module imports a constant by its name."""
    of, name = place.split(":")
    text = Path(str(getattr(module, "__file__", None) or daskgraphpart.__file__)).read_text()
    return any(
        isinstance(each, ast.ImportFrom) and each.module == f"{PACKAGE}.{of}" and name in [a.name for a in each.names]
        for each in ast.walk(ast.parse(text))
    )
