"""Last step of the dispatch: files get their names, the partition config is written last.

A directory without the config is unfinished by definition.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.workspace import (
    EDGE_FEAT,
    EDGE_MAP,
    GRAPH,
    NODE_FEAT,
    NODE_MAP,
    ORIG_EIDS,
    ORIG_NIDS,
    SPLIT_NIDS,
    part_file,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.layouts.dgl_config import PartitionConfig, PartPaths, config_bytes, write_config
from daskgraphpart.layouts.manifest import SUFFIX, write_manifest
from daskgraphpart.storage.atomic import publish_once
from daskgraphpart.storage.checksums import FileChecksum, hash_bytes, hash_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.quality import Quality
    from daskgraphpart.schema import RowType
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came out.

    Parameters
    ----------
    config_path : Path or UPath
        The partition config, which DGL is given; on each machine, if the parts went to several.
    book : PartitionBook
        Ranges of new IDs.
    quality : Quality
        Edge cut, balance, replication.
    hosts : tuple of str, optional
        Machine of each part, if they went to the disks of several.
    part_nbytes : tuple of int, optional
        Bytes of the files of each part, likewise.
    """

    config_path: Location
    book: PartitionBook
    quality: Quality
    hosts: tuple[str, ...] | None = None
    part_nbytes: tuple[int, ...] | None = None


def finish(
    job: Job, book: PartitionBook, quality: Quality, has_splits: bool, id_maps: tuple[str, str] | None
) -> Outcome:
    """Name the files, write the manifest with their checksums, and then the config."""
    names = [GRAPH, NODE_FEAT, EDGE_FEAT, ORIG_NIDS, ORIG_EIDS, *([SPLIT_NIDS] if has_splits else [])]
    for part in range(job.num_parts):
        for name in names:
            publish_once(part_file(job.out, part, name))
    schema = job.graph.schema
    config_path = Path(job.out) / (job.options.config_name or f"{schema.name}.json")
    config = PartitionConfig(
        graph_name=schema.name,
        num_parts=job.num_parts,
        num_nodes=schema.num_nodes,
        num_edges=schema.num_edges,
        # DGL's tools know two names; ours is in the manifest
        part_method="random" if job.assignment.method == "random" else "metis",
        halo_hops=job.options.num_hops,
        book=book,
        parts=tuple(
            PartPaths(*(f"part{part}/{name}" for name in (NODE_FEAT, EDGE_FEAT, GRAPH)))
            for part in range(job.num_parts)
        ),
        id_maps=id_maps,
    )
    files = [f"part{part}/{name}" for part in range(job.num_parts) for name in names]
    files += [] if id_maps is None else [NODE_MAP, EDGE_MAP]
    checksums = {**_checksums(job, files), config_path.name: hash_bytes(config_bytes(config))}
    write_manifest(config_path.with_name(schema.name + SUFFIX), _manifest(job, quality), checksums)
    write_config(config_path, config)
    return Outcome(config_path, book, quality)


def _checksums(job: Job, files: Sequence[str]) -> dict[str, FileChecksum]:
    """Checksums of finished files, which are mostly in the page cache still."""
    paths = [f"{job.out}/{name}" for name in files]
    sizes = [Path(path).stat().st_size for path in paths]
    found = job.runner.run(Pass("hash-files", hash_file, paths, None, sizes, (FileChecksum,)))
    return dict(zip(files, found, strict=True))


def _manifest(job: Job, quality: Quality) -> dict[str, Any]:
    """What DGL's config has no place for: original dtypes, the method's own name, the options, the quality."""
    schema, options = job.graph.schema, job.options
    return {
        "graph_name": schema.name,
        "num_parts": job.num_parts,
        "method": job.assignment.method,
        "num_hops": options.num_hops,
        "graph_formats": sorted(options.graph_formats),
        "out_edges": options.out_edges,
        **({} if options.reshuffle else {"reshuffle": False}),
        "node_data": _data_of(schema.node_types),
        "edge_data": _data_of(schema.edge_types),
        "num_cut_edges": quality.num_cut_edges,
        "num_halo_nodes": list(quality.num_halo_nodes),
    }


def _data_of(types: Sequence[RowType]) -> dict[str, Any]:
    return {
        kind.name: {spec.name: {"dtype": spec.dtype.name, "row_shape": list(spec.row_shape)} for spec in kind.data}
        for kind in types
        if kind.data
    }
