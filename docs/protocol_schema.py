"""The JSON schema of the process protocol, made from the classes of the vocabulary."""

import json
import types
from dataclasses import MISSING, fields
from enum import Enum, IntEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from markstep.conformance.adapter import ALL_CAPABILITIES
from markstep.conformance.process.messages import MAX_NAME, PROTOCOL
from markstep.spec import vocabulary
from markstep.spec.named_designs import DESIGNS
from markstep.spec.vocabulary import BufferStatus, DType, ErrorKind, IrKind, Sharding, TensorView

Schema = dict[str, Any]

INTEGER: Schema = {"$ref": "#/$defs/integer"}


def protocol_schema() -> str:
    """The schema as text."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def schema() -> Schema:
    """One line of the protocol, in either direction."""
    questions = [message("reset", EMPTY), message("apply", {"$ref": "#/$defs/action"})]
    questions += [message("observe", EMPTY), message("bye", EMPTY)]
    answers = [message(name, {"$ref": f"#/$defs/{name}"}) for name in ("hello", "observation")]
    answers += [message("view", {"$ref": "#/$defs/view"}), message("done", EMPTY)]
    answers += [message("fault", closed({"message": {"type": "string"}}, ["message"]))]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"One line of the markstep process protocol, version {PROTOCOL}",
        "anyOf": [{"$ref": "#/$defs/question"}, {"$ref": "#/$defs/answer"}],
        "$defs": {
            "question": {"anyOf": questions},
            "answer": {"anyOf": answers},
            "action": {"anyOf": [action(cls) for cls in get_args(vocabulary.Action)]},
            "hello": hello(),
            "observation": observation(),
            "view": view(),
            "tensor": tensor(),
            "integer": integer(),
        },
    }


EMPTY: Schema = {"type": "object"}


def message(kind: str, body: Schema) -> Schema:
    """An object with one key."""
    return closed({kind: body}, [kind])


def closed(properties: Schema, required: list[str]) -> Schema:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def action(cls: type) -> Schema:
    """An action: its class and its fields."""
    hints = get_type_hints(cls)
    known = {"action": {"const": cls.__name__}}
    known |= {field.name: of_type(hints[field.name]) for field in fields(cls)}
    needed = [field.name for field in fields(cls) if field.default is MISSING]
    sentence = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return {"description": sentence, **closed(known, ["action", *needed])}


def of_type(hint: Any) -> Schema:
    """Values of the type of a field."""
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) is tuple:
        return {"type": "array", "items": of_type(get_args(hint)[0])}
    if get_origin(hint) in (types.UnionType, Union):
        return {"anyOf": [of_type(part) for part in get_args(hint)]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        numbered = issubclass(hint, IntEnum)
        return {"enum": [one.name.lower() if numbered else one.value for one in hint]}
    names = {bool: "boolean", str: "string", float: "number", type(None): "null"}
    return INTEGER if hint is int else {"type": names[hint]}


def hello() -> Schema:
    """How an executor introduces itself."""
    name = {"type": "string", "maxLength": MAX_NAME}
    words = {"type": "array", "items": {"enum": sorted(ALL_CAPABILITIES)}}
    known = {"protocol": {"const": PROTOCOL}, "name": name, "version": name, "capabilities": words}
    return closed({**known, "described_by": {"enum": sorted(DESIGNS)}}, sorted(known))


def observation() -> Schema:
    """How an action ended."""
    simple: Schema = {"type": ["number", "string", "boolean", "null"]}
    flat = {"type": "array", "items": simple}
    value = {"anyOf": [simple, flat, {"type": "array", "items": flat}]}
    known = {
        "error": {"enum": [kind.value for kind in ErrorKind]},
        "value": value,
        "message": {"type": "string"},
    }
    return closed(known, [])


def view() -> Schema:
    """Everything that can be seen between two actions."""
    tensors = {
        "type": "object",
        "propertyNames": {"pattern": "^[0-9]{1,9}$"},
        "additionalProperties": {"$ref": "#/$defs/tensor"},
    }
    counters = {"type": "object", "additionalProperties": {"type": "integer"}}
    return closed({"tensors": tensors, "counters": counters}, [])


def tensor() -> Schema:
    """What one tensor looks like."""
    known: Schema = {
        "record": {"type": "integer"},
        "alias": {"type": "integer"},
        "ir": {"enum": [kind.name.lower() for kind in IrKind]},
        "data": {"enum": [status.name.lower() for status in BufferStatus]},
        "buffer": {"type": ["integer", "null"]},
        "host": {"type": "boolean"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "dtype": {"enum": [dtype.value for dtype in DType]},
        "spec": of_type(Sharding),
        "sharding": of_type(Sharding),
    }
    needed = [field.name for field in fields(TensorView) if field.default is MISSING]
    return closed(known, needed)


def integer() -> Schema:
    """An integer of an action; one that a JSON number does not hold exactly is text."""
    digits = {"type": "string", "pattern": "^-?[0-9]+$"}
    return {"anyOf": [{"type": "integer"}, closed({"#bigint": digits}, ["#bigint"])]}
