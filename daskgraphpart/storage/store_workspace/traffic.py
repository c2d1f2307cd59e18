"""Count what a job asks of S3, where every request costs money: requests by kind, those that failed, and bytes.

botocore tells a recorder about each attempt, also those it makes again. A task counts its own; its process's other
requests belong to the job that this process has started, if any. Other stores tell nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from daskgraphpart.units import format_count, format_number, format_size

if TYPE_CHECKING:
    from upath import UPath

PROTOCOLS = ("s3", "s3a")
KINDS = ("GET", "HEAD", "PUT", "LIST", "DELETE")
ANSWERS, READ, WRITTEN = "answers", "bytes read", "bytes written"
STATUS_FAILED = 500

_of_task: ContextVar[Counter[str] | None] = ContextVar("_of_task", default=None)
_of_runs: dict[str, Counter[str]] = {}
"""Of the runs that this process has started."""
_lock = threading.Lock()


@contextmanager
def counting_run(store: UPath, run: str) -> Iterator[None]:
    """Count what this process asks, other than by tasks."""
    _record(store)
    _of_runs[run] = Counter()
    try:
        yield
    finally:
        del _of_runs[run]


def add_to_run(run: str, asked: Mapping[str, int]) -> None:
    """Add what a task asked."""
    _of_runs[run].update(asked)


@contextmanager
def counting_task(store: UPath) -> Iterator[Counter[str]]:
    """Count what this thread asks."""
    _record(store)
    asked: Counter[str] = Counter()
    token = _of_task.set(asked)
    try:
        yield asked
    finally:
        _of_task.reset(token)


def describe_run(run: str) -> str:
    """Name a run's requests and bytes; empty if nothing was counted."""
    asked = _of_runs[run]
    requests = sum(asked.get(kind, 0) for kind in KINDS)
    if not requests:
        return ""
    kinds = ", ".join(f"{format_count(asked[kind])} {kind}" for kind in KINDS if asked.get(kind))
    moved = f"{format_size(asked.get(READ, 0))} read, {format_size(asked.get(WRITTEN, 0))} written"
    failed = requests - asked.get(ANSWERS, 0)
    again = f"; {format_number(failed, 'request')} failed and made again" if failed else ""
    return f"{format_number(requests, 'request')} ({kinds}), {moved}{again}"


class _Handler:
    """What botocore's recorder calls; coroutines run in the context of the thread that waits for them."""

    def emit(self, event: str, payload: Any, source: str) -> None:
        """Count a request that is sent, or an answer."""
        del source
        counter = _of_task.get()
        if counter is None:
            counter = next(reversed(_of_runs.values()), None)
        if counter is None:
            return
        if event == "HTTP_REQUEST":
            counter[_kind(payload["method"], payload["url"])] += 1
            counter[WRITTEN] += int(payload["headers"].get("Content-Length", 0))
        elif event == "HTTP_RESPONSE":
            counter[ANSWERS] += payload["status_code"] < STATUS_FAILED
            counter[READ] += int(payload["headers"].get("Content-Length", 0)) if payload["streaming"] else 0


def _kind(method: str, url: str) -> str:
    """Name a request as bills do: parts of an upload are PUTs."""
    query = parse_qs(urlsplit(url).query, keep_blank_values=True)
    if method == "GET" and ("list-type" in query or "uploads" in query):
        return "LIST"
    if method == "POST":
        return "DELETE" if "delete" in query else "PUT"
    return method


def _record(store: UPath) -> None:
    """Listen to botocore, once in this process."""
    if store.protocol not in PROTOCOLS:
        return
    from botocore.history import get_global_history_recorder  # comes with s3fs

    with _lock:
        recorder = get_global_history_recorder()
        if not any(isinstance(handler, _Handler) for handler in recorder._handlers):
            recorder.add_handler(_Handler())
            recorder.enable()
