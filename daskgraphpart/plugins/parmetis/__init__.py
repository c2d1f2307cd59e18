"""Write the input of ParMETIS' programs, and read what they print."""

from daskgraphpart.registry import Command

PARMETIS = Command(
    "Partition with ParMETIS.", "daskgraphpart.plugins.parmetis.parmetis_commands:parmetis", after="generate"
)
CONVERT = Command(
    "Turn ParMETIS' complete output into partitions.",
    "daskgraphpart.plugins.parmetis.parmetis_commands:convert",
    after="parmetis",
)
