"""Count multiply-adds and instructions in the innermost loop of a kernel's machine code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class Loop(NamedTuple):
    """One iteration of a loop: multiply-adds per invocation, and all instructions."""

    products: int
    instructions: int

    def __str__(self) -> str:
        return f"{self.products} / {self.instructions}" if self.products else ""


NO_LOOP = Loop(0, 0)
#: Function from a match of an instruction's pattern to its number of products.
Products = Callable[[re.Match[str]], int]


@dataclass(frozen=True)
class Listing:
    """The syntax of a driver's machine code listing, one instruction per line.

    label: the first line of a block; group 1 is its name. branch: a jump; group 1 holds the targets' names, separated
    by commas. ends: a line that never falls through to the next. instruction: an instruction; the optional group
    ``times`` holds its repetitions beyond the first. products: multiply-adds of floats and dot products of bytes.
    lanes: returns from the whole text the number of invocations that share an instruction's products; 1 if products
    are counted per invocation.
    """

    label: re.Pattern[str]
    branch: re.Pattern[str]
    ends: re.Pattern[str]
    instruction: re.Pattern[str]
    products: tuple[tuple[re.Pattern[str], Products], ...]
    comment: str = ";"
    lanes: Callable[[str], int] = lambda text: 1


def hottest(assembly: str, vendor: str) -> Loop:
    """Return the innermost loop with the most multiply-adds.

    NO_LOOP if no loop multiplies and adds, or if LISTINGS lacks the vendor.
    """
    listing = LISTINGS.get(vendor)
    if listing is None:
        return NO_LOOP
    blocks = _blocks(assembly.splitlines(), listing)
    loops = _loops(blocks)
    lanes = listing.lanes(assembly)
    innermost = (loop for loop in loops if not any(other < loop for other in loops))
    found = (_counted([line for index in loop for line in blocks[index].lines], listing, lanes) for loop in innermost)
    return max(found, default=NO_LOOP)


@dataclass
class _Block:
    """A basic block. next: indices of the blocks that may follow."""

    lines: list[str]
    next: set[int] = field(default_factory=set)


def _blocks(lines: list[str], listing: Listing) -> list[_Block]:
    blocks = [_Block([])]
    named: dict[str, int] = {}
    jumps: list[tuple[int, str]] = []
    falls = True
    for line in lines:
        label, branch = listing.label.match(line), listing.branch.match(line)
        if label or (blocks[-1].lines and (not falls or listing.branch.match(blocks[-1].lines[-1]))):
            if falls:
                blocks[-1].next.add(len(blocks))
            blocks.append(_Block([]))
            falls = True
        if label:
            named[label[1]] = len(blocks) - 1
        blocks[-1].lines.append(line)
        jumps += [(len(blocks) - 1, name) for name in filter(None, re.split(r",\s*", branch[1]) if branch else ())]
        if listing.ends.match(line):
            falls = False
    for index, name in jumps:
        blocks[index].next.add(named[name])
    return blocks


def _loops(blocks: list[_Block]) -> list[frozenset[int]]:
    """Return the blocks of each natural loop: a block that dominates the source of a branch to it, and all blocks that
    reach the branch without passing the block. (Drivers may put a loop's body before the block that enters it.)"""
    before: dict[int, set[int]] = {index: set() for index in range(len(blocks))}
    for index, block in enumerate(blocks):
        for follower in block.next:
            before[follower].add(index)
    dominators = _dominators(before)
    loops = []
    for start in before:
        # All branches back to one block form one loop
        waiting = [index for index in before[start] if start in dominators[index]]
        loop = {start} if waiting else set()
        while waiting:
            index = waiting.pop()
            if index not in loop:
                loop.add(index)
                waiting += before[index]
        if loop:
            loops.append(frozenset(loop))
    return loops


def _dominators(before: dict[int, set[int]]) -> list[set[int]]:
    """Return for each block the blocks that every path from the first block to it passes, itself included. before: the
    blocks that may precede each."""
    dominators = [{0}, *({*before} for _ in range(len(before) - 1))]
    changed = True
    while changed:
        changed = False
        for index in range(1, len(before)):
            found = {index}.union(
                set.intersection(*(dominators[b] for b in before[index])) if before[index] else before
            )
            changed |= found != dominators[index]
            dominators[index] = found
    return dominators


def _counted(lines: list[str], listing: Listing, lanes: int) -> Loop:
    products = instructions = 0
    for line in lines:
        found = listing.instruction.match(line)
        if not found:
            continue
        times = 1 + sum(map(int, re.findall(r"\d+", found.groupdict().get("times") or "")))
        instructions += times
        code = line.partition(listing.comment)[0]
        products += sum(count(match) for pattern, count in listing.products for match in pattern.finditer(code))
    return Loop(products // lanes, instructions) if products else NO_LOOP


def _each(count: int) -> Products:
    return lambda match: count


def _matrix(match: re.Match[str]) -> int:
    """Return an invocation's share of a matrix product by a warp of 32."""
    return int(match["m"]) * int(match["n"]) * int(match["k"]) // 32


def _systolic(match: re.Match[str]) -> int:
    """Return the number of multiply-adds of a DPAS instruction, over all invocations. A 32-bit element of its operands
    holds 2 numbers of 16 bits or 4 bytes."""
    per_element = 4 if match["type"] in ("B", "UB") else 2
    return int(match["depth"]) * int(match["rows"]) * int(match["lanes"]) * per_element


def _dispatch_width(text: str) -> int:
    """Return the invocations of an Intel subgroup: the end of the last masked group of channels (1Q: 8, 2H: 32)."""
    groups = re.findall(r"\{ align1 (\d)([QH])\b", text)
    return max((int(number) * (8 if size == "Q" else 16) for number, size in groups), default=8)


def _of_lanes(per_lane: int) -> Products:
    return lambda match: per_lane * int(match["lanes"])


#: Prefixes of an Adreno instruction: (rpt2) issues it twice more, (nop3) waits three cycles.
_PREFIX = r"^(?P<times>(?:\(\w+\)\s*)*)"


def _repeated(count: int) -> Products:
    def products(match: re.Match[str]) -> int:
        repeated = re.search(r"\(rpt(\d)\)", match["times"])
        return count * (1 + int(repeated[1]) if repeated else 1)

    return products


#: Listings by vendor. Apple's driver prints no machine code, and Broadcom's omits branch targets. ARM's and
#: Imagination's, which run in an emulator, are not parsed yet.
LISTINGS = {
    "amd": Listing(
        label=re.compile(r"^(BB\d+):"),
        branch=re.compile(r"^\s+s_c?branch\w* (BB\d+)\b"),
        ends=re.compile(r"^\s+(?:s_branch|s_endpgm)\b"),
        instruction=re.compile(r"^\s+[a-z]\w+"),
        products=(
            (re.compile(r"\bv_(?:dual_)?(?:fma|mad|mac)(?:c|ak|mk|ac|_mix(?:lo|hi)?)?_f(?:16|32|64)"), _each(1)),
            (re.compile(r"\bv_pk_(?:fma|fmac)_f16"), _each(2)),
            (re.compile(r"\bv_(?:dual_)?dot2c?(?:acc)?_"), _each(2)),
            (re.compile(r"\bv_dot4c?_"), _each(4)),
            (re.compile(r"\bv_dot8c?_"), _each(8)),
            # 16 x 16 x 16 products by a wave of 64 invocations
            (re.compile(r"\bv_wmma_"), _each(64)),
        ),
    ),
    "intel": Listing(
        label=re.compile(r"^(LABEL\d+):"),
        branch=re.compile(r"^(?:\([^)]*\) )?while\(\d+\)\s+JIP:\s+(LABEL\d+)"),
        # Invocations that have left a loop fall through its "while".
        ends=re.compile(r"(?!)"),
        # The driver does not count "sync nop"
        instruction=re.compile(r"^(?:\([^)]*\) )?(?!sync)[a-z][\w.]*\(\d+\)"),
        products=(
            (re.compile(r"\bma[dc](?:\.\w+)*\((?P<lanes>\d+)\)\s+\S+<\d+>(?:F|HF|DF)\b"), _of_lanes(1)),
            (re.compile(r"\bdp4a(?:\.\w+)*\((?P<lanes>\d+)\)"), _of_lanes(4)),
            (
                re.compile(r"\bdpas\.(?P<depth>\d+)x(?P<rows>\d+)\((?P<lanes>\d+)\)(?:.*>|.*\d)(?P<type>HF|BF|U?B)\b"),
                _systolic,
            ),
        ),
        comment="{",
        lanes=_dispatch_width,
    ),
    "nvidia": Listing(
        label=re.compile(r"^block(?:\.u)? (\d+) "),
        branch=re.compile(r"^\} -> \[([\d, ]*)\]"),
        ends=re.compile(r"^\}"),
        instruction=re.compile(r"^ +\S.*// delay="),
        products=(
            (re.compile(r"\b[fd]fma\b"), _each(1)),
            (re.compile(r"\bhfma2\b"), _each(2)),
            (re.compile(r"\bidp4\b"), _each(4)),
            (re.compile(r"\b[hi]mma\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)"), _matrix),
        ),
        comment="//",
    ),
    "qualcomm": Listing(
        label=re.compile(r"^(l\d+):"),
        branch=re.compile(r"^(?:\(\w+\)\s*)*(?:br|jump|b[a-z]+)\b.*#(l\d+)"),
        ends=re.compile(r"^(?:\(\w+\)\s*)*(?:jump|end)\b"),
        instruction=re.compile(_PREFIX + r"[a-z][\w.]*(?:\s|$)"),
        products=(
            (re.compile(_PREFIX + r"mad\.f(?:16|32)\b"), _repeated(1)),
            (re.compile(_PREFIX + r"dp2acc\b"), _repeated(2)),
            (re.compile(_PREFIX + r"dp4acc\b"), _repeated(4)),
        ),
    ),
}
