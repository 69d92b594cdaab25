"""Initial values of DxDispatch's resources, in each of their forms."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import dml
from dml.frontends.dxdispatch import Session, load


def resources(tmp_path, text, **options):
    path = tmp_path / "model.json"
    path.write_text(f'{{"resources": {text}, "dispatchables": {{}}, "commands": []}}')
    return load(path, **options).resources


def one(tmp_path, value, **options):
    text = value if isinstance(value, str) else json.dumps(value)
    return resources(tmp_path, f'{{"A": {text}}}', **options)["A"]


def contents(resource):
    """Return the bytes that the resource's buffer begins with."""
    data = bytes(resource.start) + resource.values().tobytes()
    assert len(data) == resource.used
    return data.ljust(resource.size, b"\0")


def test_an_array_with_comments_and_trailing_commas(tmp_path):
    found = one(
        tmp_path,
        """{ // "not": "a member"
            "initialValuesDataType": "FLOAT32", /* two
            lines */ "initialValues": [1, -2.5, "nan", "INF", "-inf", ],
        }""",
    )
    np.testing.assert_array_equal(np.frombuffer(contents(found), np.float32), [1, -2.5, np.nan, np.inf, -np.inf])


def test_comment_marks_and_commas_in_strings_stay(tmp_path):
    found = resources(tmp_path, '{"a // b /* c */ ,]": {"initialValuesDataType": "UINT8", "initialValues": [1]}}')
    assert list(found) == ["a // b /* c */ ,]"]


def test_text_after_the_root_is_ignored(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"resources": {}, "dispatchables": {}, "commands": []} whatever {')
    assert load(path).resources == {}


@pytest.mark.parametrize("name", ["INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"])
def test_integers_of_every_type_up_to_their_ends(tmp_path, name):
    dtype = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"])
    ends = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    found = one(tmp_path, {"initialValuesDataType": f"DML_TENSOR_DATA_TYPE_{name}", "initialValues": ends})
    assert np.frombuffer(contents(found)[: found.used], dtype).tolist() == ends
    assert found.size % 4 == 0
    with pytest.raises(dml.DMLError, match=r"resources\.A\.initialValues\[0\]: must be from"):
        one(tmp_path, {"initialValuesDataType": name, "initialValues": [ends[1] + 1]})


@pytest.mark.parametrize("name,dtype", [("FLOAT16", "<f2"), ("FLOAT64", "<f8"), ("INT16", "<i2")])
def test_a_repeated_value(tmp_path, name, dtype):
    found = one(tmp_path, {"initialValuesDataType": name, "initialValues": {"valueCount": 5, "value": -3}})
    assert np.frombuffer(contents(found)[: found.used], dtype).tolist() == [-3] * 5


def test_a_sequence_adds_in_its_own_type(tmp_path):
    values = {"valueCount": 4, "valueStart": 1, "valueDelta": 2.5}
    found = one(tmp_path, {"initialValuesDataType": "FLOAT32", "initialValues": values})
    assert np.frombuffer(contents(found), np.float32).tolist() == [1, 3.5, 6, 8.5]
    values = {"valueCount": 3, "valueStart": 250, "valueDelta": 4}
    found = one(tmp_path, {"initialValuesDataType": "UINT8", "initialValues": values})
    assert list(contents(found)[:3]) == [250, 254, 2]


@pytest.mark.parametrize("values", [
    {"initialValues": {"valueCount": 1 << 30, "value": 1}},
    {"initialValues": {"valueCount": 1 << 30, "valueStart": 1, "valueDelta": 1}},
    {"initialValues": [1], "sizeInBytes": 1 << 32},
    {"initialValues": [1], "initialValuesOffsetInBytes": (1 << 32) - 4},
])  # fmt: skip
def test_large_resources_take_no_host_memory(tmp_path, values):
    tracemalloc.start()
    try:
        found = one(tmp_path, {"initialValuesDataType": "FLOAT32", **values})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.size == 1 << 32
    assert peak < 1 << 20


def test_a_resource_larger_than_the_device_allows(tmp_path, device):
    path = tmp_path / "model.json"
    value = {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 1 << 30, "value": 1}}
    path.write_text(json.dumps({"resources": {"A": value}, "dispatchables": {}, "commands": []}))
    if device.vulkan.max_allocation >= 1 << 32:
        pytest.skip("the device allows it")
    with pytest.raises(dml.DMLError, match=r"a buffer of 4294967296 bytes is above the limit") as caught:
        Session(load(path), device)
    assert caught.value.hresult == dml.HRESULT.E_OUTOFMEMORY


