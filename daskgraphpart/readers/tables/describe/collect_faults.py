"""Collect faults of the input, so that a user sees all of them at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from daskgraphpart.errors import (
    MOST_LISTED,
    GraphPartError,
    InputFileError,
    InputFileNotFoundError,
    OptionError,
    write_sentences,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def collect_fault(faults: list[GraphPartError]) -> Iterator[None]:
    """Add a fault of the input, or those that it lists, to the ones found before; raise faults of the machine."""
    try:
        yield
    except (InputFileError, OptionError) as fault:
        faults += fault.listed or [fault]


def raise_together(faults: Sequence[GraphPartError]) -> None:
    """Raise one error, or several as a list, each once, with their hints at the end."""
    faults = tuple({str(fault): fault for fault in faults}.values())
    if not faults:
        return
    if len(faults) == 1:
        raise faults[0]
    listed = [fault.restated(type(fault), hint=None).for_command_line() for fault in faults[:MOST_LISTED]]
    more = [f"and {len(faults) - MOST_LISTED} more"] if len(faults) > MOST_LISTED else []
    hints = write_sentences(dict.fromkeys(fault.hint for fault in faults if fault.hint))
    kinds = (InputFileNotFoundError, OptionError)
    kind = next((kind for kind in kinds if all(isinstance(fault, kind) for fault in faults)), InputFileError)
    error = kind(f"{len(faults)} things are wrong:" + "".join(f"\n  {line}" for line in [*listed, *more]), hint=hints)
    error.listed = faults
    raise error
