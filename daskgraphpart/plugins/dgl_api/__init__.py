"""DGL's functions and scripts, with DGL's names and arguments."""

from daskgraphpart.registry import Command

DGL_TOOLS = Command(
    "Write stand-ins for the scripts of dgl/tools.",
    "daskgraphpart.plugins.dgl_api.dgl_tools_command:dgl_tools",
    after="generate",
)
