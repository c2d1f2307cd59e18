"""Read and check an assignment's directory, in any form of partitioner.py, into binary owner files."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import AssignmentError, InputFileNotFoundError
from daskgraphpart.partitioner.assignment import (
    BINARY_FORMS,
    MAX_PARTS,
    META_FILE,
    OURS_FILE,
    TRAINERS,
    Owners,
    crc_of,
    create_owner_files,
)
from daskgraphpart.partitioner.owner_forms import TEXT, find_forms, read_batches
from daskgraphpart.storage.json_file import convert_json, read_json_object
from daskgraphpart.storage.region import Region, open_npy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.schema import GraphSchema

_HINT_EMPTY_PARTS = (
    "DGL's parmetis_postprocess.py counts the parts that have nodes; "
    f"if some have none, correct num_parts in {META_FILE}"
)


class _Meta(msgspec.Struct):
    """`partition_meta.json`, as in DGL."""

    num_parts: Annotated[int, msgspec.Meta(ge=1, le=MAX_PARTS)]
    algo_name: str = "file"


class _Ours(msgspec.Struct):
    """`assignment.json`: the method, the CRC-32 of text and owners by node type, and training."""

    method: str | None = None
    text_crc32: dict[str, int] = {}
    owners_crc32: dict[str, int] = {}
    training: dict[str, Any] = {}


ContentT = TypeVar("ContentT")
METIS_NAME = re.compile(r"\.part\.[1-9]\d{0,4}$")


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """Owners of one node type: file, form, CRC-32 of text and owners if both exist, and trainers."""

    ntype: str
    file: Path
    form: str
    crcs: tuple[int, int] | None
    trainers: Region | None


@dataclass(frozen=True, slots=True)
class ReadConfig:
    """Output of owners."""

    owners: Mapping[str, Region]
    num_parts: int
    hint: str | None  # for owners out of range
    is_old: bool  # whether some nodes may have no owner


def read_assignment(
    directory: str | os.PathLike[str],
    schema: GraphSchema,
    workspace: Path,
    runner: Runner,
    num_parts: int | None = None,
) -> Owners:
    """Read and check every node's owner into binary files in a workspace.

    See partitioner.py for the files of `directory`. `num_parts` must agree with `partition_meta.json`, or replace it.
    """
    return read_owner_files(Path(directory), schema, workspace, runner, num_parts)[0]


def read_owner_files(
    directory: Path,
    schema: GraphSchema,
    workspace: Path,
    runner: Runner,
    num_parts: int | None,
    *,
    old_types: Sequence[str] = (),
) -> tuple[Owners, dict[str, int]]:
    """Read and check owners; return their number, too. Old ones are of some types, and may be fewer than the nodes."""
    meta, ours, parts = read_meta(directory, num_parts)
    method = ours.method or (meta.algo_name if meta is not None else "file")
    trainers = {} if old_types else _open_trainers(directory / TRAINERS, schema)
    found_files = [choose_form(directory, ntype, ours, trainers.get(ntype)) for ntype in old_types or schema.ntypes]
    owners = create_owner_files(workspace, schema, parts, runner)
    units = [
        Unit(of_type, of_type.file.stat().st_size if of_type.file.is_file() else owners[of_type.ntype].nbytes)
        for of_type in found_files
    ]
    hint_of_range = _HINT_EMPTY_PARTS if method == "metis" and not ours.text_crc32 else None
    config = ReadConfig(owners, parts, hint_of_range, bool(old_types))
    found_owners = runner.run(Pass("read-assignment", read_owners, units, config))
    if trainers:
        _check_trainers([borders for borders, _ in found_owners], parts, str(directory / TRAINERS))
    counts = {of_type.ntype: count for of_type, (_, count) in zip(found_files, found_owners, strict=True)}
    return Owners(parts, method, owners, trainers=trainers, training=ours.training), counts


def read_meta(directory: Path, num_parts: int | None) -> tuple[_Meta | None, _Ours, int]:
    """Read what a directory of owners says about itself, and the number of parts."""
    if not directory.is_dir() and not _is_of_metis(directory):
        hint = "give the output of assign"
        raise InputFileNotFoundError("no such directory of owners", file=str(directory), hint=hint)
    meta, ours = _read_meta_file(directory), _read_json(directory / OURS_FILE, _Ours) or _Ours()
    if meta is not None and num_parts not in (None, meta.num_parts):
        what, file = "the assignment has a different number of parts", directory
        file, hint = file if _is_of_metis(file) else file / META_FILE, f"give --num-parts {meta.num_parts}"
        raise AssignmentError(what, file=file, expected=num_parts, found=meta.num_parts, hint=hint)
    parts = num_parts if meta is None else meta.num_parts
    if parts is None:
        hint = "give --num-parts, or write that file"
        raise AssignmentError(f"no {META_FILE} has the number of parts", file=str(directory), hint=hint)
    return meta, ours, parts


def read_num_parts(directory: Path) -> int | None:
    """Read the number of parts of a directory of owners, if stated."""
    meta = _read_meta_file(directory)
    return None if meta is None else meta.num_parts


def _is_of_metis(path: Path) -> bool:
    """Whether a file has the owners of one node type as METIS writes and names them: ``GRAPH.part.K``."""
    return path.is_file() and METIS_NAME.search(path.name) is not None


def _read_meta_file(path: Path) -> _Meta | None:
    """Read what tells the number of parts: a file of a directory, or the name of METIS' file."""
    if _is_of_metis(path):
        return _Meta(int(path.suffix[1:]))
    return _read_json(path / META_FILE, _Meta)


