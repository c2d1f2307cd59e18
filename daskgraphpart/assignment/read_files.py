"""Read an assignment from a directory: any of the forms of directory.py, checked, into binary owner files."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from daskgraphpart.assignment.assignment import MOST_PARTS, Assignment, create_owner_files, owner_regions
from daskgraphpart.assignment.directory import BINARY_FORMS, META_FILE, OURS_FILE, TRAINERS, crc_of
from daskgraphpart.assignment.read_batches import read_batches
from daskgraphpart.assignment.read_parmetis import read_parmetis_parts
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError, InputFileNotFoundError
from daskgraphpart.sources.parmetis_files import find_parts, holds_parts
from daskgraphpart.storage.json_file import convert_json, read_json_object
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

_HINT_EMPTY_PARTS = (
    "DGL's parmetis_postprocess.py counts the parts that have nodes; "
    f"if some have none, correct num_parts in {META_FILE}"
)


class _Meta(msgspec.Struct):
    """`partition_meta.json`, as DGL has it."""

    num_parts: Annotated[int, msgspec.Meta(ge=1)]
    algo_name: str = "file"


class _Ours(msgspec.Struct):
    """`assignment.json`: what made the owners, and for each node type the CRC-32 of the text and of the owners."""

    method: str | None = None
    text_crc32: dict[str, int] = {}
    owners_crc32: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """Owners of one node type: file, form, CRC-32 of text and owners if there are both, and trainers."""

    ntype: str
    file: str
    form: str
    crcs: tuple[int, int] | None
    trainers: Region | None


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """Where the owners go."""

    owners: Mapping[str, Region]
    num_parts: int
    counted_by_dgl: bool


def read_assignment(
    directory: str | os.PathLike[str],
    schema: GraphSchema,
    workspace: Path,
    runner: Runner,
    num_parts: int | None = None,
) -> Assignment:
    """Read and check the owners of every node, into binary files in a workspace.

    `directory` is as described in directory.py, or output of ParMETIS; `num_parts` is needed when it has no
    `partition_meta.json`, else it must agree.
    """
    directory = Path(directory)
    if _is_of_parmetis(directory, schema):
        found = find_parts(directory, schema.name, num_parts)
        # its passes work in a directory of their own that is gone at the end: all or nothing
        runner.step("read-parmetis", lambda: read_parmetis_parts(found, schema, workspace, runner).num_parts)
        return Assignment(found.num_parts, "parmetis", owner_regions(workspace, schema, found.num_parts))
    if not directory.is_dir():
        raise InputFileNotFoundError(
            "no such directory of owners", file=str(directory), hint="give the output of assign"
        )
    meta, ours = _read_meta(directory), _read_ours(directory)
    if meta is not None and num_parts not in (None, meta.num_parts):
        raise AssignmentError(
            "the assignment is for another number of parts",
            file=str(directory / META_FILE),
            expected=num_parts,
            found=meta.num_parts,
        )
    parts = meta.num_parts if meta is not None else num_parts
    if parts is None:
        raise AssignmentError(
            f"no {META_FILE} has the number of parts",
            file=str(directory),
            hint="give --num-parts, or write that file",
        )
    method = ours.method or (meta.algo_name if meta is not None else "file")
    trainers = _open_trainers(directory / TRAINERS, schema)
    units = [_choose_form(directory, ntype, ours, trainers.get(ntype)) for ntype in schema.ntypes]
    owners = create_owner_files(workspace, schema, parts, runner)
    sizes = [Path(u.file).stat().st_size if Path(u.file).is_file() else owners[u.ntype].nbytes for u in units]
    config = ReadConfig(owners, parts, counted_by_dgl=method == "metis" and not ours.text_crc32)
    borders = runner.run(Pass("read-assignment", read_owners, units, config, sizes))
    if trainers:
        _check_trainers(borders, parts, str(directory / TRAINERS))
    return Assignment(parts, method, owners, trainers=trainers)


def read_num_parts(directory: Path) -> int | None:
    """Read the number of parts that a directory of owners says it has, if it does."""
    meta = _read_meta(directory)
    return None if meta is None else meta.num_parts


def _read_meta(directory: Path) -> _Meta | None:
    path = directory / META_FILE
    if not path.is_file():
        return None
    content = read_json_object(path, AssignmentError)
    return convert_json(content, _Meta, AssignmentError, "not what an assignment says of itself", file=str(path))


def _read_ours(directory: Path) -> _Ours:
    path = directory / OURS_FILE
    if not path.is_file():
        return _Ours()
    content = read_json_object(path, AssignmentError)
    return convert_json(content, _Ours, AssignmentError, "not what an assignment says of itself", file=str(path))


def _is_of_parmetis(path: Path, schema: GraphSchema) -> bool:
    """Whether there is output of ParMETIS, and no owners, which DGL's `parmetis_postprocess.py` may put beside it."""
    if path.is_dir() and ((path / META_FILE).is_file() or any(_forms(path, ntype) for ntype in schema.ntypes)):
        return False
    return holds_parts(path, schema.name)


