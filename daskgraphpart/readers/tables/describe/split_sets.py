"""Sets of nodes that a column names, for training, validation and testing: its words, and the masks they become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.graph.rows import ChangedRows
from daskgraphpart.readers.tables.read_options import SPLIT

if TYPE_CHECKING:
    from daskgraphpart.source import Source

DEFAULT_COLUMN = "split"
SETS = {
    "train_mask": ("train", "training"),
    "val_mask": ("val", "valid", "validation", "dev"),
    "test_mask": ("test", "testing"),
}
"""Words of the column, in any case, by mask."""
IN_NO_SET = -1
EXPECTED = "train, val (valid, validation, dev) or test, or nothing"


def set_of(text: str) -> str:
    """Return an expression for the number of a set; NULL for other words."""
    of_words = [f"WHEN lower(trim({text})) IN {words} THEN {number}" for number, words in _SETS]
    return f"CASE {' '.join(of_words)} END"


_SETS = [*enumerate(SETS.values())]  # tuples of several words are written as SQL writes lists


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows(ChangedRows):
    """A mask: whether nodes are in the set of this number."""

    number: int

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return np.dtype(bool)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""
        is_in: np.ndarray = self.rows.read(start, stop) == self.number
        return is_in


def with_masks(features: Mapping[str, Source]) -> dict[str, Source]:
    """Return features with masks in the place of the column."""
    others = {name: rows for name, rows in features.items() if name != SPLIT}
    masks = {mask: SplitRows(features[SPLIT], number) for number, mask in enumerate(SETS)} if SPLIT in features else {}
    return {**others, **masks}
