"""The suite's comparison: exact limits, special values, flushed subnormals, and messages of mismatches."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dml.conformance.compare import compare
from dml.conformance.limits import Expected, spacing, sum_of_products
from dml.conformance.references.rounded import Rounded
from dml.conformance.values import without_subnormals
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.tensors import DML_BUFFER_TENSOR_DESC

F32, F16 = np.dtype(np.float32), np.dtype(np.float16)
TINY = float(np.finfo(np.float32).tiny)


def one(found, wanted, kind=np.float32, **limit):
    """Compare one element with its expectation."""
    return compare(np.array([found], kind), Expected(np.array([wanted], np.float64), **limit))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_spacing_is_numpys(kind):
    rng = np.random.default_rng(0)
    powers = 2.0 ** np.arange(-20, 15)
    values = np.concatenate([powers, np.nextafter(powers.astype(kind), kind(0)), rng.uniform(1e-4, 6e4, 200)]).astype(
        kind
    )
    np.testing.assert_array_equal(spacing(values, np.dtype(kind)), np.spacing(values).astype(np.float64))


def test_spacing_below_the_smallest_normal_is_that_of_the_smallest_normal():
    small = np.array([0.0, 1e-45, TINY], np.float32)
    assert set(spacing(small, F32)) == {float(np.spacing(np.float32(TINY)))}


@pytest.mark.parametrize("limit", [
    lambda terms: Expected(
        terms.sum(keepdims=True), absolute=sum_of_products(3, np.abs(terms).sum(), F32, terms.sum(keepdims=True))
    ),
    lambda terms: Rounded(terms).sum(0, True).expected(DML_BUFFER_TENSOR_DESC(DML_TENSOR_DATA_TYPE_FLOAT32, (1,)), ""),
])  # fmt: skip
def test_a_subnormal_product_or_partial_sum_may_be_flushed(limit):
    terms = np.array([-1.5 * TINY, -1.1 * TINY, 0.8 * TINY])
    for found, passes in ((terms.sum(), True), (terms[:2].sum(), True), (30 * terms.sum(), False)):
        assert (compare(np.array([found], np.float32), limit(terms)).mismatch is None) == passes


def test_as_many_ulp_as_are_allowed_and_not_one_more():
    x = np.float32(1.5)
    for step in (1, 2, 3, 4):
        x = np.nextafter(x, np.float32(2))
        result = one(x, 1.5, ulp=3)
        assert result.worst_ulp == step
        assert (result.mismatch is None) == (step <= 3)
    assert str(result.mismatch) == (
        "at [0]: found 1.5000005, expected 1.5, 4 ulp off, allowed 3; 1 of 1 elements differ"
    )


def test_absolute_and_ulp_add():
    assert one(1.0 + 2**-10, 1.0, absolute=2**-10).mismatch is None
    assert one(1.0 + 2**-10, 1.0, absolute=2**-11).mismatch is not None
    assert one(1.0 + 2**-10, 1.0, absolute=2**-11, ulp=2**12).mismatch is None


@pytest.mark.parametrize("limit", [{}, {"ulp": 4}, {"absolute": 1e30}])
@pytest.mark.parametrize(
    "found, wanted, right",
    [
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (np.inf, np.nan, False),
        (3e38, np.inf, False),
        (np.inf, 1e39, True),  # rounds to infinity
        (-0.0, 0.0, True),
    ],
)
def test_special_values(found, wanted, right, limit):
    assert (one(found, wanted, **limit).mismatch is None) == right


def test_at_the_end_of_the_range_an_infinity_is_the_next_number():
    largest = float(np.finfo(np.float32).max)
    assert one(np.inf, largest, ulp=1).mismatch is None
    assert one(np.inf, largest).mismatch is not None
    assert one(np.inf, largest / 2, ulp=1).mismatch is not None
    assert one(65504.0, 65535.0, np.float16, ulp=1).mismatch is None  # rounds to infinity; found one ulp below


def test_a_device_may_flush_subnormal_results():
    assert one(0.0, TINY / 4).mismatch is None
    assert one(TINY / 4, TINY / 4).mismatch is None
    assert one(0.0, TINY).mismatch is not None
    assert one(-TINY / 4, TINY / 4).mismatch is not None


def test_a_device_may_flush_subnormal_inputs():
    """Each element may match either expectation: 1 / subnormal is large, 1 / 0 infinite."""
    x = np.array([1e-40, 2.0], np.float32)
    with np.errstate(divide="ignore"):
        expected, flushed = (Expected(1 / a.astype(np.float64), ulp=2) for a in (x, without_subnormals(x)))
    for first, right in ((np.inf, True), (float(np.float32(x[0])), False), (7.0, False)):
        found = np.array([first, 0.5], np.float32)
        assert (compare(found, expected, flushed).mismatch is None) == right
    assert without_subnormals(np.array([-1e-40, TINY, np.nan], np.float32)).tolist()[:2] == [-0.0, TINY]


def test_integers_to_the_bit_also_where_floats_do_not_tell():
    large = np.array([2**63 - 1, 2**63 - 2], np.int64)
    assert compare(large, Expected(large.copy())).mismatch is None
    result = compare(large, Expected(np.array([2**63 - 1, 2**63 - 1], np.int64)))
    assert result.mismatch is not None
    assert result.mismatch.index == (1,)
    nibbles = np.array([-8, 7], ml_dtypes.int4)
    assert compare(nibbles, Expected(nibbles.copy())).mismatch is None
    assert compare(nibbles, Expected(nibbles[::-1].copy())).mismatch is not None


def test_integers_with_a_tolerance():
    found = np.array([3, 5], np.uint8)
    assert compare(found, Expected(np.array([4, 5], np.uint8), absolute=1)).mismatch is None
    assert compare(found, Expected(np.array([5, 5], np.uint8), absolute=1)).mismatch is not None


def test_the_worst_element_is_named_and_the_others_counted():
    found = np.ones((2, 3), np.float32)
    found[0, 1], found[1, 2] = 1.1, 3.0
    result = compare(found, Expected(np.ones((2, 3)), ulp=1))
    assert result.mismatch is not None
    assert (result.mismatch.index, result.mismatch.differing, result.mismatch.elements) == ((1, 2), 2, 6)
    assert result.histogram == (4, 0, 0, 0, 0, 2)


def test_the_histogram_counts_shares_of_the_allowed_error():
    steps = np.array([0, 1, 2, 4, 8, 9])  # 8 ulp are allowed
    found = (1.5 + steps * 2.0**-23).astype(np.float32)
    assert compare(found, Expected(np.full(6, 1.5), ulp=8)).histogram == (1, 1, 1, 1, 1, 1)


def test_sizes_that_differ_are_a_fault_of_the_suite():
    with pytest.raises(ValueError, match="sizes"):
        compare(np.zeros((2, 3), np.float32), Expected(np.zeros((3, 2))))


def test_undefined_elements_may_have_any_value():
    undefined = np.array([False, True, False])
    for kind in (np.uint32, np.float32):
        expected = Expected(np.array([1, 0, 3], kind), undefined=undefined)
        assert compare(np.array([1, 77, 3], kind), expected).histogram == (3, 0, 0, 0, 0, 0)
        wrong = compare(np.array([1, 77, 4], kind), expected).mismatch
        assert wrong is not None
        assert (wrong.index, wrong.differing) == ((2,), 1)
