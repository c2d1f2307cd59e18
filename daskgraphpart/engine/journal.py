"""The journal of a job: which units of which passes are finished, and what they gave.

An append-only file in the workspace, written by the client alone. Every line is the CRC-32 of a JSON value, and the
value: first the header (what the job is), then, in the order in which the client runs them, a line for every pass and
one for every unit of it that is finished. A job that is run again goes the same way, because all that it does follows
from its input, its options and these results; so the n-th pass of the second run is the n-th pass of the first.

A line that was cut short by a kill is the last one, and is dropped: its unit is done again. Anything else that does not
fit its checksum is a damaged file, which is refused. Lines are not synced to disk one by one: they survive the death of
the process, as the files that tasks have written do; after a crash of the machine neither is trusted (see `boot_id`).
"""

from __future__ import annotations

import json
import os
import socket
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

JOURNAL_NAME = "journal"
JOURNAL_FORMAT, JOURNAL_VERSION = "daskgraphpart journal", 1
RESTART_HINT = "add --restart to start over"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Entry:
    """One pass in the journal: its place in their order, and the results of finished units by index, as JSON."""

    number: int
    name: str
    num_units: int
    crc: int
    """CRC-32 of the sizes of the units in bytes: a check that the pass is the same."""
    finished: dict[int, Any]


class Journal:
    """A journal that is open for appending: what the job is, the passes of earlier runs, where the latest one ran."""

    def __init__(self, path: Path, header: Mapping[str, Any], entries: list[Entry], machine: Mapping[str, Any]) -> None:
        self.path, self.header, self.machine = path, header, machine
        self.num_finished = sum(len(entry.finished) for entry in entries)
        self.is_done = False
        self._entries, self._next = entries, 0
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    @classmethod
    def create(cls, directory: str | Path, header: Mapping[str, Any]) -> Journal:
        """Begin a journal in a workspace; there is none before its header, what the job is in JSON values, is whole."""
        path = Path(directory) / JOURNAL_NAME
        first = {"format": JOURNAL_FORMAT, "version": JOURNAL_VERSION, "job": header}
        with attach_path_to_error(path):
            path.write_bytes(_line(first))
        journal = cls(path, header, [], {})
        journal.begin_run()
        return journal

    @classmethod
    def open(cls, directory: str | Path) -> Journal | None:
        """Open the journal of a workspace, if it has one that was begun."""
        path = Path(directory) / JOURNAL_NAME
        if not path.is_file():
            return None
        lines, whole = _read_lines(path)
        if not lines:
            return None
        first = lines[0]
        if (
            not isinstance(first, dict)
            or first.get("format") != JOURNAL_FORMAT
            or first.get("version") != JOURNAL_VERSION
        ):
            raise ResumeError(
                "the journal of the unfinished run is of another version",
                file=str(path),
                expected=f"version {JOURNAL_VERSION}",
                found=first.get("version") if isinstance(first, dict) else repr(first)[:40],
                hint=RESTART_HINT,
            )
        try:
            job = first["job"]
            entries, machine, is_done = _replay(lines[1:])
        except (KeyError, IndexError, TypeError, ValueError) as fault:
            raise ResumeError(
                "the journal of the unfinished run is damaged", file=str(path), hint=RESTART_HINT
            ) from fault
        if path.stat().st_size > whole:
            os.truncate(path, whole)
        journal = cls(path, job, entries, machine)
        journal.is_done = is_done
        return journal

    def begin_run(self) -> None:
        """Note that a run begins on this machine."""
        self._append(["run", {"host": socket.gethostname(), "boot": boot_id(), "pid": os.getpid()}])

    def begin(self, name: str, sizes: Sequence[int]) -> Entry:
        """Begin or continue the next pass, whose units move so many bytes each."""
        number, crc = self._next, zlib.crc32(json.dumps([int(size) for size in sizes]).encode())
        self._next += 1
        if number == len(self._entries):
            entry = Entry(number, name, len(sizes), crc, {})
            self._entries.append(entry)
            self._append(["pass", name, len(sizes), crc])
            return entry
        entry = self._entries[number]
        if (entry.name, entry.num_units, entry.crc) != (name, len(sizes), crc):
            raise ResumeError(
                "the unfinished run cannot be continued: its passes are not those of this one",
                file=str(self.path),
                place=f"pass {number}",
                expected=f"{name} of {len(sizes)} units",
                found=f"{entry.name} of {entry.num_units}",
                hint=RESTART_HINT,
            )
        return entry

    def record(self, entry: Entry, unit: int, result: Any) -> None:
        """Note that a unit of a pass is finished, and what it gave, as JSON."""
        self._append(["unit", entry.number, unit, result])
        self.num_finished += 1

    def finish(self) -> None:
        """Note that the job is done, so that nobody continues it."""
        self._append(["done"])
        self.is_done = True

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, value: Any) -> None:
        line = _line(value)
        try:
            while line:  # the system may write less than it is given, and says why when it is given the rest
                line = line[os.write(self._fd, line) :]
        except OSError as fault:
            # nothing may follow a line that was cut short
            self.close()
            fault.filename = str(self.path)
            raise


def boot_id() -> str:
    """Tell one boot of this machine from the next; empty where the system does not say."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _line(value: Any) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _parse(body: bytes) -> Any:
    """Parse the JSON of a line; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def read_header(directory: str | Path) -> Mapping[str, Any] | None:
    """Read what the job of a workspace is, and change nothing; None if there is no journal, or a damaged one."""
    path = Path(directory) / JOURNAL_NAME
    try:
        lines, _ = _read_lines(path) if path.is_file() else ([], 0)
        return dict(lines[0]["job"])
    except (OSError, ResumeError, IndexError, KeyError, TypeError, ValueError):
        return None


def _read_lines(path: Path) -> tuple[list[Any], int]:
    """Values of all whole lines, and the bytes they take."""
    values, whole = [], 0
    size = path.stat().st_size
    with attach_path_to_error(path), path.open("rb") as file:
        for line in file:
            body = line[9:-1]
            value = _parse(body) if line.endswith(b"\n") and line[:8] == b"%08x" % zlib.crc32(body) else None
            if value is None:
                if whole + len(line) < size:
                    raise ResumeError(
                        "the journal of the unfinished run is damaged",
                        file=str(path),
                        place=f"byte {whole:,}",
                        hint=RESTART_HINT,
                    )
                break
            values.append(value)
            whole += len(line)
    return values, whole


def _replay(lines: Sequence[Any]) -> tuple[list[Entry], dict[str, Any], bool]:
    """Passes, the latest machine, and whether the job is done."""
    entries: list[Entry] = []
    machine: dict[str, Any] = {}
    is_done = False
    for kind, *rest in lines:
        if kind == "pass":
            name, num_units, crc = rest
            entries.append(Entry(len(entries), name, num_units, crc, {}))
        elif kind == "unit":
            number, unit, result = rest
            entries[number].finished[unit] = result
        elif kind == "run":
            machine = rest[0]
        else:
            is_done = True
    return entries, machine, is_done
