"""Forms of the file with the owners of a node type: text, npy, parquet and zarr."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import AssignmentError, InputFileError, InputFileNotFoundError, check_choice
from daskgraphpart.partitioner.assignment import BINARY_FORMS, ROWS_PER_BATCH
from daskgraphpart.partitioner.owner_form import OwnerForm, check_integers
from daskgraphpart.partitioner.parquet_owners import PARQUET
from daskgraphpart.partitioner.zarr_owners import ZARR
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import open_npy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daskgraphpart.storage.region import Region

TEXT = "txt"


def binary_form(name: str) -> OwnerForm:
    """Return a form in which owners can be written, by the suffix of its files."""
    if name == "npy":
        return OwnerForm(_read_npy, copy_npy)
    check_choice("form of owners", "--form", name, BINARY_FORMS)
    return PARQUET if name == "parquet" else ZARR


def find_forms(directory: Path, ntype: str) -> list[str]:
    """Find the forms in which a directory has the owners of a node type."""
    paths = {form: directory / f"{ntype}.{form}" for form in (TEXT, *BINARY_FORMS)}
    there = [form for form, path in paths.items() if path.is_file() or path.is_dir()]
    return [form for form in there if paths[form].is_dir() == (form != TEXT and binary_form(form).is_directory)]


def read_batches(path: str, form: str, num_nodes: int | None) -> Iterator[np.ndarray]:
    """Yield the owners in a file, int64; the caller checks their range and number."""
    read = _read_text if form == TEXT else binary_form(form).read
    try:
        for owners in read(path, num_nodes):
            # beyond int64 they turn negative, which is no part either
            yield owners.astype(np.int64, copy=False)
    except InputFileNotFoundError:
        raise
    except InputFileError as fault:
        raise fault.restated(AssignmentError, file=path) from fault


def _read_text(path: str, _: int | None) -> Iterator[np.ndarray]:
    import pyarrow as pa
    from pyarrow import csv

    if not os.path.getsize(path):  # Arrow refuses empty files
        return
    reading = csv.ReadOptions(column_names=["owner"], block_size=4 << 20, use_threads=False)
    conversion = csv.ConvertOptions(column_types={"owner": pa.int64()}, null_values=[])
    try:
        with attach_path_to_error(path):
            for batch in csv.open_csv(path, reading, convert_options=conversion):
                yield batch.column(0).to_numpy()
    except pa.ArrowInvalid as fault:
        message, hint = str(fault).splitlines()[0], "remove headers and blanks"
        raise AssignmentError("not one integer per line", file=path, found=message, hint=hint) from fault


def _read_npy(path: str, _: int | None) -> Iterator[np.ndarray]:
    region = open_npy(path)
    check_integers(path, region)
    for _, rows in region.pieces(ROWS_PER_BATCH):
        yield rows


def copy_npy(region: Region, path: str) -> None:
    """Write an npy file, which owners already are."""
    with attach_path_to_error(path):
        shutil.copyfile(region.path, path)
