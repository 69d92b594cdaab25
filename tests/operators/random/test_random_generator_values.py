"""RANDOM_GENERATOR against the known answers of Random123 and the suite's Philox in Python integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.conformance.references.philox import MASK, after, stream, words
from harness import LAYOUTS, Array, assert_exact, tensor


def describe(sizes: Sequence[int], rank: int = 4, advance: bool = True, layout: str = "packed") -> Any:
    state = tensor("UINT32", (*(1,) * (rank - 1), 6))
    return dml.DML_RANDOM_GENERATOR_OPERATOR_DESC(
        InputStateTensor=state,
        OutputTensor=tensor("UINT32", sizes, layout),
        OutputStateTensor=state if advance else None,
        Type=dml.DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10,
    )


def generate(device: dml.Device, desc: Any, state: Sequence[int]) -> dict[str, Array]:
    array = np.array(state, np.uint32).reshape(desc.InputStateTensor.Sizes)
    return harness.run(device, desc, {"InputStateTensor": array})


#: Counter and key, lowest word first, and the resulting words: Random123's kat_vectors for philox4x32, 10 rounds.
KNOWN = [
    ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([MASK] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize("state, known", KNOWN)
def test_known_answers(device: dml.Device, state: list[int], known: list[int]) -> None:
    assert words(sum(word << 32 * i for i, word in enumerate(state[:4])), (state[4], state[5])) == known
    found = generate(device, describe((1, 1, 1, 4)), state)["OutputTensor"]
    assert found.ravel().tolist() == known


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (2, 3, 5, 7), (1, 1, 1, 1000)])
def test_streams(device: dml.Device, sizes: tuple[int, ...], layout: str) -> None:
    state = [0xFFFFFFFE, MASK, MASK, 7, 123, 456]  # the increment carries through three words
    found = generate(device, describe(sizes, layout=layout), state)
    count = int(np.prod(sizes))
    assert_exact(found["OutputTensor"], stream(state, count).reshape(sizes))
    assert_exact(found["OutputStateTensor"].ravel(), after(state, count))


@pytest.mark.parametrize("rank", range(1, 9))
def test_dimension_counts(device: dml.Device, rank: int) -> None:
    sizes = (2, 1, 3, 1, 2, 1, 1, 5)[-rank:]
    found = generate(device, describe(sizes, rank, advance=False), range(6))
    assert_exact(found["OutputTensor"], stream(range(6), int(np.prod(sizes))).reshape(sizes))
    assert "OutputStateTensor" not in found


def test_next_state_continues_the_stream(device: dml.Device) -> None:
    """Two runs of whole blocks equal one run of both."""
    desc = describe((1, 1, 3, 8))
    first = generate(device, desc, [1, 2, 3, 4, 5, 6])
    second = generate(device, desc, first["OutputStateTensor"].ravel().tolist())
    both = np.concatenate([first["OutputTensor"].ravel(), second["OutputTensor"].ravel()])
    assert_exact(both, stream([1, 2, 3, 4, 5, 6], 48))


def test_page_example(device: dml.Device) -> None:
    """The page's two counters, {3, 3, 20, 7219} elements apart; it prints them in the wrong order."""
    start, after = 0x48656C6C_6F46726F_6D536561_746F776E, 0x48656C6C_6F46726F_6D536561_74746C65
    state = [*((start >> 32 * i) & MASK for i in range(4)), 0, 0]
    found = generate(device, describe((3, 3, 20, 7219)), state)["OutputStateTensor"].ravel().tolist()
    assert sum(word << 32 * i for i, word in enumerate(found[:4])) == after


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"InputStateTensor": tensor("UINT32", (1, 1, 1, 5)), "OutputStateTensor": None},
            "InputStateTensor: must have sizes (1, 1, 1, 6)",
        ),
        (
            {"InputStateTensor": tensor("UINT32", (1, 1, 2, 6)), "OutputStateTensor": None},
            "InputStateTensor: must have sizes (1, 1, 1, 6)",
        ),
        ({"OutputStateTensor": tensor("UINT32", (1, 1, 6))}, "must have the dimension count of"),
        ({"OutputTensor": tensor("INT32", (1, 1, 1, 4))}, "OutputTensor"),
        ({"Type": 1}, "Type"),
    ],
)
def test_wrong_descriptions(change: dict[str, Any], message: str) -> None:
    desc = describe((1, 1, 1, 4))
    dml.validate(desc)
    with pytest.raises(dml.DMLError) as error:
        dml.validate(desc.replace(**change))
    assert message in str(error.value)
