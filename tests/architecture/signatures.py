"""Spell out the options of public functions; after a change: `python tests/architecture/signatures.py --write`.

An option is stated once, as a field of a dataclass. From there this script writes it into the header of every public
function that takes it, into the docstring, and into the call in the body that makes the options object. The first
function below that takes an option describes it; all others refer to that one. Without `--write`, it only compares.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import Resources
from daskgraphpart.graph.transforms.changes import GraphChanges
from daskgraphpart.interop.parmetis.parmetis import ConvertOptions
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.options import stated_options
from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import Field

PACKAGE = Path(__file__).resolve().parents[2] / "daskgraphpart"
WIDTH = 120
Stated = dict[str, "Field[Any]"]


def options_of(kind: type, *names: str, without: tuple[str, ...] = ()) -> Stated:
    """The options that a class states: these, or all but those that functions take in a mapping."""
    stated = stated_options(kind)
    inside = {member for field in stated.values() for member in field.metadata["members"]}
    return {name: stated[name] for name in names or stated if name in names or name not in {*without, *inside}}


MEMBERS = {
    name: [f"``{member}``: {stated[member].metadata['meaning']}" for member in field.metadata["members"]]
    for stated in map(stated_options, (AssignOptions, DispatchOptions, Resources))
    for name, field in stated.items()
}
"""What the options in a mapping mean, by its name."""
ASSIGN, DISPATCH, CHANGES = options_of(AssignOptions), options_of(DispatchOptions), options_of(GraphChanges)
WHERE, FILES = (
    options_of(Resources, "memory", "cluster", "workers", "workspace"),
    options_of(Resources, "workspace_options"),
)
PROGRESS = options_of(JobOptions, "progress")
RUN = {**WHERE, **PROGRESS}
AGAIN = options_of(JobOptions, "overwrite", "restart")
KEEP = options_of(Resources, "keep_workspace")
JOB = {**AGAIN, **WHERE, **FILES, **PROGRESS}
OF_PARTITION_GRAPH = options_of(AssignOptions, without=("method", "balance", "objtype"))
OF_CHUNK_GRAPH = options_of(ReadOptions, "map_ids", "unknown_nodes", "missing_ids", "fill", "ids_from", "codes_from")
FUNCTIONS: dict[str, dict[str, Stated]] = {
    "jobs/partition_function.py": {"partition": {**ASSIGN, **DISPATCH, **JOB}},
    "jobs/assign_function.py": {
        "assign": {**ASSIGN, **AGAIN, **WHERE, **options_of(Resources, "keep_workspace"), **PROGRESS}
    },
    "jobs/dispatch_function.py": {"dispatch": {**DISPATCH, **JOB}},
    "jobs/plan_function.py": {"plan": {**ASSIGN, **DISPATCH, **WHERE, **FILES}},
    "readers/objects/from_edges.py": {"from_edges": WHERE},
    "jobs/owners.py": {"write": RUN, "read_assignment": RUN},
    "graph/scan.py": {"collect": RUN, "collect_schema": RUN},
    "readers/tables/scan_tables.py": {"scan_tables": {**options_of(Tables), **options_of(ReadOptions)}},
    "graph/graph_methods.py": {"write_chunked": RUN},
    "jobs/chunk_graph.py": {"chunk_graph": {**OF_CHUNK_GRAPH, **CHANGES, **RUN}},
    "readers/construction/scan_graphstorm_config.py": {"scan_graphstorm_config": CHANGES},
    "interop/dgl_api/partition_graph.py": {"partition_graph": {**OF_PARTITION_GRAPH, **RUN}},
    "interop/parmetis/parmetis.py": {
        "write": RUN,
        "read": RUN,
        "convert": {**options_of(ConvertOptions), **options_of(DispatchOptions), **RUN},
    },
    "partitioned/methods/pyg_methods.py": dict.fromkeys(
        ("neighbor_loader", "link_neighbor_loader"), options_of(LoaderOptions)
    ),
    "partitioned/methods/tool_methods.py": dict.fromkeys(("add_node_data", "add_edge_data", "report", "verify"), RUN),
    "partitioned/methods/reorder_methods.py": {"to_original": RUN, "from_original": RUN},
    "tools/report/compare.py": {"compare": {**options_of(AssignOptions, without=("method",)), **RUN}},
    "tools/verification/verify_partitions.py": {"verify": RUN},
}
"""Options by file and function; one that a function has among its own parameters is only described."""


@dataclass(frozen=True)
class Function:
    """A public function in the source text."""

    name: str
    node: ast.FunctionDef
    options: Stated
    homes: dict[str, str]  # the function that describes an option, by its meaning

    @property
    def own(self) -> set[str]:
        """Parameters that are not generated: all before the first option that is."""
        of = self.node.args
        names = [arg.arg for arg in (*of.posonlyargs, *of.args)]
        return {*names, *(arg.arg for arg in of.kwonlyargs if arg.arg not in self.options)}

    def header(self) -> str:
        """Parameters: its own, and its options."""
        of, own = self.node.args, self.own
        first = [*of.posonlyargs, *of.args]
        defaults = [None] * (len(first) - len(of.defaults)) + [*of.defaults]
        found = [_spelled(arg, default) for arg, default in zip(first, defaults, strict=True)] + ["*"]
        kept = [pair for pair in zip(of.kwonlyargs, of.kw_defaults, strict=True) if pair[0].arg in own]
        found += [_spelled(*pair) for pair in kept]
        found += [
            f"{name}: {type_of(field)} = {_repr(field)}" for name, field in self.options.items() if name not in own
        ]
        assert self.node.returns is not None, "public functions are annotated"
        return f"def {self.node.name}({', '.join(found)}) -> {ast.unparse(self.node.returns)}:"

    def docstring(self, text: str) -> str:
        """Its docstring, with the options among the parameters."""
        head, heading, rest = text.partition("Parameters\n----------\n")
        section, blank, others = rest.partition("\n\n")
        if not heading:  # it has no parameters of its own
            head, *returns = text.partition("Returns\n-------\n")
            heading, section, blank, others = "Parameters\n----------\n", "", "\n\n", "".join(returns)
        entries: list[str] = []
        for line in section.splitlines():
            if line.startswith(" "):
                entries[-1] += f"\n{line}"
            else:
                entries.append(line)
        kept = [entry for entry in entries if not set(_names_of(entry)) <= {*self.options}]
        section = "\n".join([*kept, *self.entries()])
        return f"{head}{heading}{section}{blank}{others}"

    def entries(self) -> Iterator[str]:
        """Describe options, or name the function that does."""
        elsewhere: dict[str, list[str]] = {}
        for name, field in self.options.items():
            if (home := self.homes[field.metadata["meaning"]]) != self.name:
                elsewhere.setdefault(home, []).append(name)
                continue
            kind = type_of(field).removesuffix(" | None")
            default = ", optional" if _repr(field) == "None" else f", default {_repr(field)}"
            meaning = " ".join([field.metadata["meaning"], *MEMBERS.get(name, ())])
            yield f"{name} : {kind}{'' if name in self.own else default}\n{_wrapped(meaning)}"
        for home, names in elsewhere.items():
            for line in textwrap.wrap(", ".join(names), WIDTH - 20):
                yield f"{line.removesuffix(',')} : optional\n{_wrapped(f'As in `{home}`.')}"

    def call(self, node: ast.Assign) -> str | None:
        """An assignment of an options object, with every option of the function; None of any other statement."""
        made = node.value
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name) or made.func.id not in KINDS:
            return None
        given = {word.arg: word.value for word in made.keywords if word.arg is not None}
        changed = {name: ast.unparse(value) for name, value in given.items() if ast.unparse(value) != name}
        stated = stated_options(KINDS[made.func.id])
        if not {*stated} & {*self.options}:
            return None
        assert not made.args, f"{self.name}: options are given by name"
        taken = [name for name in stated if name in self.options or name in changed]
        start = f"{ast.unparse(node.targets[0])} = {made.func.id}("
        words = ", ".join(f"{name}={changed.get(name, name)}" for name in taken)
        if node.col_offset + len(f"{start}{words})") <= WIDTH:
            return f"{start}{words})"
        lines = textwrap.wrap(f"{words},", WIDTH - node.col_offset - 4)
        return "\n".join([start, *(f"    {line}" for line in lines), ")  # fmt: skip"])


KINDS: dict[str, type] = {
    of.__name__: of for of in (AssignOptions, DispatchOptions, GraphChanges, ReadOptions, ConvertOptions, LoaderOptions)
}
"""Classes of which functions make objects from all of their options."""


def type_of(field: Field[Any]) -> str:
    """The type of an option as functions take it."""
    stated, limits = str(field.type), field.metadata
    given = limits["given"] or ("str | Sequence[str]" if stated.startswith("tuple") else stated)
    if given == "str" and limits["choices"] and not limits["values"]:
        given = f"Literal[{', '.join(_quoted(choice) for choice in limits['choices'])}]"
    return f"{given} | None" if _repr(field) == "None" and not given.endswith("None") else given


def _repr(field: Field[Any]) -> str:
    """The default of an option, as source text."""
    default, given = field.default, field.metadata["given"] or str(field.type)
    if field.metadata["is_open"] or (default == () and given.startswith("Mapping") and "Sequence" not in given):
        return "None"
    return _quoted(",".join(default) if isinstance(default, tuple) and default else default)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _spelled(arg: ast.arg, default: ast.expr | None) -> str:
    text = arg.arg if arg.annotation is None else f"{arg.arg}: {ast.unparse(arg.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _names_of(entry: str) -> list[str]:
    return [name.strip() for name in entry.partition(" : ")[0].split(",")]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH - 4, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def rewritten(text: str, functions: dict[str, Stated], homes: dict[str, str]) -> str:
    """Return the text of a file with the options of its functions spelled out."""
    lines = text.splitlines()
    changes: list[tuple[int, int, str, int]] = []  # first line, end, new text, and its indentation
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef) or node.name not in functions:
            continue
        function = Function(node.name, node, functions[node.name], homes)
        first, *_ = node.body
        assert isinstance(first, ast.Expr), "public functions have a docstring"
        changes.append((node.lineno, first.lineno, function.header(), node.col_offset))
        given = textwrap.dedent("\n".join(lines[first.lineno - 1 : first.end_lineno]))
        changes.append((first.lineno, (first.end_lineno or 0) + 1, function.docstring(given), first.col_offset))
        inner = ((of, function.call(of)) for of in ast.walk(node) if isinstance(of, ast.Assign))
        changes += [
            (of.lineno, (of.end_lineno or 0) + 1, call, of.col_offset) for of, call in inner if call is not None
        ]
    for start, end, new, indent in sorted(changes, reverse=True):
        lines[start - 1 : end - 1] = textwrap.indent(new, " " * indent).splitlines()
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "-"]
    whole = "\n".join(lines) + "\n"
    return subprocess.run(command, input=whole, capture_output=True, text=True, check=True, cwd=PACKAGE.parent).stdout


def each_file(act: Callable[[Path, str, str], None]) -> None:
    """Call with each file of public functions, its text, and the text that it should have."""
    homes: dict[str, str] = {}
    for functions in FUNCTIONS.values():
        for name, options in functions.items():
            for field in options.values():
                homes.setdefault(field.metadata["meaning"], name)
    for name, functions in FUNCTIONS.items():
        path = PACKAGE / name
        text = path.read_text(encoding="utf-8")
        act(path, text, rewritten(text, functions, homes))


if __name__ == "__main__":
    stale: list[Path] = []

    def show(path: Path, text: str, wanted: str) -> None:
        """Write a file that is not as it should be, or name it."""
        if text != wanted:
            stale.append(path)
            if "--write" in sys.argv:
                path.write_text(wanted, encoding="utf-8")

    each_file(show)
    print("\n".join(f"{path.relative_to(PACKAGE.parent)}" for path in stale) or "all signatures are as the options say")
    sys.exit(bool(stale) and "--write" not in sys.argv)
