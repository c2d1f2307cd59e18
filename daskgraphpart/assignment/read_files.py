"""Read an assignment from a directory: any of the forms of directory.py, checked, into binary owner files."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files, owner_regions
from daskgraphpart.assignment.directory import BINARY_FORMS, META_FILE, OURS_FILE, TRAINERS, crc_of
from daskgraphpart.assignment.owner_readers import OWNER_READERS
from daskgraphpart.assignment.parmetis.files import find_parts, holds_parts
from daskgraphpart.assignment.parmetis.read import read_parmetis_parts
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


_HINT_EMPTY_PARTS = (
    "DGL's parmetis_postprocess.py counts the parts that have nodes; "
    f"if some have none, correct num_parts in {META_FILE}"
)


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """Owners of one node type."""

    ntype: str
    file: str
    form: str
    crcs: tuple[int, int] | None


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
    """Read and check the owners of every node.

    Parameters
    ----------
    directory : path
        Directory as described in directory.py, or output of ParMETIS (parmetis/names.py).
    schema : GraphSchema
        The graph it is for.
    workspace : Path
        Where the owners are kept in binary form.
    runner : Runner
        What does the work.
    num_parts : int, optional
        Needed when the directory has no `partition_meta.json`; else it must agree.

    Returns
    -------
    Assignment

    Raises
    ------
    AssignmentError
        If a type is missing or in two forms, a length is wrong, or an owner is no part.
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
    found_parts, method, crcs = _read_meta(directory)
    if found_parts is not None and num_parts is not None and found_parts != num_parts:
        raise AssignmentError(
            "the assignment is for another number of parts",
            file=str(directory / META_FILE),
            expected=num_parts,
            found=found_parts,
        )
    parts = found_parts or num_parts
    if parts is None:
        raise AssignmentError(
            f"no {META_FILE} tells the number of parts",
            file=str(directory),
            hint="give --num-parts, or write that file",
        )
    units = [_choose_form(directory, ntype, crcs) for ntype in schema.ntypes]
    owners = create_owner_files(workspace, schema, parts, runner)
    sizes = [Path(u.file).stat().st_size if Path(u.file).is_file() else owners[u.ntype].nbytes for u in units]
    config = ReadConfig(owners, parts, counted_by_dgl=method == "metis" and not crcs)
    runner.run(Pass("read-assignment", read_owners, units, config, sizes))
    return Assignment(parts, method, owners, trainers=_read_trainers(directory / TRAINERS, schema))


def _read_trainers(directory: Path, schema: GraphSchema) -> dict[str, Region]:
    """Files of the smaller parts that trainers have, if there are any."""
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


def _is_of_parmetis(path: Path, schema: GraphSchema) -> bool:
    """Whether there is output of ParMETIS, and no owners, which DGL's `parmetis_postprocess.py` may put beside it."""
    if path.is_dir() and ((path / META_FILE).is_file() or any(_forms(path, ntype) for ntype in schema.ntypes)):
        return False
    return holds_parts(path, schema.name)


def read_owners(unit: ReadUnit, config: ReadConfig) -> None:
    """Read the owners of one node type, check them and write them in binary form."""
    region = config.owners[unit.ntype]
    if unit.crcs is not None and crc_of(Path(unit.file).with_suffix(".txt")) != unit.crcs[0]:
        raise AssignmentError(
            "the text was changed after the binary form was written",
            file=str(Path(unit.file).with_suffix(".txt")),
            hint=f"delete {Path(unit.file).name} and {OURS_FILE} to use the text",
        )
    row = owners_crc = 0
    for batch in OWNER_READERS[unit.form](unit.file):
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


def read_num_parts(directory: Path) -> int | None:
    """Number of parts that a directory of owners says it has, if it does."""
    return _read_meta(directory)[0]


def _read_meta(directory: Path) -> tuple[int | None, str, dict[str, tuple[int, int]]]:
    meta = _read_json(directory / META_FILE)
    ours = _read_json(directory / OURS_FILE)
    num_parts = meta.get("num_parts")
    if meta and (not isinstance(num_parts, int) or isinstance(num_parts, bool) or num_parts < 1):
        raise AssignmentError(
            "bad number of parts",
            file=str(directory / META_FILE),
            place="num_parts",
            expected="a positive integer",
            found=num_parts,
        )
    method = ours.get("method", meta.get("algo_name", "file"))
    texts, owners = ours.get("text_crc32"), ours.get("owners_crc32")
    crcs = {}
    if isinstance(texts, dict) and isinstance(owners, dict):
        crcs = {ntype: (texts[ntype], owners[ntype]) for ntype in texts if ntype in owners}
    return num_parts, str(method), crcs


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        with attach_path_to_error(path):
            content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise AssignmentError("not readable as JSON", file=str(path), found=str(fault)) from fault
    if not isinstance(content, dict):
        raise AssignmentError("not a JSON object", file=str(path), found=type(content).__name__)
    return content


def _forms(directory: Path, ntype: str) -> list[str]:
    return [form for form in ("txt", *BINARY_FORMS) if _has_form(directory / f"{ntype}.{form}")]


def _has_form(path: Path) -> bool:
    return path.is_dir() if path.suffix == ".zarr" else path.is_file()


def _choose_form(directory: Path, ntype: str, crcs: Mapping[str, tuple[int, int]]) -> ReadUnit:
    forms = _forms(directory, ntype)
    if not forms:
        raise AssignmentError(
            f"no owners for node type {ntype!r}",
            file=str(directory),
            expected=" or ".join(f"{ntype}.{form}" for form in ("txt", *BINARY_FORMS)),
        )
    if len(forms) > 1 and not (ntype in crcs and forms[0] == "txt" and len(forms) == 2):
        raise AssignmentError(
            f"node type {ntype!r} has owners in several forms",
            file=str(directory),
            found=", ".join(f"{ntype}.{form}" for form in forms),
            hint="keep one",
        )
    form = forms[-1]
    return ReadUnit(ntype, str(directory / f"{ntype}.{form}"), form, crcs[ntype] if len(forms) > 1 else None)
