"""A package of somebody else in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from foreign_packages import forget_packages
from installed_copy import write_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """Install the package odd-plugin 2.0, whose class Odd has a name in a group, in this process."""

    def install(group: str, name: str, code: str) -> None:
        site = tmp_path / "site"
        site.mkdir()
        monkeypatch.syspath_prepend(site)
        module = f"odd_{abs(hash(code))}"
        (site / f"{module}.py").write_text(code)
        write_metadata(site, "odd-plugin", "2.0", {f"daskgraphpart.{group}": {name: f"{module}:Odd"}})
        forget_packages()

    yield install
    monkeypatch.undo()
    forget_packages()
