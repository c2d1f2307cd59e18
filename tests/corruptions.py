"""Damage partitions on purpose: each function plants one fault in a directory that was whole."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart import open_partitions
from daskgraphpart.layouts.dgl_graph import read_graph_file, read_tensor_file
from daskgraphpart.layouts.dgl_graph_file import graph_file_layout, tensor_file_layout
from daskgraphpart.layouts.layout import ArraySpec, create_file
from daskgraphpart.storage.atomic import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inside import Region

    from daskgraphpart.partitioned.part import Part


class Damaged:
    """A copy of partitions, and ways to change it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config_path = next(path for path in root.glob("*.json") if "manifest" not in path.name)

    def part(self, number: int) -> Part:
        return open_partitions(self.root).part(number)

    def config(self, change: Callable[[dict[str, Any]], None]) -> None:
        content = json.loads(self.config_path.read_text())
        change(content)
        self.config_path.write_text(json.dumps(content, indent=4))

    def disguise(self) -> None:
        """Make the partitions look as if DGL had made them: an indented config and no manifest."""
        self.config(lambda content: None)
        for manifest in self.root.glob("*.manifest.json"):
            manifest.unlink()

    def file(self, part: int, name: str) -> Path:
        return self.root / f"part{part}" / name

    def tensors(self, part: int, name: str, change: Callable[[dict[str, np.ndarray]], None]) -> None:
        path = self.file(part, name)
        arrays = {key: region.read() for key, region in read_tensor_file(path).items()}
        change(arrays)
        layout = tensor_file_layout([ArraySpec(key, rows.dtype, rows.shape) for key, rows in arrays.items()])
        _write(path, layout, arrays)

    def graph(self, part: int, change: Callable[[dict[str, np.ndarray]], None]) -> None:
        """Write the graph of a part again; keys as in `graph_file_layout`. Sizes follow from what is left."""
        path = self.file(part, "graph.dgl")
        graph = read_graph_file(path)
        arrays = {f"{name}/{key}": r.read() for name, of in graph.formats.items() for key, r in of.items()}
        arrays |= {f"node/{key}": region.read() for key, region in graph.node_arrays.items()}
        arrays |= {f"edge/{key}": region.read() for key, region in graph.edge_arrays.items()}
        change(arrays)
        num_nodes, num_edges = (
            max(len(rows) for key, rows in arrays.items() if key.startswith(f"{kind}/")) for kind in ("node", "edge")
        )
        specs = {
            kind: [
                ArraySpec(key.removeprefix(f"{kind}/"), rows.dtype, rows.shape)
                for key, rows in arrays.items()
                if key.startswith(f"{kind}/")
            ]
            for kind in ("node", "edge")
        }
        formats = [name for name in graph.formats if any(key.startswith(f"{name}/") for key in arrays)]
        layout = graph_file_layout(num_nodes, num_edges, formats, specs["node"], specs["edge"])
        _write(path, layout, arrays)

    def as_dgl_0_9_wrote_it(self) -> None:
        """Bare relations, original IDs inside the graph, other dtypes, no manifest."""
        self.disguise()
        bare = {etype: etype.split(":")[1] for etype in open_partitions(self.root).etypes}
        for part in open_partitions(self.root).parts:

            def add_originals(arrays: dict[str, np.ndarray], part: Part = part) -> None:
                for rows in (part.node_rows, part.edge_rows):
                    kind = rows.ids.what
                    ids = np.concatenate([rows.originals[name].read() for name in rows.ids.names])
                    arrays[f"{kind}/orig_id"] = np.pad(ids, (0, rows.num_local - ids.size))
                arrays["node/inner_node"] = arrays["node/inner_node"].astype(np.int32)
                arrays["edge/inner_edge"] = arrays["edge/inner_edge"].astype(np.int8)

            def rename(arrays: dict[str, np.ndarray]) -> None:
                for key in list(arrays):
                    etype, name = key.split("/")
                    arrays[f"{bare[etype]}/{name}"] = arrays.pop(key)

            self.graph(part.part_id, add_originals)
            self.tensors(part.part_id, "edge_feat.dgl", rename)
            for name in ("orig_nids.dgl", "orig_eids.dgl"):
                self.file(part.part_id, name).unlink()

        def rename_types(content: dict[str, Any]) -> None:
            for key in ("etypes", "edge_map"):
                content[key] = {bare[name]: value for name, value in content[key].items()}

        self.config(rename_types)


def _write(path: Path, layout: Any, arrays: dict[str, np.ndarray]) -> None:
    for key, region in create_file(path, layout).items():
        region.write(arrays[key], 0)
    publish(path)


def put(region: Region, row: int, value: Any) -> None:
    """Change one row."""
    region.write(np.asarray(value, region.dtype).reshape(1, *region.shape[1:]), row)