def _read_json(path: Path, form: type[ContentT]) -> ContentT | None:
    if not path.is_file():
        return None
    content = read_json_object(path, AssignmentError)
    return convert_json(content, form, AssignmentError, "invalid description of an assignment", file=str(path))


def has_owners(path: Path, schema: GraphSchema) -> bool:
    """Whether a path is a directory with owners; DGL's `parmetis_postprocess.py` puts them beside other files."""
    return _is_of_metis(path) or (
        path.is_dir() and ((path / META_FILE).is_file() or any(find_forms(path, ntype) for ntype in schema.ntypes))
    )


def types_with_owners(directory: Path, ntypes: Sequence[str]) -> list[str]:
    """Return those of some node types that owners were made for: all, unless the directory says of which they are."""
    ours = _read_json(directory / OURS_FILE, _Ours) or _Ours()
    stated = {*ours.owners_crc32, *ours.text_crc32}
    return [ntype for ntype in ntypes if not stated or ntype in stated]


def choose_form(directory: Path, ntype: str, ours: _Ours, trainers: Region | None) -> ReadUnit:
    """Find a node type's owner file."""
    if _is_of_metis(directory):
        return ReadUnit(ntype, directory, TEXT, None, None)
    forms, crcs = find_forms(directory, ntype), None
    if not forms:
        expected = " or ".join(f"{ntype}.{form}" for form in (TEXT, *BINARY_FORMS))
        hint = "give the output of assign, or partitions in the layout dgl, graphbolt or graphstorm"
        raise AssignmentError(f"no owners for node type {ntype!r}", file=str(directory), expected=expected, hint=hint)
    if len(forms) == 2 and forms[0] == TEXT and ntype in ours.text_crc32 and ntype in ours.owners_crc32:
        crcs = ours.text_crc32[ntype], ours.owners_crc32[ntype]
    elif len(forms) > 1:
        what, names = f"node type {ntype!r} has owners in several forms", ", ".join(f"{ntype}.{form}" for form in forms)
        raise AssignmentError(what, file=str(directory), found=names, hint="keep one")
    return ReadUnit(ntype, directory / f"{ntype}.{forms[-1]}", forms[-1], crcs, trainers)


def _open_trainers(directory: Path, schema: GraphSchema) -> dict[str, Region]:
    if not directory.is_dir():
        return {}
    files = {ntype: open_npy(directory / f"{ntype}.npy") for ntype in schema.ntypes}
    for node_type in schema.node_types:
        region, shape = files[node_type.name], (node_type.num_nodes,)
        if region.dtype != np.int64 or region.shape != shape:
            raise AssignmentError(
                "trainers do not fit the graph",
                file=region.path,
                expected=f"int64 of shape {shape}",
                found=f"{region.dtype} of shape {region.shape}",
                hint="run assign again",
            )
    return files


def read_owners(unit: ReadUnit, config: ReadConfig) -> tuple[np.ndarray, int]:
    """Read, check and write one type's owners; return the least and greatest trainer of each part, and their number."""
    region, text = config.owners[unit.ntype], unit.file.with_suffix(".txt")
    if unit.crcs is not None and crc_of(text) != unit.crcs[0]:
        hint = f"delete {unit.file.name} and {OURS_FILE} to use the text"
        raise AssignmentError("the text was changed after the binary form was written", file=str(text), hint=hint)
    row = owners_crc = 0
    borders = np.stack([np.full(config.num_parts, border) for border in (2**62, -(2**62))])
    for batch in read_batches(str(unit.file), unit.form, None if config.is_old else region.num_rows):
        bad = np.flatnonzero((batch < 0) | (batch >= config.num_parts))
        if bad.size:
            raise AssignmentError(
                "owner out of range",
                file=str(unit.file),
                place=f"row {row + bad[0]:,}",
                expected=f"a part in [0, {config.num_parts})",
                found=batch[bad[0]],
                hint=config.hint,
            )
        if row + batch.size <= region.num_rows:
            region.write(batch, row)
            if unit.trainers is not None:
                trainers = unit.trainers.read(row, row + batch.size)
                np.minimum.at(borders[0], batch, trainers)
                np.maximum.at(borders[1], batch, trainers)
        owners_crc = zlib.crc32(batch.astype("<i8", copy=False).tobytes(), owners_crc)
        row += batch.size
    if unit.crcs is not None and owners_crc != unit.crcs[1]:
        what = "the binary file does not match the text beside it"
        hint = f"delete it and {OURS_FILE} to use the text, or the text and {OURS_FILE} to use it"
        raise AssignmentError(what, file=str(unit.file), hint=hint)
    if row > region.num_rows or (row < region.num_rows and not config.is_old):
        what = f"wrong number of owners for node type {unit.ntype!r}"
        expected = f"{'at most ' * config.is_old}{region.num_rows:,}, one per node"
        raise AssignmentError(what, file=str(unit.file), expected=expected, found=f"{row:,}")
    return borders, row


def _check_trainers(borders: Sequence[np.ndarray], num_parts: int, directory: str) -> None:
    """Check that part p has trainers p * n to p * n + n - 1, for one n."""
    least, most = np.min([low for low, _ in borders], axis=0), np.max([high for _, high in borders], axis=0)
    parts = np.flatnonzero(least <= most)
    num_trainers = int((most[parts] // (parts + 1)).max(initial=0)) + 1  # fewer could not reach the greatest
    is_impossible = num_trainers * num_parts > MAX_PARTS
    bad = parts[(least[parts] < parts * num_trainers) | is_impossible]
    if bad.size:
        raise AssignmentError(
            "trainers do not fit the owners",
            file=directory,
            place=f"part {bad[0]}",
            expected="its own trainers, the same number for each part",
            found=f"{least[bad[0]]:,} to {most[bad[0]]:,}",
            hint="run assign again",
        )
