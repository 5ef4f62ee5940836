"""What every chart is drawn with: axes that choose their ticks, and a few marks placed by them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coxswain.report.markup import Markup, element, join

TICKS = 5
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 38
_CHARACTER = 6.2


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers, with the places that are labelled."""

    low: float
    high: float
    label: str
    ticks: Mapping[float, str]

    def place(self, value: float, start: float, end: float) -> float:
        """Where a value lies between two ends of the drawing."""
        return start + (value - self.low) / (self.high - self.low) * (end - start)


def number_axis(values: Iterable[float], label: str) -> Axis:
    """An axis that holds all values, with round numbers as ticks."""
    known = [float(value) for value in values]
    low, high = min(known), max(known)
    if high == low:
        low, high = low - abs(low) * 0.1 - 1e-9, high + abs(high) * 0.1 + 1e-9
    margin = (high - low) * 0.06
    low, high = low - margin, high + margin
    step = _round_step((high - low) / TICKS)
    first = math.ceil(low / step)
    ticks = [step * count for count in range(first, math.floor(high / step) + 1)]
    return Axis(low, high, label, {tick: number(tick) for tick in ticks})


def named_axis(places: Mapping[float, str], label: str) -> Axis:
    """An axis with a label at each of the given places, and a little room beside them."""
    low, high = min(places), max(places)
    room = (high - low) * 0.15 or 1.0
    return Axis(low - room, high + room, label, places)


def number(value: float) -> str:
    """A number as a label."""
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.2e}"


def _round_step(rough: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))


@dataclass
class Plot:
    """A drawing within two axes, to which marks are added one by one."""

    x: Axis
    y: Axis
    title: str
    width: float = 320
    height: float = 220
    marks: list[Markup] = field(default_factory=list)

    def line(self, points: Sequence[tuple[float, float]], style: str = "line") -> None:
        """A line through points; with the style `guide`, one to compare others with."""
        path = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
        self.marks.append(element("polyline", points=path, class_=style))

    def level(self, value: float) -> None:
        """A line across at a value."""
        self.line([(self.x.low, value), (self.x.high, value)], "guide")

    def dots(self, points: Sequence[tuple[float, float]], style: str = "dot", names: Sequence[str] = ()) -> None:
        """A dot at each point; its name is shown when it is pointed at."""
        for place, (x, y) in enumerate(points):
            title = [element("title", names[place])] if names else []
            self.marks.append(element("circle", *title, cx=self._x(x), cy=self._y(y), r=3, class_=style))

    def words(self, x: float, y: float, text: str, style: str = "key") -> None:
        """Words that begin at a point of the axes."""
        self.marks.append(element("text", text, x=self._x(x) + 6, y=self._y(y) + 4, class_=style))

    def svg(self) -> Markup:
        """The drawing."""
        left, right, top, bottom = _LEFT, self.width - _RIGHT, _TOP, self.height - _BOTTOM
        frame = [element("rect", x=left, y=top, width=right - left, height=bottom - top, class_="frame")]
        room = (right - left) / (max(map(len, self.x.ticks.values()), default=1) * _CHARACTER + 8)
        every = max(1, math.ceil(len(self.x.ticks) / room))
        for tick, label in list(self.x.ticks.items())[::every]:
            frame.append(element("text", label, x=self._x(tick), y=bottom + 15, class_="tick", text_anchor="middle"))
        for tick, label in self.y.ticks.items():
            height = self._y(tick)
            frame.append(element("line", x1=left, x2=right, y1=height, y2=height, class_="grid"))
            frame.append(element("text", label, x=left - 6, y=height + 4, class_="tick", text_anchor="end"))
        middle = (left + right) / 2
        frame.append(element("text", self.x.label, x=middle, y=self.height - 6, class_="label", text_anchor="middle"))
        return element(
            "svg",
            element("title", self.title),
            *frame,
            join(*self.marks),
            viewBox=f"0 0 {self.width:g} {self.height:g}",
            width=self.width,
            height=self.height,
            role="img",
        )

    def _x(self, value: float) -> float:
        return self.x.place(value, _LEFT, self.width - _RIGHT)

    def _y(self, value: float) -> float:
        return self.y.place(value, self.height - _BOTTOM, _TOP)
