"""`dml tune`: variants that win and lose, the table that is kept, and that results stay correct."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
from dml import cache
from dml.cli import app
from dml.compiler.tuned import NOTHING_TUNED, Tuned, TunedChoice, as_json
from dml.runtime import tuned_file
from dml.runtime.devices import list_devices
from dml.tuning import tuner as tuning
from dml.tuning.measuring import MeasuredOperator, compiled
from dml.tuning.works import FAMILIES, TuningWork, works

NEVER = float("inf")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Give each test its own cache, and enable tables of measurements."""
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DML_DISABLE_TUNING", raising=False)
    monkeypatch.setattr(tuned_file, "_told", set())
    monkeypatch.setattr(tuning, "_BUSY", 0.0)


def gemm(size=64, family="product"):
    t = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1, 1, size, size))
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=t, BTensor=t, OutputTensor=t, TransA=dml.DML_MATRIX_TRANSFORM_NONE,
        TransB=dml.DML_MATRIX_TRANSFORM_NONE, Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    return TuningWork(family, "small", desc, float(size**3))


def fake(times):
    """Return a timer of variants: the seconds in ``times`` of the first key that the variant's name contains."""
    return lambda variant, commands: next(taken for word, taken in times.items() if word in variant)


def measured(vulkan, times, work=None):
    lines = []
    found = tuning.Tuner(vulkan, lines.append, timer=fake(times), clock=lambda: 0.0)
    found.measure(work or gemm(), NEVER)
    return found.table, lines


def test_the_fastest_is_chosen_and_kept(vulkan):
    if not vulkan.target.is_cpu:
        pytest.skip("the names are those of CPUs' drivers")
    table, lines = measured(vulkan, {"rows=16 columns=8": 1e-4, "": 1e-3})
    (choice,) = table.choices
    assert choice.variant.startswith("TiledProduct rows=16 columns=8")
    assert choice.seconds < choice.rule_seconds
    assert tuned_file.load(vulkan.file_name) == table
    assert any(choice.variant in line for line in lines)


def test_one_that_loses_or_gains_too_little_is_not_chosen(vulkan):
    if not vulkan.target.is_cpu:
        pytest.skip("the names are those of CPUs' drivers")
    rule = "rows=8 columns=8"
    for others in (2e-3, 0.99e-3):
        table, _ = measured(vulkan, {rule: 1e-3, "": others})
        assert [choice.variant == choice.rule and rule in choice.rule for choice in table.choices] == [True]


def test_one_with_other_results_is_not_chosen(vulkan, monkeypatch):
    monkeypatch.setattr(tuning, "_are_close", lambda found, expected: False)
    table, lines = measured(vulkan, {"": 1e-3})
    assert table == NOTHING_TUNED
    assert any("gives different results" in line for line in lines)


def test_close_means_another_order_of_sums():
    ones = np.ones(4, np.float32)
    assert tuning._are_close(ones * np.float32(1 + 1e-6), ones)
    assert not tuning._are_close(ones * np.float32(1.01), ones)
    assert not tuning._are_close(np.array([1, np.nan], np.float32), np.ones(2, np.float32))
    assert tuning._are_close(np.array([1, np.nan], np.float16), np.array([1, np.nan], np.float16))
    assert not tuning._are_close(np.array([1, 2], np.int32), np.array([1, 3], np.int32))


def tensor(*sizes, kind="FLOAT32"):
    return dml.DML_BUFFER_TENSOR_DESC(getattr(dml, f"DML_TENSOR_DATA_TYPE_{kind}"), sizes)


def convolution(channels, groups=1):
    x = tensor(1, channels, 18, 18)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=x, FilterTensor=tensor(channels, channels // groups, 3, 3), OutputTensor=x,
        Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION, Direction=dml.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=(1, 1), Dilations=(1, 1), StartPadding=(1, 1), EndPadding=(1, 1), OutputPadding=(0, 0),
        GroupCount=groups,
    )  # fmt: skip
    return TuningWork("convolution", "small", desc, 1.0, ("FilterTensor",))


def gru(hidden=40):
    words = {"WeightTensor": tensor(1, 1, 3 * hidden, hidden), "RecurrenceTensor": tensor(1, 1, 3 * hidden, hidden)}
    desc = dml.DML_GRU_OPERATOR_DESC(
        **words, InputTensor=tensor(1, 3, 5, hidden), OutputSequenceTensor=tensor(3, 1, 5, hidden),
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION_FORWARD, LinearBeforeReset=True,
        ActivationDescs=(dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()),
    )  # fmt: skip
    return TuningWork("recurrent", "small", desc, 1.0, tuple(words), scale=0.1)


