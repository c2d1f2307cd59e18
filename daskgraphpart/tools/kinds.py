"""Edges of synthetic graphs that are like real ones: each a function of key and number, however they are cut.

A kind is a function of a key, the numbers of nodes of its types, the number of edges, and the consecutive numbers of
those to make; it returns their ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.kernels.synthetic import (
    community_edges,
    number_of_communities,
    rmat_edges,
    scatter_step,
    uniform_shares,
)

if TYPE_CHECKING:
    Ends = tuple[np.ndarray, np.ndarray]

RMAT_THRESHOLDS = tuple(round(65536 * share) for share in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
IN_COMMUNITY = 0.75
FIELDS, IN_FIELD, COPIED_CITATIONS = 20, 0.9, 0.5
SIBLINGS, COPIED_LINKS, IN_HOST = 8, 0.7, 0.8  # pages next to each other that copy the links of the first
USERS, IN_TASTE = 0.8, 0.6  # share of nodes; the rest are items
SMALLEST, LARGEST, MIXING = 20, 2000, 0.3  # communities of LFR, and the share of edges between them
RELATIONS, TOPIC, IN_TOPIC = 200, 100, 0.5  # number; nodes
LONG = 0.01


def rmat(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Degrees by a power law, as in DGL's scaling study."""
    ends = np.empty((2, numbers.size), np.int64)
    rmat_edges(key, int(numbers[:1].sum()), num_nodes, RMAT_THRESHOLDS, *ends)
    return ends[0], ends[1]


