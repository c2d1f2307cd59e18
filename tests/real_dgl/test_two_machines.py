"""The page "Train on two machines" works to its end; the machines are network namespaces with disks of their own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from judges import dgl_environment, dgl_python

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "two_machines.md").read_text(encoding="utf-8")
NETWORK = re.findall(r"^10\.0\.0\.\d$", PAGE, re.MULTILINE)
"""Addresses of the page's ip_config.txt."""


def block(opening: str) -> str:
    """The code of the page's block that opens so."""
    (found,) = re.findall(rf"^```{re.escape(opening)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@contextmanager
def machines() -> Iterator[list[str]]:
    """Network namespaces with the addresses of the page, joined by a cable."""
    names = [f"daskgraphpart-{os.getpid()}-{number}" for number in range(len(NETWORK))]
    try:
        try:
            join(names)
        except (OSError, subprocess.CalledProcessError) as fault:
            pytest.skip(f"networks cannot be made here: {fault}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def join(names: list[str]) -> None:
    """Make the namespaces and the cable."""
    for name in names:
        ip(f"netns add {name}")
    ip(f"link add eth0 netns {names[0]} type veth peer name eth0 netns {names[1]}")
    for name, address in zip(names, NETWORK, strict=True):
        ip(f"-n {name} address add {address}/24 dev eth0")
        for device in ("eth0", "lo"):
            ip(f"-n {name} link set {device} up")


def ip(arguments: str) -> None:
    """Set up the network."""
    subprocess.run(["ip", *arguments.split()], capture_output=True, check=True)


def start(name: str, commands: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    """Run commands on a machine, with a /dev/shm of its own."""
    script = " && ".join(["mount -t tmpfs tmpfs /dev/shm", *commands])
    # a namespace of processes, too: when the shell ends, all that it has started ends
    command = ["ip", "netns", "exec", name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
    return subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_model_is_trained_on_two_machines_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = dgl_python("2.1.0")
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-ec", block("bash")], check=True)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block("python"), "page", "exec"), names)
    (tmp_path / "train.py").write_text(block('py title="train.py"'))
    (tmp_path / "launch.sh").write_text(block('sh title="launch.sh"'))
    environment = dgl_environment(tmp_path)
    environment["PATH"] = f"{Path(python).parent}:{os.environ['PATH']}"
    copies = re.findall(r"^\$ (rsync -a .*) 10\.0\.0\.(\d):(\S+)$", PAGE, re.MULTILINE)
    with machines() as hosts:
        running = []
        for number, host in enumerate(hosts):
            disk = shlex.quote(str(tmp_path / "disk"))
            commands = [f"mkdir -p {disk}", f"mount -t tmpfs tmpfs {disk}", f"mkdir -p {disk}/job/partitions"]
            commands += [
                f"{copy.replace('rsync -a', 'cp -r')} {disk}/{to}"
                for copy, machine, to in copies
                if machine == NETWORK[number][-1]
            ]
            running.append(start(host, [*commands, f"cd {disk}", f"bash job/launch.sh {number}"], environment))
        try:
            printed = [process.communicate(timeout=200)[0] for process in running]
        finally:
            for process in running:
                process.kill()
    assert [process.returncode for process in running] == [0, 0], "\n".join(printed)
    (share,) = re.findall(r"^(\d+)% of \d+ test nodes predicted correctly$", printed[0], re.MULTILINE)
    assert int(share) > 80
