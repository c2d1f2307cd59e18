"""Results of tasks as JSON and back: plain values, arrays, tuples, and the few dataclasses that passes name.

No pickle: a journal is read by whoever continues the job, and must not be able to run anything. What is written and
read again is equal to what was there, types included, NumPy scalars aside, which become plain numbers.
"""

from __future__ import annotations

import base64
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def to_json(value: Any) -> Any:
    """Turn a result into what `json.dumps` takes; a type that the journal does not know is a bug of ours."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_json(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, np.ndarray):
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return {"array": [value.dtype.str, list(value.shape), content]}
    if is_dataclass(value):
        return {type(value).__name__: [to_json(getattr(value, field.name)) for field in fields(value)]}
    raise TypeError(f"results of type {type(value).__name__} have no form in the journal")


def from_json(content: Any, types: Sequence[type] = ()) -> Any:
    """Turn what `to_json` gave back; `types` are the dataclasses that may occur in it."""
    if isinstance(content, list):
        return [from_json(item, types) for item in content]
    if not isinstance(content, dict):
        return content
    ((name, inner),) = content.items()
    if name == "tuple":
        return tuple(from_json(item, types) for item in inner)
    if name == "dict":
        return {from_json(key, types): from_json(item, types) for key, item in inner}
    if name == "dtype":
        return np.dtype(inner)
    if name == "array":
        dtype, shape, text = inner
        return np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()
    by_name = {of_type.__name__: of_type for of_type in types}
    return by_name[name](*(from_json(item, types) for item in inner))
