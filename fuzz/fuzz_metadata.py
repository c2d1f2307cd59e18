"""Fuzz the readers of metadata and partition configs: JSON that is mutated as text and as a tree; see engine.py."""

import json
import random

import atheris
from engine import run
from trees import changed


def mutate(content: bytes, max_size: int, seed: int) -> bytes:
    """Change the text, or a few places of the tree."""
    chance = random.Random(seed)
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        tree = None
    if tree is None or chance.random() < 0.2:
        return bytes(atheris.Mutate(content, max_size))
    for _ in range(chance.choice((1, 1, 2, 3))):
        tree = changed(tree, chance)
    return json.dumps(tree).encode()[:max_size]


if __name__ == "__main__":
    run("json", "check_json", "json_files", mutate)
