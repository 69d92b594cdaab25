"""Products with weights of 2, 4, 8 and 16 bits that stay as stored: kernels read them directly, or they are widened
(dequantized, or converted to FLOAT32) one part at a time."""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import lanes, max_steps
from dml.compiler.selection.devices import has_few_registers, has_fewest_registers, keeps, profile
from dml.compiler.selection.few_rows import FEW_ROWS, VectorProduct, rows_of_tile
from dml.compiler.selection.product_tiles import LaneTile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.target import Target

#: Bits of the vector that a kernel reads at once. It holds part of a block, or several blocks that each fill words.
VECTOR_BITS = 128
_WORD_BITS = 32
#: Number of adjacent weights that GPU kernels dequantize together; they must have the same scale.
_PER_SCALE = 8
#: Maximum number of rows for which GPUs multiply weights as stored, without shared memory.
_FEW_ROWS = 2
#: Sizes of gemm/blocks.comp: columns, lanes, slices and adjacent slices. The more columns an invocation has, the fewer
#: loads and sums of a's elements each column needs, and the more registers.
_FEW_REGISTERS, _MANY_REGISTERS = (4, 4, 32, 8), (8, 2, 64, 4)
#: Alternatives with fewer columns per invocation, for compilers that load a's elements early (Qualcomm) and devices
#: with the fewest registers (ARM).
_FEWER_COLUMNS = ((2, 8, 16, 8), (1, 16, 8, 8))
#: Registers that two columns of two rows, or of two blocks with a scale and a zero point each, need on devices with few
#: registers. V3D has fewer: Mesa compiled four columns for it without spills, and spilled up to 26 registers with two.
_TWO_BY_TWO = 40
#: Maximum number of rows for which CPU drivers multiply weights as stored; they have one kernel for 2, 4 and 8 bits.
_FEW_ROWS_OF_CPUS = 12
#: Bytes of weights that are dequantized at a time, which bounds the working memory.
_PART_BYTES = 16 << 20
#: Maximum number of bytes of FLOAT16 weights that are kept as FLOAT32, by the operator that reads them.
KEPT_WIDER: dict[str, int] = threshold("stored_weights.KEPT_WIDER")
#: Minimum number of rows for which CPU drivers widen FLOAT16 weights.
WORTH_WIDENING: int = threshold("stored_weights.WORTH_WIDENING")
#: Weights are dequantized in multiples of this many columns, so that every kernel has whole tiles.
_COLUMNS = 256


@dataclass(frozen=True)
class ColumnsProduct(LaneTile):
    """A product by gemm/blocks_columns.comp."""


def streams_blocks(target: Target, m: int, n: int, k: int, block: int, bits: int) -> bool:
    """Whether a product of few rows reads weights {n, k} of 2, 4 or 8 bits, in blocks along k, in their stored form."""
    powers = block * bits >= _WORD_BITS and block & (block - 1) == 0
    powers = powers and k % block == 0 and k * bits % VECTOR_BITS == 0
    if not profile(target).shares_memory:
        return m <= _FEW_ROWS_OF_CPUS and powers and k * bits // VECTOR_BITS + k // block <= max_steps(target)
    return m <= _FEW_ROWS and n >= 4 and powers and block >= _PER_SCALE


def loads_blocks(target: Target, m: int, block: int, *, halves: bool) -> bool:
    """Whether GPUs dequantize weights on their way to shared memory. block: as in ``block_product``. halves: the other
    factor is FLOAT16, so that few rows of it are faster with FLOAT16 weights."""
    few = FEW_ROWS if halves else _FEW_ROWS
    return profile(target).shares_memory and m > few and block % _PER_SCALE == 0


def block_product(target: Target, m: int, bits: int, block: int) -> VectorProduct | ColumnsProduct:
    """Return the sizes of gemm/blocks.comp, or on CPU drivers of gemm/blocks_columns.comp. bits: width of a weight.
    block: number of weights that share a scale."""
    if not profile(target).shares_memory:
        rows = 1 if has_few_registers(target) else min(4, rows_of_tile(m))
        return ColumnsProduct(rows, 4, lanes(target))
    vector = VECTOR_BITS // bits
    sizes = _FEW_REGISTERS if has_few_registers(target) else _MANY_REGISTERS
    if profile(target).loads_early and has_few_registers(target):
        # Per row: elements of a, addresses. Per column: words, scales, zero points, and two sums for each row.
        by_row, by_column = vector + 4, VECTOR_BITS // _WORD_BITS + 2 * max(1, vector // block) + 2 * m
        for smaller in _FEWER_COLUMNS:
            # Mesa's compiler spilled if these took more than half of the registers
            if keeps(target, 2 * (m * by_row + sizes[0] * by_column), others=0):
                break
            sizes = smaller
    elif (m > 1 or vector > block) and has_fewest_registers(target) and keeps(target, _TWO_BY_TWO, others=0):
        sizes = _FEWER_COLUMNS[0]
    columns, across, slices, adjacent = sizes
    return VectorProduct(m, columns, across, slices, True, vector, unroll=1, adjacent_slices=adjacent)


def keeps_halves(target: Target) -> bool:
    """Whether weights are widened to FLOAT16 for a FLOAT16 product. CPU drivers' kernels need FLOAT32."""
    return profile(target).halves


def keeps_wider(reader: str, size: int) -> bool:
    """Whether FLOAT16 weights of ``size`` bytes may be kept as FLOAT32. reader: a key of ``KEPT_WIDER``."""
    return size <= KEPT_WIDER[reader]


def widens_halves(target: Target, m: int) -> bool:
    """Whether FLOAT16 weights are widened to FLOAT32 at each run of a product of ``m`` rows.

    CPU drivers convert an element in about ten instructions, and read it again for every few rows.
    """
    return not profile(target).halves and m >= WORTH_WIDENING


def parts_end_with_blocks(columns: int, blocks: int) -> bool:
    """Whether the ranges of columns that are processed at a time hold whole blocks. blocks: number of blocks along the
    columns."""
    return blocks in (1, columns) or _COLUMNS % (columns // blocks) == 0


def rows_in_part(bytes_of_row: int, multiple: int = 1) -> int:
    """Return how many rows can be dequantized at a time, as a multiple of ``multiple``."""
    return max(1, _PART_BYTES // bytes_of_row // multiple) * multiple


def columns_in_part(target: Target, bytes_of_column: int, most: int | None = None) -> int:
    """Return how many columns of the weights are processed at a time: whole tiles, of at most ``most`` bytes if
    possible."""
    within = min(_PART_BYTES if most is None else most, target.max_region // 2)
    return max(_COLUMNS, within // bytes_of_column // _COLUMNS * _COLUMNS)