def _forms(directory: Path, ntype: str) -> list[str]:
    paths = {form: directory / f"{ntype}.{form}" for form in ("txt", *BINARY_FORMS)}
    return [form for form, path in paths.items() if (path.is_dir() if form == "zarr" else path.is_file())]


def _choose_form(directory: Path, ntype: str, ours: _Ours, trainers: Region | None) -> ReadUnit:
    forms = _forms(directory, ntype)
    if not forms:
        raise AssignmentError(
            f"no owners for node type {ntype!r}",
            file=str(directory),
            expected=" or ".join(f"{ntype}.{form}" for form in ("txt", *BINARY_FORMS)),
        )
    crcs = None
    if len(forms) == 2 and forms[0] == "txt" and ntype in ours.text_crc32 and ntype in ours.owners_crc32:
        crcs = ours.text_crc32[ntype], ours.owners_crc32[ntype]
    elif len(forms) > 1:
        raise AssignmentError(
            f"node type {ntype!r} has owners in several forms",
            file=str(directory),
            found=", ".join(f"{ntype}.{form}" for form in forms),
            hint="keep one",
        )
    return ReadUnit(ntype, str(directory / f"{ntype}.{forms[-1]}"), forms[-1], crcs, trainers)


def _open_trainers(directory: Path, schema: GraphSchema) -> dict[str, Region]:
    """Open the files of the smaller parts that trainers have, if there are any."""
    if not directory.is_dir():
        return {}
    files = {node_type.name: open_npy(directory / f"{node_type.name}.npy") for node_type in schema.node_types}
    for node_type in schema.node_types:
        region = files[node_type.name]
        if region.dtype != np.int64 or region.shape != (node_type.num_nodes,):
            raise AssignmentError(
                "trainers do not fit the graph",
                file=region.path,
                expected=f"int64 of shape ({node_type.num_nodes},)",
                found=f"{region.dtype} of shape {region.shape}",
                hint="run assign again",
            )
    return files


def read_owners(unit: ReadUnit, config: ReadConfig) -> np.ndarray:
    """Read, check and write the owners of one node type; return the least and greatest trainer of each part."""
    region, file = config.owners[unit.ntype], Path(unit.file)
    if unit.crcs is not None and crc_of(file.with_suffix(".txt")) != unit.crcs[0]:
        raise AssignmentError(
            "the text was changed after the binary form was written",
            file=str(file.with_suffix(".txt")),
            hint=f"delete {file.name} and {OURS_FILE} to use the text",
        )
    row = owners_crc = 0
    borders = np.stack([np.full(config.num_parts, border) for border in (2**62, -(2**62))])
    for batch in read_batches(unit.file, unit.form, region.num_rows):
        bad = np.flatnonzero((batch < 0) | (batch >= config.num_parts))
        if bad.size:
            raise AssignmentError(
                "owner out of range",
                file=unit.file,
                place=f"row {row + bad[0]:,}",
                expected=f"a part in [0, {config.num_parts})",
                found=batch[bad[0]],
                hint=_HINT_EMPTY_PARTS if config.counted_by_dgl else None,
            )
        if row + batch.size <= region.num_rows:
            region.write(batch.astype(region.dtype), row)
            if unit.trainers is not None:
                trainers = unit.trainers.read(row, row + batch.size)
                np.minimum.at(borders[0], batch, trainers)
                np.maximum.at(borders[1], batch, trainers)
        owners_crc = zlib.crc32(batch.astype("<i8", copy=False).tobytes(), owners_crc)
        row += batch.size
    if unit.crcs is not None and owners_crc != unit.crcs[1]:
        raise AssignmentError(
            "the binary form is not what was written with the text",
            file=unit.file,
            hint=f"delete it and {OURS_FILE} to use the text, or the text and {OURS_FILE} to use it",
        )
    if row != region.num_rows:
        raise AssignmentError(
            f"wrong number of owners for node type {unit.ntype!r}",
            file=unit.file,
            expected=f"{region.num_rows:,}, one per node",
            found=f"{row:,}",
        )
    return borders


def _check_trainers(borders: Sequence[np.ndarray], num_parts: int, directory: str) -> None:
    """Refuse trainers unless those of part p are p * n to p * n + n - 1, for some number n of trainers of a part."""
    least, most = (
        pick([of_type[i] for of_type in borders]) for i, pick in enumerate((np.minimum.reduce, np.maximum.reduce))
    )
    parts = np.flatnonzero(least <= most)
    num_trainers = int((most[parts] // (parts + 1)).max(initial=0)) + 1  # fewer would not reach the greatest
    bad = parts[(least[parts] < parts * num_trainers)]
    if num_trainers * num_parts > MOST_PARTS and parts.size:
        bad = parts[-1:] if not bad.size else bad
    if bad.size:
        part = int(bad[0])
        raise AssignmentError(
            "trainers do not fit the owners",
            file=directory,
            place=f"part {part}",
            expected="trainers of its own, as many for each part",
            found=f"{least[part]:,} to {most[part]:,}",
            hint="run assign again",
        )
