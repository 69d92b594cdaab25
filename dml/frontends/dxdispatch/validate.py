"""All faults of a file of operators: a DxDispatch model, or one operator in the form that such a model has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dml.arguments import checked
from dml.capability import LATEST, short_name
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.files import reading
from dml.frontends.dxdispatch.document import Json, parse
from dml.frontends.dxdispatch.files import Folder
from dml.frontends.dxdispatch.model import is_file, read
from dml.frontends.dxdispatch.operators import read_operator
from dml.validator import validate

#: Models that other commands accept.
_OTHER_FORMATS = {".onnx": "an ONNX model", ".xml": "an OpenVINO model"}


@dataclass(frozen=True)
class OperatorFaults:
    """The faults of an operator, or of the rest of a file.

    path: the operator's location in the file, empty for the file itself. operator: its short name, empty if there is
    none. faults: empty if it is valid.
    """

    path: str
    operator: str
    faults: tuple[DMLError, ...]


@checked
def faults_of_file(path: Path, feature_level: DML_FEATURE_LEVEL | str = LATEST) -> list[OperatorFaults]:
    """Return the faults of each operator in a file; if there are none, also those of the rest of the model.

    The file is a DxDispatch model, {"resources", "dispatchables", "commands"}, or one operator, {"Type", "Desc"}.
    Needs no device. Raises DMLError for a file that cannot be read, and for a model in another format.
    """
    if path.suffix.lower() in _OTHER_FORMATS:
        raise DMLError(
            f"{path}: takes DxDispatch models and operators as JSON, found {_OTHER_FORMATS[path.suffix.lower()]}; "
            f"`dml explain {path.name}` shows the operators of one, with their feature levels"
        )
    with reading(path):
        data = path.read_bytes()
    try:
        root = parse(data)
        if not root.is_object:
            root.fail("must be an object, a DxDispatch model or an operator")
        if root.get("dispatchables") is None:
            return [_operator(root, feature_level)]
        found = [_operator(value, feature_level) for _, value in root.need("dispatchables").members()]
    except DMLError as error:
        return [OperatorFaults("", "", (error,))]
    if not any(item.faults for item in found):
        try:
            read(data, Folder(path.parent, False))
        except DMLError as error:
            found.append(OperatorFaults("", "", (error,)))
    return found


def _operator(value: Json, level: DML_FEATURE_LEVEL | str) -> OperatorFaults:
    try:
        if is_file(value):
            return OperatorFaults(value.path, "", ())
    except DMLError as error:
        return OperatorFaults(value.path, "", (error,))
    desc, faults = read_operator(value)
    if desc is None:
        return OperatorFaults(value.path, "", tuple(faults))
    return OperatorFaults(value.path, short_name(desc.OPERATOR_TYPE), tuple(validate(desc, level, all=True)))
