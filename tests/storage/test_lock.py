"""One writer per directory; a lock file of others is never followed, and never makes us delete what is not ours."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input.judge import write_graph
from commands import call
from remote_stores import local_contents, make_graph

from daskgraphpart import assign, parmetis
from daskgraphpart.errors import OptionError, OutputExistsError, OutputLockedError
from daskgraphpart.storage.lock import LOCK_NAME, DirectoryLock, LockNotes, is_unfinished

JOB = ("--num-parts", "2", "--quiet", "--method", "random", "--memory", "64MB")


def test_notes_are_there_for_whoever_comes_after(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    lock.write(workspace="/work", output="/out")
    lock.release(keep_notes=True)
    assert is_unfinished(tmp_path)
    found = DirectoryLock(tmp_path).notes
    assert (found.workspace, found.output, found.pid) == ("/work", "/out", os.getpid())


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        '{"workspace": 5}',
        '{"pid": []}',
        "[" * 100_000,
        "\xff",
    ],
    ids=lambda content: content[:20],
)
def test_what_are_no_notes_is_passed_over(content: str, tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text(content, encoding="latin-1")
    assert not is_unfinished(tmp_path)
    assert DirectoryLock(tmp_path).notes == LockNotes(host=os.uname().nodename, pid=os.getpid())


def test_an_unfinished_run_of_another_user_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    DirectoryLock(out).release(keep_notes=True)
    (out / LOCK_NAME).chmod(0o444)
    monkeypatch.chdir(out)  # another user may not pass through pytest's directories
    mine, user = os.geteuid(), pwd.getpwuid(os.geteuid()).pw_name
    expected = f"run of user {user} is unfinished here. Let {user} run the same command again"
    if mine == 0:
        os.seteuid(65534)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    try:
        with pytest.raises(OutputLockedError, match=expected):
            DirectoryLock(Path("."))
    finally:
        os.seteuid(mine)


@pytest.mark.parametrize("kind", ["link", "dangling link", "directory", "pipe"])
def test_a_lock_that_is_no_file_is_refused(kind: str, tmp_path: Path) -> None:
    target, path = tmp_path / "theirs", tmp_path / "out" / LOCK_NAME
    path.parent.mkdir()
    if kind == "link":
        target.write_text("precious")
    if "link" in kind:
        path.symlink_to(target)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(OptionError, match="the lock file is a link"):
        DirectoryLock(path.parent)
    assert not is_unfinished(path.parent)
    assert target.read_text() == "precious" if kind == "link" else not target.exists()


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("name", ["precious", ".daskgraphpart-work-0123456789ab"])
def test_a_workspace_that_a_lock_names_is_not_deleted_unless_it_is_of_this_output(
    name: str, restart: bool, tmp_path: Path
) -> None:
    graph, out, theirs = write_graph(tmp_path / "in"), tmp_path / "out", tmp_path / name
    theirs.mkdir()
    np.save(theirs / "data.npy", np.arange(3))
    (theirs / "journal").write_text("00000000 {}\n")
    out.mkdir()
    (out / LOCK_NAME).write_text(json.dumps({"workspace": str(theirs), "output": str(out.resolve())}))
    assert call("partition", graph, out, *JOB, *(("--restart",) if restart else ())) == 0
    assert sorted(path.name for path in theirs.iterdir()) == ["data.npy", "journal"]


def test_what_no_run_resumes_is_written_by_one_run_at_a_time(tmp_path: Path) -> None:
    graph, owners, text = tmp_path / "graph", tmp_path / "owners", tmp_path / "text"
    make_graph().write(graph)
    assignment = assign(graph, 2, method="random", memory="200MB")
    how: dict[str, Any] = {"memory": "200MB", "overwrite": True}
    parmetis.write(graph, text, memory="200MB")
    (text / "shop_part.2").write_text("".join(f"{i} {i % 2}\n" for i in range(450)))
    writers = {
        owners: [
            lambda: assignment.write(owners, **how),
            lambda: parmetis.read(graph, text / "shop_part.2", owners, **how),
        ],
        text: [lambda: parmetis.write(graph, text, **how)],
    }
    for out, functions in writers.items():
        for write in functions:
            write()
            before = local_contents(out)
            lock = DirectoryLock(out)
            with pytest.raises(OutputLockedError, match="another run"):
                write()
            lock.write(workspace="somewhere")
            lock.release(keep_notes=True)
            with pytest.raises(OutputExistsError, match="an unfinished run has left its files"):
                write()
            assert is_unfinished(out)
            (out / LOCK_NAME).unlink()
            assert local_contents(out) == before
