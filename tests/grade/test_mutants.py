"""The grader, graded: every fault costs the points that are meant for it."""

import pytest
from grade_mutants import REFERENCE, all_losses, losses, read_mutants, table, table_in_guide

from nexemu.grade.rubric import Rubric, read_rubric

MUTANTS = read_mutants()
BY_NAME = [pytest.param(mutant, id=mutant.name) for mutant in MUTANTS]


@pytest.fixture(scope="module")
def rubric():
    return read_rubric()


@pytest.fixture(scope="module")
def matrix(guests):
    return all_losses()


def only(rubric, name):
    return Rubric(rubric.title, tuple(test for test in rubric.tests if test.name == name))


def test_there_are_at_least_forty_with_different_faults():
    assert len(MUTANTS) >= 40
    assert len({mutant.text for mutant in MUTANTS}) == len(MUTANTS)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_the_reference_loses_nothing(rubric, guests):
    assert losses("reference", REFERENCE, rubric) == []


@pytest.mark.parametrize("mutant", BY_NAME)
def test_it_loses_the_test_that_is_meant_for_it(mutant, rubric):
    assert losses(mutant.name, mutant.text, only(rubric, mutant.meant)) == [mutant.meant]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [mutant for mutant in BY_NAME if mutant.values[0].alone])
def test_an_independent_fault_costs_no_other_test(mutant, matrix):
    assert matrix[mutant.name] == [mutant.meant]


@pytest.mark.slow
def test_most_faults_can_be_told_apart(matrix):
    kinds = {tuple(lost) for lost in matrix.values()}
    assert len(kinds) >= 40


@pytest.mark.slow
def test_every_test_is_lost_by_some_mutant(matrix, rubric):
    lost = {name for names in matrix.values() for name in names}
    assert {test.name for test in rubric.tests} - lost == set()


@pytest.mark.slow
def test_the_table_in_the_guide_is_true(matrix):
    assert table_in_guide() == table(matrix)