def attention(kind):
    x = tensor(1, 70, 80, kind=kind)
    desc = dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        QueryTensor=x, KeyTensor=x, ValueTensor=x, OutputTensor=x, Scale=0.2, MaskFilterValue=-1e4, HeadCount=2,
        MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    return TuningWork("attention", "small", desc, 1.0)


def softmax(kind, length):
    x = tensor(3, length, kind=kind)
    return TuningWork("rows", "small", dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=x, OutputTensor=x), 1.0)


SMALL = {
    "product": gemm(72),
    "few rows": next(work for work in works("few rows") if " x 1024 by 1024" in work.name),
    "convolution": convolution(20),
    "depthwise convolution": convolution(6, 6),
    "recurrent": gru(),
    "attention": attention("FLOAT32"),
    "attention of halves": attention("FLOAT16"),
    "rows": softmax("FLOAT32", 1000),
    "rows of halves": softmax("FLOAT16", 4096),
}


@pytest.mark.parametrize("work", SMALL.values(), ids=SMALL)
def test_variants_run_and_give_the_same_results(each_kind, work):
    lines: list[str] = []
    tuning.Tuner(each_kind.vulkan, lines.append, timer=fake({"": 1e-3}), clock=lambda: 0.0).measure(work, NEVER)
    assert not [line for line in lines if "as the rules say" not in line]
    assert lines or each_kind.vulkan.target.is_cpu


def test_every_family_is_tested():
    assert {work.family for work in SMALL.values()} == set(FAMILIES)


def test_a_table_changes_which_kernel_runs_and_not_its_result(vulkan):
    if not vulkan.target.is_cpu:
        pytest.skip("the names are those of CPUs' drivers")
    work = gemm()
    table, _ = measured(vulkan, {"rows=16 columns=16": 1e-4, "": 1e-3}, work)
    tuner = tuning.Tuner(vulkan, print)
    texts, results = [], []
    for each in (NOTHING_TUNED, table):
        operator = compiled(tuner.device(each), work.desc)
        bound = MeasuredOperator(operator)
        bound.recorded(1)
        texts.append(operator.describe())
        results.append(bound.results()["OutputTensor"])
    assert texts[0] != texts[1]
    # sums of 64 products of up to 0.25, in another order
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=64 * 0.25 * 2**-20)


def test_time_runs_out(vulkan):
    """Measurements that exceed the remaining time are skipped; earlier ones are kept."""
    now = iter(range(1000))
    tuner = tuning.Tuner(vulkan, lambda line: None, timer=fake({"": 1e-3}), clock=lambda: float(next(now)))
    tuner.measure(gemm(), 0.0)
    assert tuner.table == NOTHING_TUNED
    lines = []
    tuner = tuning.Tuner(vulkan, lines.append, timer=fake({"": 100.0}), clock=lambda: 0.0)
    tuner.measure(gemm(), 10.0)
    assert any("more than the time left" in line for line in lines)


def test_an_interruption_keeps_measured_choices(vulkan, monkeypatch):
    if not vulkan.target.is_cpu:
        pytest.skip("the sizes are those of CPUs' drivers")

    def timer(variant, commands):
        if tuned_file.load(vulkan.file_name).choices:
            raise KeyboardInterrupt
        return 1e-3

    monkeypatch.setattr(tuning.Tuner.__init__, "__kwdefaults__", {"timer": timer, "clock": lambda: 0.0})
    result = CliRunner().invoke(app, ["tune", "--quick", "--families", "product", "--device", str(vulkan.index)])
    assert result.exit_code == 130
    assert "kept the choices made so far: 1" in result.stderr
    assert len(tuned_file.load(vulkan.file_name).choices) == 1


# --- The file ---------------------------------------------------------------------------------------------------------

ONE = TunedChoice("product", "some", "SharedProduct rows=64", 0.5, "by rule", 1.0)


def damaged(path):
    path.write_bytes(path.read_bytes()[:-3])


def older(path):
    cache.write(path, as_json(Tuned((ONE,)), "device").replace(b'"format": 1', b'"format": 0'))


def foreign(path):
    cache.write(path, as_json(Tuned((ONE,)), "another"))


