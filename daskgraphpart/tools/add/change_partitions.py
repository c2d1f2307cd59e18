"""Take finished partitions for one run that changes them, here or in a store, and replace their files in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.delivery.export import export
from daskgraphpart.dispatching.delivery.to_store import StoreDestination
from daskgraphpart.dispatching.finish import describe_layout, encode_files, publish_files
from daskgraphpart.dispatching.output_directory import OWN_PREFIX, discard_output, discard_unfinished
from daskgraphpart.errors import LayoutError
from daskgraphpart.graph.companion_files import copy_file
from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.jobs.jobs import OutputDirectory
from daskgraphpart.layouts.known_outputs import ID_MAP
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.paths import Location, is_remote, to_key
from daskgraphpart.tools.reorder.row_files import recorded_maps

if TYPE_CHECKING:
    from daskgraphpart.dispatching.destination import Destination, OutputFile
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.layouts.layout import DispatchedGraph, Layout
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions


def maps_here(parts: StoredPartitions, resources: Resources) -> tuple[Location, Location]:
    """Return what `ids_from` takes, and the directory of ID maps; for partitions in a store, copies in the workspace.

    They stay until the run has ended, because files with other times would be other input.
    """
    config, recorded = parts.config, recorded_maps(parts.config, parts.name, confined=parts.is_confined)
    assert recorded is not None, "some are recorded"
    if not is_remote(config):
        return config, recorded[0]
    if str(recorded[0]) != str(config.parent / ID_MAP):
        what = "the ID maps are not beside these partitions"
        hint = "add features to a local copy of graph and partitions"
        raise LayoutError(what, file=str(config), expected=ID_MAP, found=str(recorded[0]), hint=hint)
    here = StoreDestination(config.parent).local_directory(resources.workspace) / f"{OWN_PREFIX}described"
    make_directory(here / ID_MAP)
    write_bytes(here / METADATA_FILE, b"{}")  # by which `ids_from` knows a graph
    for ntype, checksum in recorded[1].items():
        target = here / ID_MAP / f"{ntype}.parquet"
        if not target.exists() or hash_file(str(target)).digest != checksum:
            copy_file(to_key(recorded[0] / target.name), None, str(target))
    return here, here / ID_MAP


@contextmanager
def taken_partitions(place: Location, resources: Resources) -> Iterator[tuple[OutputDirectory, Destination | None]]:
    """Take the directory of partitions; files for one in a store are made in the workspace."""
    if not is_remote(place):
        here = Path(place).absolute()
        forget = partial(discard_unfinished, here)
        yield OutputDirectory(here, resources.workspace, lambda _: forget(), forget), None
        return
    store = StoreDestination(place)
    out = store.local_directory(resources.workspace)

    def discard() -> None:
        discard_unfinished(out)
        discard_output(out)

    store.check_place(resources.cluster)
    with store.claimed() as (destination, claimed):
        yield OutputDirectory(out, None, lambda _: discard(), discard, "workspace", claimed), destination


def clean_workspace(place: Location, resources: Resources) -> None:
    """Remove what was made in the workspace for partitions in a store, unless the run can resume."""
    if is_remote(place) and resources.workspace is not None:
        store = StoreDestination(place)
        store.clean(store.local_directory(resources.workspace))


def check_links(layouts: Sequence[Layout], place: Location) -> None:
    """Refuse layouts whose files are links: a store has copies, which would not change."""
    if is_remote(place) and any(layout.links() for layout in layouts):
        what, hint = "files of a layout are links, of which a store has copies", "partition again, with the features"
        raise LayoutError(what, file=str(place), hint=hint)


def replace_files(
    job: Job,
    files: Mapping[Layout, list[OutputFile]],
    destination: Destination | None,
    described: Callable[[Layout, Mapping[str, FileChecksum]], DispatchedGraph],
) -> None:
    """Complete the files of all layouts, give them their names or send them, and describe them, the config last."""
    flat = [file for of_layout in files.values() for file in of_layout]
    encode_files(job, flat)
    made = publish_files(job, flat) if destination is None else export(job.out, destination, flat, {}, job.runner)
    layouts, out = [*reversed([*files])], Path(job.out)
    for layout in layouts:
        describe_layout(layout, described(layout, {file.path: made[file.path] for file in files[layout]}))
    if destination is not None:
        names = tuple(name for layout in layouts for name in layout.descriptions(job.graph.schema.name))
        own = destination.of_job(out, names, overwrite=True)
        own.describe(out, {file: made[file.path] for file in flat}, job.runner)
