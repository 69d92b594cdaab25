"""tools/webnn with a small suite: Node.js runs the files, and their calls reach the front end."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

#: The part of testharness.js that the files below use.
HARNESS = """
const cases = [];
let whenDone;
function add_completion_callback(callback) { whenDone = callback; }
function promise_test(body, name) { cases.push([body, name]); }
function check(condition, message) { if (!condition) throw new Error(message); }
setTimeout(async () => {
  const results = [];
  for (const [body, name] of cases) {
    try { await body(); results.push({name, status: 0, message: null}); }
    catch (error) { results.push({name, status: 1, message: `${error.name}: ${error.message}`}); }
  }
  whenDone(results, {status: 0});
}, 0);
"""

ADD = """// META: title=addition
// META: variant=?cpu
// META: variant=?gpu
// META: script=../resources/helper.js
promise_test(async () => {
  const context = await navigator.ml.createContext({deviceType: location.search.substring(1)});
  check(context.opSupportLimits().gatherND.indices.dataTypes.includes('int64'), 'limits');
  check(context.opSupportLimits().conv2d.filter.rankRange.min === 4, 'ranks');
  const builder = new MLGraphBuilder(context);
  const x = builder.input('x', {dataType: 'float32', shape: [3]});
  const limits = {minValue: 0, maxValue: Infinity, label: 'kept'};
  const two = builder.constant({dataType: 'float32', shape: [1]}, new Float32Array([2]));
  const y = builder.clamp(builder.add(x, two), limits);
  check(y.dataType === 'float32' && y.shape[0] === 3, 'operand');
  const graph = await builder.build({y});
  const [source, result] = await Promise.all([
    context.createTensor({dataType: 'float32', shape: [3], writable: true}),
    context.createTensor({dataType: 'float32', shape: [3], readable: true})]);
  context.writeTensor(source, new Float32Array([-3, 0.5, 1]));
  context.dispatch(graph, {x: source}, {y: result});
  const found = new Float32Array(await context.readTensor(result));
  check(found.join() === '0,2.5,3', `found ${found}`);
  const into = new Float32Array(3);
  await context.readTensor(result, into);
  check(into.join() === '0,2.5,3', `into ${into}`);
}, 'sums');
promise_test(async () => {
  const builder = new MLGraphBuilder(await navigator.ml.createContext());
  const x = builder.input('x', {dataType: 'int64', shape: [SIZE]});
  try { builder.softmax(x, 0, {label: 'here'}); } catch (error) {
    check(error instanceof TypeError && error.message.startsWith('[here] softmax'), error.message);
    const [low, high] = [builder.constant('int64', 2n ** 62n), builder.split(x, [1, SIZE - 1])[1]];
    check(low.shape.length === 0 && high.shape[0] === SIZE - 1, 'shapes');
    return;
  }
  check(false, 'nothing was thrown');
}, 'refusals');
promise_test(async () => {
  const context = await navigator.ml.createContext();
  const tensor = await context.createTensor({dataType: 'int8', shape: [2], readable: true});
  const promise = context.readTensor(tensor);
  tensor.destroy();
  try { await promise; } catch (error) {
    check(error instanceof DOMException && error.name === 'InvalidStateError', String(error));
    return;
  }
  check(false, 'read after destruction');
}, 'destruction');
"""

WRONG = "promise_test(async () => check(1 + 1 === 3, 'two and two'), 'arithmetic');\n"
BROKEN = "this is no JavaScript\n"


@pytest.fixture
def suite(tmp_path):
    files = {
        "resources/testharness.js": HARNESS,
        "webnn/resources/helper.js": "const SIZE = 4;\n",
        "webnn/conformance_tests/add.https.any.js": ADD,
        "webnn/validation_tests/wrong.https.any.js": WRONG,
        "webnn/validation_tests/broken.https.any.js": BROKEN,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(device, *arguments):
    command = [sys.executable, "-m", "tools.webnn_suite", *map(str, arguments), "--device", device.vulkan.name]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_passing_files(device, suite, tmp_path):
    report = tmp_path / "report.json"
    made = run(device, suite, "--filter", "conformance", "--json", report, "--as", "discrete")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "conformance_tests: 3 of 3 cases pass, 0 cannot, 0 fail" in made.stdout
    written = json.loads(report.read_text())
    assert written["totals"] == {"conformance_tests": {"passed": 3, "left": 0, "failed": 0}}
    assert written["as"] == "discrete"
    assert [case["name"] for case in written["cases"]] == ["sums", "refusals", "destruction"]


def test_failing_files(device, suite):
    made = run(device, suite)
    assert made.returncode == 1, made.stdout + made.stderr
    assert "arithmetic: Error: two and two" in made.stdout
    assert "SyntaxError" in made.stdout
    assert "validation_tests: 0 of 2 cases pass, 0 cannot, 2 fail" in made.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--filter", "nothing"], "nothing"), (["--as", "quantum"], "quantum")],
)
def test_what_lacks(device, suite, arguments, words):
    made = run(device, suite, *arguments)
    assert made.returncode == 2
    assert words in made.stderr
    assert len(made.stderr.splitlines()) == 1


def test_another_folder(device, tmp_path):
    made = run(device, tmp_path)
    assert made.returncode == 2
    assert "testharness.js" in made.stderr
