"""Print the final line of a job."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.engine.progress import open_progress
from daskgraphpart.units import format_number, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daskgraphpart.jobs.job_options import JobOptions


@contextmanager
def result_message(options: JobOptions) -> Iterator[tuple[JobOptions, Callable[..., None]]]:
    """Show progress; yield the job's options, and what prints at its end what was made and how long it took."""
    started = time.monotonic()
    with open_progress(options.progress) as listener:

        def show(num_parts: int, cut_share: float, where: str, traffic: str = "") -> None:
            seconds = format_seconds(time.monotonic() - started)
            if traffic:
                listener.note(f"store: {traffic}")
            listener.note(f"{format_number(num_parts, 'part')}, {cut_share:.2%} of edges cut, in {seconds}: {where}")

        yield replace(options, progress=listener), show
