"""Call the command line in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daskgraphpart.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def call(*arguments: str | Path) -> int:
    """Run `daskgraphpart ARGUMENTS`; the exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)