def communities(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Communities of a thousand nodes on average, with three quarters of the edges."""
    ends, sizes = np.empty((2, numbers.size), np.int64), (number_of_communities(num_nodes), IN_COMMUNITY)
    community_edges(key, int(numbers[:1].sum()), num_nodes, *sizes, scatter_step(num_nodes), *ends)
    return ends[0], ends[1]


def citations(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Papers in order of time cite recent ones of their field, or copy a citation of those."""
    source, number = _source(numbers, num_nodes, num_edges), numbers.copy()
    target, left = np.empty_like(number), np.arange(number.size)
    while left.size:
        paper, draws = _source(number, num_nodes, num_edges), _draw(key, "age", number)
        step = np.where(_draw(key, "field", number) < IN_FIELD, FIELDS, 1)
        cited = np.maximum(paper - step * np.exp(draws * np.log(paper // step + 1)).astype(np.int64), 0)
        target[left] = cited
        # the chain of an edge ends as that of the edge that it copies, since draws depend on the edge alone
        copies = np.flatnonzero((_draw(key, "copy", number) < COPIED_CITATIONS) & (cited < paper))
        one = cited[copies] + _draw(key, "citation", number[copies])
        left, number = left[copies], (one * (num_edges / num_nodes)).astype(np.int64)
    return source, target


def web(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Pages in order of hosts link within their host, to first pages of others, and as pages next to them."""
    page, per_page = _source(numbers, num_nodes, num_edges), num_edges / num_nodes
    back = (page % SIBLINGS) * (_draw(key, "copy", numbers) < COPIED_LINKS)
    number, hosts = np.maximum(numbers - np.rint(back * per_page).astype(np.int64), 0), number_of_communities(num_nodes)
    low, high = _community((page - back) / num_nodes, hosts, num_nodes)
    away = _draw(key, "away", number) >= IN_HOST
    first, last = _community(_draw(key, "host", number) ** 2, hosts, num_nodes)
    low, high = np.where(away, first, low), np.where(away, last, high)
    return page, low + ((high - low) * _draw(key, "page", number) ** np.where(away, 6, 2)).astype(np.int64)


def bipartite(key: np.uint64, num_users: int, num_items: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Users buy items of their taste, and popular ones of any; degrees of both follow power laws."""
    place, tastes = _draw(key, "taste", numbers), number_of_communities(num_users)
    low, high = _community(place, tastes, num_users)
    user = low + ((high - low) * _draw(key, "user", numbers) ** 2).astype(np.int64)
    low, high = _community(place, tastes, num_items)
    other = _draw(key, "other", numbers) >= IN_TASTE
    low, high = np.where(other, 0, low), np.where(other, num_items, high)
    item = low + ((high - low) * _draw(key, "item", numbers) ** 2).astype(np.int64)
    return user * scatter_step(num_users) % num_users, item * scatter_step(num_items) % num_items


def lfr(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Communities and degrees by power laws, as of Lancichinetti, Fortunato and Radicchi (2008)."""
    ratio = LARGEST / SMALLEST
    count = max(1.0, num_nodes * np.log(ratio) / (LARGEST - SMALLEST))  # of communities, sizes uniform by logarithm
    ends, places = [], [_draw(key, end, numbers) for end in ("src", "dst")]
    places[1] = np.where(_draw(key, "mix", numbers) < MIXING, places[1], places[0])
    for end, place in zip(("from", "to"), places, strict=True):
        rank = np.floor(count * np.log1p(place * (ratio - 1)) / np.log(ratio))
        low, high = (
            np.minimum(num_nodes * np.expm1(np.log(ratio) * each / count) / (ratio - 1), num_nodes - 1).astype(np.int64)
            for each in (rank, rank + 1)
        )
        ends.append(low + ((high - low) * _draw(key, end, numbers) ** 2).astype(np.int64))
    return ends[0] * scatter_step(num_nodes) % num_nodes, ends[1] * scatter_step(num_nodes) % num_nodes


def knowledge(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """One relation of a knowledge graph: from a class of entities to their topics, or popular ones of a class."""
    zero = np.zeros(1, np.int64)
    head, tail = (_draw(key, end, zero)[0] for end in ("head", "tail"))  # where classes begin, a tenth of all entities
    place = (head + 0.1 * _draw(key, "src", numbers) ** 1.5) % 1
    source = (place * num_nodes).astype(np.int64)
    near = source // TOPIC * TOPIC + (TOPIC * _draw(key, "near", numbers)).astype(np.int64)
    far = (((tail + 0.1 * _draw(key, "far", numbers) ** 4) % 1) * num_nodes).astype(np.int64)
    target = np.where(_draw(key, "topic", numbers) < IN_TOPIC, np.minimum(near, num_nodes - 1), far)
    return source * scatter_step(num_nodes) % num_nodes, target * scatter_step(num_nodes) % num_nodes


def grid(key: np.uint64, num_nodes: int, num_edges: int, numbers: np.ndarray) -> Ends:
    """Three edges from each node of a cube to its next ones; any further, and one in a hundred, lead anywhere."""
    side = round(num_nodes ** (1 / 3))
    source, turn = numbers % num_nodes, numbers // num_nodes
    steps = np.array([1, side, side * side])[np.minimum(turn, 2)]
    is_long = (turn > 2) | (_draw(key, "long", numbers) < LONG)
    anywhere = (num_nodes * _draw(key, "anywhere", numbers)).astype(np.int64)
    return source, np.where(is_long, anywhere, (source + steps) % num_nodes)


KINDS: dict[str, Callable[..., Ends]] = {
    kind.__name__: kind for kind in (rmat, communities, citations, web, bipartite, lfr, knowledge, grid)
}


def nodes_and_edges(kind: str, num_nodes: int, num_edges: int) -> tuple[dict[str, int], dict[str, int]]:
    """How many nodes and edges a graph of a kind has of each type."""
    if kind == "bipartite":
        users = max(1, min(round(num_nodes * USERS), num_nodes - 1))
        return {"user": users, "item": max(1, num_nodes - users)}, {"user:buys:item": num_edges}
    if kind == "knowledge":
        shares = np.cumsum(1 / np.arange(1, RELATIONS + 1))  # Zipf's law
        ends = np.rint(num_edges * shares / shares[-1]).astype(np.int64)
        counts = np.diff(ends, prepend=0).tolist()
        return {"entity": num_nodes}, {f"entity:r{i}:entity": count for i, count in enumerate(counts)}
    return {"_N": num_nodes}, {"_N:_E:_N": num_edges}


def _draw(key: np.uint64, stream: str, numbers: np.ndarray) -> np.ndarray:
    """Draw a number in [0, 1) for each of `numbers`, float64."""
    shares = np.empty(numbers.size)
    uniform_shares(stream_key(int(key), stream), numbers, shares)
    return shares


def _source(numbers: np.ndarray, num_nodes: int, num_edges: int) -> np.ndarray:
    """Give each node as many edges in turn."""
    return np.minimum((numbers * (num_nodes / num_edges)).astype(np.int64), num_nodes - 1)


def _community(place: np.ndarray, count: int, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """First node of the community at each place in [0, 1), and the node after its last; sizes grow."""
    number = np.floor(count * np.sqrt(place))
    low = (num_nodes * (number / count) ** 2).astype(np.int64)
    return low, np.maximum((num_nodes * ((number + 1) / count) ** 2).astype(np.int64), low + 1).clip(max=num_nodes)
