"""What a plan takes for granted where only the data would tell: stated here, and told with every plan.

Degrees are taken to be distributed geometrically, the distribution that says least beyond the mean: it lies between
graphs whose nodes are alike (more distinct ends) and power laws (fewer).
"""

from __future__ import annotations

from dataclasses import dataclass

from daskgraphpart.assignment.options import METHODS

ARCS_LEFT = 0.97
"""Share of arcs that are left when parallel ones are merged."""
HUB_READS = 1.3
"""How often the arcs of the input are read while they are merged: slabs of nodes that hold hubs are read repeatedly."""
FEW_NEIGHBORS, MOST_NEIGHBORS = 100, 1000
"""Neighbours of the largest node, as a multiple of the mean, without hubs and with them."""
HUBS_FROM = 4_000_000
"""Edges of a graph from which such hubs are taken to be there: small ones have no room for them."""
LEVEL_NODES = 0.1
"""Nodes of one level of the multilevel method that are left on the next."""
LEVEL_BETWEEN = 0.96
"""Arcs of one level that lead from cluster to cluster."""
LEVEL_WEIGHT, LEVEL_DENSITY = 0.9, 0.4
"""Weight of the arcs that is left on coarser levels, and the share of all pairs of nodes that it is spread over."""
COMBINED_ARCS = 0.72
"""Arcs that are left at most on the coarse graph on which partitions are combined."""
CUT_OF_METHODS = {"ldg": 0.75, "fennel": 0.65}
"""Edges that are cut, as a share of those that random owners cut; others as `CUT_OF_PARTITIONERS`."""
CUT_OF_PARTITIONERS = 0.55
RELIEFS = 4
"""Rounds in which balance is restored over blocks on disk, where a library's result is repaired there."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed of owners.

    Parameters
    ----------
    num_parts : int
        Number of parts.
    cut_share : float
        Share of the edges whose ends have different owners.
    num_halo : int or None
        HALO nodes of all parts, if they are known.
    why_cut : str
        Where the share comes from.
    """

    num_parts: int
    cut_share: float
    num_halo: int | None
    why_cut: str

    def text(self, method: str, needs_adjacency: bool, num_hops: int) -> tuple[str, ...]:
        """For the user."""
        lines = [f"edges cut: {self.cut_share:.0%}, {self.why_cut}", "every part owns as much as every other"]
        if self.num_halo is None:
            lines.append("HALO: as many nodes as if degrees were distributed geometrically; power laws have fewer")
        if num_hops > 1:
            lines.append("the nodes within several hops of a part are guessed from the mean degree alone")
        if needs_adjacency:
            lines.append(f"parallel edges: merging leaves {ARCS_LEFT:.0%} of the arcs")
            lines.append(f"hubs: arcs are read {HUB_READS} times while they are merged; up to 2 times in power laws")
            if method == "multilevel":
                lines.append(f"levels: each has {LEVEL_NODES:.0%} of the nodes before, and as many arcs as fit between")
            elif method not in ("ldg", "fennel", "random"):
                lines.append(
                    "partitioners take times in the middle; on graphs alike in size they differ by up to 7 times"
                )
                lines.append(f"hubs are there if edges are {HUBS_FROM:,} or more; with them `auto` takes longer")
                lines.append(
                    "if the graph does not fit into the memory budget, the library's result is repaired by "
                    f"{RELIEFS} sweeps over blocks on disk; it may take up to four times as many"
                )
        return tuple(lines)


def assumptions_for(num_parts: int, method: str) -> Assumptions:
    """Choose what is assumed of the owners that a method gives."""
    random = 1.0 - 1.0 / num_parts
    if method == "random":
        return Assumptions(num_parts, random, None, "as random owners cut on average")
    share = CUT_OF_METHODS.get(method, CUT_OF_PARTITIONERS)
    whose = f"of {method}" if method in METHODS else "of owners from files, whose cut is not known"
    whose = "of partitioners that see the whole graph" if method == "auto" else whose
    return Assumptions(num_parts, share * random, None, f"a typical share {whose}")


def distinct(num_nodes: float, num_draws: float) -> float:
    """Nodes that are met when so many ends of edges are drawn from them, of geometric degrees."""
    return num_draws * num_nodes / (num_draws + num_nodes) if num_draws else 0.0
