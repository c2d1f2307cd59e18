"""Runs in an environment with real DGL: a graph server and a client for every part, all of them on this machine.

Usage: python serve.py CONFIG DIRECTORY SHARING CLIENT [ARGUMENT ...]. CLIENT is a script, started once for every part; it
calls `connect`, and what one of its processes hands to `leave` is printed as one JSON line in the end. DIRECTORY takes
the logs.

For DGL each part is a machine of its own. Server and client of a machine share arrays in /dev/shm, by names that do not
tell the part, so two machines on one host would take each other's. SHARING says what is done about it:

private  each machine has a /dev/shm of its own, in a mount namespace (of root, or in a user namespace); DGL is as it is
named    features get names that tell the part, and graphs are not shared, clients ask their server for everything
any      private where namespaces are permitted, else named
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

MOST_SECONDS = 300
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
SHARED_MEMORY = Path("/dev/shm")


def launch(config: str, directory: str, sharing: str, *client: str) -> int:
    """Start a machine for every part and wait for all; the exit code."""
    with open(config) as file:
        num_parts = json.load(file)["num_parts"]
    work = Path(directory).absolute()
    work.mkdir(parents=True)
    (work / "machines.txt").write_text("".join(f"127.0.0.1 {port}\n" for port in free_ports(num_parts)))
    settings = {
        "PART_CONFIG": str(Path(config).absolute()),
        "NUM_PARTS": str(num_parts),
        "WORK": str(work),
        "SHARING": sharing,
        "PREFIX": f"parts-{os.getpid()}-",
        "DGLBACKEND": "pytorch",
        "DGL_DIST_MODE": "distributed",
        "DGL_NUM_SERVER": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = supervise({f"machine-{part}": [__file__, "--role", "machine", str(part), *client] for part in range(num_parts)}, settings)
    finally:
        for path in SHARED_MEMORY.glob(f"*{settings['PREFIX']}*"):
            path.unlink(missing_ok=True)
    if not done:
        for log in sorted(work.glob("*.log")):
            sys.stderr.write(f"--- {log.stem}\n{log.read_text(errors='replace')[-900:]}\n")
        return 1
    sys.stdout.write((work / "result.json").read_text() + "\n")
    return 0


def run_machine(part: str, *client: str) -> int:
    """Run the server and the client of one part, which share a /dev/shm that is theirs."""
    sharing = os.environ["SHARING"]
    if sharing != "named":
        private = make_shared_memory_private()
        if sharing == "private" and not private:
            sys.stderr.write("namespaces are not permitted\n")
            return 1
        sharing = "private" if private else "named"
    processes = {f"server-{part}": [__file__, "--role", "server"], f"client-{part}": [*client]}
    return 0 if supervise(processes, {"PART": part, "SHARING": sharing}) else 1


def run_server() -> int:
    """Serve a part until all clients have gone."""
    use_named_memory()
    from dgl.distributed import DistGraphServer

    num_parts, sharing = int(os.environ["NUM_PARTS"]), os.environ["SHARING"]
    server = DistGraphServer(
        int(os.environ["PART"]),
        f"{os.environ['WORK']}/machines.txt",
        1,
        num_parts,
        os.environ["PART_CONFIG"],
        disable_shared_mem=sharing == "named",
        graph_format=["csc", "coo"],
    )
    server.start()
    return 0


def connect():
    """Connect a client with all servers; DGL's `DistGraph`."""
    die_with_parent()
    use_named_memory()
    import dgl.distributed
    from dgl.distributed import rpc_client

    config, part = os.environ["PART_CONFIG"], int(os.environ["PART"])
    # DGL tells machines by their addresses, and here all have the same
    rpc_client.get_local_machine_id = lambda _: part
    dgl.distributed.initialize(f"{os.environ['WORK']}/machines.txt")
    with open(config) as file:
        name = json.load(file)["graph_name"]
    is_shared = os.environ["SHARING"] == "private"
    return dgl.distributed.DistGraph(
        name, gpb=None if is_shared else dgl.distributed.load_partition_book(config, part)[0]
    )


def leave(result: dict) -> None:
    """Keep what is printed when all have ended."""
    (Path(os.environ["WORK"]) / "result.json").write_text(json.dumps({"sharing": os.environ["SHARING"], **result}))


def supervise(scripts: dict[str, list[str]], settings: dict[str, str]) -> bool:
    """Run scripts, each with its arguments; whether all ended well. When one fails, or time is up, all are killed."""
    environment = {**os.environ, **settings, "PARENT": str(os.getpid())}
    deadline = float(environment.setdefault("DEADLINE", str(time.time() + MOST_SECONDS)))
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, script in scripts.items():
            with open(Path(environment["WORK"]) / f"{name}.log", "wb") as log:
                running[name] = subprocess.Popen(
                    [sys.executable, *script],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
        while any(process.poll() is None for process in running.values()):
            if any(process.poll() for process in running.values()) or time.time() > deadline:
                break
            time.sleep(0.05)
        ended = {name: process.poll() for name, process in running.items()}
        sys.stderr.write(f"ended with: {ended}\n")
        return all(code == 0 for code in ended.values())
    finally:
        for process in running.values():
            process.kill()
        for process in running.values():
            process.wait()


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends, however that comes about."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(os.environ["PARENT"]):
        sys.exit("the process that started this one has ended")


def make_shared_memory_private() -> bool:
    """Mount a /dev/shm that only this process and its children see; whether that is permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
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


def use_named_memory() -> None:
    """Put the part in front of the names of features in shared memory, where several machines see the same one."""
    if os.environ["SHARING"] == "private":
        return
    from dgl.distributed import kvstore

    attach, prefix = kvstore.empty_shared_mem, f"{os.environ['PREFIX']}{os.environ['PART']}-"
    kvstore.empty_shared_mem = lambda name, *rest: attach(prefix + name, *rest)


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


ROLES = {"machine": run_machine, "server": run_server}

if __name__ == "__main__":
    if sys.argv[1] == "--role":
        die_with_parent()
        sys.exit(ROLES[sys.argv[2]](*sys.argv[3:]))
    sys.exit(launch(*sys.argv[1:]))
