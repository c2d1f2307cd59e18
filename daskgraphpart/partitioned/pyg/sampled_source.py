"""What loaders read, and their options: in-edges, features and masks of the parts, in files that have not changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import LayoutError, OptionError, check_choice
from daskgraphpart.options import check_options, option
from daskgraphpart.partitioned.hot_rows import HotRows
from daskgraphpart.storage.files import FileState, file_state

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.sampling.part_columns import PartColumns
    from daskgraphpart.partitioned.sampling.sampled_rows import FeatureRows

SUBGRAPH_TYPES = ("directional",)


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """How to sample, how to batch seeds, and how to make batches."""

    replace: bool = option(False, "Sample with replacement.")
    subgraph_type: str = option(
        "directional",
        '``"directional"``: edges point from sampled neighbours to the nodes that they were sampled for.',
    )
    batch_size: int = option(1, "Seeds per batch.", minimum=1)
    shuffle: bool = option(False, "Shuffle the seeds every epoch.")
    drop_last: bool = option(False, "Drop the last batch if it is smaller.")
    num_workers: int = option(
        0,
        "Threads that prepare batches ahead; with 0, batches are made on demand. Batches are the same either way.",
        minimum=0,
    )
    prefetch_factor: int = option(2, "Batches that each thread prepares ahead.", minimum=1)
    seed: int = option(0, "Random seed: loaders with the same seed give the same batches.", minimum=0)
    transform: Callable[[Any], Any] | None = option(
        None, "Called with each batch, in the thread that made it; the loader yields what it returns."
    )
    node_data: Iterable[str] | None = option(
        None, 'Node features to include in batches, as ``"feat"`` or ``"paper/feat"``. Default: all.'
    )
    edge_data: Iterable[str] | None = option(None, "Edge features, likewise.")
    cache: Any = option(
        None,
        "Hot rows of the part that trains, from `Part.hot_rows`: taken from there, not from the files. Batches are the "
        "same; `rows_asked` and `rows_found` of the loader count.",
        given="HotRows",
    )
    workspace: str | os.PathLike[str] | None = option(
        None,
        "Directory for sorted edges of parts without the graph format csc: sorted once, 16 bytes per edge. Default: "
        "the system's temporary directory.",
    )

    def __post_init__(self) -> None:
        check_choice("type of subgraph", "subgraph_type", self.subgraph_type, SUBGRAPH_TYPES)
        check_options(self)
        if self.cache is not None and not isinstance(self.cache, HotRows):
            expected = "what hot_rows of a part returns"
            raise OptionError("not hot rows", place="cache", expected=expected, found=type(self.cache).__name__)
        if self.transform is not None and not callable(self.transform):
            raise OptionError(
                "not a function", place="transform", expected="one of a batch", found=repr(self.transform)
            )


@dataclass(frozen=True, slots=True, eq=False)
class SampledSource:
    """Partitions to sample: all parts, or one with its halo nodes."""

    book: PartitionBook
    part_id: int | None  # the part, or None for all
    graphs: Sequence[GraphFile]  # of the parts to sample
    columns: Sequence[PartColumns]
    features: Sequence[FeatureRows]  # of nodes and edges, over all parts
    files: Mapping[str, FileState]  # as of opening

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is one node type and one edge type, which PyG then has no names for."""
        return len(self.book.ntypes) == len(self.book.etypes) == 1

    def id_range(self, kind: str) -> tuple[int, int]:
        """Type-wise IDs of the nodes or edges that may be seeds."""
        first, _ = self.book.part_range(self.part_id or 0, kind)
        _, stop = self.book.part_range(self.book.num_parts - 1 if self.part_id is None else self.part_id, kind)
        return first, stop

    def check_unchanged(self) -> None:
        """Refuse files that have changed."""
        for path, state in self.files.items():
            if file_state(path) != state:
                raise LayoutError(
                    "the file has changed since it was opened" if os.path.exists(path) else "the file is gone",
                    file=path,
                    hint="open the partitions again, and make a new loader",
                )
