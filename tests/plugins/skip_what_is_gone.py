"""A plug-in of pytest: tests that need a plug-in of ours which is not installed are skipped, and counted by its name.

A test needs it if it fails by the one sentence that tells so, or if its file imports the folder that is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from installed_copy import GONE

from daskgraphpart.registry import WHERE_FROM

if TYPE_CHECKING:
    from collections.abc import Iterator

TOLD = WHERE_FROM[1:]
SIGNS = (TOLD, f"No module named 'daskgraphpart.plugins.{GONE}", "from 'daskgraphpart' (", "No such option")
"""The sentence; what Python says of imports, of the folder or of a name of ours; and what click says."""


def _tells(report: pytest.TestReport | pytest.CollectReport) -> bool:
    text = " ".join(f"{report.longreprtext} {' '.join(content for _, content in report.sections)}".split())
    return any(sign in text for sign in SIGNS)


def _skip(report: pytest.TestReport | pytest.CollectReport, place: str) -> None:
    report.outcome = "skipped"
    report.longrepr = (place, 1, f"Skipped: needs {GONE}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Skip a test that fails because the plug-in is gone."""
    report: pytest.TestReport = yield
    if report.failed and _tells(report):
        _skip(report, str(item.path))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Skip a file that imports what is gone."""
    report: pytest.CollectReport = yield
    if report.failed and _tells(report):
        _skip(report, str(collector.path))
    return report
