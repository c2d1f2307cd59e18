"""A job that failed is continued: nothing is done twice, what changed is refused, and two never write at once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import zlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from faults.judge import expect_not_whole, expect_whole, judging
from faults.kills import CASES, MEMORY, Case, Kill, arm, hashes, in_fork, make_inputs
from inside import AssignOptions, Resources, TaskCall
from keywords import spelled
from listeners import Listener

import daskgraphpart as dgp
from daskgraphpart.engine.local import LocalScheduler
from daskgraphpart.errors import EnvironmentFaultError, OutputExistsError, OutputLockedError, ResumeError
from daskgraphpart.storage.lock import LOCK_NAME, DirectoryLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BY_NAME = {case.name: case for case in CASES}
THREADS = [case for case in CASES if case.cluster == "threads"]
WORKSPACE = ".daskgraphpart-work"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("inputs")
    make_inputs(root)
    return root


@pytest.fixture
def root(inputs: Path, tmp_path: Path) -> Path:
    """A directory beside links to the inputs, whose fingerprints a test may change."""
    for name in ("homogeneous", "heterogeneous", "owners-homogeneous", "owners-heterogeneous"):
        (tmp_path / name).symlink_to(inputs / name)
    (tmp_path / "job").mkdir()
    return tmp_path / "job"


class Calls:
    """Counts the calls of tasks by pass, and fails in some of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self.fail_at: tuple[str, int] | None = None
        self.fault: BaseException = EnvironmentFaultError("the disk is full", hint="free some")
        original = TaskCall.__init__

        def counting(this: TaskCall, task: Callable[..., Any], *rest: Any) -> None:
            def counted(work: Any, config: Any) -> Any:
                self.counts[task.__name__] += 1
                if self.fail_at == (task.__name__, self.counts[task.__name__]):
                    raise self.fault
                return task(work, config)

            original(this, counted, *rest)

        monkeypatch.setattr(TaskCall, "__init__", counting)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def fail(case: Case, root: Path, calls: Calls, task: str = "bucket_edges", number: int = 2) -> BaseException:
    """Let a case fail in the n-th call of a task."""
    calls.counts.clear()
    calls.fail_at = (task, number)
    with pytest.raises(type(calls.fault)) as caught:
        case.run(root)
    calls.fail_at = None
    expect_not_whole(judging(root.parent / case.graph, root / "out", case.command))
    return caught.value


def run(name: str, root: Path, out: str = "out", **how: Any) -> Path:
    resources = how.pop("resources", Resources(MEMORY, "sync"))
    method = AssignOptions("random", seed=how.pop("seed", 0))
    dgp.partition(root.parent / name, root / out, 3, **spelled(method), **spelled(resources), **how)
    return root / out


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("hetero-zarr", "export_file"),
        ("hetero-fennel", "place_rows"),
        ("by-range", "place_rows"),
        ("assign", "write_owners"),
    ],
)
def test_finished_tasks_are_not_done_again(name: str, last: str, root: Path, calls: Calls, tmp_path: Path) -> None:
    case, whole = BY_NAME[name], tmp_path / "whole"
    whole.mkdir()
    case.run(whole)
    undisturbed = calls.counts.copy()
    fail(case, root, calls, last, 1)
    before = calls.counts.copy()
    calls.counts.clear()
    case.run(root)
    again = (before + calls.counts) - undisturbed
    # passes that change files in place are journalled as a whole; none of them is in a dispatch
    in_steps = set() if undisturbed["draw_span"] else {"weigh_parts", "measure_block"}
    assert set(again) - in_steps == {last}
    assert again[last] in (1, 2), "the task that failed, and one that ran beside it"
    assert hashes(root / "out") == hashes(whole / "out")
    expect_whole(judging(root.parent / case.graph, root / "out", case.command))


