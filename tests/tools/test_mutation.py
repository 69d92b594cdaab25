"""tools/mutate: the mutants it creates, and that the suite's cases catch a broken kernel."""

from __future__ import annotations

import json

import pytest

from dml.compiler.kernels import sources
from tools.mutation import __main__ as command
from tools.mutation.mutants import Mutant, files, mutants, sampled, write

SHADER = """#version 450
// A comment: i < n, barrier();
#include "prelude.glsl"
#define AT(i) ((i) + 1u)
void main() {
    for (uint i = 0u; i < COUNT; i += 4u) value[i + 1u] = 0.5 * x;  // i < n
    memoryBarrierShared(); barrier();
    [[unroll]] for (uint k = ZERO; k < TILE; ++k) sums[k] = ZERO;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gemm").mkdir()
    (tmp_path / "gemm" / "own.comp").write_text(SHADER)
    return tmp_path


def test_each_kind_breaks_a_line_once(folder):
    found = {(one.line, one.kind): one.after.strip() for one in mutants(folder, "gemm/own.comp")}
    assert found == {
        (4, "index"): "#define AT(i) ((i) - 1u)",
        (4, "constant"): "#define AT(i) ((i) + 2u)",
        (6, "index"): "for (uint i = 0u; i < COUNT; i += 4u) value[i - 1u] = 0.5 * x;  // i < n",
        (6, "bound"): "for (uint i = 0u; i <= COUNT; i += 4u) value[i + 1u] = 0.5 * x;  // i < n",
        (6, "constant"): "for (uint i = 1u; i < COUNT; i += 4u) value[i + 1u] = 0.5 * x;  // i < n",
        (6, "float"): "for (uint i = 0u; i < COUNT; i += 4u) value[i + 1u] = (0.5 + 0.5) * x;  // i < n",
        (7, "barrier"): "",
        (8, "bound"): "[[unroll]] for (uint k = ZERO; k + 1u < TILE; ++k) sums[k] = ZERO;",
    }


def test_a_mutant_is_written_over_its_file(folder):
    for mutant in mutants(folder, "gemm/own.comp"):
        (folder / "gemm" / "own.comp").write_text(SHADER)
        write(folder, mutant)
        before, after = SHADER.splitlines(), (folder / "gemm" / "own.comp").read_text().splitlines()
        assert [n for n, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b] == [mutant.line]


def test_every_file_has_mutants_and_a_sample_is_always_the_same():
    root = sources.directory()
    assert {"gemm/vector.comp", "lib/math.glsl"} <= set(files(root))
    every = list(mutants(root, "gemm/vector.comp"))
    some = sampled(every, 2)
    assert some == sampled(every, 2) != sampled(every, 2, seed=1)
    assert {kind: sum(one.kind == kind for one in some) for kind in ("index", "bound", "barrier")} == {
        "index": 2, "bound": 2, "barrier": 2,
    }  # fmt: skip


def test_includes_of_a_shader():
    assert {"lib/for_each.glsl"} <= command.included("movement/gather.comp")
    assert "lib/math.glsl" not in command.included("movement/copy_words.comp")


ALONE = tuple(f"REVERSE_SUBSEQUENCES:type={kind}" for kind in ("FLOAT32", "INT8"))
IN_A_GRAPH = ("GRAPH_OPERATOR:type=FLOAT32,of=REVERSE_SUBSEQUENCES",)


@pytest.mark.parametrize(("change", "names", "outcome"), [
    (("return source_load(source_at(c));", "return source_load(source_at(c) + 1u);"), ALONE, "caught"),
    (("return source_load(source_at(c));", "return source_load(source_at(c) + 1u);"), IN_A_GRAPH, "caught"),
    (("return source_load(source_at(c));", "return source_load(source_at(c))"), ALONE, "invalid"),
    (("return source_load(source_at(c));", "for (;;) source_store(0u);"), ALONE, "invalid"),
    (("// ", "//  "), ALONE, "unused"),
])  # fmt: skip
def test_a_broken_kernel_is_caught(tmp_path, change, names, outcome):
    file = "movement/reverse_subsequences.comp"
    lines = (sources.directory() / file).read_text().splitlines()
    at, line = next((at, line) for at, line in enumerate(lines) if change[0] in line or change[0] == "// " in line)
    workers = command.Workers(tmp_path, "llvmpipe")
    mutant = Mutant(file, at + 1, "index", line, line.replace(*change))
    cases = [("plain", name) for name in names]
    try:
        assert workers.outcome(mutant, cases, 2, 60.0)["outcome"] == outcome
    finally:
        workers.close()


def test_the_score_and_the_page():
    one = {"file": "a.comp", "line": 3, "kind": "bound", "before": "x < y", "after": "x <= y", "reason": "", "by": ""}
    found = [{**one, "outcome": outcome} for outcome in ("caught", "caught", "caught", "survived", "invalid", "unused")]
    equal = {"a.comp: x <= y": "Equal: y is odd"}
    assert command.score(found, {}) == (3, 4, 0)
    assert command.score(found, equal) == (3, 3, 1)
    assert command.summary(found, {}).splitlines() == [
        "a.comp:3 bound: x <= y",
        "caught 3 of 4 (75.0%); 0 change no result, 1 do not compile, "
        "1 change no kernel that a case enters on this device",
    ]
    text = command.page(found, {"a.comp: x <= y": "y is even, and x odd"})
    assert "Tried: 6 mutants in 1 of" in text
    assert "Caught: 3 of the 4 that can change a result, 75.0%;" in text
    assert "| bound | 3 | 4 |" in text
    text_of_equal = command.page(found, equal)
    assert "Caught: 3 of the 3 that can change a result, 100.0%;" in text_of_equal
    assert "1 more change a kernel but no result." in text_of_equal
    assert "| a.comp:3 | `x <= y` | y is even, and x odd |" in text
    assert "not yet known" in command.page(found, {})


def test_outcomes_are_kept_and_found_again_when_lines_move(folder, tmp_path):
    every = list(mutants(folder, "gemm/own.comp"))
    kept = {one: {**vars(one), "outcome": "survived", "by": "", "reason": "", "run": 3} for one in every}
    path = tmp_path / "mutants.json"
    assert command.read(path) == []
    command.write_found(path, kept)
    assert len(path.read_text().splitlines()) == len(every) + 2
    assert command.present(folder, command.read(path)) == kept
    (folder / "gemm" / "own.comp").write_text("// one more line\n" + SHADER.replace("0.5 * x", "0.25 * x"))
    moved = command.present(folder, command.read(path))
    assert {one.line for one in moved} == {5, 8, 9}  # line 6 has changed
    (folder / "gemm" / "own.comp").unlink()
    assert command.present(folder, command.read(path)) == {}


def test_the_committed_outcomes_are_of_these_shaders():
    """Most lines of the recorded mutants still exist, and each reason belongs to a survivor."""
    found = command.read(command.FOUND)
    assert len(found) > 100
    assert len(command.present(sources.directory(), found)) > len(found) / 2
    reasons = json.loads(command.REASONS.read_text())
    known = {command.key(one) for one in found if one["outcome"] == "survived"}
    assert set(reasons) <= known
