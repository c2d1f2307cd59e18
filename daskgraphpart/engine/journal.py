"""The journal of a job: finished units of passes, and their results.

An append-only log in the workspace, written by the client alone. Each line is a JSON value after its CRC-32: first the
header (what the job is), then, in the order of the run, a line per pass and per finished unit. A rerun takes the same
path, because it follows from input, options and these results; so its n-th pass is the same.

A line cut short by a kill is the last one; it is dropped and its unit runs again. Any other checksum fault means a
damaged file, which is refused. Lines are not synced one by one: like the tasks' files, they survive the death of the
process; after a crash of the machine we trust neither (see `boot_id`).
"""

from __future__ import annotations

import base64
import json
import os
import socket
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.files import shown_name, workspace_store
from daskgraphpart.storage.paths import is_remote, resolve_path

if TYPE_CHECKING:
    from daskgraphpart.storage.store import Log, Writes

JOURNAL_NAME = "journal"
_FORMAT = {"format": "daskgraphpart journal", "version": 1}
RESTART_HINT = "add --restart to start over"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Journal:
    """An open journal: what the job is, the passes of earlier runs, and where the latest ran."""

    def __init__(self, path: Path, header: Mapping[str, Any], log: Log, lines: Sequence[Any] = ()) -> None:
        self.path, self.header, self._log = path, header, log
        self.machine: dict[str, Any] = {}
        self.num_finished, self.is_done = 0, False
        self.is_of_earlier_run = False
        self._passes: list[tuple[Any, dict[int, Any]]] = []  # line of each pass, and results as JSON by unit
        self.writes: dict[int, list[Writes]] = {}  # by pass
        self._indexed: set[int] = set()
        self._next = 0
        for line in lines:
            match line:
                case ["pass", *_]:
                    self._passes.append((line, {}))
                case ["unit", number, unit, result]:
                    self._passes[number][1][unit] = result
                    self.num_finished += 1
                case ["writes", number, writes]:
                    self.writes.setdefault(number, []).append(writes)
                case ["indexed", number]:
                    self._indexed.add(number)
                case ["run", machine]:
                    self.machine = dict(machine)
                case ["done"]:
                    self.is_done = True
                case _:
                    raise ValueError(f"line {line}")

    @classmethod
    def create(cls, directory: str | Path, header: Mapping[str, Any], claim: str = "") -> Journal:
        """Start a journal in a workspace; it exists once its header (JSON values) is complete; see `begin_run`."""
        path = Path(directory) / JOURNAL_NAME
        journal = cls(path, header, workspace_store(path).open_log(path))
        journal._append({**_FORMAT, "job": header}, _run(claim))
        journal.flush()
        return journal

    @classmethod
    def open(cls, directory: str | Path) -> Journal | None:
        """Open a workspace's journal, if one was started."""
        path = Path(directory) / JOURNAL_NAME
        content = workspace_store(path).read_log(path)
        if content is None:
            return None
        try:
            lines, whole = _read_lines(content)
            if not lines:
                return None
            header = lines[0]["job"]
            if lines[0] != {**_FORMAT, "job": header} or not isinstance(header, dict):
                raise ValueError(f"expected {_FORMAT}")
            journal = cls(path, header, workspace_store(path).open_log(path), lines[1:])
            journal.is_of_earlier_run = True
        except (LookupError, TypeError, ValueError, RecursionError) as fault:
            raise ResumeError(
                "the journal of the unfinished run is damaged, or of another version",
                file=shown_name(path),
                found=str(fault),
                hint=RESTART_HINT,
            ) from fault
        journal._log.truncate(whole)
        return journal

    def begin_run(self, claim: str = "") -> None:
        """Note that a run starts on this machine, and what it is called in the lock of an output in a store."""
        self._append(_run(claim))
        self.flush()  # a run that is killed at once must find its name

    def begin(self, name: str, sizes: Sequence[int]) -> tuple[int, Mapping[int, Any]]:
        """Start or resume the next pass, given the bytes of its units; return its number and results by unit."""
        number, line = self._next, ["pass", name, len(sizes), zlib.crc32(json.dumps([*map(int, sizes)]).encode())]
        self._next += 1
        if number == len(self._passes):
            self._passes.append((line, {}))
            self._append(line)
        recorded, finished = self._passes[number]
        if recorded != line:
            raise ResumeError(
                "cannot resume: the unfinished run has other passes",
                file=shown_name(self.path),
                place=f"pass {number}",
                expected=f"{name} of {len(sizes)} units",
                found=f"{recorded[1]} of {recorded[2]}",
                hint=RESTART_HINT,
            )
        return number, finished

    def record(self, number: int, results: Mapping[int, Any], writes: Sequence[Writes] = ()) -> None:
        """Note finished units of a pass, their results, and what their task wrote at offsets."""
        self._append(
            *(["writes", number, of_task] for of_task in writes),
            *(["unit", number, unit, to_json(result)] for unit, result in results.items()),
        )
        self.writes.setdefault(number, []).extend(writes)
        self.num_finished += len(results)

    def flush(self) -> None:
        """Make sure that what was noted outlives this process."""
        self._log.flush()

    def take_writes(self, number: int) -> list[Writes]:
        """Return what a finished pass wrote, unless its files are known to be indexed."""
        writes = self.writes.pop(number, [])
        return [] if number in self._indexed else writes

    def note_indexed(self, number: int) -> None:
        """Note that the files that a pass wrote are indexed."""
        self._append(["indexed", number])

    def finish(self) -> None:
        """Note that the job is done, so that nobody resumes it."""
        self._append(["done"])
        self._log.flush()
        self.is_done = True

    def close(self) -> None:
        """Append nothing more."""
        self._log.close()

    def _append(self, *values: Any) -> None:
        self._log.append(b"".join(map(_line, values)))


