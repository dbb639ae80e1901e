"""What the tests of the lab's experiments share."""

QUICK = [
    *("convoy", "by-hand", "boost", "translation", "cow", "block-table", "beam", "fault-cost", "belady"),
    "shares",
]
"""Experiments that take far less than a second."""


def check_complete(report):
    """Every row has its columns, every line its points, and there is a sentence on what to see."""
    assert report.see.endswith(".")
    for table in report.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    for figure in report.figures:
        assert figure.lines
        assert all(len(line) == len(figure.x) for line in figure.lines.values())
