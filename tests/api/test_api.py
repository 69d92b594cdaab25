"""The API's objects as a DirectML program uses them, and ``dispatch``."""

from __future__ import annotations

import gc
import uuid
import weakref

import numpy as np
import pytest

import dml
from harness import like, tensor

OWNED = dml.DML_TENSOR_FLAG_OWNED_BY_DML


def add_desc(shape: tuple[int, ...] = (2, 3), flags: int = 0) -> dml.OperatorDesc:
    t = tensor("FLOAT32", shape)
    b = tensor("FLOAT32", shape, Flags=flags)
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=b, OutputTensor=t)


def compiled_add(device: dml.Device, flags: int = 0):
    return device.compile_operator(device.create_operator(add_desc(flags=flags)))


def buffer_binding(buffer, offset=0, size=None):
    return dml.DML_BUFFER_BINDING(buffer, offset, buffer.size - offset if size is None else size)


def test_a_directml_program(device):
    """Compile, bind with offsets, record, execute, read back; then execute again with new data."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    compiled = compiled_add(device)
    properties = compiled.get_binding_properties()
    assert (properties.TemporaryResourceSize, properties.PersistentResourceSize) == (0, 0)
    resource = device.create_buffer(256)
    resource.write(a, offset=16)
    resource.write(10 * a, offset=64)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([buffer_binding(resource, 16, 24), buffer_binding(resource, 64, 24)])
    out = device.create_buffer(128)
    table.bind_outputs([dml.DML_BINDING_DESC(dml.DML_BINDING_TYPE_BUFFER, buffer_binding(out, 32, 24))])
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    commands.execute()
    np.testing.assert_array_equal(out.read(np.float32, 6, offset=32).reshape(2, 3), 11 * a)
    assert not out.read(np.uint8, 32).any(), "what lies before the binding stays as it was"
    assert not out.read(np.uint8, None, offset=56).any(), "and what lies behind it"
    resource.write(np.ones(6, np.float32), offset=16)
    commands.execute()
    np.testing.assert_array_equal(out.read(np.float32, 6, offset=32).reshape(2, 3), 10 * a + 1)


def test_dispatches_of_a_command_list_see_each_other(device):
    compiled = compiled_add(device)
    x, y = device.create_buffer(np.ones(6, np.float32)), device.create_buffer(24)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    for source, result in ((x, y), (y, x), (x, y)):
        table.reset(dml.DML_BINDING_TABLE_DESC(compiled))
        table.bind_inputs([buffer_binding(source), buffer_binding(source)])
        table.bind_outputs([buffer_binding(result)])
        recorder.record_dispatch(commands, compiled, table)
    commands.execute()
    np.testing.assert_array_equal(y.read(np.float32), np.full(6, 8, np.float32))


def test_owned_by_dml(device):
    """The initializer copies the tensor; afterwards its buffer may change."""
    compiled = compiled_add(device, OWNED)
    size = compiled.get_binding_properties().PersistentResourceSize
    assert size >= 24
    b = device.create_buffer(np.full(6, 5, np.float32))
    persistent = device.create_buffer(size)
    initializer = device.create_operator_initializer([compiled])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    table.bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([dml.DML_BUFFER_BINDING(None), buffer_binding(b)])])
    table.bind_outputs([buffer_binding(persistent)])
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    recorder.record_dispatch(commands, initializer, table)
    commands.execute()
    b.write(np.zeros(6, np.float32))

    a, out = device.create_buffer(np.arange(6, dtype=np.float32)), device.create_buffer(24)
    table.reset(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([buffer_binding(a), None])
    table.bind_persistent_resource(buffer_binding(persistent))
    table.bind_outputs([buffer_binding(out)])
    commands.reset()
    recorder.record_dispatch(commands, compiled, table)
    commands.execute()
    np.testing.assert_array_equal(out.read(np.float32), np.arange(6) + 5)


def test_owned_by_dml_the_short_way(device):
    compiled = compiled_add(device, OWNED)
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(dml.DMLError, match=r"BTensor: an array must be given"):
        compiled.dispatch({"ATensor": a})
    np.testing.assert_array_equal(compiled.dispatch({"ATensor": a, "BTensor": a})["OutputTensor"], 2 * a)
    np.testing.assert_array_equal(compiled.dispatch({"ATensor": a + 1})["OutputTensor"], 2 * a + 1)
    np.testing.assert_array_equal(compiled.dispatch({"ATensor": a, "BTensor": 3 * a})["OutputTensor"], 4 * a)


def test_owned_tensors_that_are_not_given_again_keep_their_values(device):
    builder = dml.graph.builder.Builder(device)
    x, a, b = (builder.input(name, (2, 3), owned_by_dml=name != "x") for name in "xab")
    compiled = builder.compile({"y": x + a * 2.0 + b})
    x, a, b = np.random.default_rng(0).integers(-9, 9, (3, 2, 3)).astype(np.float32)
    for given in ({"a": a, "b": b}, {}, {"a": -b}, {"b": a}, {}):
        a, b = given.get("a", a), given.get("b", b)
        np.testing.assert_array_equal(compiled.dispatch({"x": x, **given})["y"], x + 2 * a + b)


def test_wrapped_descriptions_are_accepted(device):
    wrapped = dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ELEMENT_WISE_ADD, add_desc())
    ones = np.ones((2, 3), np.float32)
    inputs = {"ATensor": ones, "BTensor": ones}
    compiled = device.compile_operator(device.create_operator(wrapped))
    for outputs in (compiled.dispatch(inputs), dml.dispatch(wrapped, inputs, device)):
        np.testing.assert_array_equal(outputs["OutputTensor"], 2 * ones)


def test_dispatch_does_not_change_its_inputs(device):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    kept = a.copy()
    result = dml.dispatch(add_desc(), {"ATensor": a, "BTensor": a[::-1]}, device)["OutputTensor"]
    np.testing.assert_array_equal(result, a + a[::-1])
    np.testing.assert_array_equal(a, kept)
    result[:] = 0
    np.testing.assert_array_equal(a, kept)


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({"ATensor": np.zeros((2, 3), np.float64)}, r"ATensor: its data type .*FLOAT32 takes .*, found float64"),
        ({"ATensor": np.zeros((3, 2), np.float32)}, r"ATensor: its sizes are \(2, 3\), found .* shape \(3, 2\)"),
        ({"CTensor": np.zeros((2, 3), np.float32)}, r"no input tensor 'CTensor'; it has ATensor, BTensor"),
        ({"ATensor": np.zeros((2, 3), np.float32)}, r"BTensor: an array must be given"),
    ],
)  # fmt: skip
def test_wrong_arrays(device, inputs, message):
    with pytest.raises(dml.DMLError, match=message):
        compiled_add(device).dispatch(inputs)


def table_of(device, compiled):
    return device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))


@pytest.mark.parametrize(
    "bind, message",
    [
        (lambda t, b: t.bind_inputs([buffer_binding(b, 8, 24)] * 2), r"Offset must be a multiple of 16, found 8"),
        (lambda t, b: t.bind_inputs([buffer_binding(b)]), r"takes 2 bindings, found 1"),
        (lambda t, b: t.bind_inputs([buffer_binding(b, 0, 20)] * 2), r"needs 24 bytes, the binding has 20"),
        (
            lambda t, b: t.bind_inputs([buffer_binding(b, 64, 512)] * 2),
            r"ends at byte 576, beyond the buffer's 128 bytes",
        ),
        (lambda t, b: t.bind_inputs([None, None]), r"ATensor: a buffer must be bound"),
        (lambda t, b: t.bind_temporary_resource(buffer_binding(b)), r"temporary resource: nothing may be bound"),
        (
            lambda t, b: t.bind_outputs(["x"]),
            r"takes a sequence of DML_BUFFER_BINDING, .* or None, found 'x' at index 0",
        ),
    ],
)
def test_wrong_bindings(device, bind, message):
    with pytest.raises(dml.DMLError, match=message):
        bind(table_of(device, compiled_add(device)), device.create_buffer(128))


def test_recording_without_bindings(device):
    compiled = compiled_add(device)
    with pytest.raises(dml.DMLError, match="must be bound before a dispatch"):
        device.create_command_recorder().record_dispatch(
            device.create_command_list(), compiled, table_of(device, compiled)
        )
    with pytest.raises(dml.DMLError, match="for another dispatchable"):
        device.create_command_recorder().record_dispatch(
            device.create_command_list(), compiled_add(device), table_of(device, compiled)
        )


def test_names_and_private_data(device):
    compiled = compiled_add(device)
    compiled.set_name("sum")
    guid = uuid.UUID(int=7)
    compiled.set_private_data(guid, b"mine")
    assert (compiled.get_name(), compiled.get_private_data(guid)) == ("sum", b"mine")
    assert compiled.get_device() is device
    compiled.set_private_data(guid, None)
    with pytest.raises(dml.DMLError, match="no private data"):
        compiled.get_private_data(guid)


def test_features(device):
    query = dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(dml.DML_TENSOR_DATA_TYPE_FLOAT16)
    assert device.check_feature_support(dml.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query).IsSupported
    levels = dml.DML_FEATURE_QUERY_FEATURE_LEVELS([dml.DML_FEATURE_LEVEL_2_0, dml.DML_FEATURE_LEVEL_5_0])
    found = device.check_feature_support(dml.DML_FEATURE_FEATURE_LEVELS, levels)
    assert found.MaxSupportedFeatureLevel == dml.DML_FEATURE_LEVEL_5_0
    assert device.get_device_removed_reason() == dml.HRESULT.S_OK


def test_an_older_runtime(device):
    """A device of feature level 2_0 refuses later operators."""
    old = dml.create_device(device.vulkan.index, feature_level=dml.DML_FEATURE_LEVEL_2_0)
    t = tensor("FLOAT32", (2, 2))
    desc = dml.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC(InputTensor=t, OutputTensor=t)
    with pytest.raises(dml.DMLError, match="ELEMENT_WISE_NEGATE"):
        old.create_operator(desc)
    with pytest.raises(dml.DMLError, match="minimum_feature_level") as error:
        dml.create_device(feature_level=dml.DML_FEATURE_LEVEL_2_0, minimum_feature_level=dml.DML_FEATURE_LEVEL_3_0)
    assert error.value.hresult == dml.HRESULT.DXGI_ERROR_UNSUPPORTED


def test_choosing_a_device(vulkan, monkeypatch):
    chosen = dml.create_device(vulkan.name[:6].upper())
    assert chosen.vulkan.name[:6] == vulkan.name[:6]
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(vulkan.index))
    assert dml.create_device().vulkan == vulkan
    for wanted in (99, "no such GPU"):
        with pytest.raises(dml.DMLError, match=r"no Vulkan device .* this machine has device 0: ") as error:
            dml.create_device(wanted)
        assert error.value.hresult == dml.HRESULT.DXGI_ERROR_UNSUPPORTED


def test_a_buffer_above_the_limit(device):
    limit = device.vulkan.max_allocation
    with pytest.raises(dml.DMLError, match=f"above the limit of .* on {device.vulkan.name[:4]}") as error:
        device.create_buffer(limit + 16)
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY


def test_transfers_beyond_a_buffer_are_refused(device):
    buffer = device.create_buffer(16)
    with pytest.raises(dml.DMLError, match=r"Buffer: bytes . to 20 are not within its 16 bytes"):
        buffer.write(np.zeros(5, np.float32))
    with pytest.raises(dml.DMLError, match=r"Buffer: bytes . to 20 are not within its 16 bytes"):
        buffer.read(np.float32, 4, offset=4)


def test_sizes_of_buffers(device):
    """create_buffer takes integers of every type as sizes, and arrays as data, even arrays without dimensions."""
    for size in (24, np.int64(24), np.uint8(24), np.int32(24)):
        buffer = device.create_buffer(size)
        assert buffer.size == 24
        assert not buffer.read().any()
    for array in (np.array(24), np.array(24, np.int64), np.array(2.5)):
        np.testing.assert_array_equal(device.create_buffer(array).read(array.dtype), array.reshape(1))
    for wrong in (
        0,
        -1,
        -(2**70),
        np.int64(0),
        np.int8(-4),
        True,
        False,
        np.True_,
        2.0,
        np.float32(8),
        1j,
        np.zeros(0),
    ):
        with pytest.raises(dml.DMLError, match=r"Device\.create_buffer: "):
            device.create_buffer(wrong)
    with pytest.raises(dml.DMLError, match="above the limit"):
        device.create_buffer(2**70)


def test_a_binding_without_a_size_is_the_rest_of_the_buffer(device):
    buffer = device.create_buffer(64)
    assert dml.DML_BUFFER_BINDING(buffer).SizeInBytes == 64
    assert dml.DML_BUFFER_BINDING(buffer, 48).SizeInBytes == 16
    assert dml.DML_BUFFER_BINDING(buffer, 48, 4).SizeInBytes == 4
    table = table_of(device, compiled_add(device))
    table.bind_inputs([dml.DML_BUFFER_BINDING(buffer), dml.DML_BUFFER_BINDING(buffer, 32)])
    with pytest.raises(dml.DMLError, match="needs 24 bytes, the binding has 16"):
        table.bind_outputs([dml.DML_BUFFER_BINDING(buffer, 48)])
    with pytest.raises(dml.DMLError, match="ends at byte 128, beyond the buffer's 64 bytes"):
        table.bind_outputs([dml.DML_BUFFER_BINDING(buffer, 128)])
    with pytest.raises(dml.DMLError, match="needs 24 bytes, the binding has 0"):
        table.bind_outputs([dml.DML_BUFFER_BINDING(buffer, 0, 0)])
    for wrong in ({"Offset": -16}, {"SizeInBytes": -24}):
        with pytest.raises(dml.DMLError, match=r"must be at least 0, found -"):
            dml.DML_BUFFER_BINDING(buffer, **wrong)


def test_an_initializer_takes_none_for_inputs_that_are_not_owned(device):
    b, persistent = device.create_buffer(np.full(6, 5, np.float32)), device.create_buffer(256)
    owning, plain = compiled_add(device, OWNED), compiled_add(device)
    table = table_of(device, device.create_operator_initializer([owning, plain, plain]))
    ranges = dml.DML_BUFFER_ARRAY_BINDING([None, buffer_binding(b)])
    assert ranges.Bindings == (dml.DML_BUFFER_BINDING(None), buffer_binding(b))
    table.bind_inputs([ranges, dml.DML_BUFFER_ARRAY_BINDING([]), None])
    table.bind_outputs([buffer_binding(persistent), None, None])
    device.create_command_recorder().record_dispatch(device.create_command_list(), table.dispatchable, table)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "UINT64", "INT8", "INT4", "UINT4"])
@pytest.mark.parametrize("layout", ["packed", "padded", "reversed", "broadcast"])
def test_layouts_of_arrays(device, dtype, layout):
    """An identity copies the array for each pair of input and output layouts."""
    shape = (2, 3, 4)
    kind = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{dtype}"])
    x = (np.arange(24) % 8).astype(np.int8).astype(kind).reshape(shape)
    if layout == "broadcast":
        x = np.broadcast_to(x[:1], shape)
    for out in ("packed", "padded", "reversed"):
        desc = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
            InputTensor=like(x, layout), OutputTensor=tensor(dtype, shape, out), ScaleBias=None
        )
        if dtype.endswith("T4"):  # IDENTITY lacks 4-bit types; only the arrays' layouts are tested
            from dml.api import arrays

            words = np.zeros(64, np.uint32)
            arrays.TensorMemory(words, desc.OutputTensor).store(x)
            y = arrays.TensorMemory(words, desc.OutputTensor).load()
        else:
            y = dml.dispatch(desc, {"InputTensor": x}, device)["OutputTensor"]
        np.testing.assert_array_equal(y.astype(np.float64), x.astype(np.float64))


def test_private_objects_live_until_replaced(device):
    """idmlobject-setprivatedatainterface; one GUID has either bytes or an object."""

    class Held:
        pass

    compiled, guid = compiled_add(device), uuid.uuid4()
    private = Held()
    gone = weakref.ref(private)
    compiled.set_private_data_interface(guid, private)
    assert compiled.get_private_data(guid) is private
    del private
    gc.collect()
    assert gone() is not None
    compiled.set_private_data(guid, b"bytes")
    gc.collect()
    assert (gone(), compiled.get_private_data(guid)) == (None, b"bytes")
    compiled.set_private_data_interface(guid, None)
    with pytest.raises(dml.DMLError, match="no private data") as caught:
        compiled.get_private_data(guid)
    assert caught.value.hresult == dml.HRESULT.DXGI_ERROR_NOT_FOUND


def test_the_parent_device(device):
    parent = device.get_parent_device()
    # Compare identities: the device under test may be treated as another kind (--as).
    assert parent.identity == dml.list_devices()[parent.index].identity
    device.set_mute_debug_output(True)
    with pytest.raises(dml.DMLError):
        device.create_buffer(0)
    device.set_mute_debug_output(False)


def test_initialization_is_required_for_persistent_resources(device):
    """An operator without a persistent resource runs with or without initialization."""
    compiled = compiled_add(device)
    assert compiled.get_binding_properties().PersistentResourceSize == 0
    initializer = device.create_operator_initializer([compiled])
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    table.bind_inputs([None])
    table.bind_outputs([None])
    out = device.create_buffer(24)
    ones = dml.DML_BUFFER_BINDING(device.create_buffer(np.ones(6, np.float32)))
    for initialized in (0, 1, 2):
        commands.reset()
        for _ in range(initialized):
            recorder.record_dispatch(commands, initializer, table)
        own = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
        own.bind_inputs([ones, ones])
        own.bind_outputs([dml.DML_BUFFER_BINDING(out)])
        recorder.record_dispatch(commands, compiled, own)
        commands.execute()
        np.testing.assert_array_equal(out.read(np.float32), np.full(6, 2, np.float32))


def test_an_initializer_without_operators_is_a_no_op(device):
    """idmldevice-createoperatorinitializer: "Executing such an initializer is a no-op"."""
    initializer = device.create_operator_initializer()
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    table.bind_inputs()
    table.bind_outputs()
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, initializer, table)
    commands.execute()
