"""Create the files of all parts under temporary names, once their sizes are known, and tell where each array goes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.targets import Target, file_of_part, unfinished
from daskgraphpart.layouts.file_layout import create_file
from daskgraphpart.layouts.layout import GraphSizes
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.layouts.file_layout import FileLayout
    from daskgraphpart.layouts.layout import Layout
    from daskgraphpart.schema import GraphSchema


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


def lay_out(job: Job, sizes: GraphSizes) -> dict[str, tuple[Target, ...]]:
    """Create all files once: what tasks have written stays when the job is continued."""

    def create() -> None:
        for layout in job.layouts:
            for name, file in files_of(layout, sizes):
                create_file(f"{job.out}/{name}", file)

    job.runner.step("lay-out", create)
    targets: dict[str, tuple[Target, ...]] = {}
    for layout in job.layouts:
        for target, array in _targets(job.out, layout, sizes):
            targets[array] = (*targets.get(array, ()), target)
    return targets


def files_of(layout: Layout, sizes: GraphSizes) -> Iterator[tuple[str, FileLayout]]:
    """Paths and layouts of all files of a layout, part by part."""
    for part in range(sizes.num_parts):
        for name, file in layout.part_files(sizes, part).items():
            yield file_of_part(name, part), file
    yield from layout.graph_files(sizes.schema).items()


def graph_regions(job: Job) -> dict[str, tuple[Region, ...]]:
    """Where the arrays of the whole graph go, by name."""
    regions: dict[str, tuple[Region, ...]] = {}
    for layout in job.layouts:
        for name, file in layout.graph_files(job.graph.schema).items():
            for array, where in file.regions.items():
                regions[array] = (*regions.get(array, ()), Region(unfinished(job.out, name), *where))
    return regions


def _targets(out: str, layout: Layout, sizes: GraphSizes) -> Iterator[tuple[Target, str]]:
    found: dict[tuple[str, str], Target] = {}
    for part in range(sizes.num_parts):
        for name, file in layout.part_files(sizes, part).items():
            for array, (offset, dtype, shape) in file.regions.items():
                if (name, array) not in found:
                    offsets, num_rows = np.zeros((2, sizes.num_parts), np.int64)
                    found[name, array] = Target(out, name, offsets, num_rows, dtype, shape[1:])
                target = found[name, array]
                target.offsets[part], target.num_rows[part] = offset, shape[0]
    for (_, array), target in found.items():
        yield target, array
