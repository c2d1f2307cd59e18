"""Write an assignment: the text for DGL's tools, and a binary form beside it."""

from __future__ import annotations

import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import OutputExistsError
from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.ids.hash_id_maps import describe_id_maps
from daskgraphpart.layouts.known_outputs import ID_MAP
from daskgraphpart.partitioner.assignment import META_FILE, OURS_FILE, ROWS_PER_BATCH, TRAINERS
from daskgraphpart.partitioner.owner_forms import binary_form, copy_npy
from daskgraphpart.storage.atomic import publish, temporary_path, whole_file, write_json
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import (
    delete_files,
    delete_tree,
    directory_on_disk,
    is_file,
    local_copy,
    make_directory,
)
from daskgraphpart.storage.lock import locked_output
from daskgraphpart.storage.text import number_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.ids.recorded_id_maps import IdMaps
    from daskgraphpart.partitioner.assignment import Owners
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region

DGL_META_VERSION = "1.0.0"  # DGL 1.1 to 2.5 accepts no other (tools/partition_algo/base.py)


def keep_assignment(
    assignment: Owners, out: Path, resources: Resources, *, form: str, overwrite: bool, progress: Progress | None
) -> Path:
    """Write an assignment as `assign` does, and move ID maps out of a temporary directory."""
    with environment_faults(), locked_output(out), open_runner(resources, progress) as runner:
        if (out / META_FILE).exists() and not overwrite:
            hint = "add --overwrite, or choose another directory"
            raise OutputExistsError("the directory already has an assignment", file=out, hint=hint)
        described = describe_id_maps(_kept_id_maps(assignment.id_maps, out), out, runner)
        write_assignment(assignment, out, runner, form=form, seed=assignment.seed, id_maps=described)
    return out


def _kept_id_maps(id_maps: Mapping[str, Location], out: Path) -> dict[str, Location]:
    """Copy ID maps that were made from tables: their directory goes when Python exits."""
    kept = dict(id_maps)
    for ntype, path in id_maps.items():
        if not is_file(path.parent.parent / METADATA_FILE):
            kept[ntype] = copy = out / ID_MAP / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(copy) as temporary:
                shutil.copyfile(str(path), temporary)
    return kept


@dataclass(frozen=True, slots=True)
class WriteConfig:
    """Output of owners, its binary form, and how to write that."""

    owners: Mapping[str, Region]
    directory: str
    form: str
    write: Callable[[Region, str], None]


def write_assignment(
    assignment: Owners,
    directory: str | Path,
    runner: Runner,
    *,
    form: str = "npy",
    seed: int | None = None,
    id_maps: IdMaps | None = None,
) -> None:
    """Write `<ntype>.txt` and `partition_meta.json` for DGL, with a binary form beside the text."""
    write = binary_form(form).write
    directory = Path(directory)
    make_directory(directory)
    # until all is written, nothing looks complete
    runner.step("discard-old", lambda: delete_files([str(directory / name) for name in (META_FILE, OURS_FILE)]))
    ntypes = list(assignment.files)
    config = WriteConfig(assignment.files, str(directory), form, write)
    units = [Unit(ntype, region.nbytes) for ntype, region in assignment.files.items()]
    crcs = runner.run(Pass("write-assignment", write_owners, units, config))
    ours = {
        "format": "daskgraphpart assignment",
        "version": 1,
        "num_parts": assignment.num_parts,
        "method": assignment.method,
        "seed": seed,
        "text_crc32": {ntype: text for ntype, (text, _) in zip(ntypes, crcs, strict=True)},
        "owners_crc32": {ntype: owners for ntype, (_, owners) in zip(ntypes, crcs, strict=True)},
        **({} if id_maps is None else id_maps.content),
        **({"training": dict(assignment.training)} if assignment.training else {}),
    }
    write_json(directory / OURS_FILE, ours)
    runner.step("copy-trainers", lambda: _copy_trainers(assignment.trainers, directory / TRAINERS))
    # DGL's readers accept only these two names
    algorithm = "random" if assignment.method == "random" else "metis"
    meta = {"version": DGL_META_VERSION, "num_parts": assignment.num_parts, "algo_name": algorithm}
    write_json(directory / META_FILE, meta)


def _copy_trainers(trainers: Mapping[str, Region], directory: Path) -> None:
    delete_tree(directory)
    for ntype, region in trainers.items():
        make_directory(directory)
        with whole_file(directory / f"{ntype}.npy") as temporary:
            copy_npy(region.moved(local_copy(region.path)), temporary)


def write_owners(ntype: str, config: WriteConfig) -> tuple[int, int]:
    """Write one node type's owners; return the CRC-32 of the text and of the owners as 64-bit integers."""
    region, directory = config.owners[ntype], Path(config.directory)
    region = region.moved(local_copy(region.path))
    text_crc = owners_crc = 0
    with whole_file(directory / f"{ntype}.txt") as temporary, open(temporary, "wb") as file:
        for _, owners in region.pieces(ROWS_PER_BATCH):
            lines = number_lines(owners)
            file.write(lines)
            text_crc = zlib.crc32(lines, text_crc)
            owners_crc = zlib.crc32(owners.astype("<i8").tobytes(), owners_crc)
    binary = directory / f"{ntype}.{config.form}"
    if binary_form(config.form).is_directory:
        _write_directory(region, binary, config.write)
    else:
        with whole_file(binary) as temporary:
            config.write(region, temporary)
    return text_crc, owners_crc


def _write_directory(region: Region, target: Path, write: Callable[[Region, str], None]) -> None:
    """Write a form that is a directory, on a disk or in a store."""
    with directory_on_disk(target.parent) as here:
        made = Path(temporary_path(here / target.name))
        write(region, str(made))
        delete_tree(target)
        if here == target.parent:
            publish(target)
            return
        for file in filter(Path.is_file, made.rglob("*")):
            with whole_file(target / file.relative_to(made)) as temporary:
                shutil.move(file, temporary)
