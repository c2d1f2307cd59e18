"""Sample in-edges of nodes from CSC, number the nodes found, and shuffle seeds.

Random numbers are functions of (key, node, edge type, draw), never of order or thread. Arrays come from files that may
be damaged: indices that would leave them are reported, never read.
"""

from __future__ import annotations

import numpy as np
from numba import int64, uint64

from daskgraphpart.kernels.compiled import inlined, kernel
from daskgraphpart.kernels.hashing import GOLDEN, splitmix64

ROUNDS = 6
"""Of the Feistel network that shuffles."""
SMALLEST_TABLE = 1 << 10


@inlined
def _new_eid(place, data, new_eids, first_eid, num_owned):  # type: ignore[no-untyped-def]
    """New ID of the edge at a position of CSC; -1 if its local ID is outside the part."""
    eid = data[place] if data.size else place
    if eid < 0 or eid >= new_eids.size:
        return -1
    return first_eid + eid if eid < num_owned else new_eids[eid]


@inlined
def stream_of(key, node, etype):  # type: ignore[no-untyped-def]
    """Key of the random numbers of a node and an edge type."""
    return splitmix64(key + uint64(node) * uint64(GOLDEN)) + uint64(etype) * uint64(0xD6E8FEB86659FD93)


@inlined
def draw_distinct(stream, degree, out, begin, count):  # type: ignore[no-untyped-def]
    """Write `count` different numbers below `degree` to `out` from `begin` on, by Floyd's algorithm."""
    for j in range(count):
        last = degree - count + j
        pick = int64(splitmix64(stream + uint64(j + 1) * uint64(GOLDEN)) % uint64(last + 1))
        for k in range(begin, begin + j):
            if out[k] == pick:
                pick = last
                break
        out[begin + j] = pick


@kernel
def find_in_edges(columns, places, owners, ntypes, slots, csc, edge_ranges, starts, degrees):  # type: ignore[no-untyped-def]
    """Find the in-edges of nodes by edge type: first position and count.

    `places` are the nodes' positions in the hop, `columns` (hop,) their local IDs or -1; `slots` (node types, most edge
    types of one) lists the edge types to sample for a node type, ascending, then -1. Columns are in edge type order.
    `csc` is (indptr, data, new edge IDs, first new edge ID, own edges); fills `starts` and `degrees` (hop, most edge
    types). Returns the first node with a damaged column, or -1.
    """
    indptr, data, new_eids, first_eid, num_owned = csc
    for i in range(places.size):
        node = places[i]
        column = columns[node]
        low, high = 0, 0
        if column >= 0:
            low, high = indptr[column], indptr[column + 1]
            if low < 0 or high < low or high > new_eids.size:
                return node
        for s in range(slots.shape[1]):
            etype = slots[ntypes[node], s]
            if etype < 0:
                degrees[node, s] = 0
                continue
            first, stop = low, high
            if edge_ranges.shape[1] > 1:
                for end in range(2):
                    bound = edge_ranges[owners[node], etype, end]
                    above = high
                    below = first
                    while below < above:
                        middle = (below + above) >> 1
                        if _new_eid(middle, data, new_eids, first_eid, num_owned) < bound:
                            below = middle + 1
                        else:
                            above = middle
                    if end == 0:
                        first = below
                    else:
                        stop = below
            starts[node, s] = first
            degrees[node, s] = stop - first
    return -1


@kernel
def count_picks(ntypes, slots, fanouts, replace, degrees, offsets):  # type: ignore[no-untyped-def]
    """Fill `offsets` with the first pick of each node and slot, and the total."""
    total = 0
    for node in range(degrees.shape[0]):
        for s in range(degrees.shape[1]):
            offsets[node * degrees.shape[1] + s] = total
            degree = degrees[node, s]
            if degree > 0:
                fanout = fanouts[slots[ntypes[node], s]]
                total += degree if fanout < 0 or (degree <= fanout and not replace) else fanout
    offsets[offsets.size - 1] = total


