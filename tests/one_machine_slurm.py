"""A real SLURM on this machine alone: munge, a controller, and two nodes, on free ports, in a directory of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS_TO_START = 60
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
# Debian keeps servers here, where the path of a user may not look
os.environ["PATH"] = os.environ["PATH"] + ":/usr/sbin:/sbin"


def require_slurm() -> None:
    """Install SLURM if that is possible; without it a test is skipped."""
    if reason := why_not():
        pytest.skip(f"SLURM cannot be started here: {reason}")


def why_not() -> str:
    """Why SLURM cannot be started, after it was installed if that is possible; empty if it can."""
    if os.geteuid() != 0:
        return "its servers have to be started by root"
    if _missing() and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "slurm-wlm", "munge"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, check=False)
    return f"{', '.join(_missing())} could not be installed" if _missing() else ""


def _missing() -> list[str]:
    return [name for name in PROGRAMS if shutil.which(name) is None]


@contextlib.contextmanager
def running_slurm(directory: Path) -> Iterator[None]:
    """Start it, set SLURM_CONF, and end it."""
    for name in ("state", "spool/node1", "spool/node2", "log"):
        (directory / name).mkdir(parents=True)
    host = socket.gethostname().split(".")[0]
    controller_port, *node_ports = _free_ports(3)
    config = directory / "slurm.conf"
    config.write_text(
        f"""\
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={directory}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/log/ctld.log
SlurmdLogFile={directory}/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
KillWait=1
SlurmdParameters=config_overrides
"""
        + "".join(
            f"NodeName=node{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=8000\n"
            for i, port in enumerate(node_ports, 1)
        )
        + "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    )
    patch = pytest.MonkeyPatch()
    patch.setenv("SLURM_CONF", str(config))
    servers: list[subprocess.Popen[bytes]] = []
    try:
        (directory / "munge.key").write_bytes(os.urandom(128))
        (directory / "munge.key").chmod(0o400)
        names = ("key-file", "socket", "pid-file", "log-file", "seed-file")
        files = [f"--{name}={directory}/munge.{name.removesuffix('-file')}" for name in names]
        servers.append(_start(directory, "munged", "--foreground", "--force", *files))
        _wait(lambda: (directory / "munge.socket").exists(), directory, "munge")
        servers.append(_start(directory, "slurmctld", "-D"))
        servers.extend(_start(directory, "slurmd", "-D", "-N", f"node{i}") for i in (1, 2))
        _wait(lambda: run("sinfo", "-h", "-N", "-o", "%T").split() == ["idle", "idle"], directory, "two idle nodes")
        yield
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            subprocess.run(["scancel", "--me"], capture_output=True, timeout=20, check=False)
        for server in reversed(servers):
            server.terminate()
        for server in servers:
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        patch.undo()


def run(*command: str) -> str:
    """Output of a command, which may fail while things start."""
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def running_jobs() -> list[str]:
    """IDs of the jobs that run."""
    return sorted(run("squeue", "-h", "-t", "RUNNING", "-o", "%i").split())


def _start(directory: Path, program: str, *arguments: str) -> subprocess.Popen[bytes]:
    with (directory / "log" / f"{program}.out").open("ab") as log:
        return subprocess.Popen([program, *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _wait(is_there: object, directory: Path, what: str) -> None:
    assert callable(is_there)
    deadline = time.monotonic() + SECONDS_TO_START
    while not is_there():
        if time.monotonic() > deadline:
            logs = "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in (directory / "log").iterdir())
            pytest.fail(f"SLURM does not start: no {what}\n{run('sinfo', '-N', '-l')}\n{logs}")
        time.sleep(0.2)


def _free_ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for listener in sockets:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in sockets]
