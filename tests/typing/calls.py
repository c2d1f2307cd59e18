"""Public calls for type checkers, never run: each that a comment calls wrong must be found, and no other blamed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import daskgraphpart as dgp

ends = np.arange(9), np.arange(9)
frame = pd.DataFrame({"src": [0, 1], "dst": [1, 0]})

graph = dgp.read_chunked("graph", confined=True)
dgp.read_chunked(Path("graph"), storage_options={"anon": True})
dgp.read_chunked(["a", "b"])  # wrong: one directory
dgp.read_chunked("graph", confine=True)  # wrong: confined

scan = dgp.scan_tables({"user:buys:item": "events/"}, nodes={"user": "users.csv"}, map_ids=True)
dgp.scan_tables(frame, unknown_nodes="drop", id_type="string", masks={"_N": {"train_mask": ["ann", "bob"]}})
dgp.scan_tables({("user", "buys", "item"): frame}, node_data={"user": {"age": np.arange(9)}, "item": frame})

dgp.scan_tables("follows.tsv", unknown_nodes="ignore")  # wrong: add, drop or error
dgp.scan_tables("follows.tsv", map_ids="yes")  # wrong: a bool

collected: dgp.Graph = scan.without_duplicates().with_reverse_edges(copy_edge_data=True).collect(memory="1GB")
print(scan.schema)  # wrong: nothing is read yet
scan.collect(resources=None)  # wrong: memory and so on
dgp.from_edges({("user", "buys", "item"): ends, "user:follows:user": frame}, num_nodes={"user": 60})
dgp.from_edges(60)  # wrong: edges
dgp.from_scipy(ends)  # wrong: a matrix

types: tuple[str, ...] = graph.schema.etypes
num_edges: int = graph.split_edges("user:buys:item", by="kind").collect_schema().num_edges
graph.split_edges("user:buys:item")  # wrong: by what
graph.astype({"user/age": np.float16})  # wrong: the name of a dtype
graph.write_chunked("out", num_chunks=8, edge_format="csv", workers=2).name.upper()
graph.write_chunked("out", edge_format="tsv")  # wrong: parquet, csv or numpy

assignment = dgp.assign(
    graph, 8, method="fennel", balance=["nodes", "edges=0.05"], method_options={"passes": 2}, progress=False
)
dgp.assign(graph, 8, effort="highest")  # wrong: low, normal or high
dgp.assign(graph, "8")  # wrong: a number
share: float = assignment.quality.cut_share
assignment.write("owners", form="zarr").exists()
assignment.owners = {}  # wrong: immutable

parts = dgp.partition(graph, "out", 8, num_hops=2, layout="dgl,ranks", memory="8GB", workspace=Path("/scratch"))
dgp.partition(ends, "out", 8)
dgp.partition({"user:buys:item": frame}, Path("out"), 8, progress=lambda event: print(event["kind"]))
dgp.partition(graph, "out", 8, metho="auto")  # wrong: method
dgp.partition(graph, "out", 8, memory=[1, 2])  # wrong: bytes, or text
dgp.partition(graph, "out", 8, num_hops="two")  # wrong: a number
dgp.partition(graph, 8, "out")  # wrong: first where to, then how many
dgp.dispatch(scan, assignment, "out", workspace_options={"staging": "zarr"}, cluster="processes").config.exists()
dgp.dispatch(graph, "out", assignment=assignment)  # wrong: given twice

nbytes: int = dgp.plan(frame, 8, out="out", method="metis").output_nbytes
dgp.compare("graph", [2, 4], ["random", "fennel"], fanouts="8,4", training_options={"batch_size": 100})
dgp.compare("graph", 2, "random")
dgp.compare("graph", "2")  # wrong: numbers of parts
fine: bool = dgp.verify(graph, "out", sample=0.1).ok
dgp.verify("out", graph)  # wrong: first the graph, then its parts

opened = dgp.open_partitions("out", confined=True)
clean: bool = opened.verify(graph, quick=True).ok
opened.verify(graph, sampl=0.1)  # wrong: sample
opened.report(fanouts="8,4").to_html("report.html")
opened.to_original("user", np.zeros(9), "scores.parquet", overwrite=True)
opened.to_original("user", np.zeros(9), id_mapp="ids")  # wrong: id_map
batches = opened.part(0).neighbor_loader([10, 5], batch_size=512, shuffle=True)
opened.neighbor_loader(10)  # wrong: one number per hop
opened.parts[0].to_pyg(0)  # wrong: it takes nothing
opened.to_dgl()  # wrong: no such method

local, node_feats, edge_feats, book, name, ntypes, etypes = dgp.load_partition("out/graph.json", 0)
dgp.load_partition("out/graph.json", part=0)  # wrong: part_id
node_map, edge_map = dgp.partition_graph(frame, "name", 2, "out", return_mapping=True)
dgp.partition_graph(frame, "name", 2, out="out")  # wrong: out_path
dgp.parmetis.write(graph, "for-parmetis", weights=["file:weights.npy"])
dgp.parmetis.convert("for-parmetis", "out")  # wrong: graph_name is missing
try:
    dgp.read_id_map("graph", "user")
except (dgp.errors.InputFileError, dgp.GraphPartError) as error:
    print(error.hint, error.exit_code + 1)