@kernel
def pick_edges(hop, places, key, picked, csc, new_nids, ends, edge_ranges, out):  # type: ignore[no-untyped-def]
    """Pick in-edges of nodes; `hop` is (IDs, owners, node types, slots, fan-outs), `found` (starts, degrees, offsets).

    Takes all in-edges of a slot if they fit; else draws. `csc` is (indices, data, new edge IDs, first new edge ID,
    own edges, whether with replacement), `ends` (first new node ID, own nodes), and `out` (sources, destinations as
    positions in the hop, new edge IDs). Returns the first node with a damaged column, or -1.
    """
    nodes, owners, ntypes, slots, fanouts = hop
    starts, degrees, offsets = picked
    indices, data, new_eids, first_eid, num_owned, replace = csc
    first_nid, num_inner = ends
    sources, destinations, eids = out
    for i in range(places.size):
        node = places[i]
        for s in range(slots.shape[1]):
            begin = offsets[node * slots.shape[1] + s]
            count = offsets[node * slots.shape[1] + s + 1] - begin
            degree = degrees[node, s]
            if count == 0:
                continue
            etype = slots[ntypes[node], s]
            stream = stream_of(key, nodes[node], etype)
            if fanouts[etype] < 0 or (count == degree and not replace):
                for j in range(count):
                    eids[begin + j] = j
            elif replace:
                for j in range(count):
                    eids[begin + j] = int64(splitmix64(stream + uint64(j + 1) * uint64(GOLDEN)) % uint64(degree))
            else:
                draw_distinct(stream, degree, eids, begin, count)
            for j in range(begin, begin + count):
                place = starts[node, s] + eids[j]
                source = indices[place]
                eid = _new_eid(place, data, new_eids, first_eid, num_owned)
                if source < 0 or source >= new_nids.size or eid < 0:
                    return node
                if edge_ranges.shape[1] > 1 and not (
                    edge_ranges[owners[node], etype, 0] <= eid < edge_ranges[owners[node], etype, 1]
                ):
                    return node
                sources[j] = first_nid + source if source < num_inner else new_nids[source]
                destinations[j] = node
                eids[j] = eid
    return -1


@kernel
def number_nodes(ids, table, nodes, num_nodes, places):  # type: ignore[no-untyped-def]
    """Find each ID's position in `nodes`, adding new ones; return the number of nodes.

    `table`, int64 of a power of two above the number of nodes, holds positions, or -1 for empty.
    """
    mask = uint64(table.size - 1)
    for i in range(ids.size):
        slot = splitmix64(uint64(ids[i])) & mask
        while table[slot] >= 0 and nodes[table[slot]] != ids[i]:
            slot = (slot + uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = num_nodes
            nodes[num_nodes] = ids[i]
            num_nodes += 1
        places[i] = table[slot]
    return num_nodes


@kernel
def enter_nodes(nodes, table):  # type: ignore[no-untyped-def]
    """Enter the positions of nodes into an empty table; of equal ones the first."""
    mask = uint64(table.size - 1)
    for i in range(nodes.size):
        slot = splitmix64(uint64(nodes[i])) & mask
        while table[slot] >= 0 and nodes[table[slot]] != nodes[i]:
            slot = (slot + uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = i


def table_of(nodes: np.ndarray, room: int) -> np.ndarray:
    """Hash table of nodes with room for this many."""
    table = np.full(max(SMALLEST_TABLE, 1 << (2 * room).bit_length()), -1, np.int64)
    enter_nodes(nodes, table)
    return table


@kernel
def find_ranges(ids, ends, places):  # type: ignore[no-untyped-def]
    """Find the range that holds each ID, given the ascending ends of all ranges."""
    for i in range(ids.size):
        below, above = 0, ends.size
        while below < above:
            middle = (below + above) >> 1
            if ends[middle] <= ids[i]:
                below = middle + 1
            else:
                above = middle
        places[i] = below


@kernel
def shuffled(key, first, num_items, out):  # type: ignore[no-untyped-def]
    """Fill `out` with the items from position `first` of a random order of ``[0, num_items)``.

    The order is a Feistel network over a power of four, at least 2^16, walked until it meets an item: needs no array of
    all items.
    """
    half = 8
    while (1 << (2 * half)) < num_items:
        half += 1
    mask = uint64((1 << half) - 1)
    for i in range(out.size):
        value = uint64(first + i)
        while True:
            left, right = value >> uint64(half), value & mask
            for turn in range(ROUNDS):
                drawn = splitmix64(key + (uint64(turn) << uint64(48)) + right * uint64(GOLDEN))
                left, right = right, left ^ (drawn & mask)
            value = (left << uint64(half)) | right
            if value < uint64(num_items):
                break
        out[i] = value
