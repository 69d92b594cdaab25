"""Recent, compared with a list of uses, and its guarantees to threads and finalizers."""

from __future__ import annotations

import threading
import weakref

from hypothesis import given
from hypothesis import strategies as st

from dml.recent import Recent

_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 7), st.integers(0, 9)),
        st.tuples(st.just("get"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("discard"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("shrink"), st.integers(0, 4), st.just(0)),
    )
)


@given(_STEPS, st.integers(1, 5), st.none() | st.integers(0, 20), st.integers(0, 2))
def test_recent_equals_a_list_of_uses(steps, entries, size, always):
    recent: Recent[int, object] = Recent(entries, size, always=always)
    used: list[tuple[int, object, int]] = []  # least recently used first
    for step, number, weight in steps:
        before = next((entry for entry in used if entry[0] == number), None)
        if step == "shrink":
            recent.shrink(number)
            used = used[len(used) - number :] if number < len(used) else used
            continue
        used = [entry for entry in used if entry[0] != number]
        if step == "put":
            value = object()
            recent.put(number, value, weight)
            used.append((number, value, weight))
            while len(used) > entries or (
                size is not None and sum(entry[2] for entry in used) > size and len(used) > always
            ):
                del used[0]
        elif step == "get":
            assert recent.get(number) is (None if before is None else before[1])
            used += [before] if before is not None else []
        else:
            recent.discard(number)
        assert len(recent) == len(used)
        assert recent.items() == [(key, value) for key, value, _ in reversed(used)]
    recent.clear()
    assert not len(recent)


class _Value:
    pass


def test_a_finalizer_may_use_the_map_that_forgets_its_value():
    recent: Recent[int, _Value] = Recent(1)
    told = []

    def end() -> None:
        told.append(recent.get(2) is not None)

    for forget in (lambda: recent.put(2, _Value()), recent.clear):
        recent.clear()
        value = _Value()
        weakref.finalize(value, end)
        recent.put(1, value)
        del value
        worker = threading.Thread(target=forget, daemon=True)
        worker.start()
        worker.join(10)
        assert not worker.is_alive(), "a finalizer waits for the lock that its own thread holds"
    assert told == [True, False]


def test_threads_leave_the_sizes_right():
    recent: Recent[int, int] = Recent(50, 200)

    def work(seed: int) -> None:
        for step in range(2000):
            recent.put((seed * step) % 97, step, step % 11)
            recent.get(step % 97)
            if step % 50 == 0:
                recent.discard(step % 97)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recent.clear()
    recent.put(0, 0, 200)  # fits only if nothing is left in the sum
    assert recent.get(0) == 0
