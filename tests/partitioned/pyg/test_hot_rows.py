"""Hot rows are the rows of other parts that a part's trainers fetch most."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from graphs import Graph

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.errors import IdOutOfRangeError, LayoutError, OptionError, PlanError
from daskgraphpart.partitioner.training import count_fetches

if TYPE_CHECKING:
    from pathlib import Path

ALL = [-1, -1]


def three_types() -> Graph:
    """Nodes of three types, two with features; hubs."""
    rng = np.random.default_rng(0)
    sizes = {"u": 300, "v": 200, "w": 50}
    types = (EdgeType("u", "r", "v", 600), EdgeType("v", "s", "u", 900), EdgeType("w", "t", "u", 200))
    edges = {
        t.name: tuple((rng.random(t.num_edges) ** 2 * sizes[end]).astype(int) for end in (t.src, t.dst)) for t in types
    }
    data: dict[str, Any] = {
        "u": {"x": rng.random((300, 3)).astype("f4"), "label": np.arange(300), "train_mask": rng.random(300) < 0.3},
        "v": {"h": rng.random((200, 5)).astype("f2"), "z": rng.random(200)},
    }
    return Graph(GraphSchema("g", tuple(NodeType(*of) for of in sizes.items()), types), edges, data)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dgp.PartitionedGraph:
    """Partitions of it."""
    root = tmp_path_factory.mktemp("hot")
    return dgp.open_partitions(dgp.partition(three_types().write(root / "in"), root / "out", 3, method="random").config)


def owners_of(parts: dgp.PartitionedGraph, ntype: str, ids: np.ndarray) -> np.ndarray:
    return np.asarray(parts.book.nid2partid(ids, ntype))


def test_they_are_what_batches_need_of_other_parts_most_needed_first(parts: dgp.PartitionedGraph) -> None:
    for part in parts.parts:
        hot = part.hot_rows(ALL, size="100%", batch_size=1, epochs=2)
        seeds = part.split_nids["u/train_mask"]
        for ntype in ("u", "v"):
            needed = np.zeros(parts.num_nodes(ntype), int)
            for batch in parts.neighbor_loader(ALL, ("u", seeds)):
                needed[batch[ntype].n_id.numpy()] += 1
            needed[owners_of(parts, ntype, np.arange(needed.size)) == part.part_id] = 0
            nodes = hot.nodes[ntype]
            assert nodes.fetches.tolist() == needed[nodes.ids].tolist() == sorted(nodes.fetches, reverse=True)
            rest = np.delete(needed, nodes.ids)
            assert rest.max(initial=0) <= hot.fetches.min()
        own = sum(part.node_rows.counts[ntype] for ntype in ("u", "v"))
        assert hot.ids.size == sum(len(of.ids) for of in hot.nodes.values()) <= own
        assert hot.fetches.tolist() == sorted(hot.fetches, reverse=True)
        types, ids = parts.book.map_to_per_ntype(hot.ids)
        assert all(np.array_equal(ids[types == i], hot.nodes[n].ids) for i, n in enumerate(("u", "v")))


def test_rows_are_those_of_the_files(parts: dgp.PartitionedGraph) -> None:
    hot = parts.part(1).hot_rows([5, 5], size=1500)
    assert [*hot.nodes] == ["u", "v"]
    assert {n: [*of.data] for n, of in hot.nodes.items()} == {"u": ["x"], "v": ["h", "z"]}
    assert 0 < hot.nbytes <= 1500 < hot.nbytes + 26
    for ntype, nodes in hot.nodes.items():
        for name, rows in nodes.data.items():
            np.testing.assert_array_equal(rows, parts.nodes[ntype].data[name][nodes.ids], strict=True)
    some = parts.part(1).hot_rows([5, 5], node_data=["label", "v/z"])
    assert {n: [*of.data] for n, of in some.nodes.items()} == {"u": ["label"], "v": ["z"]}


@pytest.mark.parametrize("size", ["7%", "100%", 700, "4kB"])
def test_neither_memory_nor_merges_change_them(
    size: Any, parts: dgp.PartitionedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(**how: Any) -> list[Any]:
        hot = parts.part(0).hot_rows([3, 2], size=size, batch_size=7, epochs=2, **how)
        return [hot.ids.tolist(), hot.fetches.tolist()]

    expected, other = choose(), choose(seed=1)
    assert expected == choose() != other
    monkeypatch.setattr(count_fetches, "FEWEST_MERGED", 3)
    for room in (1000, 100, 17, 1):
        monkeypatch.setattr(count_fetches, "SLOT_NBYTES", 1_000_000 // room)
        assert choose(memory=1_000_000) == expected


def test_seeds_are_given_as_for_loaders_or_are_all_nodes(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    part = parts.part(2)
    mask = part.hot_rows([4]).ids.tolist()
    assert mask == part.hot_rows([4], ("u", "train_mask")).ids.tolist()
    assert mask != part.hot_rows([4], "u").ids.tolist()
    assert mask != part.hot_rows([4], ("u", part.split_nids["u/train_mask"][:3])).ids.tolist()
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    bare = dgp.partition_graph((src, dst), "g", 3, tmp_path / "out", part_method="random")
    hot = bare.part(0).hot_rows([-1], size="100%", batch_size=100)
    assert hot.ids.size == bare.part(0).num_inner_nodes  # of all halo nodes, which are more
    assert (hot.nodes["_N"].data, hot.nbytes) == ({}, hot.ids.nbytes)
    again = bare.part(0).hot_rows([-1], "_N", size=10**6, batch_size=100)
    owned = bare.part(0).edges().compute().query("inner")
    assert sorted(again.ids) == sorted(set(owned.src) - set(range(bare.part(0).num_inner_nodes)))


def test_a_part_without_seeds_has_none(tmp_path: Path) -> None:
    data = {"feat": np.ones((60, 2)), "train_mask": np.arange(60) < 2}
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    owners = {"_N": np.arange(60) % 2}
    owners["_N"][:2] = 0
    parts = dgp.partition_graph((src, dst), "g", 2, tmp_path / "out", part_method="random", node_data=data)
    counts = [len(part.split_nids["_N/train_mask"]) for part in parts.parts]
    hot = [parts.part(0).hot_rows([5], np.empty(0, int)), *(part.hot_rows([5]) for part in parts.parts)]
    assert [of.ids.size > 0 for of in hot] == [False, *(count > 0 for count in counts)]
    assert hot[0].nodes["_N"].data["feat"].shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "words"),
    [
        (([2],), {"size": "0%"}, OptionError, "Size 0% is no row. Use a share"),
        (([2],), {"size": 0}, OptionError, "Size 0 is no row"),
        (([2],), {"size": "101%"}, OptionError, "Size 101% is not a share"),
        (([2],), {"size": "many"}, OptionError, "Size 'many' is not a size"),
        (([2],), {"size": 0.05}, OptionError, "Size 0.05 is not a size. Use a share"),
        (([2],), {"size": -5}, OptionError, "Size -5 is not a size"),
        (([2],), {"epochs": 0}, OptionError, "epochs: "),
        (([2],), {"batch_size": 0}, OptionError, "batch_size 0 is too small"),
        (([2],), {"seed": -1}, OptionError, "seed -1 is too small"),
        (([2],), {"node_data": ["nope"]}, OptionError, "node_data: no such features"),
        (({"nope": [2]},), {}, IdOutOfRangeError, "num_neighbors: there is no edge type 'nope'"),
        (([2], "nope"), {}, OptionError, "input_nodes: unknown node type 'nope'"),
        (([2], ("nope", [1])), {}, OptionError, "input_nodes: unknown node type 'nope'"),
        (([2], ("u", [299])), {}, OptionError, "input_nodes: not owned by the part"),
        (([2],), {"memory": 100}, PlanError, "hot rows may need"),
        (([2],), {"size": "2MB", "memory": "1kB"}, PlanError, "Use memory 1MB or more, or a size of 1000 bytes"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_error(
    arguments: Any, options: Any, kind: type[Exception], words: str, parts: dgp.PartitionedGraph
) -> None:
    with pytest.raises(kind) as caught:
        parts.part(0).hot_rows(*arguments, **options)
    assert words in str(caught.value)


def test_the_memory_that_an_error_names_is_enough(parts: dgp.PartitionedGraph) -> None:
    with pytest.raises(PlanError) as caught:
        parts.part(0).hot_rows([2], size="100%", memory=100)
    assert "memory 1MB" in str(caught.value)
    assert parts.part(0).hot_rows([2], size="100%", memory="1MB").nbytes > 100
    assert parts.part(0).hot_rows([2], size=100, memory=100).nbytes <= 100


def test_unknown_types_are_named(parts: dgp.PartitionedGraph) -> None:
    hot = parts.part(0).hot_rows([2])
    with pytest.raises(KeyError, match="no node type with hot rows 'w'; there are: u, v"):
        hot.nodes["w"]
    assert repr(hot).startswith(f"<HotRows of part 0: {hot.ids.size} rows (u {len(hot.nodes['u'].ids)}, v ")


def test_damaged_files_are_one_error(tmp_path: Path) -> None:
    src, dst = np.random.default_rng(0).integers(0, 60, (2, 600))
    parts = dgp.partition_graph((src, dst), "g", 2, tmp_path / "out", part_method="random")
    path = tmp_path / "out" / "part1" / "graph.dgl"
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(LayoutError, match=r"graph\.dgl"):
        parts.part(0).hot_rows([2])


def bytes_of(batch: Any) -> list[Any]:
    """Everything in a batch, byte by byte."""
    return [
        (key, str(value.dtype), value.shape, value.numpy().tobytes()) if hasattr(value, "numpy") else (key, value)
        for store in batch.stores
        for key, value in sorted(store.items())
    ]


@pytest.mark.parametrize("size", ["5%", "100%", 100])
@pytest.mark.parametrize("num_workers", [0, 3])
@pytest.mark.parametrize("of_part", [False, True])
def test_loaders_find_rows_in_them_and_make_the_same_bytes(
    size: Any, num_workers: int, of_part: bool, parts: dgp.PartitionedGraph
) -> None:
    part = parts.part(0)
    hot, source = part.hot_rows([5, 5], size=size), part if of_part else parts
    how: Any = {"batch_size": 20, "shuffle": True, "num_workers": num_workers}
    seeds = ("u", part.split_nids["u/train_mask"])
    plain, cached = (source.neighbor_loader([5, 5], seeds, cache=cache, **how) for cache in (None, hot))
    asked = hits = 0
    for _ in range(2):
        for one, other in zip(plain, cached, strict=True):
            assert bytes_of(one) == bytes_of(other)
            for ntype in ("u", "v"):
                ids = one[ntype].n_id.numpy()
                asked += int((owners_of(parts, ntype, ids) != 0).sum())
                hits += int(np.isin(ids, hot.nodes[ntype].ids).sum())
    assert (plain.rows_asked, plain.rows_found) == (0, 0)
    assert (cached.rows_asked, cached.rows_found) == (asked, hits)
    assert 0 < hits < asked
    assert repr(cached).endswith(f", {hits:,} of {asked:,} rows of other parts found in the cache>")
    assert "cache" not in repr(plain)


def test_loaders_of_links_and_of_some_features_use_them(parts: dgp.PartitionedGraph) -> None:
    hot = parts.part(0).hot_rows([5, 5], node_data=["x", "z", "label"], size="50%")
    for how in ({}, {"node_data": ["h", "x"]}, {"node_data": []}):
        links: Any = [
            parts.link_neighbor_loader([3], "s", neg_sampling="binary", batch_size=90, cache=cache, **how)
            for cache in (None, hot)
        ]
        for one, other in zip(*links, strict=True):
            assert bytes_of(one) == bytes_of(other)
        assert (links[1].rows_found > 0) == (how.get("node_data") != [])


def test_hot_rows_that_do_not_belong_are_refused(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    hot = parts.part(0).hot_rows([2])
    with pytest.raises(OptionError, match="cache: hot rows of another part: expected those of part 1, found <HotRows"):
        parts.part(1).neighbor_loader([2], "u", cache=hot)
    with pytest.raises(OptionError, match="cache: not hot rows: expected what hot_rows of a part returns, found dict"):
        parts.neighbor_loader([2], "u", cache={})
    again = dgp.open_partitions(dgp.partition(three_types().write(tmp_path / "in"), tmp_path / "out", 3).config)
    with pytest.raises(OptionError, match="cache: hot rows of other partitions"):
        again.neighbor_loader([2], "u", cache=hot)
    same = dgp.open_partitions(parts.config)
    assert next(iter(same.neighbor_loader([2], "u", cache=pickle.loads(pickle.dumps(hot))))) is not None


def test_they_are_saved_as_npy_files(parts: dgp.PartitionedGraph, tmp_path: Path) -> None:
    hot = parts.part(0).hot_rows([5, 5])
    hot.save(tmp_path / "below" / "hot")
    for ntype, nodes in hot.nodes.items():
        root = tmp_path / "below" / "hot" / ntype
        np.testing.assert_array_equal(np.load(root / "ids.npy"), nodes.ids, strict=True)
        np.testing.assert_array_equal(np.load(root / "fetches.npy"), nodes.fetches, strict=True)
        assert {path.stem for path in (root / "data").iterdir()} == set(nodes.data)
        for name, rows in nodes.data.items():
            np.testing.assert_array_equal(np.load(root / "data" / f"{name}.npy"), rows, strict=True)
    hot.save(tmp_path / "below" / "hot")
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="A part of the path is a file"):
        hot.save(tmp_path / "file")


class Tensor:
    """What is asked of a `DistTensor`; `tests/real_dgl` asks real ones."""

    name = "x"

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.asked = torch.from_numpy(rows), 0
        self.shape, self.dtype, self.part_policy = self.rows.shape, self.rows.dtype, self
        self.part_id = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, ids: torch.Tensor) -> torch.Tensor:
        self.asked += int((ids >= 100).sum())
        return self.rows[ids]

    def to_partid(self, ids: torch.Tensor) -> torch.Tensor:
        return (ids >= 100).long()


def test_tensors_of_dgl_are_asked_for_other_rows_only(parts: dgp.PartitionedGraph) -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((200, 3)).astype("f4")
    tensor, ids = Tensor(rows), rng.choice(np.arange(100, 200), 30, replace=False)
    hot = dgp.HotTensor(tensor, ids, rows[ids])
    wanted = torch.from_numpy(rng.integers(0, 200, 500))
    assert torch.equal(hot[wanted], tensor.rows[wanted])
    hits = int(np.isin(wanted.numpy(), ids).sum())
    assert (hot.rows_asked, hot.rows_found) == (int((wanted >= 100).sum()), hits)
    assert tensor.asked == hot.rows_asked - hits
    only_hot, none_hot, others = torch.from_numpy(ids[:5]), torch.arange(5), wanted[wanted >= 100]
    for some in (only_hot, none_hot, none_hot[:0], others):
        assert torch.equal(hot[some], tensor.rows[some])
    assert tensor.asked == hot.rows_asked - hot.rows_found
    empty = dgp.HotTensor(tensor, ids[:0], rows[:0])
    assert torch.equal(empty[wanted], tensor.rows[wanted])
    assert repr(empty) == f"<HotTensor: 0 hot rows of x, 0 of {int((wanted >= 100).sum())} rows of other parts found>"
    for bad in ((ids, rows[:5]), (ids, rows[ids][:, :2]), (ids, rows[ids].astype("f8")), (ids + 100, rows[ids])):
        with pytest.raises(OptionError, match=r"(These rows|these IDs) are not of this feature"):
            dgp.HotTensor(tensor, *bad)


def test_counts_hold_the_memory_that_they_have_and_no_more() -> None:
    rng, room = np.random.default_rng(0), 100_000
    batches = [rng.integers(0, 3 * room, 20_000) for _ in range(50)]
    tracemalloc.start()
    counter = count_fetches.FetchCounts(0, 3 * room, room)
    for ids in batches:
        counter.add(ids)
    counter.merge()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 16 * room < peak <= count_fetches.SLOT_NBYTES * room
    ids, counts = np.unique(np.concatenate(batches), return_counts=True)
    assert counter.stop == ids[room]
    np.testing.assert_array_equal(counter.ids, ids[:room])
    np.testing.assert_array_equal(counter.counts, counts[:room])
