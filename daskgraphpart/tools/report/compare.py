"""Compare methods on one graph, each in a fresh process."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from daskgraphpart.engine.measure import Measurement, measure
from daskgraphpart.engine.progress import Progress, ProgressListener, open_progress
from daskgraphpart.engine.resources import Resources, resources_of
from daskgraphpart.errors import OptionError, choose_from, write_sentences
from daskgraphpart.ids.fanouts import texts_of_fanouts
from daskgraphpart.jobs.check_order import check_order
from daskgraphpart.jobs.jobs import CONTINUE_HINT
from daskgraphpart.keywords import check_keywords
from daskgraphpart.options import stated_options
from daskgraphpart.partitioner.assign_nodes import check_method
from daskgraphpart.partitioner.assign_options import GUESTS, METHODS, AssignOptions
from daskgraphpart.partitioner.training.predict_rows import PredictedRows
from daskgraphpart.public import Public
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.paths import to_key
from daskgraphpart.units import format_seconds, format_size, html_table, text_table

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph_like import GraphLike


OF_TRAINING = ("remote_share", "remote_rows", "remote_bytes", "busiest")
NAMES = ("method", "used", "cut_share", *OF_TRAINING, "replication_factor", "seconds", "peak_bytes")
PANELS = {
    "cut_share": "edge cut",
    "remote_share": "rows that training fetches from other parts",
    "balance of edges": "edges of the largest part / average",
    "seconds": "seconds",
    "peak_bytes": "peak memory, MB",
}
"""What plots show, by column."""

HEADERS = ("parts", "method", "edge cut", "nodes", "edges", "replication", "time", "peak memory", "")


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of one method with one number of parts."""

    method: str  # as given
    num_parts: int
    used: str = ""  # as run
    cut_share: float = 0.0  # cut edges / edges
    replication_factor: float = 0.0
    balances: dict[str, float] | None = None  # by constraint: heaviest part / average
    seconds: float = 0.0  # wall time of the process
    peak_bytes: int = 0  # peak memory of its process tree
    fault: str = ""  # the error, if it failed, and the exit code of its command
    exit_code: int = 0
    # share of training input rows fetched from other parts; needs `fanouts`
    remote_share: float | None = None
    remote_rows: int | None = None  # these rows in an epoch, and their bytes
    remote_bytes: int | None = None
    busiest: float | None = None  # work of the busiest part / average


