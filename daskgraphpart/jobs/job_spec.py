"""What a job reads, how it assigns and what it writes: what its output depends on, and what it must fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.destination import Destination
from daskgraphpart.dispatching.job import smallest_task_memory
from daskgraphpart.errors import InputFileNotFoundError, OptionError
from daskgraphpart.jobs.check_order import check_order
from daskgraphpart.jobs.fingerprint import files_of_owners, fingerprint, identify_owners
from daskgraphpart.jobs.job_inputs import input_paths, output_of
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.layouts.layout import HOT_ROWS, GraphBoltAttributes, Layout
from daskgraphpart.layouts.plugin_layouts import plugin_layouts
from daskgraphpart.partitioner.assign_nodes import check_assignable, check_wanted
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import Owners
from daskgraphpart.partitioner.choose import method_memory
from daskgraphpart.partitioner.choose import smallest_task_memory as smallest_assign_memory
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.schema import GraphSchema
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import Location, is_url, require_local, resolve_path

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.layouts.graphstorm_layout import GraphStormLayout


@dataclass(frozen=True, slots=True, eq=False)
class JobSpec:
    """What the output of a job depends on; how the job runs is in `JobOptions`.

    With owners in a directory, the number of parts may be unknown until they are read.
    """

    scan: Scan
    owners: Owners | Path | AssignOptions
    num_parts: int | None
    target: Location | Destination | None = None  # None: a directory of this machine, until Python exits
    options: DispatchOptions | None = None  # None: the owners are the output
    form: str = ""  # binary form of owners that are the output

    @classmethod
    def of(
        cls,
        graph: Any,
        owners: AssignOptions | Owners | str | os.PathLike[str],
        num_parts: int | None,
        out: str | os.PathLike[str],
        options: DispatchOptions,
        resources: Resources,
        *,
        storage_options: Mapping[str, Any] | None = None,
        dispatch_to: str | os.PathLike[str] | None = None,
    ) -> JobSpec:
        """Make the specification of a job that writes partitions from what users give."""
        if not isinstance(owners, AssignOptions | Owners):
            owners = require_local(owners, "an assignment")
        target = output_of(out, dispatch_to, storage_options)
        return cls(open_scan(graph, storage_options, resources), owners, num_parts, target, options)

    @classmethod
    def of_owners(
        cls,
        graph: Any,
        owners: AssignOptions,
        num_parts: int,
        out: str | os.PathLike[str] | None,
        form: str,
        resources: Resources,
        storage_options: Mapping[str, Any] | None = None,
    ) -> JobSpec:
        """Make the specification of a job that writes owners, or keeps them until Python exits."""
        target: Location | None = None
        if out is None:
            resources.check_workspace("without an output, owners live on this machine")
        elif is_url(resources.workspace):
            target = resolve_path(out, storage_options)
        else:
            where = "give a --workspace in the store, too, or a directory"
            target = require_local(out, "an assignment", where).absolute()
        return cls(open_scan(graph, storage_options, resources), owners, num_parts, target, form=form)

    @property
    def known_parts(self) -> int | None:
        """Number of parts, if known before owners are read."""
        if isinstance(self.owners, Owners):
            return self.owners.num_parts
        if self.num_parts is not None or not isinstance(self.owners, Path):
            return self.num_parts
        from daskgraphpart.partitioner.read_files import read_num_parts  # for few jobs

        return read_num_parts(self.owners)

    @property
    def place(self) -> Location:
        """Where the output goes: a directory here, in a store, or on machines."""
        assert self.target is not None, "the output outlives Python"
        return self.target.root if isinstance(self.target, Destination) else self.target

    def directory(self, workspace: str | None) -> Path:
        """Directory in which to make partitions; for a store or machines, in the workspace."""
        if isinstance(self.target, Destination):
            return self.target.local_directory(workspace)
        assert isinstance(self.target, Path), "it is on this machine"
        return self.target

    @property
    def edge_weights(self) -> tuple[str, ...]:
        """Features that are weights of edges."""
        return tuple(self.owners.edge_weight) if isinstance(self.owners, AssignOptions) else ()

    @property
    def input_paths(self) -> list[Location]:
        """What the job reads, and must not write to."""
        return [*input_paths(self.scan), *files_of_owners(self.scan, self.owners)]

    def fingerprint(self) -> dict[str, Any]:
        """Describe what the output depends on."""
        options = {"num_parts": self.num_parts, **identify_owners(self.owners)}
        options |= {"form": self.form} if self.options is None else asdict(self.options)
        if isinstance(self.target, Destination) and self.target.hosts:
            options["dispatch_to"] = list(self.target.hosts)
        command = "partition" if isinstance(self.owners, AssignOptions) else "dispatch"
        files = files_of_owners(self.scan, self.owners)
        return fingerprint("assign" if self.options is None else command, self.scan, options, files)

    def check(self, graph: Graph | None) -> tuple[JobSpec, tuple[Layout, ...]]:
        """Refuse what the graph, or one that is not read yet, cannot become.

        Returns the specification with the options that the graph itself adds, and its layouts, DGL's first.
        """
        if graph is None:
            check_order(self.scan, self.owners)
        if isinstance(self.owners, AssignOptions):
            assert self.num_parts is not None, "owners are made for a number of parts"
            if graph is None:
                check_wanted(self.owners, self.num_parts)
            else:
                check_assignable(self.owners, graph, self.num_parts)
        elif isinstance(self.owners, Path) and not self.owners.exists():
            hint = "give the output of assign"
            raise InputFileNotFoundError("no such directory of owners", file=self.owners, hint=hint)
        if (options := self.options) is None:
            return self, ()
        if graph is not None and options.is_for_graphstorm:
            with environment_faults():
                mapped = dict.fromkeys((*options.map_feature, *_graphstorm().mapped_features(graph)))
            options = replace(options, map_feature=tuple(mapped))
        layouts = layouts_of(options, graph)
        training = None if isinstance(self.owners, Path) else self.owners.training
        self.check_output(layouts, self.known_parts, training)
        if graph is not None:
            options.check_fits(graph.schema)
            for layout in layouts:
                layout.check_fits(graph.schema)
        return replace(self, options=options), layouts

    def check_output(
        self, layouts: tuple[Layout, ...], num_parts: int | None, training: Mapping[str, Any] | None
    ) -> None:
        """Refuse an output that cannot hold what layouts make of these parts and training; None is not known yet."""
        for layout in layouts:
            layout.check_request(self.scan.name, num_parts)
        if isinstance(self.target, Destination):
            if num_parts is not None:
                self.target.check_parts(num_parts)
            linked = [link for layout in layouts for link in layout.links()]
            if linked or (self.options is not None and not self.options.reshuffle):
                raise OptionError(
                    "this output names its files by local path or link, so it needs a local directory",
                    place=f"layout {linked[0].partition('/')[0]}" if linked else "reshuffle",
                    hint="choose a local directory, without dispatch_to",
                )
        if self.options is None or self.options.hot_rows is None:
            return
        any_graph = GraphSchema("any", (), ())
        if not any(HOT_ROWS in layout.wants(any_graph) for layout in layouts):
            what, hint = "no layout that you asked for can hold hot rows", "add ranks or parquet to --layout"
            raise OptionError(what, option="hot_rows", hint=hint)
        if training is not None and not training:
            hint = "partition, or assign, with --fanouts, such as 15,10"
            raise OptionError("--hot-rows needs the fan-outs of training", option="hot_rows", hint=hint)

    def smallest_memory(self, schema: GraphSchema, processes: int = 1) -> tuple[int, int]:
        """Least bytes of any task, and of one that finds owners; owners that are the output are measured."""
        dispatching = 0 if self.options is None else smallest_task_memory(schema, self.options)
        if self.options is not None and self.options.hot_rows is not None and isinstance(self.owners, Owners):
            dispatching = max(dispatching, smallest_assign_memory(schema, AssignOptions(**self.owners.training)))
        if not isinstance(self.owners, AssignOptions):
            return dispatching, 0
        is_measured = self.options is None or self.owners.needs_adjacency
        assigning = smallest_assign_memory(schema, self.owners) if is_measured else 0
        return max(dispatching, assigning), method_memory(schema, self.num_parts, self.owners, processes)


def layouts_of(options: DispatchOptions, graph: Graph | None) -> tuple[Layout, ...]:
    """Return the requested layouts, DGL's first; files beside the graph only once it is read."""
    layouts: list[Layout] = []
    if options.graphs:
        marks = options.store_inner_node, options.store_inner_edge, options.store_types_and_owners
        stored = GraphBoltAttributes(options.store_eids, *marks, coo="coo" in options.graph_formats)
        dgl = DglLayout(tuple(options.graph_formats), options.config_name, options.reshuffle, options.graphs, stored)
        with environment_faults():
            layouts.append(_graphstorm().wrap(dgl, graph) if options.is_for_graphstorm else dgl)
    return (*layouts, *plugin_layouts(options.plugins, options.layout_options or {}))


def _graphstorm() -> type[GraphStormLayout]:
    from daskgraphpart.layouts.graphstorm_layout import GraphStormLayout  # for few jobs

    return GraphStormLayout