@pytest.mark.parametrize("spoil", [damaged, older, foreign])
def test_an_unusable_file_is_reported_once_and_replaced(spoil):
    tuned_file.keep("device", ONE)
    assert tuned_file.load("device").choices == (ONE,)
    spoil(tuned_file.path("device"))
    with pytest.warns(UserWarning, match=r"device\.json is not used, .*; `dml tune` measures again"):
        assert tuned_file.load("device") == NOTHING_TUNED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tuned_file.load("device") == NOTHING_TUNED
        tuned_file.keep("device", ONE)
        assert tuned_file.load("device").choices == (ONE,)


def test_the_variable_turns_tables_off(monkeypatch):
    tuned_file.keep("device", ONE)
    assert tuned_file.used("device")
    for value, is_used in (("1", False), ("0", True), ("", True)):
        monkeypatch.setenv("DML_DISABLE_TUNING", value)
        assert bool(tuned_file.used("device")) == is_used


def numbered(which):
    return TunedChoice("product", f"work {which}", "variant", 1.0, "rule", 1.0)


def test_threads_that_tune_at_once_lose_nothing():
    def keep(first):
        for which in range(first, first + 8):
            tuned_file.keep("device", numbered(which))

    threads = [threading.Thread(target=keep, args=(8 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tuned_file.load("device").choices == tuple(sorted(map(numbered, range(32)), key=lambda one: one.work))


def test_processes_that_tune_at_once_damage_nothing():
    program = (
        "import sys; from dml.runtime import tuned_file; from dml.compiler.tuned import TunedChoice\n"
        "for n in range(20): tuned_file.keep('device', TunedChoice('f', f'{sys.argv[1]} {n}', 'v', 1.0, 'r', 1.0))"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    running = [subprocess.Popen([*command, str(n)], stderr=subprocess.PIPE) for n in range(3)]
    for process in running:
        assert process.communicate()[1] == b""
        assert process.returncode == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = {choice.work for choice in tuned_file.load("device").choices}
    # a process continues only after its own choice is in the file, so at least the last ones are
    assert len(kept) >= 20
    assert not list(tuned_file.path("device").parent.glob("*.tmp"))


# --- The command ------------------------------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, ["tune", *arguments])


def test_show_and_clear(vulkan):
    which = ["--device", str(vulkan.index)]
    assert "nothing was measured; rules decide" in run("--show", *which).output
    tuned_file.keep(vulkan.file_name, ONE)
    assert "SharedProduct rows=64" in run("--show", *which).output
    shown = json.loads(run("--show", "--json", *which).stdout)
    assert shown["choices"] == [ONE.__dict__]
    assert (shown["device"], shown["driver"]) == (vulkan.name, vulkan.driver)
    assert cache.usage()["tuned"].entries == 1
    assert "forgotten" in run("--clear", *which).output
    assert "nothing was measured" in run("--clear", *which).output
    assert cache.usage()["tuned"].entries == 0


def test_a_family_that_there_is_not():
    result = run("--families", "product,cooking")
    assert result.exit_code == 1
    assert "there is no family 'cooking'; there are product, few rows, " in result.stderr


def test_an_unwritable_cache_is_reported_before_measuring(vulkan, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("dml.tuning.tuner.Tuner.tune", lambda *_, **__: pytest.fail("it measured"))
    result = run("--quick", "--device", str(vulkan.index))
    assert result.exit_code == 1
    assert f"{tuned_file.path(vulkan.file_name)}: cannot be written: " in result.stderr


def test_devices_say_that_they_are_tuned(vulkan):
    tuned_file.keep(vulkan.file_name, ONE)
    list_devices.cache_clear()
    try:
        device = list_devices()[vulkan.index]
        assert device.target.tuned.choices == (ONE,)
        assert dict(device.properties())["tuned"] == "1 choices of kernels"
        assert dict(vulkan.properties())["tuned"] == "no"
        # the table does not apply to another kind of device or other limits
        assert device.seen_as(max_workgroup_invocations=128).target.tuned == NOTHING_TUNED
        assert device.seen_as().target.tuned.choices == (ONE,)
    finally:
        list_devices.cache_clear()


def test_a_tuned_device_shares_its_memory_with_others(vulkan):
    tuner = tuning.Tuner(vulkan, print)
    assert tuner.device(Tuned((ONE,))).context is tuner.device(NOTHING_TUNED).context
