"""The whole graph as GraphBolt's `OnDiskDataset`, for training on one machine: the dataset is `ondisk/dataset`.

As left by `preprocess_ondisk_dataset` of DGL 2.1 (python/dgl/graphbolt/impl/ondisk_dataset.py): the sampling graph,
features as npy files, and train, validation and test sets from masks. With one part, new IDs are the original ones;
types keep their order. Integers are as short as in DGL: 64 bits from 2^31 on.

DGL hashes a dataset's files and deletes the preprocessed ones if paths or content have changed. `dataset/preprocessed`
is a link to `files`, which the hash does not follow and the deletion refuses: the dataset opens at once, from any path,
and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

import daskgraphpart.extension as ext

ONDISK = "ondisk"
VERSION = 1
ROWS_PER_PIECE = 1 << 18
GRAPH = "fused_csc_sampling_graph.pt"
FILES, LINKED = f"{ONDISK}/files", "preprocessed"
METADATA, HASH = f"{FILES}/metadata.yaml", f"{FILES}/dataset_hash_value.txt"
LABELS = ("label", "labels", "y")
"""Features of nodes that are labels, the first that there is."""
LABELS_SUFFIX = "-labels"
"""Of the name of a mask, in that of the file with the labels of its nodes."""
SETS = {"train": "train_set", "val": "validation_set", "test": "test_set"}
_MASK = re.compile(r"(train|val|test)(?:id|idation)?_?mask_?(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class OnDiskLayout(ext.Layout):
    """A dataset of one part."""

    own_files = rf"dataset/preprocessed|files/({re.escape(GRAPH)}|metadata\.yaml|dataset_hash_value\.txt|.+\.npy)"

    def check_fits(self, schema: ext.GraphSchema) -> None:
        ext.check_file_names(schema, ONDISK)
        _check_masks(schema)
        ext.refuse_bfloat16(schema, ONDISK, "GraphBolt's datasets are read by numpy, which has")

    def check_request(self, graph_name: str, num_parts: int | None) -> None:
        if num_parts not in (None, 1):
            raise ext.OptionError(
                "this layout has only one part",
                place=f"layout {ONDISK}",
                expected="--num-parts 1",
                found=str(num_parts),
                hint="use the layout graphbolt for several parts",
            )

    def wants(self, schema: ext.GraphSchema) -> Collection[str]:
        return ext.split_names(schema)

    def part_files(self, sizes: ext.GraphSizes, part: int) -> dict[str, ext.FileLayout]:
        files = {f"{FILES}/{GRAPH}": _graph_layout(sizes, part)}
        features = {spec.key: spec for spec in _features(sizes, part)}
        files |= {_npy(key): _feature_layout(spec) for key, spec in features.items()}
        seed_dtype = ext.shortest_int(sizes.schema.num_nodes - 1)
        for mask, counts in sizes.num_marked.items():
            seeds = ext.ArraySpec(f"split_nids/{mask}", seed_dtype, (int(counts[part]),))
            files[_npy(f"set/{mask}")] = ext.npy_file_layout(seeds)
            if label := _label_of(sizes.schema, mask):
                labels = features[f"node_data/{label}"]
                files[_npy(f"set/{mask}{LABELS_SUFFIX}")] = ext.raw_file_layout(
                    [labels, seeds], LabelFile(labels, seeds.key)
                )
        return files

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        return METADATA, HASH, ext.description_of(ONDISK)

    def links(self) -> dict[str, str]:
        """Lead from the dataset to its files."""
        return {f"{ONDISK}/dataset/{LINKED}": "../files"}

    def describe(self, graph: ext.DispatchedGraph) -> dict[str, bytes | Mapping[str, Any]]:
        content = json.dumps(_metadata(graph), indent=1, ensure_ascii=False)
        # JSON is YAML, except for unprintable characters
        content = re.sub("[\x7f-\x9f\ufffe\uffff]", lambda character: f"\\u{ord(character[0]):04x}", content)
        described = ext.describe_layout(graph, ONDISK, VERSION, {"dataset": "dataset"})
        return {METADATA: content.encode(), HASH: b"{}", **described}


@dataclass(frozen=True, slots=True)
class LabelFile:
    """Encodes an npy file of a set's labels: the array of all labels, and the name of the nodes' array."""

    labels: ext.ArraySpec
    seeds: str

    def __call__(self, arrays: Mapping[str, ext.Region], path: str) -> None:
        """Write the file from its complete arrays."""
        labels, seeds, dtype = arrays[self.labels.key], arrays[self.seeds], self.labels.dtype
        layout = ext.npy_file_layout(ext.ArraySpec("", dtype, (seeds.num_rows, *labels.shape[1:])))
        with ext.whole_file(path) as temporary, open(temporary, "wb") as file:
            file.write(layout.pieces[0][1])
            for _, nids in seeds.pieces(ROWS_PER_PIECE):
                file.write(labels.take(nids).astype(dtype, copy=False).tobytes())


def _graph_layout(sizes: ext.GraphSizes, part: int) -> ext.FileLayout:
    """Lay out the sampling graph; edge IDs lead to types and features."""
    schema, num_nodes, num_edges = sizes.schema, sizes.num_local_nodes(part), sizes.num_local_edges(part)
    nid_dtype, eid_dtype = ext.shortest_int(schema.num_nodes - 1), ext.shortest_int(schema.num_edges - 1)
    independent = {
        "version_number": ext.Tensor(np.dtype("<i8"), (1,), np.array([6199])),
        "indptr": ext.Tensor(eid_dtype, (num_nodes + 1,), "csc/indptr"),
        "indices": ext.Tensor(nid_dtype, (num_edges,), "csc/indices"),
    }
    state: dict[str, Any] = {"independent_tensors": independent}
    if schema.is_heterogeneous or any(kind.data for kind in schema.edge_types):
        state["edge_attributes"] = {"_ORIGINAL_EDGE_ID": ext.Tensor(eid_dtype, (num_edges,), "csc/type_id")}
    if schema.is_heterogeneous:
        last_type, node_starts = len(schema.etypes) - 1, np.cumsum([0, *(kind.num_rows for kind in schema.node_types)])
        dtype = np.dtype(np.uint8) if last_type < 1 << 8 else ext.shortest_int(last_type, 2, 4)
        independent["node_type_offset"] = ext.Tensor(nid_dtype, node_starts.shape, node_starts)
        independent["type_per_edge"] = ext.Tensor(dtype, (num_edges,), "csc/type")
        state |= {
            "node_type_to_id": ext.type_numbers(schema.ntypes),
            "edge_type_to_id": ext.type_numbers(schema.etypes),
        }
    return ext.sampling_graph_layout(state)


def _features(sizes: ext.GraphSizes, part: int) -> Iterator[ext.ArraySpec]:
    for specs in (*ext.node_arrays(sizes, part).values(), *ext.edge_arrays(sizes, part).values()):
        yield from (spec for spec in specs if spec.key.startswith(("node_data/", "edge_data/")))


def _feature_layout(spec: ext.ArraySpec) -> ext.FileLayout:
    """Lay out an npy file; GraphBolt takes scalars as rows of one."""
    rows = replace(spec, shape=(*spec.shape, 1)) if len(spec.shape) == 1 else spec
    layout = ext.npy_file_layout(rows)
    return replace(layout, regions={spec.key: (layout.regions[spec.key][0], spec.dtype, spec.shape)})


def _npy(array: str) -> str:
    return f"{FILES}/{ext.file_name(array)}.npy"


def _check_masks(schema: ext.GraphSchema) -> None:
    """Refuse pairs of masks that DGL cannot open, or that share a file."""
    masks = [(kind.name, spec.name) for kind in schema.node_types for spec in kind.data if spec.is_mask]
    for (ntype, first), (other_type, second) in permutations(masks, 2):
        is_one_type, is_one_set = ntype == other_type, _set_of(first) == _set_of(second)
        has_labels, other_has = (_label_of(schema, f"{of}/") is not None for of in (ntype, other_type))
        if is_one_type and is_one_set:
            what = "two masks of one set"
        elif is_one_type and has_labels and second == first + LABELS_SUFFIX:
            what = "a mask has the name of another mask's labels"
        elif is_one_set and has_labels and not other_has:
            what = "of two masks of one set, the second has no labels"
        else:
            continue
        both, hint = f"{ntype}/{first} and {other_type}/{second}", "rename or leave out one, or write another layout"
        raise ext.OptionError(what, place=f"layout {ONDISK}", found=both, hint=hint)


def _set_of(mask: str) -> tuple[str, str]:
    """Set that a mask marks, and the name of its task."""
    words = _MASK.fullmatch(mask)
    assert words is not None, "masks are named so"
    return SETS[words[1]], "_".join(filter(None, ("node_classification", words[2])))


def _label_of(schema: ext.GraphSchema, mask: str) -> str | None:
    """Labels of the nodes of a mask ``<ntype>/<mask>``, as ``<ntype>/<name>``."""
    ntype = mask.partition("/")[0]
    names = [spec.name for spec in schema.node_type(ntype).data]
    return next((f"{ntype}/{name}" for name in LABELS if name in names), None)


def _metadata(graph: ext.DispatchedGraph) -> dict[str, Any]:
    return {
        "dataset_name": graph.schema.name,
        "include_original_edge_id": False,  # DGL's default; unneeded IDs do no harm
        "graph_topology": {"type": "FusedCSCSamplingGraph", "path": f"{LINKED}/{GRAPH}"},
        "feature_data": [_feature_entry(graph, spec) for spec in _features(graph.sizes, 0)],
        "tasks": [*_tasks(graph).values()],
    }


def _feature_entry(graph: ext.DispatchedGraph, spec: ext.ArraySpec) -> dict[str, Any]:
    domain, kind, name = spec.key.split("/", 2)
    return {
        "domain": domain.removesuffix("_data"),
        **_type_entry(graph.schema, kind),
        "name": name,
        **_file_entry(spec.key),
        "in_memory": 0 in spec.shape,  # memory-map all others: they may exceed memory
    }


def _tasks(graph: ext.DispatchedGraph) -> dict[str, dict[str, Any]]:
    """Tasks by name: masks with the same end after ``_mask``."""
    tasks: dict[str, dict[str, Any]] = {}
    for mask in (mask for mask, counts in graph.sizes.num_marked.items() if counts[0]):
        ntype, _, name = mask.partition("/")
        set_name, task_name = _set_of(name)
        task = tasks.setdefault(task_name, {"name": task_name})
        data = [{"name": "seeds", **_file_entry(f"set/{mask}")}]
        if _label_of(graph.schema, mask):
            data.append({"name": "labels", **_file_entry(f"set/{mask}{LABELS_SUFFIX}")})
            labels = np.load(graph.out / _npy(f"set/{mask}{LABELS_SUFFIX}"), mmap_mode="r", allow_pickle=False)
            if labels.dtype.kind in "iu" and labels.ndim == 1:
                task["num_classes"] = max(task.get("num_classes", 0), int(labels.max()) + 1)
        task.setdefault(set_name, []).append({**_type_entry(graph.schema, ntype), "data": data})
    return tasks


def _type_entry(schema: ext.GraphSchema, name: str) -> dict[str, str]:
    return {"type": name} if schema.is_heterogeneous else {}


def _file_entry(array: str) -> dict[str, str]:
    return {"format": "numpy", "path": _npy(array).replace(FILES, LINKED, 1)}
