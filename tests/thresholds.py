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
    "array_layouts.ondisk:ROWS_PER_PIECE": ROWS,
    "tools.reorder.own_ids:ROWS_AT_ONCE": ROWS,
    "readers.tables.describe.table_files:BYTES_PER_STEP": ROWS,
    "partitioner.assignment:ROWS_PER_BATCH": ROWS,
    "partitioner.from_arrays:ROWS_AT_ONCE": ROWS,
    "partitioner.owner_parts:ROWS_PER_UNIT": ROWS,
    "partitioner.trainers:EDGES_PER_BLOCK": ROWS,
    "partitioner.training.expect_samples:ARCS_PER_UNIT": ROWS,
    "partitioner.training.expect_samples:ROWS_PER_UNIT": ROWS,
    "partitioner.weigh_nodes:ROWS_PER_UNIT": ROWS,
    "partitioner.adjacency.split_edges:ARCS_PER_READ": ROWS,
    "partitioner.adjacency.split_edges:MAX_ROWS": 700,
    "partitioner.adjacency.split_edges:MIN_ROWS": 400,
    "partitioner.adjacency.split_edges:SMALL_ROWS": ROWS,
    "partitioner.adjacency.weigh_edges:EDGES_PER_UNIT": ROWS,
    "partitioner.adjacency.weigh_edges:ROWS_PER_UNIT": ROWS,
    "graph.output:BYTES_PER_PIECE": BYTES,
    "graph.output:EDGES_PER_PIECE": ROWS,
    "graph.read_csv:BYTES_PER_LOOK": 64,
    "graph.read_parquet:BUFFER_NBYTES": BYTES,
    "graph.read_parquet:ROWS_PER_BATCH": ROWS,
    "graph.read_parquet:VALUES_PER_BATCH": 5 * ROWS,
    "graph.share_arrays:BYTES_PER_PIECE": BYTES,
    "graph.share_arrays:BYTES_PER_BLOCK": BYTES,
    "graph.share_arrays:ROWS_PER_UNIT": ROWS,
    "dispatching.build_graph:MAX_BUCKETS": 3,
    "dispatching.bucket_edges:SMALL_ROWS": ROWS,
    "dispatching.features:IDS_PER_PIECE": ROWS,
    "dispatching.edge_runs:ROWS_PER_READ": ROWS,
    "dispatching.part_graph:NODES_PER_WRITE": 128,
    "engine.runner:SMALL_NBYTES": 64,
    "layouts.dgl_graph:EDGES_PER_PIECE": ROWS,
    "layouts.graphbolt:ROWS_PER_PIECE": ROWS,
    "partitioned.part_collections:BYTES_PER_CHUNK": BYTES,
    "partitioned.part_collections:EDGES_PER_PARTITION": ROWS,
    "partitioned.stored_rows:BLOCK_NBYTES": BYTES,
    "readers.construction.labels:ROWS": ROWS,
    "readers.construction.write_features:BYTES_PER_BLOCK": BYTES,
    "partitioner.extend.match_nodes:ROWS_AT_ONCE": ROWS,
    "partitioner.extend.old_owners:ROWS_AT_ONCE": ROWS,
    "layouts.graphstorm_layout:ROWS_PER_PIECE": ROWS,
    "readers.objects.open_object:EDGES_PER_UNIT": ROWS,
    "tools.reorder.reorder:IDS_PER_READ": ROWS,
    "partitioned.sampling.sampler:ROWS_PER_READ": ROWS,
    "tools.report.report_parts:BYTES_OF_BLOCKS": 4 * BYTES,
    "tools.report.report_parts:EDGES_PER_PIECE": ROWS,
    "tools.report.report_parts:ROWS_PER_READ": ROWS,
    "storage.store_workspace.spool:HELD_NBYTES": BYTES,
    "storage.store_workspace.pieced_store:COPIED_NBYTES": BYTES,
    "storage.store_workspace.store_log:HELD_NBYTES": 64,
    "readers.tables.describe.column_file:BYTES_PER_BATCH": 4 * BYTES,
    "readers.tables.describe.map_arrays:MAX_READ_NBYTES": BYTES,
    "readers.tables.describe.parquet_batches:BYTES_PER_READ": BYTES,
    "readers.tables.describe.parquet_batches:PAGE_NBYTES": 300,
    "readers.tables.describe.text_rows:BOUNDS_PER_BATCH": ROWS,
    "readers.tables.describe.text_rows:BYTES_PER_READ": BYTES,
    "readers.tables.load.loaded_tables:LONG": 3,
    "readers.tables.stage_frames:ROWS_PER_GROUP": ROWS,
    "readers.tables.stage_frames:COLUMN_NBYTES": BYTES,
    "readers.tables.stage_frames:GROUP_NBYTES": 4 * BYTES,
    "readers.tables.load.plain_edges:MAX_BLOCK_BYTES": 4 * BYTES,
    "readers.tables.load.plain_edges:MIN_BLOCK_BYTES": BYTES,
    "readers.tables.load.plain_edges:ROWS_PER_UNIT": ROWS,
    "readers.tables.place.unknown_nodes:ROWS_AT_ONCE": ROWS,
    "tools.verification.contents:ROWS_AT_ONCE": ROWS,
    "tools.verification.headers:QUICK_NBYTES": BYTES,
    "tools.verification.row_sums:MIN_WINDOW": 16,
    "tools.verification.row_sums:NUM_STRETCHES": 7,
    "tools.verification.row_sums:NUM_WINDOWS": 5,
    "tools.verification.verify_partitions:MAX_PIECE_ROWS": ROWS,
    "tools.verification.verify_run:KEPT_PARTS": 2,
    "tools.verification.verify_run:MAX_GROUPS": 2,
    "partitioner.training.count_fetches:FEWEST_MERGED": ROWS,
    "partitioned.sampling.part_columns:EDGES_PER_PIECE": ROWS,
    "partitioned.sampling.part_columns:MAX_SORTED_NBYTES": BYTES,
    "readers.database:ROWS_PER_BATCH": ROWS,
    "readers.metis_files:PIECE_NBYTES": BYTES,
    "readers.tables.describe.convert_files:ROWS_PER_GROUP": ROWS,
    "partitioner.multilevel.by_workers:MARKS_AT_ONCE": 64,
    "partitioner.choose:SHARED_ARCS": 4000,
    "storage.checksums:PIECE_NBYTES": BYTES,
    "storage.region:MAX_WHOLE_NBYTES": 300,
    "storage.local_store:MAX_WRITE_NBYTES": 128,
    "storage.local_store:_MAX_READ_NBYTES": BYTES,
    "storage.store:BUFFER_NBYTES": 512,
    "storage.object_store:MAX_GAP_NBYTES": 64,
    "storage.object_store:MAX_REQUEST_NBYTES": BYTES,
}
"""Where work is cut, and what is held in memory at most: no byte of a result follows it."""
DECIDE = (
    "ids.id_map:BYTES_PER_GROUP", "ids.id_map:IDS_PER_GROUP",
    "partitioner.adjacency.adjacency_sizes:MAX_BLOCK_ARCS", "partitioner.adjacency.adjacency_sizes:MIN_BLOCK_ARCS",
    "partitioner.choose:MOST_EDGES_OF_SEVERAL",
    "partitioner.choose:COARSE_ARCS", "partitioner.choose:LARGE_ARCS", "partitioner.choose:WHOLE_ARCS",
    "partitioner.choose:UNCLUSTERED_ARCS",
    "partitioner.multilevel.coarsen:MOST_UNITS",
    "partitioner.multilevel.cycle:LEAST_NODES", "partitioner.multilevel.extend:MAX_ARCS_IN_MEMORY",
    "partitioner.multilevel.weighted_graph:MOST_ARCS_OF_ONE_BLOCK",
    "partitioner.multilevel.weighted_graph:PIECE_ARCS", "partitioner.multilevel.weighted_graph:SPAN",
    "partitioner.solver:MOST_STREAMED", "graph.write_graph:BYTES_PER_FILE",
    "graph.write_graph:EDGES_PER_FILE", "kernels.move_nodes:HUB", "dispatching.delivery.staged_array:CHUNK_NBYTES",
    "array_layouts.parquet:ROW_GROUP_NBYTES", "partitioner.owner_forms:MAX_CHUNK_NBYTES",
    "partitioner.owner_collections:ROWS_PER_CHUNK", "graph.collections:NBYTES_PER_PARTITION",
    "readers.tables.place.node_ids:DENSE_BELOW", "readers.tables.place.node_ids:IDS_PER_EDGE",
    "readers.construction.statistics:MAX_CATEGORIES",
    "readers.tables.describe.text_file:ROWS_LOOKED_AT",
)  # fmt: skip
"""What decides the result or the files of it, with the graph: the tests of methods and formats go beyond these."""
LIMITS = (
    "partitioner.assignment:MAX_PARTS", "partitioner.balance:MAX_TOLERANCE", "partitioner.weigh_nodes:MAX_TOTAL",
    "graph.metadata:MAX_ROWS",
    "graph.read_csv:LONGEST_LINE", "kernels.cut_rows:MAX_ROW_BYTES", "layouts.dgl_graph:MAX_ARRAYS",
    "layouts.dgl_graph:MAX_NAME_NBYTES", "readers.tables.changes.change_graph:MAX_SPLIT",
    "readers.tables.describe.columns:MAX_ID", "ids.fanouts:MOST_NEIGHBOURS", "schema:LONGEST_NAME",
    "storage.json_file:MAX_NBYTES", "storage.lock:MAX_NBYTES", "storage.region:MAX_NBYTES",
    "storage.region:MAX_NPY_HEADER", "engine.resources:SMALLEST_DATABASE_MEMORY",
    "engine.resources:SMALLEST_TASK_MEMORY",
)  # fmt: skip
"""Beyond these is an error, of which the tests of bad input know."""
OTHERS = (
    "partitioner.training.predict_rows:ALWAYS",
    "partitioner.choose:METIS_PER_NODE", "partitioner.choose:TASK_NBYTES",
    "testing:HEAVY", "partitioner.libraries.call:SCALE", "partitioner.multilevel.extend:UNLIMITED",
    "engine.local:BLOCK_NBYTES", "engine.local:KEPT_NBYTES", "errors:LONGEST_VALUE",
    "kernels.hashing:GOLDEN", "kernels.owner_sort:EDGES_PER_LOOK_UP", "kernels.parse_ints:LARGEST_BEFORE_DIGIT",
    "layouts.dgl_graph_file:MAGIC_ARRAY", "layouts.dgl_graph_file:MAGIC_COO", "layouts.dgl_graph_file:MAGIC_CSR",
    "layouts.dgl_graph_file:MAGIC_GRAPH_FILE", "layouts.dgl_graph_file:MAGIC_HETEROGRAPH",
    "layouts.dgl_graph_file:MAGIC_METAGRAPH", "layouts.dgl_graph_file:MAGIC_RELATION",
    "layouts.dgl_graph_file:MAGIC_TENSOR_FILE", "layouts.dgl_graph_file:BITMASK",
    "layouts.dgl_graph_file:METADATA_NBYTES", "storage.local_store:LEAST_RESERVED_NBYTES",
    "engine.clusters.on_cluster:WITNESS_NBYTES", "readers.datasets.igb:WIDTH",
    "partitioner.owner_forms:_SLACK_NBYTES", "partitioner.parmetis_files:EXACT",
    "interop.parmetis.write_text:MAX_ROWS",
    "tools.report.figures:MAX_MATRIX", "tools.report.report_parts:MAX_CLASSES",
    "storage.store_workspace.traffic:STATUS_FAILED", "kernels.sample:SMALLEST_TABLE",
    "readers.database:MEMORY_PER_THREAD", "storage.store_objects:HTTP_CONFLICT",
    "storage.upload:MAX_REQUESTS", "storage.upload:SEND_NBYTES", "tools.kinds:LARGEST", "tools.kinds:RELATIONS",
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
