"""Tables with string IDs, and features of nodes and edges, in a directory of a machine."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd

import daskgraphpart


def frame() -> pd.DataFrame:
    """A table of edges that are numbers."""
    rows = np.arange(3000)
    return pd.DataFrame({"src": rows % 311, "dst": rows * 7 % 307, "w": rows / 4})


def tables() -> dict[str, str]:
    """Text by name."""
    users, items = [f"u{i * 7 % 200}" for i in range(200)], [f"item {i}" for i in range(100)]
    buys = [f"{users[i % 200]},{items[i * i % 100]},{i / 8}" for i in range(900)]
    knows = [f"{users[i % 200]},{users[i * 3 % 200]},{i % 5}" for i in range(600)]
    people = [f"{user},{len(user)}.5,{i % 3}" for i, user in enumerate(users)]
    named = {"buys": ("src,dst,price", buys), "knows": ("src,dst,since", knows), "users": ("id,x,age", people)}
    return {name: "\n".join([head, *rows, ""]) for name, (head, rows) in named.items()}


def scan(directory: str | os.PathLike[str]) -> daskgraphpart.Scan:
    """Write the tables, and describe what they hold."""
    for name, content in tables().items():
        with open(os.path.join(directory, f"{name}.csv"), "w", encoding="utf-8") as file:
            file.write(content)
    edges = {"user:buys:item": f"{directory}/buys.csv", "user:knows:user": f"{directory}/knows.csv"}
    return daskgraphpart.scan_tables(edges, nodes={"user": f"{directory}/users.csv"}, map_ids=True)


def partition(directory: str | os.PathLike[str], **how: Any) -> None:
    """Partition what they hold."""
    daskgraphpart.partition(scan(directory), **how)
