"""The generated head of every kernel: constants, buffers and typed access to the tensors that it binds.

A kernel under ``shaders/`` includes "prelude.glsl"; this module writes that file for one dispatch. For a tensor bound
as ``t`` it declares (all indices count elements from the region's start)::

    t_VALUE            float, int, uint, or uvec2 for the 64-bit types (low word first)
    t_BITS t_PER_WORD  bits of an element; elements of a 32-bit word (1 for wider types)
    t_SIZE_d t_STRIDE_d t_BASE t_RANK
    t_at(c)            index of the element at coordinates c
    t_load(i)          the element as t_VALUE
    t_store(i, v)      stores one element; atomic on its word where the type is narrower than what the device stores
    t_encode(v)        the bits of a narrow or 32-bit element, to put whole words together
    t_encode_at(i, v)  the same for the element at index i: what results of operators that take epilogues need
    t_word(w) t_word_store(w, bits), and for vector tensors t_vector(v), t_vector_store(v, bits)

and for the grid: RANK, COUNT, SIZE_d, coordinates(i, c) of the iteration space, advance(c, by), global_index().

Structure is code, shape is data: the text depends on ranks, data types and layouts that change how elements are moved,
never on a number. Sizes, strides, bases and attributes are words that the kernel reads, as variables of these names; it
reads those that it mentions. A kernel that mentions ``NAME_DIVISOR`` gets what ``divided`` and ``remainder`` of
lib/divide.glsl need to divide by NAME. The words are push constants while they fit the 128 bytes that every device
takes, else a uniform block, which is bound behind the storage buffers. A tensor with ``texel`` is a uniform texel
buffer instead of a storage buffer, unless ALL_STORAGE is defined (see sources.aliased).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from dml.compiler.data_types import DATA_TYPES, WORD_BITS, DataType
from dml.compiler.features import FloatMode
from dml.compiler.kernels import sources
from dml.compiler.kernels.epilogue import emit_epilogue, emit_finish_four, operand_name, values_of
from dml.compiler.kernels.expression import Emitted
from dml.compiler.kernels.float_modes import float_modes
from dml.compiler.program import Access, Operand, Region, having
from dml.compiler.scalar import Constant
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.traced import traced_apply, whole

#: Words of push constants that every Vulkan device takes.
PUSH_WORDS = 32
#: What a kernel writes behind a number's name to divide by it.
DIVISOR = "_DIVISOR"
#: The functions of lib/half.glsl that the device's instructions can do.
_CONVERSIONS = {"half_decode", "half_decode_high", "half_encode", "half_rounded"}

_INTRINSICS = "GL_EXT_spirv_intrinsics"
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Bound:
    """An operand as a kernel binds it; ``vector`` declares its buffer as uvec4.

    Tensors with the same ``shared`` region are bound as one storage buffer, in which the operand's own region begins at
    word ``start`` (see packing). texel: as of a StorageBinding.
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
    """Read and written by the same dispatch."""
    return Bound(operand, Access.READ_WRITE, vector)


def by_texels(tensors: Mapping[str, Bound], most: int) -> dict[str, Bound]:
    """The same with the first ``most`` buffers that are only read as texel buffers.

    Those among which some are read in vectors and some are not, and what shows memory that the kernel writes, stay.
    """
    written = [bound.region for bound in tensors.values() if bound.access.writes]
    found = dict(tensors)
    for names in storage_buffers(tensors):
        bounds = [tensors[name] for name in names]
        is_read = not any(
            bound.access.writes or bound.region.overlaps(region) for bound in bounds for region in written
        )
        if most and is_read and len({bound.vector for bound in bounds}) == 1:
            most -= 1
            texel = 4 if bounds[0].vector else 1
            found.update({name: having(bound, texel=texel) for name, bound in zip(names, bounds, strict=True)})
    return found


def epilogue_operands(tensors: Mapping[str, Bound]) -> dict[str, Bound]:
    """The other operands of the tensors' epilogues, by their names in the kernel. They are bound before the tensors."""
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
    """The 32-bit pattern of a number as kernels read it.

    Raises OverflowError for an integer that 32 bits cannot hold.
    """
    if type(value) is int and 0 <= value < 1 << 32:  # nearly all are
        return value
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        with np.errstate(over="ignore"):
            bits: int = struct.unpack("<I", np.float32(value).tobytes())[0]
        return bits
    if isinstance(value, np.int32):
        return int(value) & 0xFFFFFFFF
    number = whole(value)
    if not 0 <= number < 1 << 32:
        raise OverflowError(f"constant {number} does not fit 32 bits")
    return number