def swap(region: Region, a: int, b: int) -> None:
    """Exchange two rows."""
    rows = region.read()
    assert not np.array_equal(rows[a], rows[b]), "nothing would change"
    rows[[a, b]] = rows[[b, a]]
    region.write(rows, 0)


def flip(path: Path, offset: int, mask: int = 1) -> None:
    """Flip bits of one byte."""
    content = bytearray(path.read_bytes())
    content[offset] ^= mask
    path.write_bytes(content)


def exchange(a: Path, b: Path) -> None:
    """Exchange two files."""
    other = a.with_suffix(".other")
    shutil.move(a, other)
    shutil.move(b, a)
    shutil.move(other, b)


# ------------------------------------------------------------------------------------------------------- the config


def config(change: Callable[[dict[str, Any]], Any]) -> Callable[[Damaged], None]:
    return lambda d: d.config(change)


def set_key(key: str, value: Callable[[Any], Any]) -> Callable[[Damaged], None]:
    return config(lambda content: content.__setitem__(key, value(content[key])))


def move_ends(*ends: tuple[str, str, int, int, int]) -> Callable[[Damaged], None]:
    """Move ends of ranges: map, type, part, which end, by how many IDs."""

    def change(content: dict[str, Any]) -> None:
        for key, kind, part, end, by in ends:
            content[key][kind][part][end] += by

    return config(change)


def exchange_keys(d: dict[str, Any], one: str, other: str) -> None:
    d[one], d[other] = d[other], d[one]


def swap_type_names(content: dict[str, Any]) -> None:
    """Ranges of the one under the name of the other."""
    content["ntypes"] = {"b": 0, "a": 1}
    content["node_map"] = {"b": content["node_map"]["a"], "a": content["node_map"]["b"]}


def swap_relation_names(content: dict[str, Any]) -> None:
    for key in ("etypes", "edge_map"):
        exchange_keys(content[key], "a:r:b", "b:r:a")


def unknown_type(content: dict[str, Any]) -> None:
    for key in ("ntypes", "node_map"):
        content[key]["z"] = content[key].pop("b")


def swap_entries(key: str) -> Callable[[Damaged], None]:
    def change(content: dict[str, Any]) -> None:
        one, two = content["part-0"], content["part-1"]
        one[key], two[key] = two[key], one[key]

    return config(change)


def cut_config(d: Damaged) -> None:
    d.config_path.write_text(d.config_path.read_text()[:-40])


# -------------------------------------------------------------------------------------------------------- the files


def remove(name: str, part: int = 1) -> Callable[[Damaged], None]:
    return lambda d: d.file(part, name).unlink()


def cut(name: str, part: int = 1, nbytes: int = 1) -> Callable[[Damaged], None]:
    def corrupt(d: Damaged) -> None:
        path = d.file(part, name)
        path.write_bytes(path.read_bytes()[:-nbytes])

    return corrupt


def flip_header(name: str, offset: int) -> Callable[[Damaged], None]:
    return lambda d: flip(d.file(1, name), offset)


def swap_files(name: str) -> Callable[[Damaged], None]:
    return lambda d: exchange(d.file(0, name), d.file(2, name))


# ---------------------------------------------------------------------------------------- the arrays of nodes, edges


def array(kind: str, name: str, row: Callable[[Part], int], value: Callable[[int], Any]) -> Callable[[Damaged], None]:
    """Change one row of the data of local nodes or edges."""

    def corrupt(d: Damaged) -> None:
        part = d.part(1)
        region, at = getattr(part.graph, f"{kind}_arrays")[name], row(part)
        put(region, at, value(int(region.read()[at])))

    return corrupt


node_array, edge_array = partial(array, "node"), partial(array, "edge")


def graph_dtype(key: str, dtype: str) -> Callable[[Damaged], None]:
    return lambda d: d.graph(1, lambda arrays: arrays.__setitem__(key, arrays[key].astype(dtype)))


def without(key: str) -> Callable[[Damaged], None]:
    return lambda d: d.graph(1, lambda arrays: arrays.pop(key))


def replace_halo_node(choose: Callable[[np.ndarray, np.ndarray, int], int]) -> Callable[[Damaged], None]:
    """The first halo node becomes another: chosen by new IDs of local nodes, of all others, and its place."""

    def corrupt(d: Damaged) -> None:
        part = d.part(1)
        ids, row = part.graph.node_arrays["_ID"].read(), part.num_inner_nodes
        free = np.setdiff1d(np.arange(open_partitions(d.root).content.num_nodes), ids)
        new = np.array([choose(ids, free, row)])
        put(part.graph.node_arrays["_ID"], row, new)
        put(part.graph.node_arrays["_TYPE"], row, int(part.book.map_to_per_ntype(new)[0][0]))

    return corrupt


