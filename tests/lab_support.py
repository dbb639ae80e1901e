"""What the tests of the lab's experiments share."""

QUICK = [
    *("convoy", "by-hand", "boost", "translation", "cow", "block-table", "beam", "fault-cost", "belady"),
    "shares",
]
"""Experiments that take far less than a second."""


def check_complete(report):
    """Every row has its columns, every line its points, every axis its name and a scale that can show all of
    it, and there is a sentence on what to see."""
    assert report.see.endswith(".")
    for table in report.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    for figure in report.figures:
        assert figure.lines or figure.points
        assert all(figure.points.values())
        assert all(len(line) == len(figure.x) for line in figure.lines.values())
        assert figure.title
        assert figure.x_label
        assert figure.y_label
        assert not figure.log_x or min(figure.x) > 0
        assert not figure.log_y or min(map(min, figure.lines.values())) > 0
