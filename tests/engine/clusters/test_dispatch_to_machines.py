"""Parts go to the disks of the machines that will serve them; machines are workers with mounts of their own here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
import pytest
from cluster_tasks import At, Disturber, Machine, require_mounts, wait_for_machines
from commands import call
from distributed import Client, LocalCluster
from graphs import file_hashes
from inside import DispatchOptions, detect_resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.dispatching.delivery.machines import MARK, read_machines
from daskgraphpart.errors import EnvironmentFaultError, LayoutError, OptionError, OutputExistsError, ResumeError

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.timeout(240)
HOSTS = ("127.0.0.1", "127.0.0.2")
SMALL_NBYTES = 256 << 10


class Machines:
    """A scheduler, and a worker on each of two "machines": `disk` and `small` are another directory on each."""

    def __init__(self, root: Path, scheduler: str) -> None:
        self.root, self.scheduler = root, scheduler
        self.disk, self.small, self.shared = root / "disk", root / "small", root / "shared"
        self.workers: dict[str, Machine] = {}
        for directory in (self.disk, self.small, self.shared):
            directory.mkdir()
        self.ip_config = root / "ip_config.txt"
        self.ip_config.write_text("127.0.0.1 30050\n\n127.0.0.2\n")

    def start(self, host: str) -> None:
        mounts = [f"tmpfs {self.disk}", f"-o size={SMALL_NBYTES} tmpfs {self.small}"]
        self.workers[host] = Machine(self.scheduler, host, mounts, self.root)

    def stop(self, host: str) -> None:
        process = self.workers.pop(host)
        process.kill()
        process.wait(60)

    def seen_by(self, host: str, path: Path) -> Path:
        """A path as the worker on that machine sees it."""
        return Path(f"/proc/{self.workers[host].pid}/root{path}")

    def wait(self, client: Client) -> None:
        wait_for_machines(client, self.workers.values())


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    require_mounts()
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        made = Machines(tmp_path_factory.mktemp("machines"), cluster.scheduler_address)
        try:
            for host in HOSTS:
                made.start(host)
            with Client(cluster, set_as_default=False) as client:
                made.wait(client)
            yield made
        finally:
            for host in tuple(made.workers):
                made.stop(host)


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    with dask.config.set({"daskgraphpart.connect-timeout": "2s", "daskgraphpart.worker-timeout": "2s"}):
        yield


def partition(machines: Machines, graph: Path, out: Any, num_parts: int = 4, **how: Any) -> dgp.PartitionedGraph:
    workspace, ips = how.pop("workspace", machines.shared), how.pop("ips", machines.ip_config)
    resources = detect_resources("256MB", machines.scheduler, 2, workspace=workspace)
    return dgp.partition(graph, out, num_parts, method="random", **spelled(resources), dispatch_to=ips, **how)


def of_machine(hashes: dict[str, str], index: int) -> dict[str, str]:
    return {name: digest for name, digest in hashes.items() if not name.startswith("part") or int(name[4]) % 2 == index}


def assert_delivered(machines: Machines, out: Path, undisturbed: dict[str, str]) -> None:
    for index, host in enumerate(HOSTS):
        assert file_hashes(machines.seen_by(host, out)) == of_machine(undisturbed, index)
    assert list(machines.shared.rglob("*")) == []


def configs(out: Path) -> list[Path]:
    return [path for path in out.glob("*.json") if not path.name.endswith(".manifest.json")]


def assert_no_config(machines: Machines, out: Path) -> None:
    for host in HOSTS:
        assert (machines.seen_by(host, out) / MARK).is_file()
        assert not configs(machines.seen_by(host, out))


def test_each_machine_gets_its_parts_and_the_config_and_nothing_else(
    machines: Machines, graph: Path, undisturbed: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = machines.disk / "whole"
    flags = ("--num-parts", "4", "--method", "random", "--memory", "256MB", "--workers", "2")
    more = ("--cluster", machines.scheduler, "--workspace", machines.shared, "--dispatch-to", machines.ip_config)
    assert call("partition", graph, out, *flags, *more, "-v") == 0
    shown = capsys.readouterr().out
    assert [line.split()[-1] for line in shown.splitlines() if "127.0.0." in line] == [*HOSTS, *HOSTS]
    assert f"{out}/rmat.json on each machine" in shown
    assert_delivered(machines, out, undisturbed)
    assert not out.exists()
    for host in HOSTS:
        shutil.copytree(machines.seen_by(host, out), tmp_path / "union", dirs_exist_ok=True)
    assert call("verify", graph, tmp_path / "union", "--quiet") == 0
    assert call("verify", "--checksums", tmp_path / "union", "--quiet") == 0


def test_each_machine_gets_its_files_of_every_layout(machines: Machines, graph: Path, tmp_path: Path) -> None:
    options = DispatchOptions(layout=("dgl", "graphbolt", "graphstorm", "ranks", "parquet"))
    dgp.partition(graph, tmp_path / "here", 4, method="random", **spelled(options))
    partition(machines, graph, machines.disk / "layouts", **spelled(options))
    for host in HOSTS:
        shutil.copytree(machines.seen_by(host, machines.disk / "layouts"), tmp_path / "union", dirs_exist_ok=True)
        assert not (tmp_path / "union" / "ranks" / "orig_nids" / "_N_part_1_of_4").exists() or host == HOSTS[1]
    assert file_hashes(tmp_path / "union") == file_hashes(tmp_path / "here")


def test_dgls_ip_config_means_the_same_on_a_cluster(machines: Machines, graph: Path, tmp_path: Path) -> None:
    owners, out = tmp_path / "owners", machines.disk / "dgl"
    dgp.assign(graph, 4, out=owners, method="random")
    flags = ("--in-dir", graph, "--partitions-dir", owners, "--out-dir", out, "--ip-config", machines.ip_config)
    more = ("--cluster", machines.scheduler, "--workspace", machines.shared, "--memory", "256MB", "--quiet")
    assert call("dispatch", *flags, *more) == 0
    for index, host in enumerate(HOSTS):
        names = {path.name for path in machines.seen_by(host, out).iterdir()}
        assert {name for name in names if name.startswith("part")} == {f"part{index}", f"part{index + 2}"}
        assert "metadata.json" in names
    assert call("dispatch", *flags, *more, "--dispatch-to", machines.ip_config) == 2


@pytest.mark.parametrize("cluster", ["threads", "processes", "sync", "local"])
def test_without_a_cluster_there_are_no_machines(cluster: str, graph: Path, tmp_path: Path) -> None:
    ips, out, shared = tmp_path / "ips.txt", tmp_path / "out", tmp_path / "shared"
    ips.write_text("127.0.0.1\n")
    resources = detect_resources("256MB", cluster, 2, workspace=shared)
    with pytest.raises(OptionError, match=rf"cluster: .*found {cluster}"):
        dgp.partition(graph, out, 4, method="random", **spelled(resources), dispatch_to=ips)
    assert not out.exists() and not shared.exists()
    flags = ("--num-parts", "4", "--method", "random", "--cluster", cluster, "--memory", "256MB", "--dispatch-to", ips)
    assert call("plan", graph, out, *flags) == 2


def test_mistakes_are_one_error_before_work_starts(machines: Machines, graph: Path, tmp_path: Path) -> None:
    out = machines.disk / "mistakes"
    begun = Disturber(0, lambda: None)

    def refused(error: type[GraphPartError], match: str, **how: Any) -> None:
        with pytest.raises(error, match=match):
            partition(machines, graph, how.pop("out", out), progress=begun, **how)
        assert begun.done == 0
        assert list(machines.shared.iterdir()) == []

    def lines(text: str) -> Path:
        path = tmp_path / "ips.txt"
        path.write_text(text)
        return path

    unshared, gone = machines.disk / "unshared", "127.0.0.8, 127.0.0.9: workers on 127.0.0.1, 127.0.0.2"
    refused(OptionError, "workspace: partitions for the disks of machines need a workspace", workspace=None)
    refused(EnvironmentFaultError, r"does not see the workspace of the client\. Keep", workspace=unshared)
    shutil.rmtree(unshared)
    refused(OptionError, "needs a local directory", layout_options={"reshuffle": False})
    refused(OptionError, "expected a number of lines that divides 5, found 2", num_parts=5)
    ips = lines("127.0.0.1\n127.0.0.8\n127.0.0.2\n127.0.0.9\n")
    refused(EnvironmentFaultError, f"the cluster has no worker on {gone}", ips=ips)
    refused(GraphPartError, "not a file of machines: .* found No such file", ips=tmp_path / "none")
    refused(OptionError, "the output on machines must be in a file system", out="s3://bucket/out")
    for text, match in [("\n", "is empty"), ("127.0.0.1 port\n", "line 1: invalid line"), ("1 2 3 4", "line 1")]:
        refused(OptionError, match, ips=lines(text))


def test_a_directory_that_holds_something_is_refused_on_every_machine(
    machines: Machines, graph: Path, undisturbed: dict[str, str]
) -> None:
    out = machines.disk / "taken"
    there = machines.seen_by(HOSTS[1], out)
    (there / "part1").mkdir(parents=True)
    (there / "part1" / "graph.dgl").touch()
    with pytest.raises(OutputExistsError, match=rf"^127.0.0.2:{out}: the output directory is not empty: part1"):
        partition(machines, graph, out)
    assert list(machines.shared.iterdir()) == []
    partition(machines, graph, out, overwrite=True)
    assert_delivered(machines, out, undisturbed)
    (there / "mine.txt").touch()
    partition(machines, graph, out, overwrite=True)
    assert (there / "mine.txt").is_file()
    (there / "part7").touch()
    with pytest.raises(OutputExistsError, match=rf"127.0.0.2:{out}/part7: "):
        partition(machines, graph, out, overwrite=True)
    assert configs(there)


def test_a_full_disk_leaves_no_config_and_the_same_command_continues(
    machines: Machines, graph: Path, undisturbed: dict[str, str]
) -> None:
    out = machines.small / "out"
    with pytest.raises(
        EnvironmentFaultError, match=rf"{out}/part\d/.*No space left.*Run the same command again"
    ) as full:
        partition(machines, graph, out)
    assert str(full.value).startswith("127.0.0.")
    assert full.value.exit_code == 3
    assert_no_config(machines, out)
    for host in HOSTS:
        pid = machines.workers[host].pid
        subprocess.run(
            ["nsenter", "--mount", "-t", str(pid), "mount", "-o", "remount,size=64m", machines.small], check=True
        )
    ips = machines.root / "others.txt"
    ips.write_text("127.0.0.2\n127.0.0.1\n")
    with pytest.raises(ResumeError, match="dispatch_to"):
        partition(machines, graph, out, ips=ips)
    again = Disturber(0, lambda: None)
    partition(machines, graph, out, progress=again)
    # four parts of at most six files, and three times one task for each machine
    assert again.done <= 4 * 6 + 3 * 2
    assert_delivered(machines, out, undisturbed)


@pytest.mark.parametrize("when", ["check-files", pytest.param("describe-parts", marks=pytest.mark.long)])
def test_a_machine_that_is_lost_is_one_error_and_may_come_back_with_another_disk(
    when: str, machines: Machines, graph: Path, undisturbed: dict[str, str]
) -> None:
    out = machines.disk / "lost" / when

    with pytest.raises(EnvironmentFaultError, match=r"the cluster has no worker on 127.0.0.2: workers on"):
        partition(machines, graph, out, progress=At(when, lambda: machines.stop(HOSTS[1])))
    # where all files are, the config may be
    assert when == "describe-parts" or not configs(machines.seen_by(HOSTS[0], out))
    machines.start(HOSTS[1])
    with Client(machines.scheduler, set_as_default=False) as client:
        machines.wait(client)
    partition(machines, graph, out)
    assert_delivered(machines, out, undisturbed)


def test_files_are_sent_again_that_are_gone_or_others(
    machines: Machines, graph: Path, undisturbed: dict[str, str]
) -> None:
    out = machines.disk / "changed"

    def change() -> None:
        (machines.seen_by(HOSTS[0], out) / "part2" / "graph.dgl").unlink()
        damaged = machines.seen_by(HOSTS[1], out) / "part3" / "graph.dgl"
        damaged.write_bytes(bytes(damaged.stat().st_size))
        (damaged.parent / "node_feat.dgl.0123456789ab.unfinished").touch()

    with pytest.raises(EnvironmentFaultError, match=rf"{out}/part[23]/graph.dgl: .*missing or has changed"):
        partition(machines, graph, out, progress=At("check-files", change))
    assert_no_config(machines, out)
    partition(machines, graph, out)
    assert_delivered(machines, out, undisturbed)


def test_one_directory_of_both_machines_gets_everything(
    machines: Machines, graph: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    ips = tmp_path / "ips.txt"
    ips.write_text("localhost\n127.0.0.2\n127.0.0.1\n127.0.0.2\n")
    parts = partition(machines, graph, tmp_path / "out", ips=ips)
    with pytest.raises(LayoutError, match="its own machine"):
        parts.part(0)
    assert file_hashes(tmp_path / "out") == undisturbed


def test_a_file_of_machines_is_read_as_dgl_reads_it(tmp_path: Path) -> None:
    (tmp_path / "ips").write_text("10.0.0.1 30050\n\n  node2\t\n10.0.0.1\n")
    found = read_machines(tmp_path / "ips", tmp_path)
    assert found.hosts == ("10.0.0.1", "node2", "10.0.0.1")
    assert found.distinct == ("10.0.0.1", "node2")
    assert [found.host_of(part) for part in range(4)] == ["10.0.0.1", "node2", "10.0.0.1", "10.0.0.1"]
    (tmp_path / "ips").write_bytes(b"\xff\x00")
    with pytest.raises(OptionError, match="not a file of machines"):
        read_machines(tmp_path / "ips", tmp_path)
    with pytest.raises(OptionError, match="not a file of machines"):
        read_machines(tmp_path, tmp_path)