other_halo_node = replace_halo_node(lambda ids, free, row: free[0])
repeat_halo_node = replace_halo_node(lambda ids, free, row: ids[row + 1])
own_node_as_halo = replace_halo_node(lambda ids, free, row: ids[0])


def swap_halo_nodes(d: Damaged) -> None:
    part = d.part(1)
    for name in ("_ID", "_TYPE"):
        rows = part.graph.node_arrays[name].read()
        a, b = part.num_inner_nodes, part.graph.num_nodes - 1
        rows[[a, b]] = rows[[b, a]]
        part.graph.node_arrays[name].write(rows, 0)


def drop_halo_node(d: Damaged) -> None:
    """The last halo node goes; its edges come from the one before."""
    part = d.part(1)

    def change(arrays: dict[str, np.ndarray]) -> None:
        last = part.graph.num_nodes - 1
        for key in [key for key in arrays if key.startswith("node/")]:
            arrays[key] = arrays[key][:-1]
        arrays["coo/row"] = np.minimum(arrays["coo/row"], last - 1)

    d.graph(1, change)


def add_halo_node(d: Damaged) -> None:
    """A foreign node that no edge ends in."""
    part = d.part(1)
    ids = part.graph.node_arrays["_ID"].read()
    free = np.setdiff1d(np.arange(open_partitions(d.root).content.num_nodes), ids)[-1:]
    rows = {"node/_ID": free, "node/inner_node": [0], "node/_TYPE": part.book.map_to_per_ntype(free)[0]}

    def change(arrays: dict[str, np.ndarray]) -> None:
        for key, row in rows.items():
            arrays[key] = np.append(arrays[key], np.asarray(row, arrays[key].dtype))

    d.graph(1, change)


def coo(which: str, value: Callable[[Part, int], int], at: int = 5) -> Callable[[Damaged], None]:
    def corrupt(d: Damaged) -> None:
        part = d.part(1)
        region = part.graph.formats["coo"][which]
        old = int(region.read()[at])
        new = value(part, old)
        assert new != old
        put(region, at, new)

    return corrupt


def turn_edge(d: Damaged) -> None:
    part = d.part(1)
    rows, columns = (part.graph.formats["coo"][name] for name in ("row", "col"))
    src, dst = rows.read(), columns.read()
    at = int(np.flatnonzero((src < part.num_inner_nodes) & (src != dst) & (dst < part.num_inner_nodes))[0])
    put(rows, at, dst[at])
    put(columns, at, src[at])


def repeat_edge(d: Damaged) -> None:
    """An edge takes the place of the next, with its original ID; so that one is dropped as well."""
    part = d.part(1)
    at = 3
    for region in (
        part.graph.formats["coo"]["row"],
        part.graph.formats["coo"]["col"],
        part.edge_rows.originals["a:r:b"],
    ):
        put(region, at + 1, region.read()[at])


def drop_edge(d: Damaged) -> None:
    """The last edge of the last part goes, from every file and from the config."""
    part = d.part(2)
    etype = part.book.etypes[-1]

    def change(arrays: dict[str, np.ndarray]) -> None:
        for key in [key for key in arrays if key.startswith(("edge/", "coo/"))]:
            arrays[key] = arrays[key][:-1]

    d.graph(2, change)
    d.tensors(2, "orig_eids.dgl", lambda arrays: arrays.__setitem__(etype, arrays[etype][:-1]))
    d.config(lambda content: content["edge_map"][etype][-1].__setitem__(1, content["edge_map"][etype][-1][1] - 1))
    d.config(lambda content: content.__setitem__("num_edges", content["num_edges"] - 1))


def matrix(name: str, key: str, at: int, value: Callable[[int], int]) -> Callable[[Damaged], None]:
    def corrupt(d: Damaged) -> None:
        region = d.part(1).graph.formats[name][key]
        put(region, at % region.num_rows, value(int(region.read()[at])))

    return corrupt


def move_row_start(d: Damaged) -> None:
    """An edge goes over to the row before."""
    region = d.part(1).graph.formats["csc"]["indptr"]
    starts = region.read()
    row = int(np.flatnonzero(np.diff(starts[1:]) > 1)[0]) + 1
    put(region, row, starts[row] + 1)


def swap_matrix(name: str, key: str) -> Callable[[Damaged], None]:
    """Exchange two entries of a matrix that differ."""

    def corrupt(d: Damaged) -> None:
        region = d.part(1).graph.formats[name][key]
        rows = region.read()
        swap(region, 0, int(np.flatnonzero(rows != rows[0])[0]))

    return corrupt


