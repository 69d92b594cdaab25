"""The kernels that selection can choose for a target, and the cases that enter them, without a device."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from few_suite import Copy, use_few

import dml
from dml import cache
from dml.compiler.target import DeviceClass, Target
from dml.conformance import catalogue, code, execution, layouts
from dml.conformance.case import Case, cases
from dml.conformance.coverage import Coverage, coverage, features, merged, total
from dml.conformance.execution import run_case
from dml.conformance.parameters import OpenLabels, Skip, opened
from dml.conformance.subject import subjects
from dml.conformance.suite import Suite
from dml.conformance.variants import kernel_of, variants

PACKAGE = Path(dml.__file__).parent
GPU = Target(
    DeviceClass.DISCRETE, max_workgroup_invocations=1024, max_workgroup_size=(1024, 1024, 64), shared_memory=32768,
    max_storage_buffer_range=1 << 30, max_storage_buffers=16, max_push_constants=256, subgroup_size=32,
)  # fmt: skip
CPU = dataclasses.replace(GPU, device_class=DeviceClass.CPU, subgroup_size=8, llvmpipe=(22, 3), max_texels=1 << 27)
#: Kernels that only tensors as large as in real models select, so no case of the default suite enters them, and the
#: operators that use them.
LARGE = {
    GPU: (
        {"attention/merge.comp", "gemm/parts.comp", "elementwise/transpose_blocks.comp", "recurrent/start.comp"},
        ("GEMM", "GRU", "MULTIHEAD_ATTENTION", "CAST"),
    ),
    CPU: (
        {"convolution/winograd_weights.comp", "convolution/winograd_input.comp", "convolution/winograd_result.comp",
         "elementwise/transpose_blocks.comp"},
        ("CONVOLUTION", "CAST"),
    ),
}  # fmt: skip


def test_every_case_of_the_catalogue_is_valid():
    names = list(catalogue.names())
    assert len(names) == len(set(names))
    for name in names:
        case = Case.parse(name)
        try:
            dml.validate(case.desc)
        except Skip as why:
            pytest.fail(f"{name}: {why}")


@functools.cache
def coverage_of_large(target):
    """Return one case of each operator of LARGE, and the coverage with the cases that a required share of 0 adds."""
    _, names = LARGE[target]
    own = [f"{name}:type=FLOAT32" for name in names]
    return own, coverage(target, own, [subjects()[name] for name in names], 0.0, 0)


@pytest.mark.parametrize("target", LARGE)
def test_small_cases_are_found_for_kernels_of_large_shapes(target):
    wanted, _ = LARGE[target]
    own, found = coverage_of_large(target)
    assert wanted <= {kernel_of(name) for name in found.names}
    record = found.record([*own, *found.added])
    assert [one["kernel"] for one in record["kernels"] if not one["run"]] == []
    assert wanted <= {one["kernel"] for one in found.record(own)["kernels"] if one["run"] < one["variants"]}
    for name in found.added:
        desc = Case.parse(name).desc
        dml.validate(desc)
        assert variants(desc, target)[0] == {found.names[at] for at in found.entered[name]}
        elements = sum(t.element_count for _, t in desc.inputs() if isinstance(t, dml.DML_BUFFER_TENSOR_DESC))
        assert elements < 1 << 22, name


@pytest.fixture
def few(monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    use_few(monkeypatch)


def test_the_required_share_of_variants_is_reached(few):
    default, full = Suite(), Suite("full")
    found = default.coverage(GPU)
    own = found.record(default.cases())
    of = total(found.record([*default.cases(), *found.added]))
    assert of["kernels_run"] == of["kernels"] > 1
    assert of["variants_run"] >= 0.9 * of["variants"]
    assert total(own)["variants_run"] < of["variants_run"]
    complete = full.coverage(GPU)
    assert complete.record([*full.cases(), *complete.added])["missing"] == []


def test_no_value_of_a_macro_is_left_out():
    """Even with a required share of 0, every value of every macro and every tensor's data type are entered."""
    _, found = coverage_of_large(GPU)
    ran = [found.names[at] for places in found.entered.values() for at in places]
    assert features(ran) == features(found.names)
    assert len(set(ran)) < len(found.names) / 2
    assert "gemm/vector.comp a:float16" in features(found.names)


