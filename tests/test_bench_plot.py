"""The plots of the benchmarks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from bench.plot import Line, log_plot

_SVG = "{http://www.w3.org/2000/svg}"


def test_a_plot_has_every_point_at_its_place() -> None:
    """Both axes are logarithmic, and labels of lines that end together do not overlap."""
    lines = [
        Line("ours <1>", [(10_000, 1.0), (100_000, 10.0), (1_000_000, 100.0)]),
        Line("theirs", [(10_000, 1.0), (100_000, 99.0), (1_000_000, 99.0)]),
        Line("unmeasured", []),
    ]
    drawing = ElementTree.fromstring(log_plot("A title", "memories", "milliseconds", lines))

    points = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in drawing.iter(f"{_SVG}circle")]
    ours, theirs = points[:3], points[3:]
    assert len(points) == 6
    assert ours[1][0] - ours[0][0] == ours[2][0] - ours[1][0] > 0
    assert ours[0][1] - ours[1][1] == ours[1][1] - ours[2][1] > 0
    assert theirs[1][1] == theirs[2][1]
    texts = {each.text: float(each.attrib["y"]) for each in drawing.iter(f"{_SVG}text")}
    assert abs(texts["ours <1>"] - texts["theirs"]) >= 13
    assert {"A title", "memories", "milliseconds", "10,000", "1,000,000"} <= texts.keys()
    assert "unmeasured" not in texts
