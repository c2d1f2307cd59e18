"""What to rent, in money: the smallest machine that holds a graph, by the time that `predict.py` expects.

Prices are those of AWS' list for machines on demand (Linux, US East) early in 2020: the list that has both the machines
of DGL's blog and machines with fast disks. Put today's into `MACHINES`, or multiply by their ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import predict
from claims import newest_of

from daskgraphpart.units import format_size


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for rent: processors, bytes of memory and of its own disks, dollars an hour."""

    name: str
    cores: int
    memory: float
    disk: float
    price: float


MACHINES = (
    Machine("i3.large", 2, 15.25 * 2**30, 475e9, 0.156),
    Machine("i3.2xlarge", 8, 61 * 2**30, 1900e9, 0.624),
    Machine("i3.4xlarge", 16, 122 * 2**30, 3800e9, 1.248),
    Machine("i3.16xlarge", 64, 488 * 2**30, 15200e9, 4.992),
)
"""From small to large."""
BLOG = "https://www.dgl.ai/release/2022/09/19/release.html"
BLOG_EDGES = 5e9
BLOG_RUNS = {"its pipeline": (8, 3.336, 2.7), "one machine": (1, 26.688, 10)}
"""Machines (x1e.4xlarge, x1e.32xlarge), dollars an hour of each, and hours, for a graph of 1 billion nodes."""
INPUT_BYTES = 11.5  # per edge, as the measured billion has them


def per_billion(machines: int, price: float, hours: float) -> float:
    """Dollars that a billion edges took by DGL's blog."""
    return machines * price * hours / BLOG_EDGES * 1e9


def measured() -> tuple[float, Machine]:
    """Dollars for the billion edges that were measured, on a machine with as many processors."""
    (run,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    machine = MACHINES[0]
    assert run["peak_bytes"] < machine.memory
    assert run["disk_peak_bytes"] + run["input_bytes"] < machine.disk
    return run["seconds"] / 3600 * machine.price, machine


def dollars() -> str:
    """A billion edges by DGL's blog and here, in half a sentence."""
    theirs, one = (per_billion(*BLOG_RUNS[name]) for name in ("its pipeline", "one machine"))
    ours, _ = measured()
    return (
        f"A billion edges cost {theirs:.0f} dollars by its [announcement]({BLOG}), {one:.0f} on one machine, and "
        f"{100 * ours:.0f} cents here ([list prices](docs/sizing.md#in-money))."
    )


def blog() -> str:
    """What the blog says, in money."""
    machines, one = ((count * price * hours) for count, price, hours in BLOG_RUNS.values())
    theirs, alone = (per_billion(*run) for run in BLOG_RUNS.values())
    return (
        f"[DGL's announcement]({BLOG}) of 2022 cuts a random graph of 1 billion nodes and 5 billion edges in 8 parts: "
        f"8 x1e.4xlarge take 2.7 hours, {machines:.0f} dollars by the same list, and one x1e.32xlarge takes 10 hours, "
        f"{one:.0f} dollars. That is {theirs:.0f} and {alone:.0f} dollars for a billion edges."
    )


def rented() -> list[list[str]]:
    """The smallest machine for each number of edges, and what it costs."""
    heads = ["edges", "machine", "processors, memory, disk", "dollars an hour", "time", "dollars", "for a billion"]
    ours, machine = measured()
    rows = [["1,000,000,000", *said(machine), f"{ours / machine.price * 60:.0f} min, measured", *2 * [f"{ours:.2f}"]]]
    for num_edges in predict.PREDICTED_EDGES:
        machine, hours = smallest(num_edges)
        paid = hours * machine.price
        cells = [predict._hours(hours * 3600), f"{paid:.2f}", f"{paid / num_edges * 1e9:.2f}"]
        rows.append([f"{num_edges:,}", *said(machine), *cells])
    return [heads, *rows]


def smallest(num_edges: int) -> tuple[Machine, float]:
    """The smallest machine for a graph of so many edges, and hours."""
    need, *disk = predict.sizes_of(num_edges, "multilevel")
    on_disk = sum(disk) + INPUT_BYTES * num_edges
    machine = next(of for of in MACHINES if of.memory > need and of.disk > on_disk)
    return machine, predict.seconds_of(predict.predicted(num_edges), machine.cores) / 3600


def in_short() -> str:
    """What ten and a hundred billion edges need."""
    (machine, hours), edges = smallest(10_000_000_000), 100_000_000_000
    memory = [format_size(predict.sizes_of(edges, method)[0]) for method in ("multilevel", "fennel")]
    return (
        f"**For ten billion edges, rent one machine with {machine.cores} cores, {format_size(machine.memory)} of "
        f"memory and a fast disk for {predict._hours(hours * 3600)}. A hundred billion need {memory[0]} of memory, or "
        f"`fennel` and {memory[1]}.**"
    )


def random_graph() -> str:
    """What a graph as that of the blog needs here."""
    return f"`auto` needs {format_size(predict.needed(10**9, 'multilevel'))} of memory"


def said(machine: Machine) -> tuple[str, str, str]:
    has = f"{machine.cores}, {format_size(machine.memory)}, {format_size(machine.disk)}"
    return machine.name, has, f"{machine.price:.2f}"