def test_coverage_is_cached_until_code_or_target_change(few, monkeypatch):
    found = Suite().coverage(GPU)
    monkeypatch.setattr("dml.conformance.coverage._Search.coverage", lambda *_: pytest.fail("computed anew"))
    assert Suite().coverage(GPU) == dataclasses.replace(found, entered={k: list(v) for k, v in found.entered.items()})
    assert cache.usage()["coverage"].entries == 1
    with pytest.raises(pytest.fail.Exception, match="anew"):
        Suite().coverage(CPU)


def entered_by(run):
    """Return the package's files with functions that ``run()`` enters."""
    entered = set()
    sys.setprofile(lambda frame, *_: entered.add(frame.f_code.co_filename))
    try:
        run()
    finally:
        sys.setprofile(None)
    return {Path(file) for file in entered if Path(file).is_relative_to(PACKAGE)}


def test_its_key_holds_every_file_that_the_search_enters(monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    chosen = [subjects()[name] for name in ("CAST", "MAX_POOLING", "GRAPH_STORED_WEIGHTS")]
    own = entered_by(lambda: coverage(GPU, ["CAST:type=FLOAT32"], chosen, 0.0, 1))
    assert {PACKAGE / "compiler" / "lowering.py", PACKAGE / "graph" / "compile.py"} <= own
    assert sorted(own - code.files(PACKAGE, code.COMPILING)) == []


def test_the_key_of_cases_holds_every_file_that_describes_them():
    for subject in subjects().values():
        subject.__dict__.pop("exclusions", None)  # earlier tests learned what descriptions refuse
    own = entered_by(lambda: [list(cases(subject, 1)) for subject in subjects().values()])
    assert {PACKAGE / "conformance" / "covering.py", PACKAGE / "conformance" / "families" / "graphs.py"} <= own
    assert sorted(own - code.files(PACKAGE, code.DESCRIBING)) == []


@pytest.mark.parametrize(("file", "describes", "compiles"), [
    ("dml/compiler/selection/gemm.py", False, True),
    ("dml/capability/operators.json", True, True),
    ("dml/conformance/families/few_subjects.py", True, True),
    ("dml/tensors.py", True, True),
    ("dml/cli/app.py", False, False),
    ("dml/frontends/onnx/folding.py", False, False),
    ("dml/runtime/queue.py", False, False),
    ("dml/conformance/page/assets/report.html", False, False),
])  # fmt: skip
def test_keys_change_with_the_files_that_decide(tmp_path, file, describes, compiles):
    Copy(tmp_path)
    patterns = code.DESCRIBING, code.COMPILING
    before = [code.digest_of_files(tmp_path / "dml", some) for some in patterns]
    with (tmp_path / file).open("a") as changed:
        changed.write("\n")
    after = [code.digest_of_files(tmp_path / "dml", some) for some in patterns]
    assert [old != new for old, new in zip(before, after, strict=True)] == [describes, compiles]


def test_of_shaders_the_key_holds_the_words(tmp_path):
    kernel, other = tmp_path / "kernel.comp", tmp_path / "lib" / "other.glsl"
    other.parent.mkdir()
    kernel.write_text("void main() { result[0] = a + b; }")
    other.write_text("float twice(float v) { return v + v; }")
    before = code.digest_of_words(tmp_path)
    kernel.write_text("void main() {\n    result[0] = b * a;\n}\n")
    assert code.digest_of_words(tmp_path) == before
    kernel.write_text("void main() { result[0] = a + c; }")
    assert code.digest_of_words(tmp_path) != before
    kernel.write_text("void main() { result[0] = a + b; }")
    other.rename(tmp_path / "other.glsl")
    assert code.digest_of_words(tmp_path) != before


def test_coverage_is_for_whole_operators_only(few):
    assert Suite("quick").coverage(GPU) is None
    assert Suite(filter=("float16",)).coverage(GPU) is None
    assert Suite(only=("ACTIVATION_RELU",)).coverage(GPU) is None
    relu = Suite(filter=("ACTIVATION_RELU",)).coverage(GPU)
    assert {case.partition(":")[0] for case in relu.entered} == {"ACTIVATION_RELU"}


def test_parts_of_a_run_are_merged():
    found = Coverage(("c",), {"a": (0,), "b": (1, 2), "c": (3,)}, ("k A=0", "k A=1", "k A=2", "l"))
    parts = [found.record(["a"]), found.record(["b"])]
    assert parts[0]["kernels"] == [{"kernel": "k", "variants": 3, "run": 1}, {"kernel": "l", "variants": 1, "run": 0}]
    assert parts[0]["missing"] == ["k A=1", "k A=2", "l"]
    assert merged(parts) == found.record(["a", "b"])
    assert total(merged([*parts, found.record(["c"])])) == {
        "kernels": 2, "kernels_run": 2, "variants": 4, "variants_run": 4,
    }  # fmt: skip


def test_further_labels():
    sizes = opened({"2x3": (2, 3), "1x1": (1, 1)})
    assert sizes["64x7"] == (64, 7)
    assert "64x7" in sizes
    assert list(sizes) == ["2x3", "1x1"]
    for label in ("64", "1x2x3", "", "ax2", "-1x2"):
        assert label not in sizes
        with pytest.raises(KeyError):
            sizes[label]
    assert opened({"3": 3})["17"] == 17
    assert opened({"2.3": (2, 3), "1": (1,)})["7.1"] == (7, 1)
    assert opened({"1": ((1,), (1,)), "0.2_1": ((0, 2), (1,))})["3_4.5"] == ((3,), (4, 5))
    for closed in ({"yes": True, "no": False}, {"1": 1.0}, {"last": -1}):
        assert not isinstance(opened(closed), OpenLabels)


@pytest.mark.parametrize("name", [
    "GEMM:type=FLOAT32,sizes=64x64x64,layout=owned",
    "CONVOLUTION:type=FLOAT16,sizes=1x64x14x14,outputs=64,padding=1,bias=yes,layout=owned",
    "CAST:type=FLOAT16,sizes=64x64,layout=turned",
])  # fmt: skip
def test_weights_that_directml_owns_and_turned_tensors(device, name):
    outcome = run_case(device, Case.parse(name))
    assert outcome["status"] == "passed", outcome["reason"]


def test_a_wrong_weight_is_seen(device, monkeypatch):
    """Inputs bound at initialization reach the kernel: with other bytes the case fails."""
    to_bytes = layouts.to_bytes
    monkeypatch.setattr(
        execution, "to_bytes", lambda array, tensor: to_bytes(array + np.float32(tensor.owned_by_dml), tensor)
    )
    assert run_case(device, Case.parse("GEMM:type=FLOAT32,layout=owned"))["status"] == "failed"


CHOSEN = """
import json, dml
from dml.compiler.target import DeviceClass, Target
from dml.conformance.suite import Suite
suite = Suite(filter=("ONE_HOT", "GRAPH_STORED_WEIGHTS"), seed=3)
found = suite.coverage(Target(DeviceClass.DISCRETE, max_workgroup_invocations=1024, shared_memory=32768))
print(json.dumps([dml.__file__, suite.cases(), found.added, found.names, dict(found.entered)]))
"""


def test_the_chosen_cases_do_not_depend_on_the_process_or_the_folder(tmp_path):
    """Cases are equal in two folders with separate caches, regardless of string hashes, which determine the order of
    sets."""
    copy = Copy(tmp_path / "copy", few=False)
    found = []
    for folder, seed in ((PACKAGE.parent, "1"), (copy.folder, "2")):
        run = subprocess.run(
            [sys.executable, "-c", CHOSEN], cwd=folder, capture_output=True, text=True, timeout=300,
            env=copy.environment(PYTHONPATH=str(folder), PYTHONHASHSEED=seed, DML_CACHE_DIR=str(tmp_path / seed)),
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        found.append(json.loads(run.stdout))
    assert Path(found[0][0]).parent == PACKAGE
    assert Path(found[1][0]).parent == copy.folder / "dml"
    assert found[0][1:] == found[1][1:]
    assert min(map(len, found[0][1:])) > 10


REPEATED = """
from dml.compiler.features import Features
from dml.compiler.target import DeviceClass, Target
from dml.conformance.suite import Suite
able = Features(subgroup_operations=frozenset({"arithmetic", "ballot", "clustered", "quad", "shuffle", "vote"}))
Suite(filter=("ONE_HOT",)).coverage(Target(DeviceClass.DISCRETE, features=able))
"""


def test_another_process_finds_the_coverage_in_the_cache(monkeypatch, tmp_path):
    """The same holds for a device with sets of features, whose repr depends on string hashes."""
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path))
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", REPEATED], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
    assert cache.usage()["coverage"].entries == 1
