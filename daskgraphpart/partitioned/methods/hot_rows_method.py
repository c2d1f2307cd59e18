"""The method `hot_rows` of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from daskgraphpart.partitioned.hot_rows import HotRows
    from daskgraphpart.partitioned.part import Part


def hot_rows(
    part: Part,
    num_neighbors: Sequence[int] | Mapping[Any, Sequence[int]] | None = None,
    input_nodes: Any = None,
    *,
    size: str | int = "5%",
    batch_size: int = 1000,
    epochs: int = 5,
    replace: bool = False,
    seed: int = 0,
    node_data: Iterable[str] | None = None,
    memory: str | int | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> HotRows:
    """Find the rows of other parts that this part's trainers will fetch most, and read their features.

    Samples whole epochs as DGL's trainers do, from all parts, and counts in how many batches each foreign node is
    needed. Give the result to a loader as `cache`, or copy it into the cache of your trainer.

    Parameters
    ----------
    num_neighbors : list of int, or dict of such lists by edge type, optional
        In-edges to sample at each node, for every hop; -1 for all. Default: nothing is sampled, but what `partition`
        kept with `hot_rows` is read; all other arguments but `node_data` and `workspace` are then without effect.
    input_nodes : IDs, mask, str, or (str, IDs or mask), optional
        Seeds, as in `neighbor_loader`. Default: the part's training nodes, by masks named `train_mask` or similar,
        else all its nodes.
    size : str or int, default "5%"
        How much to choose: a share of the part's nodes, or bytes of IDs and features, such as ``"2GB"``. Types without
        features have no hot rows, unless no type has features: then there are only IDs.
    batch_size : int, default 1000
        Seeds per batch.
    epochs : int, default 5
        Epochs to sample: more come nearer to what will be fetched.
    replace : bool, default False
        Sample with replacement.
    seed : int, default 0
        Random seed: the same seed gives the same rows.
    node_data : iterable of str, optional
        Features to read, as ``"feat"`` or ``"paper/feat"``. Default: all but masks and labels.
    memory : str or int, optional
        Memory for the counts, or for the rows. Default: half the machine's. With less, the epochs are sampled several
        times.
    workspace : str or path, optional
        As in `neighbor_loader`.

    Returns
    -------
    HotRows
        No rows for a part without seeds.

    Raises
    ------
    OptionError
        If an argument does not fit the graph.
    IdOutOfRangeError
        If a type does not exist, or a seed is out of range.
    PlanError
        If the rows do not fit into the memory.

    Examples
    --------
    >>> hot = parts.part(0).hot_rows([10, 10], size="10%")
    >>> hot
    <HotRows of part 0: 0 rows (user 0, item 0), 0 B>
    """
    from daskgraphpart.engine.resources import detect_resources  # imports the schedulers
    from daskgraphpart.partitioned.choose_hot_rows import HotOptions, choose_hot_rows  # imports the sampler
    from daskgraphpart.partitioned.read_hot_rows import read_hot_rows

    if num_neighbors is None:
        return read_hot_rows(part, node_data, workspace)
    options = HotOptions(size, batch_size, epochs, replace, seed)
    nbytes = detect_resources(memory).memory
    return choose_hot_rows(part, num_neighbors, input_nodes, options, node_data, nbytes, workspace)
