"""Runs in an environment with real DGL: answers of its partition book and policies.

Usage: python judge_book.py QUESTIONS.json ANSWERS.json; a question holds ranges, types, a part and IDs to map.
"""

import json
import os
import sys

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
import torch
from dgl.distributed.graph_partition_book import EdgePartitionPolicy, NodePartitionPolicy, RangePartitionBook


def answers(question):
    ntypes, etypes = question["ntypes"], [tuple(etype.split(":")) for etype in question["etypes"]]
    node_ranges, edge_ranges = (np.array(question[key]) for key in ("node_ranges", "edge_ranges"))
    part = question["part"]
    book = RangePartitionBook(
        part,
        len(node_ranges),
        {name: node_ranges[:, i] for i, name in enumerate(ntypes)},
        {name: edge_ranges[:, i] for i, name in enumerate(etypes)},
        {name: i for i, name in enumerate(ntypes)},
        {name: i for i, name in enumerate(etypes)},
    )
    return {
        "num_partitions": book.num_partitions(),
        "metadata": book.metadata(),
        "ntypes": book.ntypes,
        "etypes": book.etypes,
        "canonical_etypes": [list(etype) for etype in book.canonical_etypes],
        "local_ntype_offset": [int(x) for x in book.local_ntype_offset],
        "local_etype_offset": [int(x) for x in book.local_etype_offset],
        "nodes": of_kind(book, part, question["nids"], ntypes, "nid", NodePartitionPolicy),
        "edges": of_kind(book, part, question["eids"], etypes, "eid", EdgePartitionPolicy),
    }


def of_kind(book, part, ids, types, kind, policy_of):
    to_part, to_ids = getattr(book, f"{kind}2partid"), getattr(book, f"partid2{kind}s")
    to_local = getattr(book, f"{kind}2local{kind}")
    per_type = book.map_to_per_ntype if kind == "nid" else book.map_to_per_etype
    homogeneous = book.map_to_homo_nid if kind == "nid" else book.map_to_homo_eid
    ids = torch.tensor(ids, dtype=torch.int64)
    mine = to_ids(part)
    found = {"part": to_part(ids).tolist(), "ids": mine.tolist(), "local": to_local(mine, part).tolist()}
    type_ids, typed = per_type(ids)
    found["per_type"] = [type_ids.tolist(), typed.tolist()]
    for number, name in enumerate(types):
        policy, of_type = policy_of(book, name), typed[type_ids == number]
        owned = to_ids(part, name)
        found[str(number)] = [
            to_part(of_type, name).tolist(),
            owned.tolist(),
            to_local(owned, part, name).tolist(),
            homogeneous(of_type, name).tolist(),
            policy.to_local(owned).tolist(),
            policy.to_partid(of_type).tolist(),
            policy.get_part_size(),
            policy.get_size(),
            policy.policy_str,
        ]
    return found


with open(sys.argv[1]) as file:
    questions = json.load(file)
with open(sys.argv[2], "w") as file:
    json.dump([answers(question) for question in questions], file)
print(json.dumps({"dgl": dgl.__version__, "books": len(questions)}))
