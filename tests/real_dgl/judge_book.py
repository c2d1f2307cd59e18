"""Runs in an environment with real DGL: answers of its partition book and policies.

Usage: python judge_book.py QUESTIONS.json ANSWERS.json; a question holds ranges, types, a part and IDs to map.
"""

import json
import os
import sys

os.environ["DGLBACKEND"] = "pytorch"

import dgl
import numpy as np
from book_answers import answers
from dgl.distributed.graph_partition_book import EdgePartitionPolicy, NodePartitionPolicy, RangePartitionBook


def book_of(question):
    ntypes, etypes = question["ntypes"], [tuple(etype.split(":")) for etype in question["etypes"]]
    node_ranges, edge_ranges = (np.array(question[key]) for key in ("node_ranges", "edge_ranges"))
    return RangePartitionBook(
        question["part"],
        len(node_ranges),
        {name: node_ranges[:, i] for i, name in enumerate(ntypes)},
        {name: edge_ranges[:, i] for i, name in enumerate(etypes)},
        {name: i for i, name in enumerate(ntypes)},
        {name: i for i, name in enumerate(etypes)},
    )


with open(sys.argv[1]) as file:
    questions = json.load(file)
policies = NodePartitionPolicy, EdgePartitionPolicy
with open(sys.argv[2], "w") as file:
    json.dump([answers(book_of(question), policies, question) for question in questions], file)
print(json.dumps({"dgl": dgl.__version__, "books": len(questions)}))
