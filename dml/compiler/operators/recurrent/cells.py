"""The kinds of recurrent network and their differences."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cell:
    """A kind of network, and the kernel with its arithmetic.

    gates: products per unit and step. joined: the leading gates whose recurrence bias is added before the activation,
    so that it can join the input's bias. functions: names of its activations. phases: dependent parts of a step, if
    products depend on products. keeps: whether each unit has another value in addition to its state.
    """

    kernel: str
    gates: int
    joined: int
    functions: tuple[str, ...]
    phases: int = 1
    keeps: bool = False

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """The first gate and the number of gates whose products each phase needs."""
        return ((0, self.gates),) if self.phases == 1 else ((0, 2), (2, 1))


RNN = Cell("recurrent/rnn.comp", gates=1, joined=1, functions=("f",))
#: The reset gate multiplies the third gate's product, its bias included.
GRU = Cell("recurrent/gru.comp", gates=3, joined=2, functions=("f", "g"))
#: The reset gate multiplies the state, before the third gate's product.
GRU_RESET_FIRST = replace(GRU, joined=3, phases=2, keeps=True)
LSTM = Cell("recurrent/lstm.comp", gates=4, joined=4, functions=("f", "g", "h"), keeps=True)
