"""Identify collections and rows in memory by what they are made of, so that a later process finds them unchanged.

Dask names many collections anew in each process: what reads parquet through fsspec, and functions that are `delayed`.
So names of tasks do not count here; functions, arguments and rows do, and size and time of each file among arguments.
"""

from __future__ import annotations

import io
import logging
import os
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType
from typing import Any, ClassVar

import cloudpickle

logger = logging.getLogger(__name__)

_DATASET = "_dataset_info_cache"
"""Operand of dask's `read_parquet`: what it knows of the files after opening them, another object in each process."""


def lasting_token(value: Any, what: str) -> str:
    """Return a name for a collection, array or frame: equal for equal content, in all processes.

    Warn if there is none, and name it for this process.
    """
    from dask.base import tokenize  # dask is slow to import
    from dask.tokenize import TokenizationError

    try:
        return _token(_described(value))
    except TokenizationError as fault:
        logger.warning(
            "a new Python process cannot resume this job, because nothing tells it that %s is still the same: %s. "
            "Write it to parquet files, and give those",
            what,
            str(fault).partition(" This likely")[0].rstrip("."),
        )
        return str(tokenize(value, ensure_deterministic=False))


def _token(described: Any) -> str:
    from dask.base import tokenize

    return str(tokenize(described, ensure_deterministic=True))


def _described(value: Any) -> Any:
    """Describe anything as nested lists of what dask names equally in all processes."""
    from dask._expr import Expr
    from dask._task_spec import GraphNode
    from dask.base import is_dask_collection

    if is_dask_collection(value):
        value = value.expr if hasattr(type(value), "expr") else value  # `delayed` would answer to any name
        if not isinstance(value, Expr):
            return _of_graph(value.__dask_graph__(), value.__dask_keys__())
    if isinstance(value, Expr):
        return _of_expression(value)
    if isinstance(value, GraphNode):
        return _of_task(value, {})
    if isinstance(value, Mapping):
        return ["mapping", sorted([str(key), _token(_described(inner))] for key, inner in value.items())]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_described, value)]
    if isinstance(value, partial):
        return ["partial", *map(_described, (value.func, value.args, value.keywords))]
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__qualname__, *(_described(getattr(value, of.name)) for of in fields(value))]
    return _of_value(value)


def _of_value(value: Any) -> Any:
    """Describe what is not made of others; with the files that it reads."""
    if isinstance(value, (str, os.PathLike)):
        return _of_text(os.fspath(value))
    if hasattr(value, "fs") and hasattr(value, "path"):  # fsspec's OpenFile
        return [_token(value), value.fs.ukey(value.path)]
    if hasattr(value, "detach"):  # a tensor
        return value.detach().cpu().numpy()
    if type(value).__module__.startswith("zarr.") and hasattr(value, "store"):
        return [_token(value), _of_tree(getattr(value.store, "root", None) or getattr(value.store, "path", ""))]
    is_pickled = isinstance(value, FunctionType) or type(value).__module__ == "__main__"
    return _pickled(value) if is_pickled else value


def _of_expression(expression: Any) -> Any:
    """Describe a frame: its operations, down to what is read."""
    names = [*expression._parameters, *[""] * len(expression.operands)]
    if {"layer", "keys"} <= {*names}:  # of a graph of tasks
        return _of_graph(expression.operand("layer"), expression.operand("keys"))
    operands = [
        expression.checksum if name == _DATASET else operand  # of names, sizes and times of the files
        for name, operand in zip(names, expression.operands, strict=False)
    ]
    return [type(expression).__qualname__, *map(_described, operands)]


def _of_graph(graph: Any, keys: Any) -> Any:
    """Describe the tasks of a graph, each by those that it needs."""
    from dask._task_spec import convert_legacy_graph
    from dask.core import flatten

    tokens = _tokens_of(convert_legacy_graph(dict(graph)), {})
    return [tokens.get(key, str(key)) for key in flatten([keys])]


def _tokens_of(tasks: Mapping[Any, Any], known: Mapping[Any, str]) -> dict[Any, str]:
    """Name tasks, given names of those that they need from elsewhere."""
    from dask.core import toposort

    tokens = dict(known)
    needs = {key: {other for other in task.dependencies if other in tasks} for key, task in tasks.items()}
    for key in toposort(dict(tasks), dependencies=needs):
        tokens[key] = _token(_of_task(tasks[key], tokens))
    return tokens


def _of_task(task: Any, tokens: Mapping[Any, str]) -> Any:
    """Describe a task, or what is in its arguments."""
    from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef

    if isinstance(task, (Alias, TaskRef)):
        key = task.target if isinstance(task, Alias) else task.key
        return ["task", tokens.get(key, str(key))]  # a future's key is all there is
    if isinstance(task, DataNode):
        return _described(task.value)
    if isinstance(task, Task) and task.has_subgraph():
        inner, wanted, names, *given = task.args
        outer = {name: _token(_of_task(one, tokens)) for name, one in zip(names, given, strict=True)}
        return ["task", _tokens_of(inner, outer)[wanted]]
    if isinstance(task, GraphNode):
        arguments = [task.args, {} if isinstance(task, tuple) else task.kwargs]
        return [_described(task.func), *(_of_task(one, tokens) for one in arguments)]
    if isinstance(task, Mapping):
        return ["mapping", *([str(key), _of_task(one, tokens)] for key, one in task.items())]
    if isinstance(task, (list, tuple)):
        return [type(task).__name__, *(_of_task(one, tokens) for one in task)]
    return _described(task)


def _of_text(text: str) -> Any:
    """Describe text, with the file that it may name."""
    try:
        status = os.stat(text)
    except (OSError, ValueError):
        return text
    return [text, status.st_size, status.st_mtime_ns, status.st_ino]


def _of_tree(root: Any) -> Any:
    """Describe the files of a directory on this machine."""
    paths = [os.path.join(at, name) for at, _, names in os.walk(str(root)) for name in names]
    return [_of_text(path) for path in sorted(paths)]


def _pickled(value: Any) -> bytes:
    """Describe a function by its name in a module, else by its code without the place, which a notebook names anew."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(value)
    return buffer.getvalue()


def _without_place(code: CodeType) -> Any:
    placeless = code.replace(co_filename="", co_firstlineno=1, co_linetable=b"")
    return cloudpickle.Pickler.dispatch_table[CodeType](placeless)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    dispatch_table: ClassVar[Any] = ChainMap({CodeType: _without_place}, cloudpickle.Pickler.dispatch_table)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and obj.__module__ == "__main__":
            from dask.tokenize import TokenizationError

            raise TokenizationError(f"class {obj.__qualname__} is defined in the session: put it into a module")
        return super().reducer_override(obj)