def test_a_list_of_several_types(tmp_path):
    values = [
        {"name": "count", "type": "UINT32", "value": 6},
        {"type": "FLOAT32", "value": 2.5},
        {"type": "INT8", "value": -1},
    ]
    found = one(tmp_path, {"initialValuesDataType": "UNKNOWN", "initialValues": values, "sizeInBytes": 256})
    assert contents(found)[:9] == np.uint32(6).tobytes() + np.float32(2.5).tobytes() + b"\xff"
    assert found.size == 256
    assert found.element_size == 0


def test_values_at_an_offset_in_a_larger_buffer(tmp_path):
    value = {"initialValuesDataType": "UINT8", "initialValues": [7], "initialValuesOffsetInBytes": 2, "sizeInBytes": 6}
    found = one(tmp_path, value)
    assert contents(found) == bytes([0, 0, 7, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<u2", "|i1", "|b1", "<f2", "<i8"])
def test_npy_files(tmp_path, dtype):
    array = np.asfortranarray(np.arange(6).reshape(2, 3)).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    found = one(tmp_path, {"initialValues": {"sourcePath": "a.npy"}})
    native = array.astype(array.dtype.newbyteorder("="))
    assert contents(found)[: found.used] == np.ascontiguousarray(native).tobytes()
    assert found.data_type == dml.data_type_of(native.dtype)


def test_raw_files(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.dat").write_bytes(b"\x01\x02\x03")
    found = one(tmp_path, {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": "sub/a.dat"}})
    assert (contents(found), found.used) == (b"\x01\x02\x03\0", 3)


def test_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :, 1] = 255
    image.fromarray(pixels).save(tmp_path / "a.png")
    value = {"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "a.png"}, "resampleSize": [1, 3, 2, 3]}
    found = np.frombuffer(contents(one(tmp_path, value)), np.float32).reshape(1, 3, 2, 3)
    assert (found[0, 1] == 1).all()
    assert not found[0, [0, 2]].any()


def test_files_stay_in_the_models_folder(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    (folder / "link.npy").symlink_to(tmp_path / "a.npy")
    for source in ("../a.npy", str(tmp_path / "a.npy"), "link.npy"):
        value = {"initialValues": {"sourcePath": source}}
        with pytest.raises(dml.DMLError, match=r"A\.initialValues\.sourcePath: .*leads out of the model's folder"):
            one(folder, value)
        assert one(folder, value, allow_paths_outside=True).used == 12


BAD = [
    ('{"initialValues": [1]}', r"A\.initialValues\[0\]: must be an object|A\.initialValues\[0\]"),
    ('{"initialValuesDataType": "FLOAT32"}', "A: needs a member 'initialValues'"),
    ('{"initialValuesDataType": "FLOAT", "initialValues": [1]}', "'FLOAT' is not a DML_TENSOR_DATA_TYPE; it has"),
    ('{"initialValuesDataType": 5, "initialValues": [1]}', "initialValuesDataType: must be a string"),
    ('{"initialValuesDataType": "FLOAT32", "initialValues": []}', "must not be empty"),
    ('{"initialValuesDataType": "UINT4", "initialValues": [1]}', "UINT4 cannot be written"),
    ('{"initialValuesDataType": "FLOAT32", "initialValues": [true]}', r"initialValues\[0\]: must be a number"),
    (
        '{"initialValuesDataType": "INT32", "initialValues": [1.0]}',
        r"must be an integer, found a number with a fraction",
    ),
    ('{"initialValuesDataType": "INT32", "initialValues": {"valueCount": 0, "value": 1}}', "must be larger than 0"),
    (
        '{"initialValuesDataType": "INT64", "initialValues": {"valueCount": 4294967295, "value": 1}}',
        "the largest buffer",
    ),
    ('{"initialValuesDataType": "INT32", "initialValues": {"valueCount": 1}}', "with one of 'value', 'valueStart'"),
    ('{"initialValuesDataType": "INT32", "initialValues": {"valueCount": 1, "value": 1, "valueStart": 0}}', "one of"),
    ('{"initialValues": {"valueCount": 1, "value": 1}}', "needs a data type"),
    ('{"initialValuesDataType": "INT32", "initialValues": {"sourcePath": "none.npy"}}', "cannot be read: No such file"),
    ('{"initialValues": {"sourcePath": "none.dat"}}', "needs a data type"),
    ('{"initialValues": {"sourcePath": "broken.npy"}}', "has a damaged .npy header"),
    ('{"initialValues": {"sourcePath": "short.npy"}}', "is cut off"),
    ('{"initialValues": {"sourcePath": "text.npy"}}', "no tensor data type for NumPy dtype"),
    ('{"initialValuesDataType": "INT32", "initialValues": {"sourcePath": "floats.npy"}}', "the file's data type is"),
    (
        '{"initialValuesDataType": "FLOAT32", "initialValues": {"sourcePath": "broken.png"}}',
        "image cannot be decoded",
    ),
    ('{"initialValuesDataType": "INT32", "initialValues": {"sourcePath": "broken.png"}}', "FLOAT32 or FLOAT16"),
    ('{"initialValuesDataType": "INT32", "initialValues": {"sourcePath": "a\\u0000b"}}', "is not a path"),
    ('{"initialValuesDataType": "INT32", "initialValues": [1], "sizeInBytes": 2}', "does not hold 4 bytes"),
    ('{"initialValuesDataType": "INT32", "initialValues": "later"}', "must be 'deferred', an array or an object"),
    ('{"initialValuesDataType": "INT32", "initialValues": 3}', "must be an object|must be an array"),
]


@pytest.mark.parametrize("text,message", BAD, ids=range(len(BAD)))
def test_wrong_values_name_their_place(tmp_path, text, message):
    pytest.importorskip("PIL.Image")
    for name in ("broken.npy", "broken.png"):
        (tmp_path / name).write_bytes(b"\x93NUMPY\x01\0\x05\0{'a'}")
    np.save(tmp_path / "floats.npy", np.ones(3, np.float32))
    np.save(tmp_path / "text.npy", np.array(["a"]))
    whole = (tmp_path / "floats.npy").read_bytes()
    (tmp_path / "short.npy").write_bytes(whole[:-4])
    with pytest.raises(dml.DMLError, match=message) as caught:
        one(tmp_path, text)
    assert "resources.A" in caught.value.message


@pytest.mark.parametrize(
    "text,message",
    [
        ("", "line 1, column 1"),
        ("{", "line 1, column 2"),
        ('{"a": 1, "a": 2}', "'a' is repeated"),
        ('{"a": NaN}', "JSON has no NaN"),
        ("[" * 100_000, "nests too deeply"),
        ('"\\ud800"', "not UTF-8"),
        ("[]", "must be an object, found an array"),
        ('{"resources": {}}', "needs a member 'dispatchables'"),
        ("1" * 5000, "not JSON|must be an object"),
        ("{/*", "line 1"),
    ],
)
def test_a_file_that_is_not_a_model(tmp_path, text, message):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(dml.DMLError, match=message):
        load(path)


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path):
    (tmp_path / "model.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(dml.DMLError, match="not UTF-8 text"):
        load(tmp_path / "model.json")
    with pytest.raises(dml.DMLError, match="No such file"):
        load(tmp_path / "none.json")
