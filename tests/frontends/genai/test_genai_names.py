"""Every name of onnxruntime-genai exists or is refused with a reason; older programs run, too."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dml
import dml.frontends.genai as og
from dml.frontends.genai.refused import REFUSED
from speech_folder import FRAMES, MELS, write_speech_folder

PROMPT = [3, 14, 15, 92, 65]
PAGE = Path(__file__).parents[3] / "tools" / "documentation" / "guide" / "genai.md"
#: Special methods that programs may call.
SPECIAL = {"__call__", "__contains__", "__delitem__", "__getitem__", "__len__", "__setitem__"}


@pytest.fixture(scope="module")
def model(folder: Path, device: dml.Device) -> og.Model:
    return og.Model(folder, device=device)


def members(kind: Any) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_") or name in SPECIAL]


def test_every_name_of_the_package_is_here_or_refused() -> None:
    theirs = pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed: tools/setup --zoo")
    lacking = []
    for name in dir(theirs):
        # (another test may have imported modules of the package, as `models`)
        if name.startswith("_") or isinstance(getattr(theirs, name), ModuleType):
            continue
        ours = getattr(og, name, None)
        if ours is None:
            lacking.append(name)
        elif isinstance(ours, type):
            kind = getattr(theirs, name)
            lacking += [f"{name}.{one}" for one in members(kind) if not hasattr(ours, one)]
    assert not lacking


def test_a_name_is_refused_or_here() -> None:
    """No name both exists and is refused. Using a refused name raises an error with the reason."""
    for name, why in REFUSED.items():
        owner, _, member = name.partition(".")
        if not member:
            assert owner not in og.__all__
            for use in (lambda one: one(), lambda one: one.open()):
                with pytest.raises(dml.DMLError, match=re.escape(f"{name}: {why}")):
                    use(getattr(og, owner))
        else:
            with pytest.raises(dml.DMLError, match=re.escape(f"{name}: {why}")):
                getattr(getattr(og, owner), member)()
    with pytest.raises(AttributeError, match="nonsense"):
        og.nonsense  # noqa: B018
    assert not hasattr(og.Engine, "__wrapped__")


def test_the_page_lists_refused_names() -> None:
    """The page lists exactly the refused names, with their reasons."""
    text = PAGE.read_text(encoding="utf-8")
    listed: dict[str, str] = {}
    for names, why in re.findall(r"^\| (`.*?`) \| (.*?) \|$", text, re.M):
        listed |= dict.fromkeys(re.findall(r"`([\w.]+)`", names), why)
    assert listed == dict(REFUSED)


def test_a_refused_method_of_an_instance(model: og.Model) -> None:
    generator = og.Generator(model, og.GeneratorParams(model))
    with pytest.raises(dml.DMLError, match=r"Generator\.set_active_adapter: LoRA adapters are not supported"):
        generator.set_active_adapter(object(), "travel")  # type: ignore[attr-defined]
    with pytest.raises(dml.DMLError, match=r"GeneratorParams\.set_guidance: guided generation"):
        og.GeneratorParams(model).set_guidance("regex", "a*")  # type: ignore[attr-defined]


def written(model: og.Model, prompt: Any = PROMPT, **options: Any) -> list[list[int]]:
    params = og.GeneratorParams(model)
    params.set_search_options(**{"max_length": 16, **options})
    generator = og.Generator(model, params)
    generator.append_tokens(prompt)
    while not generator.is_done():
        generator.generate_next_token()
    return [list(one) for one in generator.sequences()]


def test_programs_from_before_0_6(model: og.Model) -> None:
    """The parameters hold the prompt, and a separate call computes logits."""
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=16)
    params.try_graph_capture_with_max_batch_size(1)
    params.input_ids = np.array(PROMPT)
    generator = og.Generator(model, params)
    while not generator.is_done():
        generator.compute_logits()
        generator.generate_next_token()
    assert [list(generator.get_sequence(0))] == written(model)
    assert [list(one) for one in model.generate(params)] == written(model)
    params.input_ids = np.array([PROMPT, PROMPT[::-1]])
    both = [list(one) for one in model.generate(params)]
    assert both == written(model, [PROMPT, PROMPT[::-1]], batch_size=2)
    given = og.GeneratorParams(model)
    given.set_search_options(max_length=16)
    inputs = og.NamedTensors()
    inputs["input_ids"] = np.array([PROMPT])
    given.set_inputs(inputs)
    assert [list(one) for one in model.generate(given)] == written(model)
    assert (params.pad_token_id, params.eos_token_id) == (0, 2)
    assert params.vocab_size == model.decoder.vocabulary
    with pytest.raises(dml.DMLError, match="compute_logits: call append_tokens first"):
        og.Generator(model, og.GeneratorParams(model)).compute_logits()


def test_features_of_sounds_are_refused_by_a_model_of_text(model: og.Model) -> None:
    params = og.GeneratorParams(model)
    params.input_ids = np.array([PROMPT])
    params.whisper_input_features = np.zeros((1, 4, 8), np.float32)
    with pytest.raises(dml.DMLError, match="whisper_input_features: the model has no encoder"):
        model.generate(params)


def test_named_tensors_hold_tensors_however_they_come() -> None:
    made = og.NamedTensors({"a": np.ones(2)}, b=[1, 2])
    made.update(c=np.zeros(3))
    made.setdefault("d", np.ones((1, 2)))
    made |= {"e": 1.0}
    for held in (made, made | {"a": [3]}, made.copy()):
        assert {type(value) for value in held.values()} == {og.Tensor}
    assert made["d"].shape() == [1, 2]
    assert list(made) == ["a", "b", "c", "d", "e"]
    with pytest.raises(dml.DMLError, match="Tensor: takes an array"):
        og.NamedTensors(a=[[1], [2, 3]])


def test_speech_before_0_6(tmp_path: Path, device: dml.Device) -> None:
    write_speech_folder(tmp_path)
    model = og.Model(tmp_path, device=device)
    heard = np.random.default_rng(0).uniform(-1, 1, (1, MELS, FRAMES)).astype(np.float32)
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=12)
    params.whisper_input_features = heard
    params.input_ids = np.array([[1, 40, 41]])
    found = model.generate(params)
    now = og.GeneratorParams(model)
    now.set_search_options(max_length=12)
    now.set_inputs({"audio_features": heard})
    now.set_model_input("input_ids", np.array([[1, 40, 41]]))
    np.testing.assert_array_equal(found, model.generate(now))


def test_a_model_from_bytes(folder: Path, device: dml.Device, tmp_path: Path, model: og.Model) -> None:
    for path in folder.iterdir():
        if path.suffix != ".onnx":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    config = og.Config(tmp_path)
    with pytest.raises(dml.DMLError, match=r"model\.onnx: no such file"):
        og.Model(config, device=device)
    config.add_model_data("model.onnx", (folder / "model.onnx").read_bytes())
    assert written(og.Model(config, device=device)) == written(model)
    config.remove_model_data("model.onnx")
    with pytest.raises(dml.DMLError, match=r"model\.onnx: no such file"):
        og.Model(config, device=device)


def test_the_current_device(folder: Path, device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(og.current_device, "_chosen", [])
    assert og.get_current_gpu_device_id() == 0
    og.set_current_gpu_device_id(device.vulkan.index)
    assert og.get_current_gpu_device_id() == device.vulkan.index
    assert og.Model(folder).device.vulkan.index == device.vulkan.index
    og.set_current_gpu_device_id(999)
    with pytest.raises(dml.DMLError, match="999"):
        og.Model(folder)
    assert og.Model(folder, device=device).device is device


def test_a_tokenizer_without_a_model(folder: Path, model: og.Model) -> None:
    expected = list(og.Tokenizer(model).encode("What is a fox?"))
    assert list(og.Tokenizer(folder).encode("What is a fox?")) == expected
    config = og.Config(folder)
    config.overlay('{"model": {"type": "qwen3", "bot_token_id": 5}}')
    tokenizer = og.Tokenizer(config)
    assert (tokenizer.bot_token_id, tokenizer.eot_token_id) == (5, 151658)
    assert (tokenizer.bor_token_id, tokenizer.eor_token_id) == (151667, 151668)
    with pytest.raises(dml.DMLError, match=r"there is no model\.bor_token_id"):
        _ = og.Tokenizer(folder).bor_token_id


def test_named_tensors_hold_tensors() -> None:
    made = og.NamedTensors()
    made["a"] = np.zeros((2, 3))
    made["b"] = og.Tensor(np.ones(2))
    assert made["a"].shape() == [2, 3]
    assert made["b"].as_numpy().sum() == 2
    assert ("a" in made, len(made), list(made.keys())) == (True, 2, ["a", "b"])
    del made["a"]
    assert len(made) == 1


def test_names_that_change_nothing() -> None:
    og.register_execution_provider_library("DML", "provider.so")
    og.unregister_execution_provider_library("DML")
    og.enable_telemetry_events()
    og.disable_telemetry_events()
    og.set_log_options(enabled=True)
    og.set_log_callback(None)
    assert og.is_dml_available()
    assert not og.is_cuda_available()
    assert not og.is_rocm_available()