def test_every_task_of_a_dispatch_may_run_twice(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a pass, then all of it again: what a continued run does at worst."""
    cases = [case for case in THREADS if case.name in ("random", "hetero-zarr", "by-range", "dispatch", "layouts")]
    original = LocalScheduler.compute

    def twice(self: LocalScheduler, name: str, graph: Any, keys: Any, on_done: Any, hosts: Any) -> None:
        original(self, name, graph, keys, lambda *_: None, hosts)
        original(self, name, graph, keys, on_done, hosts)

    for case in cases:
        once, again = tmp_path / f"{case.name}-once", tmp_path / f"{case.name}-twice"
        once.mkdir()
        again.mkdir()
        case.run(once)
        with monkeypatch.context() as patch:
            patch.setattr(LocalScheduler, "compute", twice)
            case.run(again)
        assert hashes(again / "out") == hashes(once / "out")


def test_a_failure_says_how_to_go_on_and_leaves_the_workspace(root: Path, calls: Calls) -> None:
    fault = fail(BY_NAME["random"], root, calls)
    assert str(fault).endswith("Free some. Run the same command again to continue, or add restart=True to start over.")
    assert (root / "out" / WORKSPACE / "journal").is_file()
    assert not list((root / "out").glob("*.json"))
    BY_NAME["random"].run(root)
    names = sorted(path.name for path in (root / "out").iterdir())
    assert names == ["g.json", "g.manifest.json", "part0", "part1", "part2"]


def test_an_interruption_leaves_the_workspace_and_a_mistake_in_the_input_leaves_nothing(
    root: Path, calls: Calls
) -> None:
    calls.fault = KeyboardInterrupt()
    assert "run the same command again to continue" in "".join(fail(BY_NAME["random"], root, calls).__notes__)
    assert (root / "out" / WORKSPACE).is_dir()
    calls.fault = dgp.GraphPartError("an edge leads nowhere")
    fail(BY_NAME["random"], root, calls, number=1)
    assert list((root / "out").iterdir()) == []


def test_the_workspace_is_kept_if_that_is_wanted(root: Path) -> None:
    out = run("homogeneous", root, workspace_options={"keep_workspace": True})
    assert (out / WORKSPACE / "runs" / "0.npy").is_file()
    for restart in (False, True):
        with pytest.raises(OutputExistsError, match="not empty"):
            run("homogeneous", root, restart=restart)
    run("homogeneous", root, overwrite=True)
    assert not (out / WORKSPACE).exists()


@pytest.fixture
def unfinished(root: Path, calls: Calls) -> Iterator[Path]:
    """An unfinished `partition` of the homogeneous graph into three parts."""
    fail(BY_NAME["random"], root, calls)
    return root / "out"


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("num_hops", {"num_hops": 2}),
    ("graph_formats", {"layout_options": {"graph_formats": "csc"}}),
    ("out_edges", {"layout_options": {"out_edges": True}}),
    ("seed", {"method": "random", "seed": 1}),
    ("method", {"method": "fennel"}),
    ("balance", {"method": "random", "balance": ["nodes"]}),
    ("num_parts", {"num_parts": 4}),
    ("num_trainers_per_machine", {"method": "random", "method_options": {"num_trainers_per_machine": 2}}),
]


def test_another_option_or_command_is_refused_by_name(unfinished: Path, inputs: Path) -> None:
    graph = unfinished.parent.parent / "homogeneous"
    how: dict[str, Any] = {"num_parts": 3, "method": "random", "memory": MEMORY, "cluster": "threads", "workers": 2}
    for flag, changed in CHANGES:
        with pytest.raises(ResumeError, match=rf"{flag}.*restart=True") as caught:
            dgp.partition(graph, unfinished, **{**how, **changed})
        assert caught.value.exit_code == 2
    with pytest.raises(ResumeError, match=r"command.*expected partition, found dispatch"):
        dgp.dispatch(graph, inputs / "owners-homogeneous", unfinished)
    BY_NAME["random"].run(unfinished.parent)  # nothing was touched


def copy_of_inputs(inputs: Path, root: Path) -> Path:
    for name in ("homogeneous", "owners-homogeneous"):
        (root.parent / name).unlink()
        shutil.copytree(inputs / name, root.parent / name)
    return root.parent


def touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def swap_files(path: Path) -> None:
    """Change the order of two files, and nothing that `stat` of another program would restore."""
    status, content = path.stat(), json.loads(path.read_text())
    content["edges"]["item:near:item"]["data"].reverse()
    path.write_text(json.dumps(content, indent=4))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path: Path) -> None:
    """Put another file of the same size and time in its place."""
    status, other = path.stat(), path.with_name("new")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("homogeneous/metadata.json", touch),
        ("homogeneous/metadata.json", swap_files),
        ("homogeneous/edges/*-1.csv", touch),
        ("homogeneous/node_data/*-0.npy", replace_file),
        ("owners-homogeneous/item.txt", touch),
    ],
)
def test_an_input_that_changed_is_refused_by_name(
    name: str, change: Callable[[Path], None], root: Path, inputs: Path, calls: Calls
) -> None:
    case = Case("dispatch", "homogeneous", "dispatch", "", "threads", "in-place")
    path = sorted(copy_of_inputs(inputs, root).glob(name))[0]
    fail(case, root, calls)
    change(path)
    with pytest.raises(ResumeError, match=rf"input .*{path.name}"):
        case.run(root)


def test_input_that_changes_during_a_job_is_named_in_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ends = np.arange(50)
    graph = dgp.from_edges((ends, ends[::-1]), node_data={"x": np.ones((50, 2))}).write_chunked(tmp_path / "graph")
    (file,) = (tmp_path / "graph").rglob("edges/*.parquet")

    class Replacing(Listener):
        def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
            super().begin(name, num_units, nbytes, num_rows)
            if name == "bucket-edges":
                file.write_bytes(file.read_bytes())

    said = f"{file}: changed while the job ran, so the output may hold some of both"
    dgp.partition(graph, tmp_path / "whole", 2, method="random")
    assert said not in caplog.text
    dgp.partition(graph, tmp_path / "mixed", 2, method="random", progress=Replacing())
    assert said in caplog.text


def damage_journal(workspace: Path) -> None:
    content = bytearray((workspace / "journal").read_bytes())
    content[len(content) // 2] ^= 1
    (workspace / "journal").write_bytes(content)


@pytest.mark.parametrize(
    ("change", "refused", "how"),
    [
        (lambda _: None, "seed", {"seed": 1, "restart": True}),
        (damage_journal, "damaged", {"restart": True}),
        (shutil.rmtree, None, {}),
    ],
    ids=["another seed", "damaged journal", "workspace gone"],
)
def test_what_cannot_be_continued_is_refused_and_started_over(
    change: Any, refused: str | None, how: dict[str, Any], unfinished: Path, calls: Calls
) -> None:
    change(unfinished / WORKSPACE)
    if refused:
        with pytest.raises(ResumeError, match=refused):
            run("homogeneous", unfinished.parent, **{**how, "restart": False})
    calls.counts.clear()
    run("homogeneous", unfinished.parent, **how)
    assert calls.counts["draw_span"] == 1
    how.pop("restart", None)
    assert hashes(unfinished) == hashes(run("homogeneous", unfinished.parent, "other", **how))


def test_files_that_a_killed_run_left_half_written_are_gone_in_the_end(unfinished: Path) -> None:
    (unfinished / "part0").mkdir(exist_ok=True)
    for torn in ("g.json", "part0/graph.dgl.unfinished"):
        (unfinished / f"{torn}.7c4fc268a65d.unfinished").write_bytes(b"{")
    BY_NAME["random"].run(unfinished.parent)
    assert not list(unfinished.rglob("*.unfinished"))


def test_a_file_that_is_gone_is_said(root: Path, calls: Calls) -> None:
    fail(BY_NAME["random"], root, calls, "build_graph", 1)
    (root / "out" / WORKSPACE / "runs" / "0.npy").unlink()
    with pytest.raises(ResumeError, match=r"0\.npy: a file of the unfinished run is gone\. Add restart=True"):
        BY_NAME["random"].run(root)


def test_after_a_reboot_files_are_not_trusted(unfinished: Path, calls: Calls, caplog: Any) -> None:
    journal = unfinished / WORKSPACE / "journal"
    lines = [json.loads(line[9:]) for line in journal.read_bytes().splitlines()]
    for run_of in (line for line in lines[1:] if line[0] == "run"):
        run_of[1]["boot"] = "another boot"
    bodies = [json.dumps(line).encode() for line in lines]
    journal.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(body), body) for body in bodies))
    calls.counts.clear()
    BY_NAME["random"].run(unfinished.parent)
    assert calls.counts["draw_span"] == 1
    assert "starting over" in caplog.text


@pytest.mark.parametrize("how", [("sync", 1, "in-place"), ("threads", 3, "zarr")], ids=str)
def test_other_resources_continue_as_the_work_was_cut(how: Any, root: Path, calls: Calls, caplog: Any) -> None:
    caplog.set_level("INFO", "daskgraphpart")
    other = root.parent / "other"
    other.mkdir()
    case = BY_NAME["hetero-fennel"]
    case.run(other)
    fail(case, root, calls)
    replace(case, cluster=how[0], staging=how[2], workers=how[1], memory=2 * MEMORY).run(root)
    assert "tasks keep their size: memory 67.1 MB, workers 2, staging in-place" in caplog.text
    assert hashes(root / "out") == hashes(other / "out")


def test_less_memory_than_the_work_is_cut_for_is_refused(unfinished: Path) -> None:
    with pytest.raises(ResumeError, match=r"memory.*Give memory 68MB, or add restart=True"):
        run("homogeneous", unfinished.parent, resources=Resources(MEMORY // 2, "sync"))


def test_another_workspace_is_refused_and_taken_with_restart(root: Path, calls: Calls, tmp_path: Path) -> None:
    first, second = (Resources(MEMORY, "sync", workspace=str(tmp_path / name)) for name in ("first", "second"))
    calls.fail_at = ("bucket_edges", 1)
    with pytest.raises(EnvironmentFaultError):
        run("homogeneous", root, resources=first)
    calls.fail_at = None
    with pytest.raises(ResumeError, match="workspace"):
        run("homogeneous", root, resources=second)
    run("homogeneous", root, resources=second, restart=True)
    assert list((tmp_path / "first").iterdir()) == list((tmp_path / "second").iterdir()) == []
    assert hashes(root / "out") == hashes(run("homogeneous", root, "other"))


@pytest.mark.parametrize("move", [shutil.move, shutil.copytree], ids=["moved", "copied"])
def test_an_unfinished_output_that_moved_is_refused_and_continues_where_it_was(move: Any, unfinished: Path) -> None:
    moved = unfinished.with_name("moved")
    move(unfinished, moved)
    with pytest.raises(ResumeError, match=r"moved or copied: expected .*/out/.*\. Move it back, or add restart=True"):
        run("homogeneous", unfinished.parent, "moved")
    if unfinished.exists():
        shutil.rmtree(unfinished)
    moved.rename(unfinished)
    BY_NAME["random"].run(unfinished.parent)


def test_a_workspace_elsewhere_that_moved_is_refused(root: Path, calls: Calls, tmp_path: Path) -> None:
    before, now = (Resources(MEMORY, "sync", workspace=str(tmp_path / name)) for name in ("before", "now"))
    calls.fail_at = ("bucket_edges", 1)
    with pytest.raises(EnvironmentFaultError):
        run("homogeneous", root, resources=before)
    calls.fail_at = None
    (tmp_path / "before").rename(tmp_path / "now")
    with pytest.raises(ResumeError, match=r"now/.* moved or copied: expected .*/before/"):
        run("homogeneous", root, resources=now)


def test_files_of_other_names_are_refused_by_name(unfinished: Path, inputs: Path, tmp_path: Path) -> None:
    other = shutil.copytree(inputs / "homogeneous", tmp_path / "renamed")
    what = "input .*/renamed/metadata.json.* have changed: expected input .*/homogeneous/metadata.json"
    with pytest.raises(ResumeError, match=what):
        dgp.partition(other, unfinished, 3, method="random", memory=MEMORY, cluster="threads", workers=2)


def test_outputs_that_share_a_workspace_directory_do_not_meet(root: Path, calls: Calls, tmp_path: Path) -> None:
    shared = Resources(MEMORY, "sync", workspace=str(tmp_path / "shared"))
    calls.fail_at = ("bucket_edges", 1)
    with pytest.raises(EnvironmentFaultError):
        run("homogeneous", root, "one", resources=shared)
    calls.fail_at = None
    run("heterogeneous", root, "two", resources=shared)
    calls.counts.clear()
    run("homogeneous", root, "one", resources=shared)
    assert calls.counts["draw_span"] == 0


def test_two_jobs_do_not_write_at_once_and_a_dead_one_locks_nothing(root: Path) -> None:
    (root / "out").mkdir()
    ready, go = os.pipe()

    def hold() -> None:
        DirectoryLock(root / "out")
        os.write(go, b"!")
        time.sleep(60)

    pid = os.fork()
    if pid == 0:
        hold()
    os.read(ready, 1)
    with pytest.raises(OutputLockedError, match=rf"another run \(pid {pid} on host .*\) is writing here") as caught:
        run("homogeneous", root)
    assert caught.value.exit_code == 3
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert (root / "out" / LOCK_NAME).is_file()
    run("homogeneous", root)
    assert not (root / "out" / LOCK_NAME).exists()


def test_the_command_line_continues_and_restarts(root: Path, capfd: Any) -> None:
    out = root / "out"
    command = ("partition", root.parent / "homogeneous", out, "--num-parts", 3, "--method", "random", "--quiet")

    def killed() -> None:
        arm(Kill("pwrite", 20))
        call(*map(str, command))

    assert in_fork(killed) == -signal.SIGKILL
    assert call(*map(str, command), "--seed", "5") == 2
    assert "--seed: " in capfd.readouterr().err
    assert call(*map(str, command)) == 0
    assert hashes(out) == hashes(run("homogeneous", root, "other"))
    assert in_fork(lambda: (out / "part0" / "graph.dgl").unlink()) == 0
    assert call(*map(str, command), "--overwrite", "--keep-workspace") == 0
    notes = json.loads((out / WORKSPACE / "journal").read_bytes().splitlines()[-1][9:])
    assert notes == ["done"]


def test_an_assignment_in_memory_is_known_by_its_content(root: Path, inputs: Path, calls: Calls) -> None:
    graph = inputs / "homogeneous"
    calls.fail_at = ("bucket_edges", 1)
    with pytest.raises(EnvironmentFaultError):
        dgp.dispatch(graph, dgp.assign(graph, 3, method="random"), root / "out")
    calls.fail_at = None
    with pytest.raises(ResumeError, match="assignment"):
        dgp.dispatch(graph, dgp.assign(graph, 3, method="random", seed=1), root / "out")
    dgp.dispatch(graph, dgp.assign(graph, 3, method="random"), root / "out")
    assert hashes(root / "out") == hashes(run("homogeneous", root, "other"))


def test_a_copy_of_an_unfinished_output_leaves_the_original_alone(unfinished: Path) -> None:
    copy = unfinished.with_name("copy")
    shutil.copytree(unfinished, copy)
    run("homogeneous", unfinished.parent, "copy", restart=True)
    assert (unfinished / WORKSPACE / "journal").is_file()
    BY_NAME["random"].run(unfinished.parent)
    assert hashes(copy) == hashes(unfinished)
