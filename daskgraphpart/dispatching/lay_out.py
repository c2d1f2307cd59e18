"""Create the files of all parts under temporary names, once their sizes are known, and tell where each array goes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.targets import Target, file_of_part, unfinished
from daskgraphpart.layouts.file_layout import create_file
from daskgraphpart.layouts.layout import GraphSizes
from daskgraphpart.storage.region import Region
from daskgraphpart.storage.staged_array import StagedArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.layouts.file_layout import FileLayout
    from daskgraphpart.layouts.layout import Layout
    from daskgraphpart.schema import GraphSchema


_FEATURES = ("node_data/", "edge_data/")
_MASK = re.compile(r"(train|val|valid|validation|test)_?mask")


def mask_keys(schema: GraphSchema) -> list[str]:
    """Masks as ``<ntype>/<name>``: scalar bool, uint8 or int8 features of nodes named like ``train_mask``."""
    return [
        f"{node_type.name}/{spec.name}"
        for node_type in schema.node_types
        for spec in node_type.data
        if _MASK.match(spec.name) and spec.row_shape == () and spec.dtype.name in ("bool", "uint8", "int8")
    ]


def wanted_arrays(layouts: Sequence[Layout], schema: GraphSchema) -> frozenset[str]:
    """Names of the arrays that some layout has room for."""
    nothing = np.zeros(1, np.int64)
    sizes = GraphSizes(
        schema,
        np.zeros((1, len(schema.ntypes)), np.int64),
        np.zeros((1, len(schema.etypes)), np.int64),
        nothing,
        nothing,
        dict.fromkeys(mask_keys(schema), nothing),
    )
    files = [
        file
        for layout in layouts
        for of in (layout.part_files(sizes, 0), layout.graph_files(schema))
        for file in of.values()
    ]
    return frozenset(name for file in files for name in file.regions)


@dataclass(frozen=True, slots=True, eq=False)
class OutputFile:
    """A file: path below the output, part (-1: of the whole graph), layout, whether it is written front to back."""

    name: str
    part: int
    layout: FileLayout
    is_streamed: bool


def lay_out(job: Job, sizes: GraphSizes) -> tuple[dict[str, tuple[Target, ...]], dict[str, StagedArray]]:
    """Create all files once, and the arrays of what is streamed; what tasks have written stays in a continued job."""
    targets: dict[str, tuple[Target, ...]] = {}
    staged: dict[str, StagedArray] = {}
    for layout in job.layouts:
        for target, array, is_streamed in _targets(job, layout, sizes):
            if not is_streamed:
                targets[array] = (*targets.get(array, ()), target)
            elif array not in staged and target.row_nbytes:
                path, limit = job.work.staged(len(staged)), job.sizes.row_block_bytes
                staged[array] = StagedArray.of(path, target.dtype, target.row_shape, target.num_rows, limit)

    def create() -> None:
        for layout in job.layouts:
            for file in files_of(job, layout, sizes):
                if not file.is_streamed:
                    create_file(f"{job.out}/{file.name}", file.layout)
        for name, array in staged.items():
            array.create(name)

    job.runner.step("lay-out", create)
    return targets, staged


def files_of(job: Job, layout: Layout, sizes: GraphSizes) -> Iterator[OutputFile]:
    """All files of a layout, part by part."""
    for part in range(sizes.num_parts):
        for name, file in layout.part_files(sizes, part).items():
            yield OutputFile(file_of_part(name, part), part, file, _is_streamed(job, file))
    for name, file in layout.graph_files(sizes.schema).items():
        yield OutputFile(name, -1, file, is_streamed=False)


def _is_streamed(job: Job, file: FileLayout) -> bool:
    """Whether a file holds staged features and nothing else, so that it need not be made before it is exported."""
    return job.is_staged and bool(file.regions) and all(name.startswith(_FEATURES) for name in file.regions)


def graph_regions(job: Job) -> dict[str, tuple[Region, ...]]:
    """Where the arrays of the whole graph go, by name."""
    regions: dict[str, tuple[Region, ...]] = {}
    for layout in job.layouts:
        for name, file in layout.graph_files(job.graph.schema).items():
            for array, where in file.regions.items():
                regions[array] = (*regions.get(array, ()), Region(unfinished(job.out, name), *where))
    return regions


def _targets(job: Job, layout: Layout, sizes: GraphSizes) -> Iterator[tuple[Target, str, bool]]:
    found: dict[tuple[str, str], Target] = {}
    streamed: dict[str, bool] = {}
    for part in range(sizes.num_parts):
        for name, file in layout.part_files(sizes, part).items():
            streamed[name] = _is_streamed(job, file)
            for array, (offset, dtype, shape) in file.regions.items():
                if (name, array) not in found:
                    offsets, num_rows = np.zeros((2, sizes.num_parts), np.int64)
                    found[name, array] = Target(job.out, name, offsets, num_rows, dtype, shape[1:])
                target = found[name, array]
                target.offsets[part], target.num_rows[part] = offset, shape[0]
    for (name, array), target in found.items():
        yield target, array, streamed[name]
