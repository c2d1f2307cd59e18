"""Options are keywords: spelled out in signatures and help, and a wrong one names the right one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import dask
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from graphs import file_hashes

import daskgraphpart as dgp
from daskgraphpart.errors import KeywordError, OptionError

if TYPE_CHECKING:
    from pathlib import Path

    import daskgraphpart.graph.graph as graphs

PAIR = (np.arange(20), np.roll(np.arange(20), 1))
FUNCTIONS = (dgp.partition, dgp.assign, dgp.dispatch, dgp.plan, dgp.compare, dgp.verify, dgp.partition_graph)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_signatures_have_no_hole_and_help_has_every_keyword(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    assert all(of.kind is not inspect.Parameter.VAR_KEYWORD for of in parameters.values())
    assert {"memory", "cluster", "workers", "workspace"} <= parameters.keys()
    assert [name for name in parameters if name not in (function.__doc__ or "")] == []


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("metho", r"Did you mean method\?"),
        ("resources", "memory="),
        ("options", "num_hops=2"),
        ("out_dir", "Use out"),
        ("batch_size", "training_options"),
        ("save_dir", "Use out"),
        ("client", "Use cluster"),
        ("scheduler", "Use cluster"),
        ("zebra", r"help\(partition\)"),
    ],
)
def test_a_mistyped_or_removed_keyword_names_the_right_one(keyword: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(KeywordError, match=f"'{keyword}'.*{hint}") as caught:
        dgp.partition(PAIR, tmp_path / "out", 2, **{keyword: 1})
    assert isinstance(caught.value, TypeError)
    assert not (tmp_path / "out").exists()


def test_wrong_numbers_of_arguments_show_the_form_of_the_call() -> None:
    parts: Any = dgp.PartitionedGraph
    calls: list[tuple[Any, tuple[Any, ...], str, str]] = [
        (dgp.partition, (PAIR, 4), "'num_parts'", r"partition\(graph, out, num_parts, \.\.\.\)"),
        (dgp.from_edges, PAIR, "too many positional", r"from_edges\(edges, \.\.\.\)"),
        (parts.add_node_data, (None, "y", PAIR[0]), "too many positional", r"add_node_data\(node_data, \.\.\.\)"),
        (dgp.open_partitions, (), "'path'", r"open_partitions\(path, \.\.\.\)"),
    ]
    for function, given, what, form in calls:
        with pytest.raises(KeywordError, match=rf"\(\): .*{what}.*\. Call {form}; see help\({function.__name__}\)"):
            function(*given)


def test_what_is_no_item_to_balance_is_refused_as_such(tmp_path: Path) -> None:
    for given in ({"balance": True}, {"edge_weight": True}):
        with pytest.raises(OptionError, match=r"not names: expected text, or a list, found True"):
            dgp.plan(PAIR, 2, **given)


@pytest.mark.parametrize("wrong", [3, None, b"out", ["out"]], ids=repr)
def test_what_is_no_path_is_refused_as_such(wrong: Any, tmp_path: Path) -> None:
    graph = dgp.from_edges(PAIR)
    for call in (
        lambda: dgp.partition(graph, wrong, 2),
        lambda: dgp.dispatch(graph, wrong, tmp_path / "out"),
        lambda: dgp.assign(graph, 2, method=wrong),
        lambda: dgp.plan(graph, 2, out=wrong),
        lambda: dgp.read_chunked(wrong),
        lambda: dgp.open_partitions(wrong),
        lambda: dgp.verify(graph, wrong),
        lambda: dgp.scan_graphstorm_config(wrong),
        lambda: graph.write_chunked(wrong),
        *([] if wrong is None else [lambda: dgp.partition(graph, tmp_path / "out", 2, dispatch_to=wrong)]),
    ):
        with pytest.raises(OptionError, match=r"his is not a path: expected a path or URL, found \w+ .*Give a str or"):
            call()


def test_an_array_of_owners_is_told_where_to_save_it(tmp_path: Path) -> None:
    owners = np.arange(20) % 2
    for call in (
        lambda: dgp.dispatch(PAIR, owners, tmp_path / "out"),
        lambda: dgp.partition(PAIR, tmp_path / "out", 2, method=owners),
    ):
        with pytest.raises(OptionError, match=r"not a path: .*, found ndarray array.*TYPE\.npy .*such as _N\.npy"):
            call()
    (tmp_path / "owners").mkdir()
    np.save(tmp_path / "owners" / "_N.npy", owners)
    parts = dgp.dispatch(PAIR, tmp_path / "owners", tmp_path / "out", num_parts=2)
    assert [part.num_inner_nodes for part in parts.parts] == [10, 10]


def test_what_is_no_name_of_columns_is_refused_as_such(tmp_path: Path) -> None:
    for given in ({"edge_features": True}, {"endpoints": 2}):
        with pytest.raises(OptionError, match=r"not names: expected text, or a list, found (True|2)"):
            dgp.scan_tables(tmp_path / "edges.csv", **given)


def test_a_link_that_leads_nowhere_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OptionError, match="or a link that leads nowhere"):
        dgp.partition(PAIR, tmp_path / "out", 2, method="random")


def test_numbers_may_be_numpys(tmp_path: Path) -> None:
    graph = dgp.from_edges(PAIR)
    etype = graph.schema.etypes[0]
    for number, hops in enumerate([(2, 1), np.array([2, 1]), [np.int64(2), 1], {etype: np.array([2, 1])}]):
        how: dict[str, Any] = {"objtype": "fetch", "fanouts": hops, "seed": np.int64(3), "progress": False}
        dgp.partition(graph, tmp_path / str(number), np.int32(2), num_hops=np.int64(1), **how)
    assert len({repr(file_hashes(tmp_path / str(number))) for number in range(3)}) == 1
    graph.write_chunked(tmp_path / "chunked", num_chunks=np.int64(2))


def test_a_number_of_parts_may_be_numpys(tmp_path: Path) -> None:
    for number, name in ((2, "a"), (np.int64(2), "b")):
        dgp.assign(PAIR, number, out=tmp_path / name / "owners", progress=False)
        dgp.partition(PAIR, tmp_path / name / "parts", number, progress=False)
    assert file_hashes(tmp_path / "a" / "parts") == file_hashes(tmp_path / "b" / "parts")
    with pytest.raises(OptionError, match=r"2\.0 is not a number of parts"):
        dgp.partition(PAIR, tmp_path / "out", np.float64(2), progress=False)


DROP_INS: list[tuple[str, str, str]] = [
    ("partition_graph", "out", "Use out_path"),
    ("partition_graph", "output_path", "Use out_path"),
    ("partition_graph", "part_methods", r"Did you mean part_method\?"),
    ("partition_graph", "resources", "memory="),
    ("chunk_graph", "out", "Use output_path"),
    ("chunk_graph", "out_dir", "Use output_path"),
    ("chunk_graph", "ndata_path", r"Did you mean ndata_paths\?"),
    ("load_partition", "load_feat", r"Did you mean load_feats\?"),
    ("load_partition_feats", "part", r"Did you mean part_id\?"),
    ("load_partition_book", "part_confg", r"Did you mean part_config\?"),
    ("partition", "part_method", "Use method"),
    ("partition", "threads", "Put it into method_options"),
    ("partition", "return_mapping", "original_ids"),
    ("dispatch", "ip_config", "Use dispatch_to"),
    ("from_edges", "ndata_paths", "Use node_data"),
    ("scan_tables", "map_id", r"Did you mean map_ids\?"),
    ("scan_tables", "add_reverse", r"Call with_reverse_edges\(\)"),
    ("scan_tables", "cast", r"Call astype\(\)"),
    ("scan_dataset", "leave_outs", r"Did you mean leave_out\?"),
    ("scan_dataset", "deduplicate", r"Call without_duplicates\(\)"),
    ("open_partitions", "confine", r"Did you mean confined\?"),
    ("read_chunked", "storage_option", r"Did you mean storage_options\?"),
]


@pytest.mark.parametrize(("function", "keyword", "hint"), DROP_INS)
def test_words_of_the_other_door_are_told_what_the_word_is_here(function: str, keyword: str, hint: str) -> None:
    with pytest.raises(KeywordError, match=rf"{function}\(\) has no keyword '{keyword}'.*{hint}"):
        getattr(dgp, function)(**{keyword: 1})


def test_methods_name_the_nearest_keyword() -> None:
    graph = dgp.from_edges(PAIR)
    for method, keyword, hint in (
        ("with_reverse_edges", "copy_data", "copy_edge_data"),
        ("write_chunked", "num_chunk", "num_chunks"),
    ):
        with pytest.raises(KeywordError, match=hint):
            getattr(graph, method)(**{keyword: 1})


def test_no_public_function_or_method_takes_keywords_that_it_does_not_spell_out() -> None:
    public = [getattr(dgp, name) for name in dgp.__all__] + [
        getattr(dgp.parmetis, n) for n in ("write", "read", "convert")
    ]
    nouns = [of for of in public if inspect.isclass(of) and not issubclass(of, Exception)]
    methods = [getattr(noun, name) for noun in nouns for name in dir(noun) if not name.startswith("_")]
    for function in filter(inspect.isfunction, (*public, *methods)):
        kinds = {of.kind for of in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, function


def made() -> dict[str, graphs.Graph]:
    """One graph of objects of all kinds."""
    from torch_geometric.data import Data

    ring = nx.DiGraph(zip(*map(np.ndarray.tolist, PAIR), strict=True))
    index = torch.from_numpy(np.stack(PAIR))
    return {
        "edges": dgp.from_edges(PAIR),
        "networkx": dgp.from_networkx(ring),
        "scipy": dgp.from_scipy(scipy.sparse.coo_array((np.ones(20), PAIR))),
        "pyg": dgp.from_pyg(Data(edge_index=index, num_nodes=20)),
    }


@pytest.mark.filterwarnings("ignore")  # of PyG, as it is imported
def test_objects_of_libraries_are_graphs_that_read_nothing_twice() -> None:
    for kind, graph in made().items():
        assert isinstance(graph, dgp.Graph), kind
        assert (graph.schema.num_nodes, graph.schema.num_edges) == (20, 20), kind
        assert not dask.is_dask_collection(graph)
        assert dask.is_dask_collection(graph.edges["_N:_E:_N"])
    for wrong in (dgp.from_networkx, dgp.from_scipy, dgp.from_pyg, dgp.from_dgl):
        with pytest.raises(OptionError, match="Not a graph of this kind"):
            wrong(PAIR)


def test_the_steps_give_nouns_that_go_on(tmp_path: Path) -> None:
    graph = dgp.from_edges(PAIR)
    assignment = dgp.assign(graph, 2, method="random")
    owners = assignment.to_frame("_N").compute()
    assert owners.owner.tolist() == assignment.owners["_N"].compute().tolist()
    owned = assignment.with_owners(graph)["_N:_E:_N"].compute()
    assert owned.owner.tolist() == owners.owner[owned.dst].tolist()
    again = dgp.read_assignment(assignment.write(tmp_path / "owners"), graph)
    assert again.owners["_N"].compute().tolist() == owners.owner.tolist()
    parts = dgp.dispatch(graph, again, tmp_path / "parts")
    assert parts.quality.cut_share == assignment.quality.cut_share
    assert parts.verify(graph).ok
    assert parts.verify().ok
    with pytest.raises(KeywordError, match=r"verify\(\) has no keyword 'sampl'.*Did you mean sample\?"):  # of a plug-in
        parts.verify(sampl=0.5)
    written = graph.write_chunked(tmp_path / "chunked")
    assert dgp.verify(written, parts.config).ok
    for noun in (graph, assignment, parts):
        assert "<table" in noun._repr_html_()
        assert len(repr(noun).splitlines()) < 20
