"""Finish the output: name the files, take their checksums, and let each layout describe its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.lay_out import files_of
from daskgraphpart.engine.plan import Pass
from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
from daskgraphpart.storage.atomic import publish_once
from daskgraphpart.storage.checksums import FileChecksum, hash_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.quality import Quality
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome:
    """What came out.

    Attributes
    ----------
    config_path : Path or UPath
        The partition config, which DGL is given; on each machine, if the parts went to several.
    book : PartitionBook
        Ranges of new IDs.
    quality : Quality
        Edge cut, balance, replication.
    hosts : tuple of str or None
        Machine of each part, if they went to the disks of several.
    part_nbytes : tuple of int or None
        Bytes of the files of each part, likewise.
    """

    config_path: Location
    book: PartitionBook
    quality: Quality
    hosts: tuple[str, ...] | None = None
    part_nbytes: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"<Outcome {self.config_path}: {self.book.num_parts} parts, {self.quality.cut_share:.1%} of edges cut>"


def finish(job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality) -> Outcome:
    """Name the files of all layouts, and describe them; the config that users are told of is that of the first."""
    configs = []
    for layout in job.layouts:
        names = [name for name, _ in files_of(layout, sizes)]
        for name in names:
            publish_once(f"{job.out}/{name}")
        checksums = _checksums(job, names)
        graph = DispatchedGraph(
            out=Path(job.out),
            schema=job.graph.schema,
            book=book,
            quality=quality,
            method=job.assignment.method,
            num_hops=job.options.num_hops,
            out_edges=job.options.out_edges,
            reshuffle=job.options.reshuffle,
            checksums=checksums,
        )
        configs.append(layout.finish(graph))
    return Outcome(configs[0], book, quality)


def _checksums(job: Job, files: Sequence[str]) -> dict[str, FileChecksum]:
    """Checksums of finished files, which are mostly in the page cache still."""
    paths = [f"{job.out}/{name}" for name in files]
    sizes = [Path(path).stat().st_size for path in paths]
    found = job.runner.run(Pass("hash-files", hash_file, paths, None, sizes, (FileChecksum,)))
    return dict(zip(files, found, strict=True))