def _glsl_type(value: Constant) -> str:
    if type(value) is int:
        return "uint"
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, float | np.floating):
        return "float"
    return "int" if isinstance(value, np.int32) else "uint"


def storage_buffers(tensors: Mapping[str, Bound]) -> list[list[str]]:
    """The tensors in each storage buffer of a kernel, in the order of their bindings."""
    return _buffers(_signatures(tensors))


@dataclass(frozen=True)
class Head:
    """The text of prelude.glsl for one dispatch, and the words that its kernel reads.

    push: after the buffers' offsets and the dispatch's own words. parameters: the uniform block, whole vectors of four.
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
) -> Head:
    """The head of a kernel under shaders/.

    space: the sizes of the iteration space. push: names of words in the push constants, after the buffers' offsets.
    code: GLSL for the end. fast_halves: the modes in which the device's own instructions convert FLOAT16.
    single_stores: the widths of elements that the device stores by themselves, their neighbours untouched.
    """
    epilogues = {name: _epilogue(name, tensors) for name, bound in tensors.items() if bound.operand.epilogue}
    named = {**_layout_constants(tensors, space), **constants}
    for emitted in epilogues.values():
        named |= emitted.constants
    text = _text(
        kernel,
        _signatures(tensors),
        tuple([(name, "uint" if type(value) is int else _glsl_type(value)) for name, value in named.items()]),
        None if space is None else len(space),
        workgroup,
        tuple(push),
        tuple((name, emitted.code) for name, emitted in epilogues.items()),
        code,
        fast_halves,
        single_stores,
    )
    words: list[int] = []
    for name in text.names:
        value = named.get(name)
        if type(value) is int and 0 <= value < 1 << 32:  # as nearly all are
            words.append(value)
        else:
            words += _words(name, named)
    if text.in_block:
        return Head(text.text, (), (*words, *(0,) * (-len(words) % 4)))
    return Head(text.text, tuple(words), ())


def _words(name: str, named: Mapping[str, Constant]) -> tuple[int, ...]:
    """What a kernel reads for a name: a word, or for a divisor what replaces the division by it."""
    if name.endswith(DIVISOR):
        divisor = constant_bits(named[name.removesuffix(DIVISOR)])
        if type(divisor) is int:
            return divisor_words(divisor)
        return traced_apply(_divisor_factor, divisor), traced_apply(_divisor_shifts, divisor)
    return (constant_bits(named[name]),)


@cache
def divisor_words(divisor: int) -> tuple[int, int]:
    """The factor and the shifts by which lib/divide.glsl divides any 32-bit number by this one, from 1 to 2^32 - 1.

    Granlund and Montgomery, Division by Invariant Integers using Multiplication (1994), figure 4.1.
    """
    bits = (divisor - 1).bit_length()
    factor = ((1 << 32) * ((1 << bits) - divisor) // divisor + 1) & 0xFFFFFFFF
    return factor, min(bits, 1) | max(bits - 1, 0) << 1


def _divisor_factor(divisor: int) -> int:
    return divisor_words(divisor)[0]


def _divisor_shifts(divisor: int) -> int:
    return divisor_words(divisor)[1]


class _Signature(NamedTuple):
    """What of a bound tensor the text depends on. region: which tensors are bound as one buffer. values: the data type
    that its epilogue is given, where it has one."""

    name: str
    data_type: DML_TENSOR_DATA_TYPE
    rank: int
    access: Access
    vector: bool
    region: int | None
    values: DML_TENSOR_DATA_TYPE | None
    texel: int


@dataclass(frozen=True)
class _Text:
    """names: of the numbers that the kernel reads, in order. in_block: from a uniform block, not push constants."""

    text: str
    names: tuple[str, ...]
    in_block: bool


@lru_cache(maxsize=4096)
def _text(
    kernel: str,
    tensors: tuple[_Signature, ...],
    named: tuple[tuple[str, str], ...],
    rank: int | None,
    workgroup: tuple[int, int, int],
    push: tuple[str, ...],
    epilogues: tuple[tuple[str, str], ...],
    code: str,
    fast_halves: tuple[FloatMode, ...],
    single_stores: frozenset[int],
) -> _Text:
    used = sources.identifiers(kernel).union(_WORD.findall(code), *(_WORD.findall(text) for _, text in epilogues))
    body = _body(tensors, rank, dict(epilogues), code, used, single_stores)
    used |= set(_WORD.findall(body))
    # What macros put together of a beginning and a number
    used |= {name for name, _ in named if name.rstrip("0123456789") in used and name[-1].isdigit()}
    names = [
        word
        for name, _ in named
        for word, wanted in ((name, {name, name + DIVISOR}), (name + DIVISOR, {name + DIVISOR}))
        if not used.isdisjoint(wanted)
    ]
    types = dict(named)
    members = [member for name in names for member in _members(name, types)]
    buffers = [group[0] for group in _buffers(tensors)]
    words = [f"uint {name}_OFFSET;" for name in buffers] + [f"uint {name};" for name in push]
    in_block = len(words) + len(members) > PUSH_WORDS
    x, y, z = workgroup
    lines = [
        "#ifndef STORAGE",  # what sources.aliased defines
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
    lines += [_variable(name, types, "parameters_" if in_block else "push_") for name in names]
    return _Text("\n".join([*lines, body]) + "\n", tuple(names), in_block)


def _members(name: str, types: Mapping[str, str]) -> list[str]:
    """A number's members in the block of words."""
    if name.endswith(DIVISOR):
        return [f"uint {name}_FACTOR;", f"uint {name}_SHIFTS;"]
    return [f"{'uint' if types[name] == 'bool' else types[name]} {name};"]


