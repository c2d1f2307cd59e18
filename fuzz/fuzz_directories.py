"""Fuzz directories: owners (zarr, npy, text), manifests and configs, journals and locks of unfinished runs.

    python fuzz/fuzz_directories.py --seconds 1200

A file of a sound directory is damaged, and the commands that read it are run in this process. They have to end within
seconds, with exit code 0 to 3, and without a traceback; an unfinished run whose journal has not been forged goes on to
the bytes of an undisturbed one.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "tests")]

from bad_input.judge import write_graph  # noqa: E402
from graphs import file_hashes  # noqa: E402
from trees import changed  # noqa: E402

from daskgraphpart.cli.main import main as run_command  # noqa: E402
from daskgraphpart.engine.runner import Runner  # noqa: E402
from daskgraphpart.storage.lock import LOCK_NAME  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS_PER_COMMAND = 60
QUICK = ("--quiet", "--cluster", "sync", "--workers", "1", "--memory", "64MB")
PARTITION = ("partition", "graph", "out", "--num-parts", "2", "--method", "random", *QUICK)


def run(*arguments: str) -> tuple[int, str]:
    """Run a command; its exit code, and what it wrote."""
    code, written = 0, io.StringIO()
    signal.alarm(SECONDS_PER_COMMAND)
    with contextlib.redirect_stderr(written), contextlib.redirect_stdout(io.StringIO()):
        try:
            run_command(list(arguments))
        except SystemExit as ended:
            code = int(ended.code or 0)
    signal.alarm(0)
    return code, written.getvalue()


def too_long(*_: object) -> None:
    """End a command that hangs."""
    raise TimeoutError(f"more than {SECONDS_PER_COMMAND} seconds")


def make_templates() -> dict[str, list[Path]]:
    """Make the sound directories below the working directory; the files of each that are damaged."""
    write_graph(Path("graph"))
    for form in ("text", "npy", "zarr"):
        assert run("assign", "graph", form, *PARTITION[3:], "--form", "npy" if form == "text" else form)[0] == 0
        for name in ("assignment.json", "n.npy" if form == "text" else "n.txt"):  # as others write them
            Path(form, name).unlink()
    assert run(*PARTITION)[0] == 0
    shutil.copytree("out", "whole")
    shutil.rmtree("out")
    stop_after(12)
    Path("out").rename("unfinished")
    files = {form: [path for path in Path(form).rglob("*") if path.is_file()] for form in ("text", "npy", "zarr")}
    files["whole"] = list(Path("whole").glob("*.json"))
    names = ("journal", LOCK_NAME)
    files["unfinished"] = [path for path in Path("unfinished").rglob("*") if path.name in names]
    assert len(files["unfinished"]) == 2, files
    return files


def stop_after(num_passes: int) -> None:
    """Interrupt a run, which leaves its journal and its lock."""
    original, left = Runner.run, [num_passes]

    def counted(self: Any, *args: Any, **keywords: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return original(self, *args, **keywords)

    Runner.run = counted  # type: ignore[method-assign]
    try:
        assert run(*PARTITION)[0] == 130
    finally:
        Runner.run = original  # type: ignore[method-assign]


def damage(path: Path, chance: random.Random) -> str:
    """Damage a file; what was done."""
    ways: list[Callable[[Path, random.Random], None]] = [flip, cut, repeat, replace_file]
    if path.name == "journal":
        ways += [forge] * 3
    elif path.suffix == ".json" or path.name == LOCK_NAME:
        ways += [change_tree] * 4
    way = chance.choice(ways)
    way(path, chance)
    return way.__name__


def flip(path: Path, chance: random.Random) -> None:
    """Change some bytes."""
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 3, 20))):
        content[chance.randrange(len(content))] = chance.choice((0, 0x30, 0x2D, 0x7F, 0xFF, chance.randrange(256)))
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    """Keep the beginning."""
    os.truncate(path, chance.choice((0, chance.randrange(path.stat().st_size))))


def repeat(path: Path, chance: random.Random) -> None:
    """Insert a piece of the file somewhere in it."""
    content = path.read_bytes()
    first, last, where = (chance.randrange(len(content) + 1) for _ in range(3))
    path.write_bytes(content[:where] + content[min(first, last) : max(first, last)] + content[where:])


def replace_file(path: Path, chance: random.Random) -> None:
    """Put something in its place that is no file, or none at all."""
    path.unlink()
    how: list[Callable[[Path], object]] = [
        os.mkfifo, os.mkdir, lambda p: p.symlink_to(p.name), lambda p: p.symlink_to("/dev/zero"), lambda p: None,
        lambda p: p.write_bytes(b"[" * 100_000), lambda p: p.write_bytes(b"\xff" * 1000),
    ]  # fmt: skip
    chance.choice(how)(path)


def change_tree(path: Path, chance: random.Random) -> None:
    """Change places of a JSON value."""
    tree = json.loads(path.read_text() or "null")
    for _ in range(chance.choice((1, 1, 2, 3))):
        tree = changed(tree, chance)
    path.write_text(json.dumps(tree))


def forge(path: Path, chance: random.Random) -> None:
    """Change places of a line of a journal, with the checksum that belongs to it."""
    lines = path.read_bytes().splitlines()
    which = chance.randrange(len(lines))
    body = json.dumps(changed(json.loads(lines[which][9:]), chance)).encode()
    lines[which] = b"%08x %s" % (zlib.crc32(body), body)
    path.write_bytes(b"\n".join(lines) + b"\n")


def commands_on(name: str) -> list[tuple[str, ...]]:
    """The commands that read a directory."""
    if name == "unfinished":
        return [PARTITION]
    if name == "whole":
        looks = [
            ("verify", "graph", "out", *QUICK),
            ("verify", "out", "--checksums"),
            ("info", "out"),
            ("report", "out"),
        ]
        return [*looks, (*PARTITION, "--overwrite")]
    refine = ("assign", "graph", "other", "--method", "damaged", "--refine", *PARTITION[3:5], *QUICK)
    return [("dispatch", "graph", "damaged", "out", *QUICK), refine]


def one(name: str, paths: list[Path], chance: random.Random, expected: dict[str, str]) -> tuple[str, list[str]]:
    """Damage a copy of a directory, and run the commands; what was done, and what was wrong."""
    for left in ("out", "other", "damaged"):
        shutil.rmtree(left, ignore_errors=True)
    copy = Path("out" if name in ("whole", "unfinished") else "damaged")
    shutil.copytree(name, copy)
    path = copy / chance.choice(paths).relative_to(name)
    what = f"{name}/{path.relative_to(copy)}: {damage(path, chance)}"
    faults = []
    for command in commands_on(name):
        code, written = run(*command)
        if code not in (0, 1, 2, 3) or "Traceback" in written or len(written) > 20_000:
            faults.append(f"{what}: {' '.join(command)}: exit code {code}\n{written[-3000:]}")
        elif name == "unfinished" and code == 0 and "forge" not in what and file_hashes(copy) != expected:
            faults.append(f"{what}: other bytes")
    return what, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0, help="of the first input")
    parser.add_argument("--inputs", type=int, default=10**9)
    options = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGALRM, too_long)
    done, bad = Counter[str](), 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
        os.chdir(scratch)
        templates = make_templates()
        expected = {name: value for name, value in file_hashes(Path("whole")).items() if LOCK_NAME not in name}
        end = time.monotonic() + options.seconds
        for seed in range(options.seed, options.seed + options.inputs):
            if time.monotonic() > end:
                break
            chance = random.Random(seed)
            name = chance.choice(list(templates))
            what, faults = one(name, templates[name], chance, expected)
            done[what.partition("/")[0]] += 1
            for fault in faults:
                bad += 1
                print(f"seed {seed}: {fault}", flush=True)
        os.chdir("/")
    print(f"{done.total()} inputs ({dict(done)}), {bad} faults")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
