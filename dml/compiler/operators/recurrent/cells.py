"""The kinds of recurrent network: what tells one from another."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cell:
    """A kind of network, and the kernel that has its arithmetic.

    gates: products of a unit in a step. joined: the first gates, whose bias of the recurrence is added before the
    activation, so that it can join the input's bias. functions: names of its activations. phases: parts of a step that
    wait for each other, where products depend on products. keeps: whether a unit keeps a second value beside its state.
    """

    kernel: str
    gates: int
    joined: int
    functions: tuple[str, ...]
    phases: int = 1
    keeps: bool = False


RNN = Cell("recurrent/rnn.comp", gates=1, joined=1, functions=("f",))
#: The reset gate multiplies the product of the third gate, its bias included.
GRU = Cell("recurrent/gru.comp", gates=3, joined=2, functions=("f", "g"))
#: The reset gate multiplies the state, before the product of the third gate.
GRU_RESET_FIRST = replace(GRU, joined=3, phases=2, keeps=True)
LSTM = Cell("recurrent/lstm.comp", gates=4, joined=4, functions=("f", "g", "h"), keeps=True)
