"""Answer pulls of a `DistTensor` from hot rows first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.public import Public

if TYPE_CHECKING:
    import torch


class HotTensor(Public):
    """A feature in DGL's servers, some rows of which are in memory: only the others are pulled.

    Use it in place of the `DistTensor`: `hot[input_nodes]`. Imports torch, and nothing of DGL.

    Parameters
    ----------
    tensor : dgl.distributed.DistTensor
        The feature, such as ``graph.nodes["paper"].data["feat"]``; it must not change.
    ids : np.ndarray or torch.Tensor
        New type-wise IDs of the hot rows: of `HotRows.nodes`, or read from ``ids.npy`` of `HotRows.save`.
    rows : np.ndarray or torch.Tensor
        Their rows.

    Attributes
    ----------
    rows_asked : int
        Rows of other parts that were asked for so far.
    rows_found : int
        Those of them that were in memory.
    """

    def __init__(self, tensor: Any, ids: Any, rows: Any) -> None:
        ids = np.asarray(ids)
        self._rows, order = _torch().as_tensor(rows), np.argsort(ids)
        kind = (tuple(tensor.shape[1:]), tensor.dtype)
        if (tuple(self._rows.shape[1:]), self._rows.dtype) != kind or len(ids) != len(self._rows):
            raise OptionError(
                "these rows are not of this feature",
                place="rows",
                expected=f"{len(ids):,} of shape {[*kind[0]]}, {kind[1]}",
                found=f"{len(self._rows):,} of shape {[*self._rows.shape[1:]]}, {self._rows.dtype}",
            )
        if ids.size and not 0 <= ids[order[0]] <= ids[order[-1]] < len(tensor):
            raise OptionError("these IDs are not of this feature", place="ids", expected=f"0 to {len(tensor) - 1:,}")
        self._tensor, self._ids, self._order = tensor, ids[order], order
        self.rows_asked = self.rows_found = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and shape of a row."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of torch."""
        return self._tensor.dtype

    def __len__(self) -> int:
        return len(self._tensor)

    def __getitem__(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the rows of new type-wise IDs: from memory, and the others from DGL's servers."""
        torch, policy = _torch(), self._tensor.part_policy
        wanted = ids.numpy()
        nearest = np.searchsorted(self._ids, wanted).clip(max=max(0, self._ids.size - 1))
        is_here = self._ids[nearest] == wanted if self._ids.size else np.zeros(wanted.size, bool)
        here, own = torch.from_numpy(is_here), ids[policy.to_partid(ids) == policy.part_id]
        self.rows_asked += len(ids) - len(own)
        self.rows_found += int(here.sum())
        if not is_here.any():
            return self._tensor[ids]
        hot = self._rows[torch.from_numpy(self._order[nearest[is_here]])]
        if is_here.all():
            return hot
        if len(own):  # a row of this machine stands in for hot ones: so the others are in place as DGL copies them
            rows = self._tensor[torch.where(here, own[0], ids)]
        else:
            rows = torch.empty((len(ids), *self.shape[1:]), dtype=self.dtype)
            rows[~here] = self._tensor[ids[~here]]
        rows[here] = hot
        return rows

    def __repr__(self) -> str:
        used = f"{self.rows_found:,} of {self.rows_asked:,} rows of other parts found"
        return f"<HotTensor: {len(self._ids):,} hot rows of {self._tensor.name}, {used}>"


def _torch() -> Any:
    return sys.modules["torch"]  # DGL imports it
