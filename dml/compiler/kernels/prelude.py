"""The generated head of every kernel: constants, buffers and typed access to the tensors that it binds.

A kernel under ``shaders/`` includes "prelude.glsl"; this module writes that file for one dispatch. For a tensor bound
as ``t`` it declares (all indices count elements from the region's start)::

    t_VALUE            float, int, uint, or uvec2 for the 64-bit types (low word first)
    t_BITS t_PER_WORD  bits of an element; elements of a 32-bit word (1 for wider types)
    t_SIZE_d t_STRIDE_d t_BASE t_RANK
    t_at(c)            index of the element at coordinates c
    t_load(i)          the element as t_VALUE
    t_store(i, v)      stores one element; atomic on its word if the device cannot store so narrow an element
    t_encode(v)        the bits of a narrow or 32-bit element, to put whole words together
    t_encode_at(i, v)  the same for the element at index i, after the epilogue
    t_word(w) t_word_store(w, bits), and for vector tensors t_vector(v), t_vector_store(v, bits)

and for the grid: RANK, COUNT, SIZE_d, coordinates(i, c) of the iteration space, advance(c, by), global_index().

Structure is code, shape is data: the text depends on ranks, data types and layouts that change how elements are moved,
never on a number. Sizes, strides, bases and attributes are words that the kernel reads, as variables of these names; it
reads those that it mentions. A kernel that mentions ``NAME_DIVISOR`` gets what ``divided`` and ``remainder`` of
lib/divide.glsl need to divide by NAME. The words are push constants while they fit the 128 bytes that every device
takes, else a uniform block, which is bound after the storage buffers. A tensor with ``texel`` is a uniform texel buffer
instead of a storage buffer, unless ALL_STORAGE is defined (see sources.aliased).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from dml.compiler.data_types import DATA_TYPES, WORD_BITS
from dml.compiler.features import FloatMode
from dml.compiler.kernels import sources
from dml.compiler.kernels.access import BoundSignature, single_bits, typed_access
from dml.compiler.kernels.epilogue import emit_epilogue, emit_finish_four, operand_name, values_of
from dml.compiler.kernels.expression import Emitted
from dml.compiler.kernels.float_modes import float_modes
from dml.compiler.program import Access, Operand, Region, fast_replace
from dml.compiler.scalar import Constant
from dml.traced import traced_apply, whole

#: Words of push constants that every Vulkan device supports.
PUSH_WORDS = 32
#: A kernel that divides by a number mentions its name with this suffix.
DIVISOR = "_DIVISOR"
#: Functions of lib/half.glsl that the device's instructions may replace.
_CONVERSIONS = {"half_decode", "half_decode_high", "half_encode", "half_rounded"}

_INTRINSICS = "GL_EXT_spirv_intrinsics"
_WORD = re.compile(r"[A-Za-z_]\w*")
_FLOAT, _BITS = struct.Struct("<f"), struct.Struct("<I")
#: The bits of float32's infinity.
_INFINITY = 0x7F800000


@dataclass(frozen=True)
class Bound:
    """An operand as a kernel binds it; ``vector`` declares its buffer as uvec4.

    Tensors with the same ``shared`` region are bound as one storage buffer, in which the operand's own region begins at
    word ``start`` (see packing). texel: see StorageBinding.
    """

    operand: Operand
    access: Access
    vector: bool = False
    shared: Region | None = None
    start: int = 0
    texel: int = 0

    @property
    def region(self) -> Region:
        return self.shared or self.operand.region


def read(operand: Operand, *, vector: bool = False) -> Bound:
    return Bound(operand, Access.READ, vector)


def write(operand: Operand, *, vector: bool = False) -> Bound:
    return Bound(operand, Access.WRITE, vector)


def update(operand: Operand, *, vector: bool = False) -> Bound:
    """Bind for reads and writes by the same dispatch."""
    return Bound(operand, Access.READ_WRITE, vector)


def by_texels(tensors: Mapping[str, Bound], most: int) -> dict[str, Bound]:
    """Turn the first ``most`` buffers that are only read into texel buffers.

    Excluded are buffers read both in vectors and in words, and memory that the kernel writes.
    """
    written = [bound.region for bound in tensors.values() if bound.access.writes]
    found = dict(tensors)
    for names in storage_buffers(tensors):
        bounds = [tensors[name] for name in names]
        vector = bounds[0].vector
        is_read = most > 0 and all(
            bound.vector == vector and not bound.access.writes and not any(map(bound.region.overlaps, written))
            for bound in bounds
        )
        if is_read:
            most -= 1
            found.update(
                {name: fast_replace(bound, texel=4 if vector else 1) for name, bound in zip(names, bounds, strict=True)}
            )
    return found


def epilogue_operands(tensors: Mapping[str, Bound]) -> dict[str, Bound]:
    """Return the other operands of the tensors' epilogues, by their names in the kernel. They are bound before the
    tensors."""
    found = {}
    for name, bound in tensors.items():
        epilogue = bound.operand.epilogue
        for number, own in enumerate(epilogue.operands if epilogue is not None else ()):
            assert epilogue is not None
            bits = DATA_TYPES[bound.operand.data_type].bits, DATA_TYPES[own.operand.data_type].bits
            vector = bound.vector and bits == (WORD_BITS, WORD_BITS) and own.reads_four_for_four(epilogue.origin)
            found[operand_name(name, number)] = read(own.operand.view((), ()), vector=vector)
    return found


def constant_bits(value: Constant) -> int:
    """Return the 32-bit pattern of a number as kernels read it. Raises OverflowError for an integer beyond 32 bits."""
    if type(value) is int and 0 <= value < 1 << 32:  # the common case
        return value
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        try:
            bits: int = _BITS.unpack(_FLOAT.pack(value))[0]
        except OverflowError:
            return _INFINITY if value > 0 else _INFINITY | 1 << 31
        return bits
    if isinstance(value, np.int32):
        return int(value) & 0xFFFFFFFF
    number = whole(value)
    if not 0 <= number < 1 << 32:
        raise OverflowError(f"constant {number} does not fit 32 bits")
    return number


def _glsl_type(value: Constant) -> str:
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, float | np.floating):
        return "float"
    return "int" if isinstance(value, np.int32) else "uint"


def storage_buffers(tensors: Mapping[str, Bound]) -> list[list[str]]:
    """Return the tensors in each storage buffer of a kernel, in binding order."""
    return _together((name, bound.shared) for name, bound in tensors.items())


def _together(regions: Iterable[tuple[str, object]]) -> list[list[str]]:
    """Group the names of tensors that share a region; tensors without one (None) stay separate."""
    buffers: dict[object, list[str]] = {}
    for name, region in regions:
        buffers.setdefault(name if region is None else region, []).append(name)
    return list(buffers.values())


@dataclass(frozen=True)
class Head:
    """The text of prelude.glsl for one dispatch, and the words that its kernel reads.

    push: words after the buffers' offsets and the dispatch's own. parameters: the uniform block, in whole vectors of
    four.
    """

    text: str
    push: tuple[int, ...]
    parameters: tuple[int, ...]


def prelude(
    kernel: str,
    tensors: Mapping[str, Bound],
    constants: Mapping[str, Constant],
    space: Sequence[int] | None,
    workgroup: tuple[int, int, int],
    push: Sequence[str],
    code: str,
    fast_halves: tuple[FloatMode, ...] = (),
    single_stores: frozenset[int] = frozenset(),
    *,
    kept_numbers: int | None = None,
) -> Head:
    """Generate the head of a kernel under shaders/.

    space: the sizes of the iteration space. push: names of words in the push constants, after the buffers' offsets.
    code: GLSL for the end. fast_halves: the modes in which the device's own instructions convert FLOAT16.
    single_stores: the widths of elements that the device stores singly, leaving adjacent ones untouched. kept_numbers:
    maximum words of the uniform block that a kernel loads once at its start (None: no limit); with more words it loads
    each number where it uses it.
    """
    epilogues = {name: _epilogue(name, tensors) for name, bound in tensors.items() if bound.operand.epilogue}
    more = [constants.items(), *(emitted.constants.items() for emitted in epilogues.values())]
    text = _text(
        kernel,
        _signatures(tensors),
        tuple([(name, "uint" if type(value) is int else _glsl_type(value)) for some in more for name, value in some]),
        None if space is None else len(space),
        workgroup,
        tuple(push),
        tuple([(name, emitted.code) for name, emitted in epilogues.items()]),
        code,
        fast_halves,
        single_stores,
        kept_numbers,
    )
    numbers = [*_layout_numbers(tensors, space), *(value for some in more for _, value in some)]
    words: list[int] = []
    for index, divides in text.read:
        value = numbers[index]
        if type(value) is not int or not 0 <= value < 1 << 32:  # the common case
            value = constant_bits(value)
        if divides:
            words += _divisor_words(value)
        else:
            words.append(value)
    if text.in_block:
        return Head(text.text, (), (*words, *(0,) * (-len(words) % 4)))
    return Head(text.text, tuple(words), ())


def _divisor_words(divisor: int) -> tuple[int, int]:
    """Return the words that replace a division by ``divisor``."""
    if type(divisor) is int:
        return divisor_words(divisor)
    return traced_apply(_divisor_factor, divisor), traced_apply(_divisor_shifts, divisor)


@cache
def divisor_words(divisor: int) -> tuple[int, int]:
    """Return the factor and shifts by which lib/divide.glsl divides any 32-bit number by ``divisor``, 1 to 2^32 - 1.

    Granlund and Montgomery, Division by Invariant Integers using Multiplication (1994), figure 4.1.
    """
    bits = (divisor - 1).bit_length()
    factor = ((1 << 32) * ((1 << bits) - divisor) // divisor + 1) & 0xFFFFFFFF
    return factor, min(bits, 1) | max(bits - 1, 0) << 1


def _divisor_factor(divisor: int) -> int:
    return divisor_words(divisor)[0]


def _divisor_shifts(divisor: int) -> int:
    return divisor_words(divisor)[1]


@dataclass(frozen=True)
class _Text:
    """Generated text. read: the numbers that the kernel reads, in order, and whether it divides by them. in_block:
    numbers come from a uniform block instead of push constants."""

    text: str
    read: tuple[tuple[int, bool], ...]
    in_block: bool


@lru_cache(maxsize=4096)
def _text(
    kernel: str,
    tensors: tuple[BoundSignature, ...],
    constants: tuple[tuple[str, str], ...],
    rank: int | None,
    workgroup: tuple[int, int, int],
    push: tuple[str, ...],
    epilogues: tuple[tuple[str, str], ...],
    code: str,
    fast_halves: tuple[FloatMode, ...],
    single_stores: frozenset[int],
    kept_numbers: int | None,
) -> _Text:
    """Return the text. constants: names and types of the numbers after those of the layouts."""
    named = [*((name, "uint") for name in _layout_names(tensors, rank)), *constants]
    types, places = dict(named), {name: index for index, (name, _) in enumerate(named)}
    used = sources.identifiers(kernel).union(_WORD.findall(code), *(_WORD.findall(text) for _, text in epilogues))
    body = _body(tensors, rank, dict(epilogues), code, used, single_stores)
    used |= set(_WORD.findall(body))
    # Names that macros form from a prefix and a number
    used |= {name for name in types if name.rstrip("0123456789") in used and name[-1].isdigit()}
    names = [
        word
        for name in types
        for word, wanted in ((name, {name, name + DIVISOR}), (name + DIVISOR, {name + DIVISOR}))
        if not used.isdisjoint(wanted)
    ]
    members = [member for name in names for member in _members(name, types)]
    buffers = [group[0] for group in _buffers(tensors)]
    words = [f"uint {name}_OFFSET;" for name in buffers] + [f"uint {name};" for name in push]
    in_block = len(words) + len(members) > PUSH_WORDS
    x, y, z = workgroup
    lines = [
        "#ifndef STORAGE",  # STORAGE is defined by sources.aliased
        "#define STORAGE(declared) declared",
        "#endif",
        f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;",
        f"const uint WORKGROUP = {x * y * z}u;",
        f"layout(push_constant) uniform Push {{ {' '.join(words if in_block else words + members)} }} push_;",
    ]
    if in_block:
        lines.append(f"layout(set = 0, binding = {len(buffers)}, std140) uniform Parameters {{")
        lines += [f"    {member}" for member in members] + ["} parameters_;"]
    lines += [f"#define {name} push_.{name}" for name in push]
    lines += ['#include "lib/grid.glsl"', '#include "lib/divide.glsl"', '#include "lib/half.glsl"']
    if fast_halves and not used.isdisjoint(_CONVERSIONS):
        lines += [float_modes(fast_halves), '#include "lib/half_hardware.glsl"']
    lines += [f"uint {name}_OFFSET = push_.{name}_OFFSET;" for name in buffers]
    if in_block and kept_numbers is not None and len(members) > kept_numbers:
        lines.append("#define LATE_NUMBERS")
        lines += [f"#define {name} ({_number(name, types, 'parameters_', late=True)})" for name in names]
    else:
        lines += [_variable(name, types, "parameters_" if in_block else "push_") for name in names]
    read = tuple((places[name.removesuffix(DIVISOR)], name.endswith(DIVISOR)) for name in names)
    return _Text("\n".join([*lines, body]) + "\n", read, in_block)


def _members(name: str, types: Mapping[str, str]) -> list[str]:
    """Return the declarations of the words that hold a number."""
    if name.endswith(DIVISOR):
        return [f"uint {name}_FACTOR;", f"uint {name}_SHIFTS;"]
    return [f"{'uint' if types[name] == 'bool' else types[name]} {name};"]


def _variable(name: str, types: Mapping[str, str], block: str) -> str:
    """Return a variable that holds a number from the kernel's start: it is loaded once, even if loops use it.

    llvmpipe loads a push constant separately for each invocation: softmax took 8 % longer when its loops read the
    buffers' offsets from there.
    """
    return f"{'Divisor' if name.endswith(DIVISOR) else types[name]} {name} = {_number(name, types, block)};"


def _number(name: str, types: Mapping[str, str], block: str, *, late: bool = False) -> str:
    """Return the GLSL that loads a number. late: a divisor is read from the variable that the kernel loads at its
    start, not from the block."""
    if name.endswith(DIVISOR):
        number = name.removesuffix(DIVISOR)
        return f"Divisor({number if late else f'{block}.{number}'}, {block}.{name}_FACTOR, {block}.{name}_SHIFTS)"
    return f"{block}.{name} != 0u" if types[name] == "bool" else f"{block}.{name}"


def _signatures(tensors: Mapping[str, Bound]) -> tuple[BoundSignature, ...]:
    regions = {bound.shared: number for number, bound in enumerate(tensors.values()) if bound.shared is not None}
    found = []
    for name, bound in tensors.items():
        operand, shared = bound.operand, bound.shared
        values = None if operand.epilogue is None else values_of(operand.epilogue).data_type
        region = None if shared is None else regions[shared]
        kind, rank = operand.data_type, len(operand.sizes)
        found.append(BoundSignature(name, kind, rank, bound.access, bound.vector, region, values, bound.texel))
    return tuple(found)


def _buffers(tensors: Sequence[BoundSignature]) -> list[list[str]]:
    """Like ``storage_buffers``."""
    return _together((tensor.name, tensor.region) for tensor in tensors)


def _body(
    tensors: Sequence[BoundSignature],
    rank: int | None,
    epilogues: Mapping[str, str],
    code: str,
    used: frozenset[str],
    single_stores: frozenset[int],
) -> str:
    lines = []
    if rank is not None:
        lines.append(_coordinates(rank))
        if "advance" in used:
            lines.append(_advance(rank))
    for bits in sorted({single_bits(tensor, used, single_stores) for tensor in tensors} - {0}):
        lines += [f"#extension GL_EXT_shader_{bits}bit_storage : require", f"#extension {_INTRINSICS} : require"]
    buffers = _buffers(tensors)
    bindings = {name: binding for binding, names in enumerate(buffers) for name in names}
    for tensor in tensors:
        if tensor.name in epilogues:
            lines.append(epilogues[tensor.name])
        offset = f"{buffers[bindings[tensor.name]][0]}_OFFSET"
        if tensor.region is not None:
            offset = f"({offset} + {tensor.name}_START)"
        single = single_bits(tensor, used, single_stores) > 0
        lines.append(typed_access(tensor, bindings[tensor.name], offset, used, single))
    return "\n".join([*lines, code] if code else lines)


def _layout_names(tensors: Sequence[BoundSignature], rank: int | None) -> list[str]:
    """Return the names of the iteration space's sizes and of each tensor's layout."""
    names = [] if rank is None else ["COUNT", *_numbered("SIZE_", rank)]
    for tensor in tensors:
        name = tensor.name
        names += [f"{name}_BASE"] if tensor.region is None else [f"{name}_START", f"{name}_BASE"]
        names += [*_numbered(f"{name}_SIZE_", tensor.rank), *_numbered(f"{name}_STRIDE_", tensor.rank)]
    return names


def _layout_numbers(tensors: Mapping[str, Bound], space: Sequence[int] | None) -> list[int]:
    """Return the values of the sizes and layouts that ``_layout_names`` names, in its order."""
    numbers = [] if space is None else [math.prod(space), *space]
    for bound in tensors.values():
        operand = bound.operand
        if bound.shared is not None:
            numbers.append(bound.start)
        numbers += (operand.base, *operand.sizes, *operand.strides)
    return numbers


def _numbered(name: str, count: int) -> list[str]:
    return [f"{name}{d}" for d in range(count)]


def _epilogue(name: str, tensors: Mapping[str, Bound]) -> Emitted:
    """Return t_epilogue(v, i) of a written tensor, and t_finish_four(bits, i) if it is stored by vectors."""
    operand = tensors[name].operand
    epilogue = operand.epilogue
    assert epilogue is not None
    names = [operand_name(name, number) for number in range(len(epilogue.operands))]
    types = {own: DATA_TYPES[tensors[own].operand.data_type].glsl for own in names}
    emitted = emit_epilogue(name, epilogue, list(types.values()), DATA_TYPES[operand.data_type])
    if not (tensors[name].vector and DATA_TYPES[operand.data_type].bits == WORD_BITS):
        return emitted
    four = emit_finish_four(name, epilogue, types, lambda own: tensors[own].vector)
    return Emitted(f"{emitted.code}\n{four}", emitted.constants)


def _coordinates(rank: int) -> str:
    body = [f"    c[{d}] = take_coordinate(i, SIZE_{d}{DIVISOR});" for d in range(rank - 1, 0, -1)]
    head = [f"const uint RANK = {rank}u;", f"void coordinates(uint i, out uint c[{rank}]) {{"]
    return "\n".join([*head, *body, "    c[0] = i;", "}"])


def _advance(rank: int) -> str:
    """Return GLSL advance(c, by), which moves coordinates forward by carrying, like the digits of a number; for
    invocations that visit several positions."""
    body = []
    for d in range(rank - 1, 0, -1):
        body.append(f"    c[{d}] += by[{d}] + carry;")
        body.append(f"    carry = c[{d}] < SIZE_{d}{DIVISOR}.by ? 0u : 1u;")
        body.append(f"    c[{d}] -= carry * SIZE_{d}{DIVISOR}.by;")
    head = f"void advance(inout uint c[{rank}], uint by[{rank}]) {{"
    return "\n".join(["#if WALKS", head, "    uint carry = 0u;", *body, "    c[0] += by[0] + carry;", "}", "#endif"])