def _variable(name: str, types: Mapping[str, str], block: str) -> str:
    """The variable that holds a number from the kernel's start: loaded once, whatever loop it is used in.

    llvmpipe loads a word of push constants for each invocation by itself: softmax took 8 % longer where its loops read
    the buffers' offsets from there.
    """
    if name.endswith(DIVISOR):
        number = f"{block}.{name.removesuffix(DIVISOR)}"
        return f"Divisor {name} = Divisor({number}, {block}.{name}_FACTOR, {block}.{name}_SHIFTS);"
    if types[name] == "bool":
        return f"bool {name} = {block}.{name} != 0u;"
    return f"{types[name]} {name} = {block}.{name};"


def _signatures(tensors: Mapping[str, Bound]) -> tuple[_Signature, ...]:
    regions = {bound.shared: number for number, bound in enumerate(tensors.values())}
    return tuple(
        _Signature(
            name,
            bound.operand.data_type,
            bound.operand.rank,
            bound.access,
            bound.vector,
            None if bound.shared is None else regions[bound.shared],
            None if bound.operand.epilogue is None else values_of(bound.operand.epilogue).data_type,
            bound.texel,
        )
        for name, bound in tensors.items()
    )


def _buffers(tensors: Sequence[_Signature]) -> list[list[str]]:
    """As ``storage_buffers``."""
    buffers: dict[object, list[str]] = {}
    for tensor in tensors:
        buffers.setdefault(tensor.name if tensor.region is None else tensor.region, []).append(tensor.name)
    return list(buffers.values())


def _body(
    tensors: Sequence[_Signature],
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
    for bits in sorted({_single(tensor, used, single_stores) for tensor in tensors} - {0}):
        lines += [f"#extension GL_EXT_shader_{bits}bit_storage : require", f"#extension {_INTRINSICS} : require"]
    buffers = _buffers(tensors)
    bindings = {name: binding for binding, names in enumerate(buffers) for name in names}
    for tensor in tensors:
        if tensor.name in epilogues:
            lines.append(epilogues[tensor.name])
        offset = f"{buffers[bindings[tensor.name]][0]}_OFFSET"
        if tensor.region is not None:
            offset = f"({offset} + {tensor.name}_START)"
        single = _single(tensor, used, single_stores) > 0
        lines.append(_tensor(tensor, bindings[tensor.name], offset, used, single))
    return "\n".join([*lines, code] if code else lines)


def _layout_constants(tensors: Mapping[str, Bound], space: Sequence[int] | None) -> dict[str, Constant]:
    """The sizes of the iteration space, and where each tensor's elements lie."""
    named: dict[str, Constant] = {}
    if space is not None:
        named["COUNT"] = math.prod(space)
        named.update(zip(_numbered("SIZE_", len(space)), space, strict=True))
    for name, bound in tensors.items():
        operand = bound.operand
        if bound.shared is not None:
            named[f"{name}_START"] = bound.start
        named[f"{name}_BASE"] = operand.base
        named.update(zip(_numbered(f"{name}_SIZE_", operand.rank), operand.sizes, strict=True))
        named.update(zip(_numbered(f"{name}_STRIDE_", operand.rank), operand.strides, strict=True))
    return named


@cache
def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}{d}" for d in range(count))


