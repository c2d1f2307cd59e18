"""Bring rows, such as embeddings, from the order of new IDs back into that of the input."""

from daskgraphpart.registry import Command

REMAP = Command(
    "Bring rows (embeddings, say) back into the input's order.",
    "daskgraphpart.plugins.remap.remap_command:remap",
    after="dispatch",
)
