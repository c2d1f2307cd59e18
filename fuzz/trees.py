"""Change JSON values at random: of metadata, configs, manifests, journals and locks."""

import copy
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 5, 2**31, 2**63, 10**30, 0.5, 1e308, float("nan"), float("inf"), "", "n", "_N",
       "e.csv", "x.npy", "numpy", "parquet", "csv", "/dev/zero", "\0", "a" * 300, "n:e:n", "\ud800", [], {}, [[]],
    [[0, 3], [3, 5]], "..",     [3, 5], {"n": 0}, {"": 0}, [None], ["n"], [["n"]], [[0, None]],
)  # fmt: skip


def changed(tree: Any, chance: random.Random) -> Any:
    """Replace, remove or add a value somewhere below."""
    if isinstance(tree, (dict, list)) and tree and chance.random() < 0.8:
        key: Any = chance.choice(list(tree)) if isinstance(tree, dict) else chance.randrange(len(tree))
        what = chance.random()
        if what < 0.1:
            del tree[key]
        elif what < 0.2:
            if isinstance(tree, dict):
                tree[str(chance.choice(VALUES))] = copy.deepcopy(tree[key])
            else:
                tree.append(tree[key])
        else:
            tree[key] = changed(tree[key], chance)
        return tree
    return copy.deepcopy(chance.choice(VALUES))  # what is taken may be changed later
