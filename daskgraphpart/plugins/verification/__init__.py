"""Compare partitions with the graph they were made of, or with their checksums."""

from daskgraphpart.registry import Command

VERIFY = Command(
    "Compare partitions with their graph, node by node.",
    "daskgraphpart.plugins.verification.verify_command:verify",
    after="partition",
)
