"""Fill values: as numbers, as times, and the dtypes that hold them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.readers.tables.describe.columns import FLOAT_TEXT, TIME_HINT


def microseconds_of(fill: str) -> str:
    """Return the fill value of times, a time or a number, as microseconds since 1970."""
    if FLOAT_TEXT.fullmatch(fill.strip()):
        return fill
    try:
        time = datetime.fromisoformat(fill.strip())
    except ValueError:
        raise OptionError("not a time", option="fill", found=fill, hint=TIME_HINT) from None
    time = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return str((time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1))


def is_integer(fill: str) -> bool:
    """Whether the fill value is an integer; refuse what is no number."""
    text = fill.strip()
    if not FLOAT_TEXT.fullmatch(text):
        raise OptionError("the fill value of a number must be a number", option="fill", found=fill)
    is_whole = re.fullmatch(r"[-+]?\d+", text) is not None
    if (is_whole and not -(2**63) <= int(text) < 2**63) or (math.isinf(float(text)) and "inf" not in text.lower()):
        expected = "an integer of 64 bits, or a float of 64 bits such as 1e19"
        raise OptionError("number out of range", option="fill", expected=expected, found=fill)
    return is_whole


def filled_dtype(dtype: np.dtype, fill: str) -> np.dtype:
    """Return a dtype that also holds the fill value, and that DGL can load."""
    is_whole = is_integer(fill)
    if dtype.kind not in "biu":
        return _float_dtype(dtype, float(fill))
    if dtype.kind == "b" and fill in ("0", "1"):
        return dtype
    if is_whole and dtype.kind == "i" and np.iinfo(dtype).min <= int(fill) <= np.iinfo(dtype).max:
        return dtype
    common = np.result_type(dtype, np.min_scalar_type(int(fill)) if is_whole else np.float64)
    return np.result_type(common, np.int8) if common.kind == "u" and common.itemsize > 1 else common


def _float_dtype(dtype: np.dtype, fill: float) -> np.dtype:
    """Return a float dtype, larger if needed, in which a number stays finite."""
    larger = [kind for kind in (np.float32, np.float64) if np.dtype(kind).itemsize > dtype.itemsize]
    with np.errstate(over="ignore"):
        kinds = (np.dtype(kind) for kind in (dtype, *larger))
        return next(kind for kind in kinds if math.isinf(fill) or not math.isinf(float(np.float64(fill).astype(kind))))


def number_of(fill: str) -> int | float:
    """Return the fill value of numbers."""
    return int(fill) if is_integer(fill) else float(fill)
