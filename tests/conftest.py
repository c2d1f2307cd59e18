"""Hypothesis profiles: `make test` tries the same examples on every run, `make test-long` searches for new ones.

`--kills` says how often the harness of `faults/` kills each job; `--write-outputs` writes the outputs that documents
show anew instead of comparing them.
"""

from __future__ import annotations

import atexit
import gc
import os
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, settings
from skips import pytest_sessionfinish, pytest_terminal_summary

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_sessionfinish", "pytest_terminal_summary"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # those of torch wait busily, and each core has its process of tests

# kernels compile at their first call, so no deadline
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", max_examples=20, derandomize=True, database=None, **COMMON)
settings.register_profile("search", max_examples=int(os.environ.get("EXAMPLES", "100")), **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption(
        "--kills", type=int, default=3, help="how often each job of tests/resume and tests/faults is killed"
    )
    parser.addoption("--write-outputs", action="store_true", help="write the outputs that documents show anew")


def pytest_collection_finish() -> None:
    """No longer search for garbage what was imported, which took a sixth of the time of tests in this process."""
    gc.freeze()
    atexit.register(gc.unfreeze)  # libraries look at their end whether something is left of theirs
