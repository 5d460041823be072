import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from guidefbo.reports.statistics import (
    can_be_significant,
    compare,
    holm,
    least_p,
    log_ratio,
    paired_difference,
    paired_log_ratios,
    signed_rank_p,
    summarise,
)

differences = st.lists(st.floats(-10.0, 10.0).filter(lambda x: x != 0.0), max_size=20)


def test_mean_and_standard_error():
    summary = summarise([1.0, 2.0, 6.0])
    assert summary.mean == 3.0
    # Deviations -2, -1, 3: variance 14 / 2 = 7.
    assert summary.error == pytest.approx(math.sqrt(7.0 / 3.0))
    assert summary.count == 3


def test_one_value_has_no_error_and_none_has_no_mean():
    assert summarise([5.0]).error is None
    assert summarise([]) is None


def test_log_ratio_of_zero():
    assert log_ratio(0.0, 0.0) == 0.0
    assert log_ratio(0.0, 2.0) is None
    assert log_ratio(2.0, 0.0) is None


def test_pairs_are_formed_by_seed():
    ratios = paired_log_ratios({0: 2.0, 1: 3.0, 2: 4.0}, {2: 1.0, 0: 1.0, 7: 9.0})
    assert ratios == pytest.approx([math.log(2.0), math.log(4.0)])


def test_signed_rank_known_value():
    """Cross- and self-fertilised plants of Wilcoxon's 1945 article."""
    plants = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]
    assert signed_rank_p(plants) == pytest.approx(0.041259765625)


@pytest.mark.parametrize("pairs", [1, 2, 3, 5, 6, 12])
def test_signed_rank_all_on_one_side_is_the_least_p(pairs):
    values = [0.1 * (k + 1) for k in range(pairs)]
    assert signed_rank_p(values) == pytest.approx(least_p(pairs))
    assert least_p(pairs) == 2.0 ** (1 - pairs)


def test_three_pairs_cannot_be_significant():
    assert least_p(3) == 0.25
    assert [can_be_significant(n) for n in (3, 5, 6)] == [False, False, True]


def test_signed_rank_leaves_out_zeros():
    assert signed_rank_p([0.0, 0.0, 0.0]) is None
    assert signed_rank_p([]) is None
    assert signed_rank_p([0.0, 1.0, 2.0, 3.0]) == pytest.approx(0.25)


def test_signed_rank_of_many_pairs():
    assert signed_rank_p([1.0 + 0.01 * k for k in range(108)]) < 1e-10


@given(differences)
def test_signed_rank_is_symmetric_and_bounded(values):
    p = signed_rank_p(values)
    if not values:
        assert p is None
        return
    assert least_p(len(values)) * (1 - 1e-9) <= p <= 1.0
    assert signed_rank_p([-v for v in values]) == pytest.approx(p)


def test_comparison_weights_functions_equally():
    ours = {"a": {0: 1.0, 1: 1.0}, "b": {0: 8.0}, "c": {0: 1.0}}
    theirs = {"a": {0: 2.0, 1: 2.0}, "b": {0: 1.0}, "c": {5: 1.0}}
    comparison = compare(ours, theirs)
    assert list(comparison.by_problem) == ["a", "b"]
    assert comparison.lower == 1
    assert len(comparison.pairs) == 3
    expected = 0.5 * (-math.log(2.0) + math.log(8.0))
    assert comparison.summary.mean == pytest.approx(expected)


def test_comparison_counts_what_has_no_ratio():
    comparison = compare({"a": {0: 0.0, 1: 1.0}}, {"a": {0: 2.0, 1: 2.0}})
    assert comparison.left_out == 1
    assert len(comparison.pairs) == 1


def test_paired_difference_is_a_t_test_over_what_both_have():
    ours, theirs = {0: 5.0, 1: 7.0, 2: 6.0, 9: 1.0}, {2: 3.0, 1: 5.5, 0: 4.0, 8: 0.0}
    found = paired_difference(ours, theirs)
    # Differences 1, 1.5 and 3.
    assert (found.pairs, found.mean) == (3, pytest.approx(5.5 / 3.0))
    assert found.p == pytest.approx(ttest_1samp([1.0, 1.5, 3.0], 0.0).pvalue)
    assert paired_difference(theirs, ours).p == pytest.approx(found.p)
    assert paired_difference(ours, {}) is None


def test_paired_difference_without_spread_goes_by_the_signs():
    same = paired_difference({0: 2.0, 1: 3.0}, {0: 2.0, 1: 3.0})
    assert (same.mean, same.p) == (0.0, 1.0)
    higher = paired_difference({0: 2.0, 1: 3.0, 2: 4.0}, {0: 1.0, 1: 2.0, 2: 3.0})
    assert (higher.error, higher.p) == (0.0, 0.25)
    single = paired_difference({0: 2.0}, {0: 1.0})
    assert (single.mean, single.error, single.p) == (1.0, None, None)


def test_differences_that_are_equal_up_to_rounding_have_no_spread():
    lead = paired_difference({0: 0.3, 1: 0.4, 2: 0.5}, {0: 0.2, 1: 0.3, 2: 0.4})
    assert lead.p == 0.25
    none = paired_difference({0: 0.1 + 0.2, 1: 3.0}, {0: 0.3, 1: 3.0})
    assert none.p == 1.0


def test_holm_by_hand():
    # Times 4, 3, 2 and 1 in ascending order, never below the one before.
    found = holm([0.03, 0.01, 0.02, 0.5])
    assert found == pytest.approx([0.06, 0.04, 0.06, 0.5])
    assert holm([0.4, 0.5]) == pytest.approx([0.8, 0.8])
    assert holm([None, 0.9, 0.8]) == [None, 1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), max_size=12))
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(values):
    found = holm(values)
    for p, adjusted in zip(values, found, strict=True):
        assert p <= adjusted <= min(1.0, len(values) * p) + 1e-12
    ordered = [adjusted for _, adjusted in sorted(zip(values, found, strict=True))]
    assert ordered == sorted(ordered)
