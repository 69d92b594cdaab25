"""Typed access to a bound tensor as GLSL: its buffer, loads and stores of elements (see prelude)."""

from __future__ import annotations

from typing import NamedTuple

from dml.compiler.data_types import DATA_TYPES, WORD_BITS, DataType
from dml.compiler.program import Access
from dml.enums import DML_TENSOR_DATA_TYPE


class BoundSignature(NamedTuple):
    """The properties of a bound tensor on which its generated GLSL depends. region: groups tensors bound as one buffer.
    values: data type of the epilogue's input, if it has one."""

    name: str
    data_type: DML_TENSOR_DATA_TYPE
    rank: int
    access: Access
    vector: bool
    region: int | None
    values: DML_TENSOR_DATA_TYPE | None
    texel: int


def single_bits(tensor: BoundSignature, used: frozenset[str], single_stores: frozenset[int]) -> int:
    """Return the width in bits of a tensor's elements if the kernel stores them one by one and the device can, else
    0."""
    bits = DATA_TYPES[tensor.data_type].bits
    return bits if bits in single_stores and tensor.access.writes and f"{tensor.name}_store" in used else 0


def typed_access(tensor: BoundSignature, binding: int, offset: str, used: frozenset[str], single: bool) -> str:
    """Return GLSL of a tensor's buffer and of its access.

    offset: the word at which the operand's region begins. single: whether elements are stored singly, through a second
    view of the buffer.
    """
    name, rank = tensor.name, tensor.rank
    row = DATA_TYPES[tensor.data_type]
    values = row if tensor.values is None else DATA_TYPES[tensor.values]
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
        f"#define {name}_VALUE {values.glsl}",
        f"#define {name}_BITS {row.bits}u",
        f"#define {name}_PER_WORD {row.per_word}u",
        f"#define {name}_IS_{values.kind.upper()} 1",
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


def _stores(tensor: BoundSignature, row: DataType, word: str, vector: str, element: str) -> list[str]:
    """Return t_encode(v) and, for a written tensor, the stores of elements, words and vectors.

    word, vector, element: GLSL that stores the word w, the vector v or the element i; element is empty if single
    elements cannot be stored.

    The epilogue is applied where every element passes: for 32 bits in the stores of words, since kernels store bits
    that they computed themselves; for narrower types in t_encode_at. Tensors of these types have no t_encode: it does
    not know the element's index, so a kernel that called it would skip the epilogue.
    """
    name = tensor.name
    values = row if tensor.values is None else DATA_TYPES[tensor.values]
    finishes_words = tensor.values is not None and row.bits == WORD_BITS
    finishes_elements = tensor.values is not None and not finishes_words
    lines = [_encode(f"{name}_plain" if finishes_elements else name, values)]
    if not tensor.access.writes:
        return lines
    if row.encode:
        encoded = f"{name}_encode(v)"
        if finishes_elements:
            value = f"{name}_decoded({name}_plain_encode(v))" if values.wraps else "v"
            encoded = f"{name}_encoded({name}_epilogue({value}, i))"
        lines.append(f"uint {name}_encode_at(uint i, {values.glsl} v) {{ return {encoded}; }}")
    bits = f"{name}_encoded({name}_epilogue({name}_decoded(bits), w))" if finishes_words else "bits"
    lines.append(f"void {name}_word_store(uint w, uint bits) {{ {word} = {bits}; }}")
    if tensor.vector:
        bits = f"{name}_finish_four(bits, v << 2)" if finishes_words else "bits"
        lines.append(f"void {name}_vector_store(uint v, uvec4 bits) {{ {vector} = {bits}; }}")
    return [*lines, _store(name, row, values.glsl, word, element)]


def _decode(name: str, row: DataType) -> str:
    """Return the GLSL functions t_decode(bits), the value of a word's low bits, and t_load(i)."""
    if row.bits == 64:
        return f"uvec2 {name}_load(uint i) {{ return uvec2({name}_word(2u * i), {name}_word(2u * i + 1u)); }}"
    decode = f"{row.glsl} {name}_decode(uint bits) {{ return {row.decode}; }}\n"
    if row.bits == WORD_BITS:
        return decode + f"{row.glsl} {name}_load(uint i) {{ return {name}_decode({name}_word(i)); }}"
    word, shift = _place(row)
    return decode + f"{row.glsl} {name}_load(uint i) {{ return {name}_decode({name}_word({word}) >> ({shift})); }}"


def _encode(name: str, row: DataType) -> str:
    """Return the GLSL function t_encode(v), the bits of an element with the value v."""
    return f"uint {name}_encode({row.glsl} v) {{ return {row.encode}; }}" if row.encode else ""


def _store(name: str, row: DataType, value: str, word: str, element: str) -> str:
    """Return the GLSL function t_store(i, v), which stores v as element i. value: the GLSL type of v."""
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
    """Return GLSL for the word that holds element i of a narrow type, and for the element's first bit in it."""
    return f"i >> {row.per_word.bit_length() - 1}", f"(i & {row.per_word - 1}u) * {row.bits}u"