def swap_all_matrices(d: Damaged) -> None:
    """Every format says the same wrong thing."""
    part = d.part(1)
    src = part.graph.formats["coo"]["row"].read()
    other = int(np.flatnonzero(src != src[0])[0])
    swap(part.graph.formats["coo"]["row"], 0, other)
    eids = part.graph.formats["csc"]["data"].read()
    swap(part.graph.formats["csc"]["indices"], *(int(np.flatnonzero(eids == edge)[0]) for edge in (0, other)))


def claim_sorted(name: str) -> Callable[[Damaged], None]:
    """The byte behind the matrix says that it is sorted."""

    def corrupt(d: Damaged) -> None:
        matrices = d.part(1).graph.formats[name]
        last = matrices["col"] if name == "coo" else matrices["data"]
        # COO has an empty array of edge IDs in between
        flip(d.file(1, "graph.dgl"), last.offset + last.nbytes + (48 if name == "coo" else 0))

    return corrupt


def forbid_format(d: Damaged) -> None:
    """The formats that DGL may make leave out the one that is stored."""
    path = d.file(1, "graph.dgl")
    stored = (1 << 32 | 1).to_bytes(8, "little") + (1 << 32 | 7).to_bytes(8, "little")
    content = path.read_bytes()
    assert content.count(stored) == 1
    path.write_bytes(content.replace(stored, stored[:8] + (1 << 32 | 6).to_bytes(8, "little")))


def extra(change: Callable[[dict[str, np.ndarray], int], None]) -> Callable[[Damaged], None]:
    """Change the edges a part holds without owning them, given the first of them."""

    def corrupt(d: Damaged) -> None:
        part = d.part(1)
        assert part.graph.num_edges > part.num_inner_edges + 1
        d.graph(1, lambda arrays: change(arrays, part.num_inner_edges))

    return corrupt


def _edge_keys(arrays: dict[str, np.ndarray]) -> list[str]:
    return [key for key in arrays if key.startswith(("edge/", "coo/"))]


def drop_extra(arrays: dict[str, np.ndarray], first: int) -> None:
    for key in _edge_keys(arrays):
        arrays[key] = np.delete(arrays[key], first)


def repeat_extra(arrays: dict[str, np.ndarray], first: int) -> None:
    for key in _edge_keys(arrays):
        arrays[key][first] = arrays[key][first + 1]


def redirect_extra(arrays: dict[str, np.ndarray], first: int) -> None:
    arrays["coo/row"][first] = (arrays["coo/row"][first] + 1) % 5


def other_extra_id(arrays: dict[str, np.ndarray], first: int) -> None:
    arrays["edge/_ID"][first] += 1


def drop_all_extra_of_part(arrays: dict[str, np.ndarray], first: int) -> None:
    for key in _edge_keys(arrays):
        arrays[key] = arrays[key][:first]


# ---------------------------------------------------------------------------------------------- features, original IDs


def feature(file: str, key: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Damaged], None]:
    return lambda d: d.tensors(1, file, lambda arrays: arrays.__setitem__(key, change(arrays[key])))


def swapped(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    other = int(np.flatnonzero(rows.reshape(rows.shape[0], -1)[:, 0] != rows.reshape(-1)[0])[0])
    rows[[0, other]] = rows[[other, 0]]
    return rows


def repeated(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows[1] = rows[0]
    return rows


def other_nan(rows: np.ndarray) -> np.ndarray:
    bits = rows.copy().view(np.uint32)
    nan = np.argwhere(np.isnan(rows))[0]
    bits[tuple(nan)] ^= 1
    changed = bits.view(np.float32)
    assert np.isnan(changed[tuple(nan)])
    return changed


def other_zero(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows[tuple(np.argwhere(rows == 0)[0])] = -0.0
    return rows


def last_bit(rows: np.ndarray) -> np.ndarray:
    content = bytearray(rows.tobytes())
    content[-1] ^= 1
    return np.frombuffer(bytes(content), rows.dtype).reshape(rows.shape)


def with_value(row: int, value: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(rows: np.ndarray) -> np.ndarray:
        rows = rows.copy()
        rows[row] = value
        return rows

    return change


def drop_feature(file: str, key: str) -> Callable[[Damaged], None]:
    return lambda d: d.tensors(1, file, lambda arrays: arrays.pop(key))


def rename_feature(file: str, key: str, name: str) -> Callable[[Damaged], None]:
    return lambda d: d.tensors(1, file, lambda arrays: arrays.__setitem__(name, arrays.pop(key)))


def add_feature(d: Damaged) -> None:
    d.tensors(1, "node_feat.dgl", lambda arrays: arrays.__setitem__("a/more", arrays["a/x"].copy()))
