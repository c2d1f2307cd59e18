"""The nouns of hot rows: the rows of other parts that a part's trainers fetch most, and how many a loader found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.public import Public
from daskgraphpart.schema import BFLOAT16
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.region import save_npy
from daskgraphpart.units import format_number, format_size

if TYPE_CHECKING:
    from daskgraphpart.storage.files import FileState


@dataclass(frozen=True, eq=False, repr=False)
class HotNodes(Public):
    """Hot rows of one node type, most fetched first.

    Attributes
    ----------
    ids : np.ndarray
        New type-wise IDs, int64.
    fetches : np.ndarray
        How often each is fetched in an epoch, on average, float64.
    data : mapping of str to np.ndarray
        Features by name, a row for each ID.
    """

    __all__ = ("data", "fetches", "ids")

    ids: np.ndarray
    fetches: np.ndarray
    data: Mapping[str, np.ndarray]

    @cached_property
    def by_id(self) -> tuple[np.ndarray, np.ndarray]:
        """IDs, ascending, and their rows."""
        order = np.argsort(self.ids)
        return self.ids[order], order

    def find(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of those of some type-wise IDs that are here, and their rows."""
        known, rows = self.by_id
        if not known.size:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        nearest = np.searchsorted(known, ids).clip(max=known.size - 1)
        places = np.flatnonzero(known[nearest] == ids)
        return places, rows[nearest[places]]


@dataclass(frozen=True, eq=False, repr=False)
class HotRows(Public):
    """The rows of other parts that a part's trainers fetch most, with their features, in memory.

    Attributes
    ----------
    part_id : int
        The part whose trainers fetch them.
    ids : np.ndarray
        New homogeneous node IDs, int64, most fetched first.
    fetches : np.ndarray
        How often each is fetched in an epoch, on average, float64.
    nodes : mapping of str to HotNodes
        The same by node type: `ids` are then type-wise, and `data` has the rows of features by name.
    nbytes : int
        Bytes of IDs and features.
    """

    __all__ = ("fetches", "ids", "nbytes", "nodes", "part_id", "save")

    part_id: int
    ids: np.ndarray
    fetches: np.ndarray
    by_type: Mapping[str, HotNodes]  # as `nodes`, without its messages
    files: Mapping[str, FileState]  # that were read, as of then

    @property
    def nodes(self) -> Mapping[str, HotNodes]:
        """Hot rows by node type."""
        return LazyMapping("node type with hot rows", tuple(self.by_type), self.by_type.__getitem__)

    @property
    def nbytes(self) -> int:
        """Bytes of IDs and features."""
        rows = (of.nbytes for nodes in self.by_type.values() for of in nodes.data.values())
        return self.ids.nbytes + sum(rows)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write npy files that a trainer can map: for each node type its `ids` and `fetches`, and rows of features.

        They are ``<ntype>/ids.npy``, ``<ntype>/fetches.npy`` and ``<ntype>/data/<feature>.npy``; bfloat16 is written
        as its bits, uint16.

        Examples
        --------
        >>> parts.part(0).hot_rows([10, 10]).save("shop-parts/part0/hot")
        """
        with environment_faults():
            for ntype, nodes in self.by_type.items():
                below = Path(directory) / ntype
                (below / "data").mkdir(parents=True, exist_ok=True)
                arrays = {"ids": nodes.ids, "fetches": nodes.fetches}
                arrays |= {f"data/{name}": rows for name, rows in nodes.data.items()}
                for name, rows in arrays.items():
                    save_npy(below / f"{name}.npy", rows.view(np.uint16) if rows.dtype == BFLOAT16 else rows)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(of.ids):,}" for name, of in self.by_type.items())
        rows = format_number(self.ids.size, "row")
        return f"<HotRows of part {self.part_id}: {rows} ({counts}), {format_size(self.nbytes)}>"

    def check_files(self, part_id: int | None, files: Mapping[str, FileState]) -> None:
        """Refuse to serve a loader of another part, or of files that are not those the rows come from."""
        if part_id not in (None, self.part_id):
            expected = f"those of part {part_id}"
            raise OptionError("hot rows of another part", place="cache", expected=expected, found=repr(self))
        for path, state in files.items():
            if self.files.get(path) != state:
                raise OptionError(
                    "hot rows of other partitions, or of files that have changed",
                    place="cache",
                    found=path,
                    hint="call hot_rows again",
                )


class CacheUse:
    """Hot rows as a loader uses them, in any number of threads: rows of other parts that it asked for, and found."""

    def __init__(self, hot: HotRows | None) -> None:
        self.by_type, self.part_id = ({}, -1) if hot is None else (hot.by_type, hot.part_id)
        self.asked = self.found = 0
        self._lock = Lock()

    def find(self, ntype: str, ids: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of type-wise IDs whose rows are here, and these rows; counts them and all of other parts."""
        places, rows = self.by_type[ntype].find(ids)
        with self._lock:
            self.asked += int((owners != self.part_id).sum())
            self.found += places.size
        return places, rows
