"""Create the files of all parts under temporary names at full size, and say where each array goes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.dispatching.destination import OutputFile, file_of_part
from daskgraphpart.kernels.owner_sort import group_starts
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, GraphSizes, Layout, create_file, raw_file_layout
from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.dispatching.delivery.staged_array import StagedArray
    from daskgraphpart.dispatching.job import Job

_FEATURES = ("node_data/", "edge_data/")


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """Place of an array in a file of every part: `offsets` (bytes) and `num_rows` are int64 (parts,)."""

    out: str  # output, or a directory for files to encode
    name: str  # path of the file below it, with ``{part}``
    offsets: np.ndarray
    num_rows: np.ndarray
    dtype: np.dtype
    row_shape: tuple[int, ...]

    def region(self, part: int) -> Region:
        """Region of a part in its unfinished file."""
        shape = (int(self.num_rows[part]), *self.row_shape)
        path = temporary_path(f"{self.out}/{file_of_part(self.name, part)}")
        return Region(path, int(self.offsets[part]), self.dtype, shape)

    def write(self, part: int, start: int, rows: np.ndarray) -> None:
        """Write rows of a part, from its row `start` on."""
        self.region(part).write(rows, start)


Targets: TypeAlias = Mapping[str, tuple[Target, ...]]
"""By name of the array, as `layouts.layout` lists them."""


RowTarget: TypeAlias = "Target | StagedArray"
"""Where rows of all parts go."""


def write_rows(regions: tuple[Region, ...], rows: np.ndarray, start: int) -> None:
    """Write rows of an array to all its regions, from row `start` on."""
    for region in regions:
        region.write(rows, start)


def write_groups(rows: np.ndarray, counts: np.ndarray, targets: Sequence[RowTarget], before: np.ndarray) -> None:
    """Write rows grouped by part, `counts` of each, after the `before` rows of each (int64 (parts,))."""
    if rows.size == 0:
        return
    starts = group_starts(counts)
    for target in targets:
        stored = np.ascontiguousarray(rows, target.dtype)
        for part in np.flatnonzero(counts).tolist():
            target.write(part, int(before[part]), stored[starts[part] : starts[part + 1]])


def wanted_arrays(job: Job) -> frozenset[str]:
    """Names of arrays that some layout wants, and that must be gathered before sizes are known."""
    return frozenset(name for layout in job.layouts for name in layout.wants(job.graph.schema))


def array_directory(job: Job, file: FileLayout) -> str:
    """Directory for a file's arrays: the output, or the workspace if the file is encoded."""
    return job.out if file.encode is None else job.work.encoded


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """All files of each layout, and the places of arrays by name."""

    files: Mapping[Layout, list[OutputFile]]

    targets: dict[str, tuple[Target, ...]]  # in every part's files
    whole: dict[str, tuple[Region, ...]]  # in files of the whole graph
    staged: dict[str, StagedArray]  # in the workspace, for streamed files

    @property
    def all_files(self) -> list[OutputFile]:
        """The files of all layouts."""
        return [file for of_layout in self.files.values() for file in of_layout]

    @property
    def rows(self) -> Mapping[str, tuple[RowTarget, ...]]:
        """Places of rows that may be staged."""
        rows: dict[str, tuple[RowTarget, ...]] = {**self.targets}
        for name, array in self.staged.items():
            rows[name] = (*rows.get(name, ()), array)
        return rows


def lay_out(job: Job, sizes: GraphSizes) -> Places:
    """Create all files and staged arrays once; a resumed job keeps what tasks have written."""
    places = Places(_files_of(job, sizes), {}, {}, {})
    files = places.all_files
    for file in files:
        for array, where in file.layout.regions.items() if file.part is None else ():
            region = Region(temporary_path(f"{array_directory(job, file.layout)}/{file.name}"), *where)
            places.whole[array] = (*places.whole.get(array, ()), region)
    for (array, is_streamed), target in _targets(job, files):
        if not is_streamed:
            places.targets[array] = (*places.targets.get(array, ()), target)
        elif array not in places.staged and 0 not in target.row_shape:
            from daskgraphpart.dispatching.delivery.staged_array import StagedArray  # for few jobs

            path, limit = f"{job.work.root}/staged/{len(places.staged)}.zarr", job.sizes.row_block_bytes
            places.staged[array] = StagedArray.of(path, target.dtype, target.row_shape, target.num_rows, limit)

    def create() -> None:
        made = {
            f"{array_directory(job, file.layout)}/{file.path}": file.layout for file in files if not file.is_streamed
        }
        for directory in dict.fromkeys(map(os.path.dirname, made)):
            make_directory(directory)
        for path, layout in made.items():
            create_file(path, layout)
        for name, array in places.staged.items():
            array.create(name)

    job.runner.step("lay-out", create)
    return places


def _targets(job: Job, files: Sequence[OutputFile]) -> list[tuple[tuple[str, bool], Target]]:
    """Gather the places of arrays in all parts' files, each with its name and whether it is streamed."""
    targets: dict[tuple[str, str, bool], Target] = {}
    for file in files:
        for array, (offset, dtype, shape) in file.layout.regions.items() if file.part is not None else ():
            key = (file.name, array, file.is_streamed)
            if key not in targets:
                offsets, num_rows = np.zeros((2, job.num_parts), np.int64)
                out = array_directory(job, file.layout)
                targets[key] = Target(out, file.name, offsets, num_rows, dtype, shape[1:])
            assert targets[key].dtype == dtype, "an array has one dtype in all parts"
            targets[key].offsets[file.part], targets[key].num_rows[file.part] = offset, shape[0]
    return [(key[1:], target) for key, target in targets.items()]


def _files_of(job: Job, sizes: GraphSizes) -> dict[Layout, list[OutputFile]]:
    """All files of each layout; encoded ones read arrays from files of the same run."""
    files = {layout: list(_files_of_layout(job, layout, sizes)) for layout in job.layouts}
    if all(file.layout.encode is None for of_layout in files.values() for file in of_layout):
        return files
    held = {
        (array, file.part): Region(temporary_path(f"{job.out}/{file.path}"), *where)
        for of_layout in files.values()
        for file in of_layout
        if file.layout.encode is None and not file.is_streamed
        for array, where in file.layout.regions.items()
    }

    def share(file: OutputFile) -> OutputFile:
        if file.layout.encode is None:
            return file
        regions = file.layout.regions
        own = [ArraySpec(array, *where[1:]) for array, where in regions.items() if (array, file.part) not in held]
        shared = {array: held[array, file.part] for array in regions if (array, file.part) in held}
        return replace(file, layout=raw_file_layout(own, file.layout.encode), held=shared)

    return {layout: [share(file) for file in of_layout] for layout, of_layout in files.items()}


def _files_of_layout(job: Job, layout: Layout, sizes: GraphSizes) -> Iterator[OutputFile]:
    for part in range(sizes.num_parts):
        for name, file in layout.part_files(sizes, part).items():
            # features alone need no file before the export
            yield OutputFile(name, part, file, job.is_staged and is_of_features(file))
    for name, file in layout.graph_files(sizes.schema).items():
        yield OutputFile(name, None, file, is_streamed=False)


def is_of_features(file: FileLayout) -> bool:
    """Whether a file holds features and nothing else, as they are."""
    return bool(file.regions) and all(name.startswith(_FEATURES) for name in file.regions) and file.encode is None
