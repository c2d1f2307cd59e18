"""Create the output files of every part under temporary names, once their sizes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.workspace import GRAPH, part_file
from daskgraphpart.layouts.dgl_graph_file import graph_file_layout
from daskgraphpart.layouts.dgl_tensor_file import tensor_file_layout
from daskgraphpart.layouts.file_layout import ArraySpec, create_file, file_regions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.layouts.file_layout import FileLayout
    from daskgraphpart.schema import RowType
    from daskgraphpart.storage.region import Region

INT64 = np.dtype("<i8")


def lay_out_orig_ids(job: Job, file_name: str, types: Sequence[str], counts: np.ndarray) -> list[dict[str, Region]]:
    """Create a file of original IDs in every part.

    Parameters
    ----------
    job : Job
        The job.
    file_name : str
        Name of the file.
    types : sequence of str
        Node types or canonical edge types, the keys.
    counts : int64 array (parts, types)
        Rows that each part owns.

    Returns
    -------
    list of dict of str to Region
        For each part where the IDs of each type go.
    """
    return _lay_out(job, file_name, lambda part: orig_ids_layout(types, counts[part]))


def orig_ids_layout(types: Sequence[str], counts: np.ndarray) -> FileLayout:
    """Layout of one part's file of original IDs, given what it owns of each type."""
    rows = zip(types, counts.tolist(), strict=True)
    return tensor_file_layout([ArraySpec(name, INT64, (count,)) for name, count in rows])


def lay_out_features(job: Job, file_name: str, types: Sequence[RowType], counts: np.ndarray) -> list[dict[str, Region]]:
    """Create a file of features in every part; regions are keyed ``<type>/<feature>``."""
    return _lay_out(job, file_name, lambda part: features_layout(types, counts[part]))


def features_layout(types: Sequence[RowType], counts: np.ndarray) -> FileLayout:
    """Layout of one part's file of features, given what it owns of each type."""
    specs = [
        ArraySpec(f"{kind.name}/{spec.name}", spec.stored_dtype, (count, *spec.row_shape))
        for kind, count in zip(types, counts.tolist(), strict=True)
        for spec in kind.data
    ]
    return tensor_file_layout(specs)


def lay_out_graphs(job: Job, sizes: Sequence[tuple[int, int]]) -> list[dict[str, Region]]:
    """Create the graph file of every part, given its nodes and edges; regions as `graph_file_layout` names them."""
    return _lay_out(job, GRAPH, lambda part: part_graph_layout(job, sizes[part]))


def part_graph_layout(job: Job, size: tuple[int, int]) -> FileLayout:
    """Layout of one part's graph file, given its nodes and edges.

    Types are int32, which is what DGL itself writes for both nodes and edges.
    """
    arrays = []
    for count, inner in zip(size, ("inner_node", "inner_edge"), strict=True):
        specs = [ArraySpec("_ID", INT64, (count,)), ArraySpec(inner, np.dtype(np.uint8), (count,))]
        if job.graph.schema.is_heterogeneous:
            specs.append(ArraySpec("_TYPE", np.dtype("<i4"), (count,)))
        arrays.append(specs)
    return graph_file_layout(*size, job.options.graph_formats, *arrays)


def _lay_out(job: Job, file_name: str, layout: Callable[[int], FileLayout]) -> list[dict[str, Region]]:
    """Create a file in every part, once: what tasks have written stays when the job is continued."""
    paths = [part_file(job.out, part, file_name) for part in range(job.num_parts)]

    def create() -> None:
        for part, path in enumerate(paths):
            create_file(path, layout(part))

    job.runner.step(f"lay-out {file_name}", create)
    return [file_regions(path, layout(part)) for part, path in enumerate(paths)]
