"""Charts as inline SVG: bars, stacked bars, a heat map, lines; each mark tells its value when pointed at.

Colours are classes (``c0`` to ``c9``) and variables of `style`, so that a chart follows the theme of its page. Numbers
are rounded to a tenth of a unit, which keeps pages small and the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

NUM_COLORS = 10
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 10, 22
NARROWEST_BAR = 1.0
"""Units; charts of more bars become wider than their frame, which scrolls."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values with a name and a class of colour."""

    name: str
    color: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Frame:
    """Size of a chart, and the names of what stands along its x axis."""

    width: float
    height: float
    names: Sequence[str]
    left: float = LEFT

    @property
    def total_width(self) -> float:
        """Width with room for the narrowest bars."""
        return max(self.width, self.left + RIGHT + NARROWEST_BAR * len(self.names))

    @property
    def step(self) -> float:
        """Distance of bars."""
        return (self.total_width - self.left - RIGHT) / max(1, len(self.names))

    @property
    def floor(self) -> float:
        """Where bars stand."""
        return self.height - BOTTOM

    @property
    def depth(self) -> float:
        """Height of the highest bar."""
        return self.height - BOTTOM - TOP

    def bar(self, i: int) -> tuple[float, float]:
        """Left side and width of a bar."""
        gap = min(8.0, self.step * 0.22) if self.step > 6 else 0.0
        wide = min(self.step - gap, 56.0)
        return self.left + self.step * i + (self.step - wide) / 2, wide


def bars(values: Sequence[int], mean: float, frame: Frame, shown: Callable[[int], str]) -> str:
    """Draw a bar per value, and a line at their mean.

    Parameters
    ----------
    values : sequence of int
        Not negative.
    mean : float
        Where the line is.
    frame : Frame
        Size and names.
    shown : callable
        How a value is written.
    """
    top = max(1, *values)
    content = list(_grid([(0.0, "0"), (1.0, compact(top, shown))], frame))
    for i, value in enumerate(values):
        x, wide = frame.bar(i)
        title = f"{frame.names[i]}: {shown(value)}"
        content.append(
            _rect((x, frame.floor - frame.depth * value / top, wide, frame.depth * value / top), "c0", title)
        )
    y = frame.floor - frame.depth * mean / top
    content.append(_line((frame.left, y, frame.total_width - RIGHT, y), "mean", f"average: {shown(round(mean))}"))
    return _svg([*content, *_names(frame)], frame)


def stacked_bars(
    series: Sequence[Series], frame: Frame, shown: Callable[[float], str], top: float | None = None
) -> str:
    """Draw the values of several series above each other.

    Parameters
    ----------
    series : sequence of Series
        From below; as many values as the frame has names.
    frame : Frame
        Size and names.
    shown : callable
        How a value is written.
    top : float, optional
        Value at the upper end; default the largest sum, rounded up.
    """
    sums = [sum(of.values[i] for of in series) for i in range(len(frame.names))]
    top, step = nice_steps(max([*sums, 0.0])) if top is None else (top, top / 4)
    content = list(_grid([(n * step / top, shown(n * step)) for n in range(round(top / step) + 1)], frame))
    for i, name in enumerate(frame.names):
        x, wide = frame.bar(i)
        y = frame.floor
        for of in series:
            high = frame.depth * of.values[i] / top
            y -= high
            if of.values[i]:
                content.append(_rect((x, y, wide, high), of.color, f"{name}, {of.name}: {shown(of.values[i])}"))
    return _svg([*content, *_names(frame)], frame)


def heat_map(cells: Sequence[Sequence[float]], titles: Sequence[Sequence[str]], frame: Frame, texts: bool) -> str:
    """Draw a square of cells, rows from above.

    Parameters
    ----------
    cells : sequence of sequence of float
        0 to 1, how strong each is; negative for those of the diagonal.
    titles : sequence of sequence of str
        What each says when pointed at; the part after the last colon is written into it with `texts`.
    frame : Frame
        Width, which is the height as well, and names of rows and columns.
    texts : bool
        Whether cells are large enough for text.
    """
    size = (frame.width - frame.left - RIGHT) / len(frame.names)
    inset = 1.0 if size > 8 else 0.0
    content = []
    for i, row in enumerate(cells):
        for j, strength in enumerate(row):
            x, y = frame.left + j * size, frame.left + i * size
            place = x, y, size - inset, size - inset
            kind = f"heat' fill-opacity='{heat(strength):.2f}" if strength >= 0 else "own"
            content.append(_rect(place, kind, titles[i][j]))
            if texts:
                tone = "cell on" if strength > 0.6 else "cell"
                text = titles[i][j].rpartition(": ")[2].partition(",")[0]
                content.append(_text((x + size / 2, y + size / 2 + 3.5), text, tone))
    every = _every(len(frame.names), 16)
    for i in range(0, len(frame.names), every):
        middle = frame.left + (i + 0.5) * size
        name = frame.names[i].partition("-")[0]
        content.append(_text((middle, frame.left - 6), name, "axis middle"))
        content.append(_text((frame.left - 6, middle + 3.5), name, "axis end"))
    content.append(_text((frame.left, 11), "owner of the destination", "axis"))
    turned = (
        f"<text class='axis' transform='translate(10 {frame.width - RIGHT:.1f}) rotate(-90)'>owner of the source</text>"
    )
    return _svg([*content, turned], Frame(frame.width, frame.width, frame.names))


