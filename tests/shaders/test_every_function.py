"""Each function of shaders/lib/ has a test in this folder."""

from __future__ import annotations

import library
import test_formats
import test_integers
import test_math
import test_workgroups

#: Files that define only names, no functions, for kernels that tests of operators run.
NAMES_ALONE = {"sum.glsl"}


def test_each_function_of_the_library_is_tested():
    tested = {file: set(names) for file, names in test_workgroups.COVERED.items()}
    for module in (test_formats, test_integers, test_math, test_workgroups):
        for case in (*module.CASES, *getattr(module, "FAST", ())):
            tested.setdefault(case.file, set()).update(case.tests)
    assert {file: names for file, names in library.library().items() if names} == tested
    assert {file for file, names in library.library().items() if not names} == NAMES_ALONE


def test_functions_are_found_as_they_are_written():
    text = """// float not_this(float x) {
float f(float x, out uint n) { return x; }
uvec2 g(uvec2 a) {
    return h(a);
}
void main() {
#define PLAIN 1
"""
    found = library.functions_of(text)
    assert [function.signature for function in found] == ["f(float, uint)", "g(uvec2)", "main()"]
    assert [parameter.out for parameter in found[0].parameters] == [False, True]
