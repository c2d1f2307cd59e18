"""Estimate disk, memory and method of a job: the command `plan`, and the line with which jobs begin."""

from daskgraphpart.registry import Command

PLAN = Command(
    "Estimate disk, memory and method of a partition.",
    "daskgraphpart.plugins.plan.plan_command:plan",
    after="partition",
)