@check_keywords
def compare(
    graph: GraphLike,
    num_parts: int | Sequence[int] = (4, 8, 64),
    methods: str | Sequence[str] = (*METHODS, *GUESTS),
    *,
    on_done: Callable[[Compared], None] | None = None,
    balance: str | Sequence[str] | None = None,
    seed: int = 0,
    refine: bool = False,
    objtype: Literal["cut", "vol", "fetch"] = "cut",
    fanouts: str | Sequence[int] | Sequence[str] | Mapping[str, Sequence[int]] = (),
    training_options: Mapping[str, object] | None = None,
    method_options: Mapping[str, object] | None = None,
    effort: Literal["low", "normal", "high"] = "normal",
    edge_weight: str | Sequence[str] = (),
    extend: str | os.PathLike[str] | None = None,
    extend_options: Mapping[str, object] | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare methods by cut, balance, replication factor, seconds, peak memory and what training fetches.

    Parameters
    ----------
    graph : Graph, Scan or path
        The graph. If it is not a chunked graph, `compare` first writes it as one to a temporary directory.
    num_parts : int or sequence of int
        Numbers of parts.
    methods : str or sequence of str
        Names of methods, or directories with owners. Default: all, with those of other packages.
    on_done : callable, optional
        Called with each result as it arrives; progress has a step for each.
    balance, seed, refine, objtype, fanouts, training_options, method_options, effort, edge_weight : optional
        As in `partition`.
    extend, extend_options, memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Comparison
        Sorted by number of parts, then method; with `fanouts`, the method that fetches least comes first. A method
        that fails is listed with its error. `to_frame` returns a DataFrame.

    Raises
    ------
    OptionError
        If there is nothing to compare.
    InputFileNotFoundError
        If the graph does not exist.
    MetadataError
        If its metadata is invalid.

    Examples
    --------
    >>> comparison = dgp.compare("shop", [4], ["random", "fennel"])
    >>> comparison.to_frame()[["method", "cut_share", "replication_factor"]].round(3)
       method  cut_share  replication_factor
    0  random      0.754               3.218
    1  fennel      0.352               2.298
    """
    counts: list[Any] = [num_parts] if isinstance(num_parts, int) else [*num_parts]
    methods = [methods] if isinstance(methods, str) else [*methods]
    if not counts or not methods or any(not isinstance(count, Integral) or count < 1 for count in counts):
        asked = f"{counts} parts by {methods}"
        raise OptionError("nothing to compare", found=asked, hint="give --num-parts of at least 1, and --methods")
    for method in methods:  # report a bad method or path once, not per run
        check_method(AssignOptions(method))
    options = AssignOptions(
        balance=balance, seed=seed, refine=refine, objtype=objtype, fanouts=fanouts, training_options=training_options,
        method_options=method_options, effort=effort, edge_weight=edge_weight, extend=extend,
        extend_options=extend_options,
    )  # fmt: skip
    where = {"memory": memory, "cluster": cluster, "workers": workers}
    resources = resources_of({**where, "workspace": workspace})
    # whichever cannot keep the objective is listed with its error
    wanted = [replace(options, method=method, objtype="cut") for method in methods]
    stated = {name: getattr(options, name) for name in stated_options(options) if name != "method"}
    flags, results = _flags({**stated, **where}), []
    with open_progress(progress) as listener, _as_directory(graph, wanted, resources, where, listener) as directory:
        listener.begin("compare", len(counts) * len(methods), 0)
        for count in counts:
            of_parts = []
            for method in methods:
                of_parts.append(_run(directory, count, method, flags, resources.workspace))
                listener.advance(0)
                if on_done is not None:
                    on_done(of_parts[-1])
            results += sorted(of_parts, key=lambda of_method: (bool(of_method.fault), of_method.remote_share or 0.0))
        listener.end()
    return Comparison(tuple(results))


@contextmanager
def _as_directory(
    graph: Any,
    wanted: Sequence[AssignOptions],
    resources: Resources,
    where: Mapping[str, Any],
    listener: ProgressListener,
) -> Iterator[str]:
    """Yield the directory of a chunked graph; write any other graph to a temporary one."""
    scan = open_scan(graph, resources=resources)
    if scan.directory is not None:
        yield to_key(scan.directory)
        return
    for options in wanted:
        check_order(scan, options)
    with _scratch_directory(resources.workspace) as scratch:
        yield scan.write_chunked(f"{scratch}/graph", **where, workspace=scratch, progress=listener).directory


@contextmanager
def _scratch_directory(workspace: str | None) -> Iterator[str]:
    """Make a directory for all files of a run, since no other run continues it."""
    if workspace is not None:
        make_directory(Path(workspace))
    with tempfile.TemporaryDirectory(prefix="daskgraphpart-compare-", dir=workspace) as scratch:
        yield scratch


def _flags(given: Mapping[str, Any]) -> list[str]:
    flags: list[str] = []
    for name, value in given.items():
        if name == "cluster" and not isinstance(value, str):
            continue  # a client cannot be passed to another process
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            flags.append(flag)
        elif name in ("edge_weight", "fanouts"):
            texts = value if name == "edge_weight" else texts_of_fanouts(value)
            flags += [word for text in texts for word in (flag, text)]
        elif value is not None and value is not False:
            flags += [flag, ",".join(value) if isinstance(value, tuple) else str(value)]
    return flags


def _run(
    graph: str | os.PathLike[str], num_parts: int, method: str, flags: Sequence[str], workspace: str | None
) -> Compared:
    with _scratch_directory(workspace) as scratch:
        report = Path(scratch) / "report.json"
        how = ["--num-parts", str(num_parts), "--method", method, "--report", str(report), *flags]
        how += ["--workspace", scratch]
        taken, code, fault = _measured(["assign", str(graph), f"{scratch}/owners", *how])
        if code:
            used = taken.seconds, taken.peak_bytes
            return Compared(method, num_parts, "", 0.0, 0.0, None, *used, fault, code)
        content = json.loads(report.read_text(encoding="utf-8"))
    balances = {balance["name"]: balance["ratio"] for balance in content["balances"]}
    shares = content["method"], content["cut_share"], content["replication_factor"]
    known: dict[str, Any] = {}
    if content["rows"]:
        rows = PredictedRows(**{name: tuple(values) for name, values in content["rows"].items()})
        counts = rows.share, rows.num_fetched, sum(rows.nbytes), rows.busiest
        known = dict(zip(OF_TRAINING, counts, strict=True))
    return Compared(method, num_parts, *shares, balances, taken.seconds, taken.peak_bytes, **known)


def _measured(arguments: Sequence[str]) -> tuple[Measurement, int, str]:
    """Run a command of this package; return what it took, its exit code, and its error, if any."""
    taken, code, output = measure([sys.executable, "-m", "daskgraphpart", *arguments, "--quiet"])
    if code == 0:
        return taken, code, ""
    lines = [line for line in output.splitlines() if line.startswith("error: ")] or output.splitlines()[-1:]
    told = (lines[0] if lines else f"exit code {code}").removeprefix("error: ")
    return taken, code, told.replace(f" {write_sentences([CONTINUE_HINT])}", "")


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Public, Sequence[Compared]):
    """Results of `compare`: a sequence of `Compared`, shown as a table."""

    results: tuple[Compared, ...]  # one per method and number of parts; the columns of `to_frame` are attributes

    def __getitem__(self, number: Any) -> Any:
        return self.results[number]

    def __len__(self) -> int:
        return len(self.results)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row per method and number of parts, and a column per balance."""
        balances = sorted({name for result in self for name in result.balances or {}})
        return pd.DataFrame(
            {
                "parts": [result.num_parts for result in self],
                **{name: [getattr(result, name) for result in self] for name in NAMES},
                **{f"balance of {name}": [(result.balances or {}).get(name) for result in self] for name in balances},
                "fault": [result.fault for result in self],
            }
        )

    def __repr__(self) -> str:
        heads, rows = _cells(self.results)
        return text_table(heads, rows, align=f"><{'>' * (len(heads) - 3)}<")

    def _repr_html_(self) -> str:
        return html_table(*_cells(self.results), caption="Methods side by side")


def _cells(results: Sequence[Compared]) -> tuple[list[str], list[list[str]]]:
    rows: list[list[str]] = []
    heads = list(HEADERS)
    if any(result.remote_share is not None for result in results):
        heads[2:2] = ["remote rows", "in an epoch", "bytes", "work"]
    for result in results:
        cells = [str(result.num_parts), result.method]
        if result.fault:
            cells += [""] * (len(heads) - 3) + [result.fault]
        else:
            balances = result.balances or {}
            if result.remote_share is not None:
                cells += [f"{result.remote_share:.1%}", f"{result.remote_rows:,}"]
                cells += [format_size(result.remote_bytes or 0), f"{result.busiest:.3f}"]
            cells += [f"{result.cut_share:.2%}", f"{balances['nodes']:.3f}", f"{balances['edges']:.3f}"]
            cells += [f"{result.replication_factor:.2f}", format_seconds(result.seconds)]
            cells += [format_size(result.peak_bytes), result.used if result.used != result.method else ""]
        rows.append(cells)
    return heads, rows


def check_plot(path: str | os.PathLike[str]) -> None:
    """Refuse a plot that cannot be drawn, before the slow part."""
    try:
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise OptionError("matplotlib is not installed", option="plot", hint="run pip install matplotlib") from fault
    known = Figure().canvas.get_supported_filetypes()
    if Path(path).suffix.lstrip(".").lower() not in known:
        raise OptionError(f"--plot {path} has no known format", option="plot", hint=choose_from([*known]))


def plot_comparison(results: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw cut, balance of edges, time and memory by number of parts, to a PNG, SVG or PDF file."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    frame = results.to_frame()
    frame = frame[frame.fault == ""].assign(peak_bytes=lambda of: of.peak_bytes / 1e6)
    panels = {name: title for name, title in PANELS.items() if name not in frame or frame[name].notna().any()}
    figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    for axis, (column, title) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        lines = frame.pivot_table(column, "parts", "method", sort=False) if len(frame) else frame
        if not lines.empty:
            lines.plot(
                ax=axis, title=title, marker="o", grid=True, xlabel="number of parts", legend=column == "cut_share"
            )
            axis.set_xscale("log", base=2)
            axis.set_xticks(lines.index, [str(parts) for parts in lines.index])
            axis.margins(y=0.1)
            axis.ticklabel_format(axis="y", style="plain", useOffset=False)
            axis.set_ylim(bottom=1 if column == "balance of edges" else 0)
            if column in ("cut_share", "remote_share"):
                axis.yaxis.set_major_formatter(PercentFormatter(1))
    figure.savefig(path)