def _epilogue(name: str, tensors: Mapping[str, Bound]) -> Emitted:
    """t_epilogue(v, i) of a written tensor, and t_finish_four(bits, i) where it is stored by vectors."""
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
    body = []
    for d in range(rank - 1, 0, -1):
        body.append(f"    c[{d}] = take_coordinate(i, SIZE_{d}{DIVISOR});")
    body.append("    c[0] = i;")
    return "\n".join([f"const uint RANK = {rank}u;", f"void coordinates(uint i, out uint c[{rank}]) {{", *body, "}"])


def _advance(rank: int) -> str:
    """GLSL advance(c, by): the coordinates that lie so far behind c, by carrying as numbers of several digits do; where
    invocations walk."""
    body = []
    for d in range(rank - 1, 0, -1):
        body.append(f"    c[{d}] += by[{d}] + carry;")
        body.append(f"    carry = c[{d}] < SIZE_{d}{DIVISOR}.by ? 0u : 1u;")
        body.append(f"    c[{d}] -= carry * SIZE_{d}{DIVISOR}.by;")
    head = f"void advance(inout uint c[{rank}], uint by[{rank}]) {{"
    return "\n".join(["#if WALKS", head, "    uint carry = 0u;", *body, "    c[0] += by[0] + carry;", "}", "#endif"])


def _single(tensor: _Signature, used: frozenset[str], single_stores: frozenset[int]) -> int:
    """The bits of a tensor's elements where the kernel stores one and the device can, else 0."""
    bits = DATA_TYPES[tensor.data_type].bits
    return bits if bits in single_stores and tensor.access.writes and f"{tensor.name}_store" in used else 0


def _tensor(tensor: _Signature, binding: int, offset: str, used: frozenset[str], single: bool) -> str:
    """offset: the word at which the operand's region begins. single: whether its elements are stored by themselves,
    through a second view of its buffer."""
    name, rank = tensor.name, tensor.rank
    row = DATA_TYPES[tensor.data_type]
    made = row if tensor.values is None else DATA_TYPES[tensor.values]
    element = "uvec4" if tensor.vector else "uint"
    layout = f"layout(set = 0, binding = {binding}, std430) {'' if tensor.access.writes else 'readonly '}buffer"
    declared = f"spirv_decorate(20) {layout}" if single else f"STORAGE({layout})"  # 20: Aliased
    lines = [f"{declared} {name}_Buffer {{ {element} {name}_data[]; }};"]
    if tensor.texel:
        lines = [
            "#ifdef ALL_STORAGE",
            *lines,
            f"#define {name}_texel(i) {name}_data[i]",
            "#else",
            f"layout(set = 0, binding = {binding}) uniform usamplerBuffer {name}_data;",
            f"#define {name}_texel(i) texelFetch({name}_data, int(i)){'' if tensor.vector else '.x'}",
            "#endif",
        ]
    if single:
        lines.append(f"{declared} {name}_Elements {{ uint{row.bits}_t {name}_elements[]; }};")
    lines += [
        f"#define {name}_VALUE {made.glsl}",
        f"#define {name}_BITS {row.bits}u",
        f"#define {name}_PER_WORD {row.per_word}u",
        f"#define {name}_IS_{made.kind.upper()} 1",
        f"#define {name}_RANK {rank}u",
    ]
    if rank and f"{name}_at" in used:
        terms = " + ".join([f"{name}_BASE"] + [f"c[{d}] * {name}_STRIDE_{d}" for d in range(rank)])
        lines.append(f"uint {name}_at(uint c[{rank}]) {{ return {terms}; }}")
    begin, end = (f"{name}_texel(", ")") if tensor.texel else (f"{name}_data[", "]")
    word = f"{begin}{offset} + w{end}"
    if tensor.vector:
        word = f"{begin}({offset} + w) >> 2{end}[({offset} + w) & 3u]"
    vector = f"{begin}({offset} >> 2) + v{end}"
    lines.append(f"uint {name}_word(uint w) {{ return {word}; }}")
    if tensor.vector:
        lines.append(f"uvec4 {name}_vector(uint v) {{ return {vector}; }}")
    element = f"{name}_elements[{row.per_word}u * {offset} + i]" if single else ""
    lines += [_decode(name, row), *_stores(tensor, row, word, vector, element)]
    return "\n".join(lines)