def heat(strength: float) -> float:
    """Opacity of a cell; that of nothing can still be seen."""
    return 0.04 + 0.96 * strength


def log_lines(lines: Sequence[Series], band: tuple[Sequence[float], Sequence[float]] | None, frame: Frame) -> str:
    """Draw lines with a logarithmic y axis; the x axis is a place per name. Zeros are left out.

    Parameters
    ----------
    lines : sequence of Series
        The last has dots that tell their values.
    band : tuple of two sequences of float, optional
        Least and largest value at each place, drawn as an area.
    frame : Frame
        Size and names.
    """
    highest = max([1.0, *(value for line in lines for value in line.values)])
    powers = max(1, ceil(log10(highest)))

    def place(i: int, value: float) -> tuple[float, float]:
        share = (log10(value) + 0.15) / (powers + 0.15)
        return frame.left + frame.step * (i + 0.5), frame.floor - frame.depth * share

    every = 1 if powers <= 6 else 2
    marks = [((power + 0.15) / (powers + 0.15), compact(10**power, str)) for power in range(0, powers + 1, every)]
    content = list(_grid(marks, frame))
    if band is not None:
        around = [place(i, v) for i, v in enumerate(band[1]) if v] + [place(i, v) for i, v in enumerate(band[0]) if v][
            ::-1
        ]
        content.append(f"<polygon class='band' points='{_points(around)}'/>")
    for line in lines:
        points = [place(i, value) for i, value in enumerate(line.values) if value]
        content.append(
            f"<polyline class='{line.color}' points='{_points(points)}'><title>{escape(line.name)}</title></polyline>"
        )
    for i, value in enumerate(lines[-1].values):
        if value:
            x, y = place(i, value)
            title = escape(f"{lines[-1].name}, in-degree {frame.names[i]}: {value:,.0f}")
            content.append(f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='4'><title>{title}</title></circle>")
    return _svg([*content, *_names(frame)], frame)


def nice_steps(highest: float) -> tuple[float, float]:
    """Upper end of an axis and the distance of its marks: three to six of them at 1, 2 or 5 times a power of ten."""
    if highest <= 0:
        return 1.0, 1.0
    power = 10.0 ** floor(log10(highest / 3))
    step = next(power * m for m in (1, 2, 5, 10) if power * m * 6 >= highest)
    return step * ceil(highest / step), step


def compact(value: float, shown: Callable[[int], str] = str) -> str:
    """Write a number for an axis: ``"950"``, ``"1.2k"``, ``"35M"``; what `shown` gives for sizes stays as it is."""
    text = shown(round(value))
    if not text.replace(",", "").isdigit():
        return text
    for factor, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            short = value / factor
            return f"{short:.0f}{unit}" if short >= 100 else f"{short:.1f}".removesuffix(".0") + unit
    return f"{value:g}"


def _grid(marks: Sequence[tuple[float, str]], frame: Frame) -> Iterator[str]:
    """Lines at shares of the height, with what they stand for."""
    for share, text in marks:
        y = frame.floor - frame.depth * share
        yield _line((frame.left, y, frame.total_width - RIGHT, y), "grid")
        yield _text((frame.left - 6, y + 3.5), text, "axis end")


def _names(frame: Frame) -> Iterator[str]:
    """As many names below the x axis as there is room for."""
    longest = max((len(name) for name in frame.names), default=1)
    every = _every(len(frame.names), max(1, floor((frame.total_width - frame.left) / (6.5 * longest + 8))))
    for i in range(0, len(frame.names), every):
        yield _text((frame.left + frame.step * (i + 0.5), frame.floor + 14), frame.names[i], "axis middle")


def _every(count: int, most: int) -> int:
    """How far apart names are so that at most so many are shown: 1, 2, 4, 8, ..."""
    every = 1
    while count > most * every:
        every *= 2
    return every


def _rect(place: tuple[float, float, float, float], kind: str, title: str) -> str:
    x, y, wide, high = place
    return (
        f"<rect class='{kind}' x='{x:.1f}' y='{y:.1f}' width='{wide:.1f}' height='{high:.1f}'>"
        f"<title>{escape(title)}</title></rect>"
    )


def _line(ends: tuple[float, float, float, float], kind: str, title: str = "") -> str:
    x1, y1, x2, y2 = ends
    inside = f"<title>{escape(title)}</title>" if title else ""
    return f"<line class='{kind}' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'>{inside}</line>"


def _text(place: tuple[float, float], text: str, kind: str) -> str:
    return f"<text class='{kind}' x='{place[0]:.1f}' y='{place[1]:.1f}'>{escape(text)}</text>"


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _svg(content: Sequence[str], frame: Frame) -> str:
    wide = frame.total_width
    style = f" style='min-width:{wide:.0f}px'" if wide > frame.width else ""
    box = f"viewBox='0 0 {wide:.0f} {frame.height:.0f}' role='img'{style}"
    return f"<div class='chart'><svg {box}>{''.join(content)}</svg></div>"
