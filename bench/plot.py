"""Line plots with two logarithmic axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

__all__ = ["Line", "log_plot"]

_WIDTH, _HEIGHT = 760, 420
#: Left, top, right and bottom of the area of the axes.
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 45, 580, 365
#: Colours that people with colour blindness tell apart.
_COLOURS = ("#0072b2", "#999999", "#d55e00", "#009e73", "#cc79a7", "#e69f00")


class Line(NamedTuple):
    """A named line through some points."""

    name: str
    points: Sequence[tuple[float, float]]


def log_plot(title: str, x_name: str, y_name: str, lines: Sequence[Line]) -> str:
    """Return an SVG of lines whose coordinates are above 0."""
    drawn = [line for line in lines if line.points]
    x_range = _decades([x for line in drawn for x, _ in line.points])
    y_range = _decades([y for line in drawn for _, y in line.points])
    middle = (_TOP + _BOTTOM) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif">',
        f'<g font-size="13" role="img" aria-label="{escape(title)}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="25" font-size="15">{escape(title)}</text>',
        f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(x_name)}</text>',
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">{escape(y_name)}</text>',
        *_grid(x_range, y_range),
    ]
    labels = _label_places([_place(line.points[-1][1], y_range, _BOTTOM, _TOP) for line in drawn])
    for line, colour, label in zip(drawn, _COLOURS, labels, strict=False):
        places = [(_place(x, x_range, _LEFT, _RIGHT), _place(y, y_range, _BOTTOM, _TOP)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(f'<text x="{_RIGHT + 12}" y="{label + 4:.1f}" fill="{colour}">{escape(line.name)}</text>')
    return "\n".join((*parts, "</g></svg>", ""))


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around some values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _place(value: float, decades: tuple[int, int], first: float, last: float) -> float:
    share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
    return first + share * (last - first)


def _grid(x_range: tuple[int, int], y_range: tuple[int, int]) -> Iterator[str]:
    for power in range(x_range[0], x_range[1] + 1):
        x = _place(10.0**power, x_range, _LEFT, _RIGHT)
        yield f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_BOTTOM}" stroke="#dddddd"/>'
        yield f'<text x="{x:.1f}" y="{_BOTTOM + 20}" text-anchor="middle">{_number(power)}</text>'
    for power in range(y_range[0], y_range[1] + 1):
        y = _place(10.0**power, y_range, _BOTTOM, _TOP)
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(power)}</text>'


def _number(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _label_places(places: Sequence[float]) -> list[float]:
    """Return the places of the labels, moved down where they would overlap."""
    moved: dict[int, float] = {}
    last = -math.inf
    for index in sorted(range(len(places)), key=lambda index: places[index]):
        last = moved[index] = max(places[index], last + 16)
    return [moved[index] for index in range(len(places))]
