"""Search in sorted strings that lie one behind the other, as bytes: the order of UTF-8 is the order of its bytes."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _is_less(data, start, stop, other, other_start, other_stop):  # type: ignore[no-untyped-def]
    length = min(stop - start, other_stop - other_start)
    for i in range(length):
        a, b = data[start + i], other[other_start + i]
        if a != b:
            return a < b
    return stop - start < other_stop - other_start


@njit(cache=True, nogil=True)
def lower_bounds(data, offsets, needles, needle_offsets, positions):  # type: ignore[no-untyped-def]
    """For each of many ascending strings, how many of the sorted strings are smaller.

    The search for one begins where the last one was found and doubles its steps, so that it costs little where both
    lists are dense.

    Parameters
    ----------
    data : uint8 array (bytes,)
        Sorted strings.
    offsets : int64 array (strings + 1,)
        Where each begins in `data`.
    needles : uint8 array (bytes,)
        Strings to be looked for, ascending.
    needle_offsets : int64 array (needles + 1,)
    positions : int64 array (needles,)
        Filled.
    """
    size = offsets.size - 1
    low = 0
    for row in range(positions.size):
        start, stop = needle_offsets[row], needle_offsets[row + 1]
        step, high = 1, low
        while high < size and _is_less(data, offsets[high], offsets[high + 1], needles, start, stop):
            low = high + 1
            high += step
            step *= 2
        high = min(high, size)
        while low < high:
            middle = (low + high) // 2
            if _is_less(data, offsets[middle], offsets[middle + 1], needles, start, stop):
                low = middle + 1
            else:
                high = middle
        positions[row] = low
