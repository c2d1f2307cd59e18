"""Count skipped tests by reason. CI has all that tests need: there, a reason that is not listed here is a failure."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ALLOWED = (
    "no ParMETIS: ",  # of the long tests: `make parmetis` needs a network
    "no gpmetis here",  # Debian's package metis
    "no python3.",  # likewise: other versions of Python
)
"""How reasons begin that CI allows."""


def reasons(config: pytest.Config) -> Counter[str]:
    """Count the tests and files that were skipped, by reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = [] if reporter is None else reporter.stats.get("skipped", [])
    told = (report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr) for report in reports)
    return Counter(reason.removeprefix("Skipped: ").strip() for reason in told)


def not_allowed(found: Counter[str]) -> list[str]:
    """Reasons that are not listed."""
    return sorted(reason for reason in found if not reason.startswith(ALLOWED))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in CI if a test was skipped for a reason that is not listed."""
    if os.environ.get("CI") and session.exitstatus == 0 and not_allowed(reasons(session.config)):
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Show the numbers of skipped tests."""
    if found := reasons(config):
        terminalreporter.section(f"{found.total()} skipped")
        unlisted = not_allowed(found)
        for reason, count in sorted(found.items()):
            note = "  [not in tests/skips.py: CI fails]" if reason in unlisted else ""
            terminalreporter.line(f"{count} x {reason}{note}")