def _stores(tensor: _Signature, row: DataType, word: str, vector: str, element: str) -> list[str]:
    """t_encode(v) and, of a tensor that is written, what stores its elements, words and vectors.

    word, vector, element: those numbered w, v and i; element is empty where it cannot be stored by itself.

    An epilogue is applied where every element passes: for 32 bits in the stores of words, since kernels store bits that
    they made themselves; for narrower types in t_encode_at. These have no t_encode: it is not told the element's index,
    so a kernel that called it would leave the epilogue out.
    """
    name = tensor.name
    made = row if tensor.values is None else DATA_TYPES[tensor.values]
    finishes_words = tensor.values is not None and row.bits == WORD_BITS
    finishes_elements = tensor.values is not None and not finishes_words
    lines = [_encode(f"{name}_plain" if finishes_elements else name, made)]
    if not tensor.access.writes:
        return lines
    if row.encode:
        encoded = f"{name}_encode(v)"
        if finishes_elements:
            value = f"{name}_made({name}_plain_encode(v))" if made.wraps else "v"
            encoded = f"{name}_stored({name}_epilogue({value}, i))"
        lines.append(f"uint {name}_encode_at(uint i, {made.glsl} v) {{ return {encoded}; }}")
    bits = f"{name}_stored({name}_epilogue({name}_made(bits), w))" if finishes_words else "bits"
    lines.append(f"void {name}_word_store(uint w, uint bits) {{ {word} = {bits}; }}")
    if tensor.vector:
        bits = f"{name}_finish_four(bits, v << 2)" if finishes_words else "bits"
        lines.append(f"void {name}_vector_store(uint v, uvec4 bits) {{ {vector} = {bits}; }}")
    return [*lines, _store(name, row, made.glsl, word, element)]


def _decode(name: str, row: DataType) -> str:
    """t_decode(bits): a value from the low bits of a word; t_load(i)."""
    if row.bits == 64:
        return f"uvec2 {name}_load(uint i) {{ return uvec2({name}_word(2u * i), {name}_word(2u * i + 1u)); }}"
    decode = f"{row.glsl} {name}_decode(uint bits) {{ return {row.decode}; }}\n"
    if row.bits == WORD_BITS:
        return decode + f"{row.glsl} {name}_load(uint i) {{ return {name}_decode({name}_word(i)); }}"
    word, shift = _place(row)
    return decode + f"{row.glsl} {name}_load(uint i) {{ return {name}_decode({name}_word({word}) >> ({shift})); }}"


def _encode(name: str, row: DataType) -> str:
    """t_encode(v): the bits of an element."""
    return f"uint {name}_encode({row.glsl} v) {{ return {row.encode}; }}" if row.encode else ""


def _store(name: str, row: DataType, value: str, word: str, element: str) -> str:
    """t_store(i, v), of a ``value``."""
    head = f"void {name}_store(uint i, {value} v) {{ "
    if row.bits == 64:
        return head + f"{name}_word_store(2u * i, v.x); {name}_word_store(2u * i + 1u, v.y); }}"
    if not row.is_atomic:
        return head + f"{name}_word_store(i, {name}_encode_at(i, v)); }}"
    if element:
        return head + f"{element} = uint{row.bits}_t({name}_encode_at(i, v)); }}"
    number, shift = _place(row)
    return head + (
        f"uint w = {number}; uint at = {shift}; "
        f"atomicAnd({word}, ~({(1 << row.bits) - 1}u << at)); atomicOr({word}, {name}_encode_at(i, v) << at); }}"
    )


def _place(row: DataType) -> tuple[str, str]:
    """The word that holds element i of a narrow type, and the element's first bit there."""
    return f"i >> {row.per_word.bit_length() - 1}", f"(i & {row.per_word - 1}u) * {row.bits}u"