def read_header(directory: str | Path) -> Mapping[str, Any] | None:
    """Read what a workspace's job is, changing nothing; None without a sound journal."""
    try:
        path = Path(directory) / JOURNAL_NAME
        lines, _ = _read_lines(workspace_store(path).read_log(path) or b"")
        return dict(lines[0]["job"])
    except (OSError, LookupError, TypeError, ValueError, RecursionError):
        return None


def boot_id() -> str:
    """Identify this boot of the machine; empty if the system does not say."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _run(claim: str) -> list[Any]:
    return ["run", {"host": socket.gethostname(), "boot": boot_id(), "pid": os.getpid(), "claim": claim}]


def _line(value: Any) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _read_lines(content: bytes) -> tuple[list[Any], int]:
    """Values of all complete lines, and their bytes; `ValueError` for more than a torn line after them."""
    values, whole, file = [], 0, BytesIO(content)
    for line in file:
        body = line[9:-1]
        if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(body):
            break
        values.append(json.loads(body))
        whole += len(line)
    if file.read(1):
        raise ValueError(f"no such line as we write at byte {whole:,}")
    return values, whole


def to_json(value: Any, arrays: list[np.ndarray] | None = None) -> Any:
    """Turn a result into JSON values, and its arrays, if a list is given, into places in that; else is our bug.

    Plain values, arrays, tuples and dataclasses come back equal, types included; NumPy scalars become plain numbers,
    and files in stores their URLs, without credentials. No pickle: whoever resumes the job reads the journal, and it
    must not run code.
    """
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [to_json(item, arrays) for item in value]
    if isinstance(value, np.ndarray):
        return _array_to_json(value, arrays)
    if isinstance(value, np.dtype):
        return {"dtype": [value.name if value.kind == "V" else value.str]}  # bfloat16 has no other name
    if isinstance(value, tuple):
        return {"tuple": [to_json(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": [*map(to_json, value.items())]}
    if is_remote(value):
        return {"url": [str(value)]}
    if is_dataclass(value):
        return {type(value).__name__: [to_json(getattr(value, field.name)) for field in fields(value) if field.init]}
    raise TypeError(f"results of type {type(value).__name__} have no form in the journal")


def _array_to_json(array: np.ndarray, arrays: list[np.ndarray] | None) -> dict[str, Any]:
    if arrays is not None:
        arrays.append(array)
        return {"placed": [array.dtype.str, [*array.shape]]}
    content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return {"array": [array.dtype.str, list(array.shape), content]}


def from_json(
    content: Any,
    types: Sequence[type] = (),
    place: Callable[[str, list[int]], Any] | None = None,
    open_url: Callable[[str], Any] = resolve_path,
) -> Any:
    """Reverse `to_json`; `types` are the dataclasses that may occur, and `place` takes arrays from a list in turn."""
    make: dict[str, Callable[..., Any]] = {of_type.__name__: of_type for of_type in types}
    make |= {"array": _array, "dtype": np.dtype, "tuple": lambda *items: items, "dict": lambda *items: dict(items)}
    make["url"] = open_url
    if place is not None:
        make["placed"] = place

    def value_of(content: Any) -> Any:
        if isinstance(content, list):
            return [*map(value_of, content)]
        if not isinstance(content, dict):
            return content
        ((name, items),) = content.items()
        return make[name](*map(value_of, items))

    return value_of(content)


def _array(dtype: str, shape: list[int], content: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(content), dtype).reshape(shape).copy()
