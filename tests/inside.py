"""What tests use of the inside of the package, in one place: options as jobs see them, runners, and files of arrays."""

from __future__ import annotations

from daskgraphpart.cli.main import COMMANDS, group, main
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.job import Job, Sizes, choose_sizes, smallest_task_memory
from daskgraphpart.engine.progress import PROGRESS_KINDS, ProgressListener, SilentProgress, open_progress
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources, resources_of
from daskgraphpart.engine.runner import Pass, Runner, TaskCall, Unit, open_runner
from daskgraphpart.partitioner.assign_options import METHODS, AssignOptions
from daskgraphpart.storage.region import Region, create_npy, npy_region, open_npy
from daskgraphpart.tools.generate import KINDS, MIN_MAG_NODES, NUM_CLASSES, generate, mag_graph
from daskgraphpart.tools.kinds import RMAT_THRESHOLDS

__all__ = [
    "COMMANDS",
    "KINDS",
    "METHODS",
    "MIN_MAG_NODES",
    "NUM_CLASSES",
    "PROGRESS_KINDS",
    "RMAT_THRESHOLDS",
    "SMALLEST_TASK_MEMORY",
    "AssignOptions",
    "DispatchOptions",
    "Job",
    "Pass",
    "ProgressListener",
    "Region",
    "Resources",
    "Runner",
    "SilentProgress",
    "Sizes",
    "TaskCall",
    "Unit",
    "choose_sizes",
    "create_npy",
    "detect_resources",
    "generate",
    "group",
    "mag_graph",
    "main",
    "npy_region",
    "open_npy",
    "open_progress",
    "open_runner",
    "resources_of",
    "smallest_task_memory",
]
