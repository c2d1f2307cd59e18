"""Public functions spell out every option, as its dataclass states it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_headers_docstrings_and_bodies_are_as_the_options_say() -> None:
    import signatures  # imports options of plug-ins

    stale: list[Path] = []
    signatures.each_file(lambda path, text, wanted: stale.append(path) if text != wanted else None)
    assert stale == [], "run python tests/architecture/signatures.py --write"
