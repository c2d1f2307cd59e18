"""Machines that share a store and no disk: workers and clients in mount namespaces, each with a /tmp of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cluster_tasks import start_machine
from distributed import Client, LocalCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

PRIVATE = ["tmpfs /tmp"]


@contextmanager
def scheduler_with_workers(number: int) -> Iterator[LocalCluster]:
    """A scheduler, and workers on "machines" of their own."""
    if os.geteuid() != 0:
        pytest.skip("file systems cannot be mounted here")
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        processes = [start_machine(cluster.scheduler_address, "127.0.0.1", PRIVATE, Path("/")) for _ in range(number)]
        try:
            with Client(cluster, set_as_default=False) as client:
                try:
                    client.wait_for_workers(number, timeout=30)
                except TimeoutError:
                    pytest.skip("file systems cannot be mounted here")
            yield cluster
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(30)


SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""


@contextmanager
def machines_apart(
    number: int,
) -> Iterator[tuple[str, subprocess.Popen[str], list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers that can be killed one by one: its address, and their processes."""
    if os.geteuid() != 0:
        pytest.skip("file systems cannot be mounted here")
    command = [sys.executable, "-c", SCHEDULER]
    scheduler = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        workers += [start_machine(address, "127.0.0.1", PRIVATE, Path("/")) for _ in range(number)]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(number, timeout=30)
        yield address, scheduler, workers
    finally:
        for process in (*workers, scheduler):
            process.terminate()
        for process in (*workers, scheduler):
            process.wait(30)
        if scheduler.stdout is not None:
            scheduler.stdout.close()


def start_client(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Run a Python program on a "machine" of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    mount = " && ".join(f"mount -t tmpfs {how}" for how in PRIVATE) + ' && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, "sh", sys.executable, "-c", program, *arguments]
    return subprocess.Popen(
        command, env=environment, cwd="/", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def run_client(program: str, *arguments: str) -> str:
    """Run a program on a "machine" of its own to its end; return what it prints."""
    process = start_client(program, *arguments)
    printed, _ = process.communicate(timeout=100)
    assert process.returncode == 0, printed
    return printed
