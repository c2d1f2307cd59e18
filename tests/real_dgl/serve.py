"""Runs in an environment with real DGL: a graph server and a client for every part, all of them on this machine.

For DGL each part is a machine of its own. Server and client of a machine share arrays in /dev/shm, by names that do not
tell the part, so that two machines on one host would take each other's. Hence each gets a /dev/shm of its own, in a
mount namespace (of root, or in a user namespace). Where that is not permitted, or not wanted, features get names that
tell the part, and graphs are not shared: clients ask their server for everything.

Machines may be in network namespaces, with addresses of their own, ``10.0.0.1`` and up, at ``eth0``.

Processes are forked, after DGL was imported: of two cores, five imports of it would take longer than all the rest.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import multiprocessing
import os
import random
import signal
import socket
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

import dgl.distributed
from dgl.distributed import DistGraph, DistGraphServer, kvstore, rpc_client

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

MOST_SECONDS = 140
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
SHARED_MEMORY = Path("/dev/shm")
FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Cluster:
    """Machines, one for every part of a config; `work` is the directory of their logs."""

    config: Path
    work: Path
    ports: list[int]
    is_private: bool
    deadline: float
    use_graphbolt: bool
    networks: tuple[str, ...]

    @property
    def machines(self) -> str:
        return str(self.work / "machines.txt")

    @property
    def prefix(self) -> str:
        """What names in a shared /dev/shm start with."""
        return f"parts-at-{self.ports[0]}-"

    def process(self, name: str, run: Callable[..., object], *arguments: object) -> BaseProcess:
        """A process, not started yet, that logs into a file of its own."""
        return FORK.Process(target=run_logged, args=(self, name, run, *arguments), name=name)


def serve(
    config: Path,
    work: Path,
    task: Callable[[DistGraph], dict],
    is_private: bool = True,
    use_graphbolt: bool = False,
    networks: tuple[str, ...] = (),
) -> dict:
    """Run a task in a client for each part of a config; what the client of rank 0 makes of it.

    Without `is_private` /dev/shm is shared; DGL 2.1 can `use_graphbolt`. `networks` are named namespaces, by part.
    """
    work.mkdir(parents=True)
    ports = free_ports(json.loads(config.read_text())["num_parts"])
    cluster = Cluster(config, work, ports, is_private, time.time() + MOST_SECONDS, use_graphbolt, networks)
    places = [f"10.0.0.{part + 1}" if networks else "127.0.0.1" for part in range(len(ports))]
    lines = [f"{place} {port}\n" for place, port in zip(places, ports, strict=True)]
    Path(cluster.machines).write_text("".join(lines))
    device = "eth0" if networks else "lo"
    os.environ.update(DGL_DIST_MODE="distributed", DGL_NUM_SERVER="1", GLOO_SOCKET_IFNAME=device, OMP_NUM_THREADS="1")
    results = FORK.SimpleQueue()
    parts = range(len(cluster.ports))
    try:
        if supervise(cluster, [cluster.process(f"machine-{part}", run_machine, part, task, results) for part in parts]):
            return results.get()
    finally:
        for path in SHARED_MEMORY.glob(f"{cluster.prefix}*"):
            path.unlink(missing_ok=True)
    logs = sorted(work.glob("*.log"), reverse=True)
    sys.exit("\n".join(f"--- {log.stem}\n{log.read_text(errors='replace')[-2500:]}" for log in logs))


def run_machine(cluster: Cluster, part: int, task: Callable[[DistGraph], dict], results) -> None:
    """Run the server and the client of one part."""
    if cluster.networks:
        enter_network(cluster.networks[part])
    is_private = cluster.is_private and make_shared_memory_private()
    if not is_private:
        attach = kvstore.empty_shared_mem
        kvstore.empty_shared_mem = lambda name, *rest: attach(f"{cluster.prefix}{part}-{name}", *rest)
    processes = [
        cluster.process(f"server-{part}", run_server, part, is_private),
        cluster.process(f"client-{part}", run_client, part, is_private, task, results),
    ]
    if not supervise(cluster, processes):
        sys.exit(1)


def run_server(cluster: Cluster, part: int, is_private: bool) -> None:
    """Serve a part until all clients have gone."""
    num_parts = len(cluster.ports)
    server = DistGraphServer(
        part,
        cluster.machines,
        1,
        num_parts,
        str(cluster.config),
        disable_shared_mem=not is_private,
        graph_format=["csc", "coo"],
        **of_graphbolt(cluster),
    )
    server.start()


def of_graphbolt(cluster: Cluster) -> dict[str, bool]:
    """The keyword that DGL 1.1 does not have."""
    return {"use_graphbolt": True} if cluster.use_graphbolt else {}


def run_client(cluster: Cluster, part: int, is_private: bool, task: Callable[[DistGraph], dict], results) -> None:
    """Connect with all servers, run the task, and keep what it returned if this is rank 0."""
    # a client that is early tries again only after three seconds
    while not all(map(is_listened_to, cluster.ports[part : part + 1] if cluster.networks else cluster.ports)):
        time.sleep(0.05)
    # DGL tells machines by their addresses, and here all have the same
    rpc_client.get_local_machine_id = lambda _: part
    dgl.distributed.initialize(cluster.machines, **of_graphbolt(cluster))
    book, name, _, _ = dgl.distributed.load_partition_book(str(cluster.config), part)
    graph = DistGraph(name, gpb=None if is_private else book)
    result = task(graph)
    if graph.rank() == 0:
        results.put({"is_private": is_private, **result})
    dgl.distributed.exit_client()


def supervise(cluster: Cluster, processes: list[BaseProcess]) -> bool:
    """Run processes; whether all ended well. When one fails, or time is up, all are killed."""
    try:
        for process in processes:
            process.start()
        while running := [process for process in processes if process.is_alive()]:
            wait([process.sentinel for process in running], max(0, cluster.deadline - time.time()))
            if time.time() > cluster.deadline or any(process.exitcode for process in processes):
                break
        ended = {process.name: process.exitcode for process in processes}
        sys.stderr.write(f"ended with: {ended}\n")
        return not any(ended.values()) and None not in ended.values()
    finally:
        for process in processes:
            process.kill()
            process.join()


def run_logged(cluster: Cluster, name: str, run: Callable[..., object], *arguments: object) -> None:
    """Run a function with its output in a file, in a process that the kernel kills when its parent ends, however."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is None or os.getppid() != parent.pid:
        sys.exit("the process that started this one has ended")
    with open(cluster.work / f"{name}.log", "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if run is not run_machine:
        # tells where it is if it does not end; a fork of a process that has this would wait forever for its thread
        faulthandler.dump_traceback_later(max(1, cluster.deadline - time.time() - 5))
    run(cluster, *arguments)


def make_shared_memory_private() -> bool:
    """Mount a /dev/shm that only this process and its children see; whether that is permitted."""
    libc = ctypes.CDLL(None)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNS) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    # mounts are to stay in here: on many hosts they spread to the namespace they were copied from
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    return libc.mount(b"tmpfs", str(SHARED_MEMORY).encode(), b"tmpfs", 0, None) == 0


def enter_network(name: str) -> None:
    """Enter a namespace of ``ip netns``."""
    with open(f"/run/netns/{name}", "rb") as network:
        if ctypes.CDLL(None).setns(network.fileno(), CLONE_NEWNET) != 0:
            raise OSError(f"cannot enter the network {name}")


def free_ports(count: int) -> list[int]:
    """Ports nobody listens at, below those that the kernel gives to whoever connects."""
    ports: list[int] = []
    for port in random.SystemRandom().sample(range(20_000, 32_000), 1000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError("no free ports")


def is_listened_to(port: int) -> bool:
    """Whether somebody listens at a port; found without connecting, as servers count connections."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(f":{port:04X}" in line.split()[1] and line.split()[3] == "0A" for line in lines)
