"""Speech models in dml.frontends.genai, compared with NumPy: encoder, decoder, and features of WAV files."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
import dml.frontends.genai as og
from dml.cli import app
from example_module import example
from speech_folder import CONTEXT, FRAMES, MELS, SpeechWeights, expected_tokens, tone, wav, write_speech_folder

PROMPT = [1, 40, 41, 42]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SpeechWeights]:
    folder = tmp_path_factory.mktemp("speech")
    return folder, write_speech_folder(folder)


@pytest.fixture(scope="module")
def model(weights: tuple[Path, SpeechWeights], device: dml.Device) -> og.Model:
    return og.Model(weights[0], device=device)


def features(rows: int) -> np.ndarray:
    return np.random.default_rng(rows).uniform(-1, 1, (rows, MELS, FRAMES)).astype(np.float32)


def generator(model: Any, api: Any = og, **options: Any) -> Any:
    params = api.GeneratorParams(model)
    params.set_search_options(**{"max_length": 20, **options})
    return api.Generator(model, params)


def sequences(generation: Any, count: int) -> list[list[int]]:
    while not generation.is_done():
        generation.generate_next_token()
    return [[int(one) for one in generation.get_sequence(index)] for index in range(count)]


def test_tokens_equal_a_search_without_a_cache(model: og.Model, weights: tuple[Path, SpeechWeights]) -> None:
    heard = features(1)
    generation = generator(model)
    generation.set_inputs({"audio_features": heard, "input_ids": np.array([PROMPT], np.int32)})
    assert sequences(generation, 1) == [expected_tokens(weights[1], heard[0], PROMPT, 20)]
    assert model.type == "whisper"
    assert all(isinstance(one, dml.DeviceArray) for name, one in generation._extra.items() if "cross" in name)


def test_each_row_of_a_batch_has_its_own_sound(model: og.Model, weights: tuple[Path, SpeechWeights]) -> None:
    heard = features(2)
    generation = generator(model, batch_size=2)
    generation.set_inputs({"audio_features": heard})
    generation.append_tokens([PROMPT, PROMPT])
    for found, own in zip(sequences(generation, 2), heard, strict=True):
        alone = expected_tokens(weights[1], own, PROMPT, 20)
        assert found[: len(alone)] == alone


def test_beam_search_for_one_token_returns_the_likeliest(model: og.Model, weights: tuple[Path, SpeechWeights]) -> None:
    """For a single new token, beam search returns the likeliest token."""
    heard = features(2)
    generation = generator(model, batch_size=2, num_beams=3, max_length=len(PROMPT) + 1, min_length=CONTEXT - 1)
    generation.set_inputs({"audio_features": heard, "input_ids": np.array([PROMPT] * 2, np.int32)})
    found = sequences(generation, 2)
    assert found == [expected_tokens(weights[1], own, PROMPT, len(PROMPT) + 1) for own in heard]


def test_features_are_those_of_a_spectrogram_written_out(model: og.Model) -> None:
    """The float64 reference multiplies each frame by a Fourier matrix, and the spectrum by a triangular filter per mel
    band."""
    sound = tone(0.43, channels=2)
    audios = og.Audios.open_bytes(wav(sound))
    found = model.create_multimodal_processor()("a", audios=audios)["audio_features"].as_numpy()
    samples = np.pad((np.round(sound * 32767) / 32768).mean(1).astype(np.float32).astype(np.float64), 200)
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(201), np.arange(400)) / 400)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    count = (len(samples) - 400) // 160
    power = [np.abs(matrix @ (window * samples[160 * index : 160 * index + 400])) ** 2 for index in range(count)]

    def hertz(mel: float) -> float:
        return mel * 200 / 3 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27)

    top = 15 + 27 * np.log(8) / np.log(6.4)
    edges = [hertz(top * index / (MELS + 1)) for index in range(MELS + 2)]
    logs = np.full((MELS, FRAMES), -10.0)
    for mel in range(MELS):
        low, middle, high = edges[mel : mel + 3]
        heights = np.array([
            max(0.0, min((f - low) / (middle - low), (high - f) / (high - middle))) for f in np.arange(201) * 40.0
        ])  # fmt: skip
        for index, one in enumerate(power):
            logs[mel, index] = np.log10(max(1e-10, (heights * 2 / (high - low)) @ one))
    expected = (np.maximum(logs, logs.max() - 8) + 4) / 4
    assert found.shape == (1, MELS, FRAMES)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-6)  # float32 has 7 digits


@pytest.mark.parametrize("width", [1, 2, 4])
def test_wav_files_of_each_width_are_read(tmp_path: Path, width: int) -> None:
    sound = tone(0.1)
    (tmp_path / "a.wav").write_bytes(wav(sound, width=width))
    (found,) = og.Audios.open(tmp_path / "a.wav").sounds
    np.testing.assert_allclose(found, sound[:, 0], rtol=0, atol=1.5 / 2 ** (8 * min(width, 3) - 1))


def test_a_whole_transcription(model: og.Model, tmp_path: Path) -> None:
    """The program of onnxruntime-genai's whisper example; audio beyond the model's length is cut."""
    for name, seconds in (("a.wav", 0.5), ("b.wav", 30.5)):
        (tmp_path / name).write_bytes(wav(tone(seconds)))
    processor = model.create_multimodal_processor()
    inputs = processor(["<s>What", "<s>What"], audios=og.Audios.open(tmp_path / "a.wav", tmp_path / "b.wav"))
    generation = generator(model, batch_size=2, num_beams=2, num_return_sequences=2)
    generation.set_inputs(inputs)
    assert all(isinstance(processor.decode(found), str) for found in sequences(generation, 4))
    stream = processor.create_stream()
    assert isinstance(stream.decode(40), str)


@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "num_return_sequences": 2}, {"batch_size": 2},
                                     {"batch_size": 2, "num_beams": 2}])  # fmt: skip
def test_speech_is_onnxruntime_genais(
    model: og.Model, weights: tuple[Path, SpeechWeights], tmp_path: Path, options: dict[str, Any]
) -> None:
    theirs = pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed: tools/setup --zoo")
    rows = options.get("batch_size", 1)
    files = [str(tmp_path / name) for name in ("a.wav", "b.wav")[:rows]]
    for path, seconds in zip(files, (0.7, 0.9), strict=False):
        Path(path).write_bytes(wav(tone(seconds)))
    found = []
    for api, opened in ((og, model), (theirs, theirs.Model(str(weights[0])))):
        inputs = opened.create_multimodal_processor()(["<s>What"] * rows, audios=api.Audios.open(*files))
        heard = np.array(inputs["audio_features"].as_numpy())  # onnxruntime-genai's set_inputs removes it
        generation = generator(opened, api, **options)
        generation.set_inputs(inputs)
        found.append((heard, sequences(generation, rows * options.get("num_return_sequences", 1))))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-4)  # onnxruntime-genai sums in float32
    assert found[0][1] == found[1][1]


def test_generate_hears_a_file(weights: tuple[Path, SpeechWeights], tmp_path: Path, device: dml.Device) -> None:
    (tmp_path / "a.wav").write_bytes(wav(tone(0.5)))
    command = ["generate", str(weights[0]), "--device", str(device.vulkan.index), "--tokens", "6"]
    given = ["--audio", str(tmp_path / "a.wav"), "--prompt", "<s>What"]
    result = CliRunner().invoke(app, [*command, *given])
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()
    assert "2 prompt tokens" in result.stderr
    result = CliRunner().invoke(app, [*command, "--prompt", "What"])
    assert result.exit_code == 1
    assert "call set_inputs with audio_features first" in result.stderr
    result = CliRunner().invoke(app, [*command, "--chat", *given[:2]])
    assert (result.exit_code, "--chat and --audio exclude each other" in result.stderr) == (2, True)


def test_unusable_audio(model: og.Model, weights: tuple[Path, SpeechWeights], tmp_path: Path,
                              device: dml.Device) -> None:  # fmt: skip
    generation = generator(model)
    with pytest.raises(dml.DMLError, match="append_tokens: call set_inputs with audio_features first"):
        generation.append_tokens(PROMPT)
    with pytest.raises(dml.DMLError, match=r"must have batch_size = 1 rows, found shape \(2, 8, 3000\)"):
        generation.set_inputs({"audio_features": features(2)})
    with pytest.raises(dml.DMLError, match=r"floats of shape \(batch, mels, frames\), found int64 of shape \(1, 2\)"):
        generation.set_inputs({"audio_features": np.array([[1, 2]])})
    with pytest.raises(dml.DMLError, match="audio_features"):
        generation.set_inputs({"audio_features": features(1)[:, :, 1:]})
    processor = model.create_multimodal_processor()
    with pytest.raises(dml.DMLError, match="a prompt for each sound is needed, found 2 and 1"):
        processor(["a", "b"], audios=og.Audios.open_bytes(wav(tone(0.1))))
    with pytest.raises(dml.DMLError, match="images are not supported"):
        processor("a", images=[])
    with pytest.raises(dml.DMLError, match="found 8000 of 16"):
        og.Audios.open_bytes(wav(tone(0.1), rate=8000))
    with pytest.raises(dml.DMLError, match="number 0: not a WAV file of integer samples"):
        og.Audios.open_bytes(b"fLaC and so on")
    with pytest.raises(dml.DMLError, match=r"none\.wav: No such file"):
        og.Audios.open(tmp_path / "none.wav")
    example("chat").write_folder(tmp_path)
    with pytest.raises(dml.DMLError, match="model type 'llama' takes text alone"):
        og.Model(tmp_path, device=device).create_multimodal_processor()
    for change, message in [
        ({"encoder": {"inputs": {"audio_features": "sound"}}}, "has no input 'sound'; it has audio_features"),
        ({"decoder": {"inputs": {"cross_past_key_names": "a%d", "cross_past_value_names": "b%d"}}},
         "is an input of the decoder"),
        ({"vision": {"filename": "vision.onnx"}}, "has vision; supported are decoders"),
    ]:  # fmt: skip
        config = og.Config(weights[0])
        config.overlay(json.dumps({"model": change}))
        with pytest.raises(dml.DMLError, match=message):
            og.Model(config, device=device)


@pytest.mark.parametrize("name, value, message", [
    ("n_fft", 2**40, "n_fft must be an integer from 1 to 65536"),
    ("hop_length", 10**400, "hop_length must be an integer from 1 to 65536"),
    ("hop_length", 1, "frames of 400 samples are more than"),
    ("chunk_size", 2**40, "chunk_size must be an integer from 1 to 4096"),
    ("n_mel", 0, "n_mel must be an integer from 1 to 4096, found 0"),
    ("attrs", 5, "must be a list of operations"),
])  # fmt: skip
def test_feature_parameters_that_cannot_be(
    weights: tuple[Path, SpeechWeights], tmp_path: Path, device: dml.Device, name: str, value: Any, message: str
) -> None:
    shutil.copytree(weights[0], tmp_path, dirs_exist_ok=True)
    path = tmp_path / "audio_processor_config.json"
    values = json.loads(path.read_text())
    for item in values["feature_extraction"]["sequence"]:
        if name == "attrs":
            item["operation"]["attrs"] = value
        elif name in item["operation"].get("attrs", {}):
            item["operation"]["attrs"][name] = value
    path.write_text(json.dumps(values))
    with pytest.raises(dml.DMLError, match=message):
        og.Model(tmp_path, device=device).create_multimodal_processor()


@pytest.mark.parametrize("byte", range(44))
def test_a_changed_wav_header(byte: int) -> None:
    """Each changed byte gives sounds or a DMLError."""
    for value in (0, 1, 127, 255):
        data = bytearray(wav(tone(0.01)))
        data[byte] = value
        with contextlib.suppress(dml.DMLError):
            og.Audios.open_bytes(bytes(data))


@pytest.mark.parametrize("missing", [1, 2])
def test_a_truncated_wav_file_is_refused_or_read(tmp_path: Path, missing: int) -> None:
    """A file that ends in the middle of a sample raises DMLError; one that ends between samples is read to its end."""
    (tmp_path / "a.wav").write_bytes(wav(tone(0.1))[:-missing])
    if missing % 2:
        with pytest.raises(dml.DMLError, match="ends in the middle of a sample"):
            og.Audios.open(tmp_path / "a.wav")
    else:
        (found,) = og.Audios.open(tmp_path / "a.wav").sounds
        assert found.size == tone(0.1).shape[0] - 1
