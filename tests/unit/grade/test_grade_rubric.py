"""Rubrics: what they can say, and what is said about a wrong one."""

import pytest

from nexemu.errors import OperatorError
from nexemu.grade.checks.catalogue import CATALOGUE
from nexemu.grade.guest_test import PROGRAMS, GuestTest
from nexemu.grade.rubric import read_rubric

CHECK = 'name = "lazy: sbrk maps nothing"\n'


@pytest.fixture
def read(tmp_path):
    """The rubric that is written so."""

    def read(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return read_rubric(path)

    return read


def test_the_default_one_uses_every_check_once():
    rubric = read_rubric()
    names = [test.name for test in rubric.tests if not isinstance(test.what, GuestTest)]
    assert sorted(names) == sorted(CATALOGUE)
    assert rubric.points == 100
    assert sum(test.points for test in rubric.tests if test.eager) == 30


def test_every_test_says_what_it_is_about_and_where_to_read():
    for test in read_rubric().tests:
        assert test.about.endswith(".")
        assert test.hint


def test_tests_keep_their_order_and_may_be_hidden(read):
    rubric = read(
        f'title = "Mine"\n[[test]]\n{CHECK}points = 3\nvisible = false\n'
        '[[test]]\nname = "cow: 257 owners"\npoints = 4\n'
    )
    assert [(test.name, test.points, test.visible) for test in rubric.tests] == [
        ("lazy: sbrk maps nothing", 3, False),
        ("cow: 257 owners", 4, True),
    ]
    assert (rubric.title, rubric.points) == ("Mine", 7)


def test_a_guest_program_can_be_a_test(read, tmp_path):
    (tmp_path / "mine").write_bytes(b"ELF")
    rubric = read(
        '[[test]]\nname = "my own"\npoints = 3\nguest = ["mine", "5"]\nstatus = 2\nkills = 1\n'
        "memory_mib = 4\n"
        "faults = { lazy = 7, cow-copy = [1, 9] }\ninstructions = 1000\nbooks = false\nhint = 'read'\n"
        '[[test]]\nname = "theirs"\npoints = 1\nguest = ["lazydemo"]\n'
    )
    mine, theirs = rubric.tests
    assert mine.what == GuestTest(
        command=("mine", "5"),
        folder=tmp_path,
        status=2,
        kills=1,
        faults={"lazy": (7, 7), "cow-copy": (1, 9)},
        memory=4 << 20,
        instructions=1000,
        books=False,
    )
    assert mine.hint == "read"
    assert theirs.what == GuestTest(("lazydemo",), PROGRAMS)


@pytest.mark.usefixtures("guests")
def test_a_program_must_be_there(read):
    with pytest.raises(OperatorError, match=r"test 'x': there is no program 'nosuch' beside the rubric"):
        read('[[test]]\nname = "x"\npoints = 1\nguest = ["nosuch"]\n')


def test_some_tests_can_be_chosen():
    chosen = read_rubric().only("SBRK")
    assert all("sbrk" in test.name for test in chosen.tests)
    assert len(chosen.tests) == 7
    with pytest.raises(OperatorError, match="--only nothing like it: no test is called so"):
        chosen.only("nothing like it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no \\[\\[test\\]\\] in it"),
        ("[[test]", "Expected"),
        ("[[test]]\npoints = 3\n", "each \\[\\[test\\]\\] needs a name"),
        ('[[test]]\nname = "x"\npoints = 3\n', "test 'x': no such check, and no guest"),
        (f"[[test]]\n{CHECK}", "points must be a whole number"),
        (f"[[test]]\n{CHECK}points = true\n", "points must be a whole number"),
        (f"[[test]]\n{CHECK}points = -1\n", "points must be a whole number"),
        (f"[[test]]\n{CHECK}points = 1\nvisible = 1\n", "visible must be true or false"),
        (f"[[test]]\n{CHECK}points = 1\nvisibel = true\n", "unknown key visibel"),
        (f"[[test]]\n{CHECK}points = 1\n[[test]]\n{CHECK}points = 1\n", "two tests are called"),
        ('[[test]]\nname = "x"\npoints = 1\nguest = "ls"\n', "guest must be a list of words"),
        ('[[test]]\nname = "x"\npoints = 1\nguest = ["ls"]\nstatus = "0"\n', "status must be a whole"),
        ('[[test]]\nname = "x"\npoints = 1\nguest = ["ls"]\nfaults = { lazy = [1] }\n', "faults must be"),
        ('[[test]]\nname = "x"\npoints = 1\nguest = ["ls"]\nfaults = 5\n', "faults must be"),
        ('[[test]]\nname = "x"\npoints = 1\nguest = ["ls"]\nfaults = { cow = 5 }\n', "faults must be"),
    ],
)
def test_what_is_wrong_is_said(text, said, read):
    with pytest.raises(OperatorError, match=said) as caught:
        read(text)
    assert "my.toml" in str(caught.value)


def test_a_rubric_that_is_not_there(tmp_path):
    with pytest.raises(OperatorError, match="No such file"):
        read_rubric(tmp_path / "none.toml")
