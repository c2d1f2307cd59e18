"""Report how good partitions are, and compare methods."""

from daskgraphpart.registry import Command

REPORT = Command(
    "Show how good partitions are: cut, balance, HALO nodes.",
    "daskgraphpart.plugins.report.report_command:report",
    after="verify",
)
COMPARE = Command(
    "Compare methods: cut, balance, time, memory.",
    "daskgraphpart.plugins.report.compare_command:compare",
    after="plan",
)
