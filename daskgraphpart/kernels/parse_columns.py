"""Parse chosen columns of integers out of lines with any number of columns between blanks."""

from __future__ import annotations

from numba import njit

from daskgraphpart.kernels.parse_ints import (
    LARGEST_BEFORE_DIGIT,
    MINUS,
    MISSING_COLUMN,
    NEWLINE,
    NOT_INTEGERS,
    PLUS,
    RETURN,
    SPACE,
    TAB,
    TOO_LARGE,
    ZERO,
)

TOO_MANY_COLUMNS = 4


@njit(cache=True, nogil=True)
def parse_columns(content, columns, most_columns, values):  # type: ignore[no-untyped-def]
    """Parse some columns of every line; blank lines are skipped, and so are the other columns, whatever they hold.

    Parameters
    ----------
    content : uint8 array (bytes,)
        Whole lines; the last may lack its newline.
    columns : int64 array (chosen,)
        Numbers of the columns, from 0, ascending.
    most_columns : int
        Lines with more columns are at fault; 0 takes any number.
    values : int64 array (chosen, rows)
        Filled.

    Returns
    -------
    rows : int
        Rows parsed, or the number of the row with the fault; one more than there is room for if there are more.
    fault : int
        0, `NOT_INTEGERS`, `MISSING_COLUMN`, `TOO_LARGE` or `TOO_MANY_COLUMNS`.
    offset : int
        Where the faulty line begins.
    """
    rows, i, size = 0, 0, content.size
    while i < size:
        line, column, chosen = i, 0, 0
        while True:
            while i < size and (content[i] == SPACE or content[i] == TAB or content[i] == RETURN):
                i += 1
            if i == size or content[i] == NEWLINE:
                break
            if column == 0 and rows == values.shape[1]:
                return rows + 1, 0, line
            if column == most_columns and most_columns > 0:
                return rows, TOO_MANY_COLUMNS, line
            if chosen < columns.size and columns[chosen] == column:
                negative = content[i] == MINUS
                if negative or content[i] == PLUS:
                    i += 1
                first, value = i, 0
                while i < size:
                    digit = content[i] - ZERO
                    if digit < 0 or digit > 9:
                        break
                    if value > LARGEST_BEFORE_DIGIT or (value == LARGEST_BEFORE_DIGIT and digit > 7):
                        return rows, TOO_LARGE, line
                    value = value * 10 + digit
                    i += 1
                if i == first:
                    return rows, NOT_INTEGERS, line
                if i < size and not (
                    content[i] == SPACE or content[i] == TAB or content[i] == RETURN or content[i] == NEWLINE
                ):
                    return rows, NOT_INTEGERS, line
                values[chosen, rows] = -value if negative else value
                chosen += 1
            else:
                while i < size and not (
                    content[i] == SPACE or content[i] == TAB or content[i] == RETURN or content[i] == NEWLINE
                ):
                    i += 1
            column += 1
        i += 1
        if column > 0:
            if chosen < columns.size:
                return rows, MISSING_COLUMN, line
            rows += 1
    return rows, 0, size
