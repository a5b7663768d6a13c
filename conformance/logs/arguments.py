"""The arguments of one step of a raw log, as values of the law."""

from dataclasses import replace

from markstep.conformance.logs import strictjson as json
from markstep.conformance.logs.rawrecord import Header, RawStep
from markstep.conformance.logs.strictjson import FieldError, Fields, TypeOfFieldError
from markstep.spec import vocabulary as v

RECORDED_DTYPES = (v.DType.F32, v.DType.S32)
"""Element types that tensors of the law have."""
MAX_ELEMENTS = 4096
"""Elements of an array that a log may give."""


class UnknownRecord(FieldError):
    """There is no row for this."""


class NotModelled(FieldError):
    """There is a reason why there is no row for this."""


class Arguments(Fields):
    """The arguments of one step, each taken once."""

    def __init__(self, step: RawStep, header: Header, given: int, eager: bool = False) -> None:
        super().__init__(step.args, ("args",))
        self.action = step.action
        self.given, self.eager = given, eager
        self.uploads = header.env.get("XLA_TENSOR_UPDATE_SYNC") != "0"
        """Whether host data goes to the device at once."""

    def tensor(self, name: str) -> v.TensorName:
        """A tensor that the call takes."""
        return self.take(name, tensor_name)

    def tensors(self, name: str = "tensors") -> tuple[v.TensorName, ...]:
        """Several of them; one may be named twice."""
        return self.take(name, json.listed(tensor_name))

    def new(self, name: str = "out") -> v.TensorName:
        """The tensor that the call makes: names are given out without gaps."""
        out = self.take(name, tensor_name)
        if out != self.given + 1:
            raise FieldError(f"{self.action} makes t{out} where t{self.given + 1} is the next name")
        return out

    def flag(self, name: str) -> bool:
        """A boolean."""
        return self.take(name, json.flag)

    def scalar(self, name: str = "s") -> v.Number:
        """A number."""
        return self.take(name, json.number)

    def shape(self, name: str = "shape") -> tuple[int, ...]:
        """Sizes."""
        return self.take(name, json.listed(json.count))

    def values(self, name: str = "value") -> v.Nested:
        """The elements of an array, row-major."""
        values = self.take(name, json.listed(json.number))
        if len(values) > MAX_ELEMENTS:
            raise NotModelled(f"an array of more than {MAX_ELEMENTS} elements")
        return values


def tensor_name(value: object) -> v.TensorName:
    """t1, t2, … as the number of the law."""
    name = json.text(value)
    if not (name[:1] == "t" and name[1:].isascii() and name[1:].isdigit() and len(name) <= 9):
        raise TypeOfFieldError(f"is {json.shown(name)}, not a tensor name such as t1")
    if name[1] == "0":
        raise TypeOfFieldError(f"is {json.shown(name)}; names begin with t1")
    return v.TensorName(int(name[1:]))


SPECS = {
    "replicated": v.Sharding.REPLICATED,
    "4": v.Sharding.TILED,
    "4r": v.Sharding.REVERSED,
    "2x2": v.Sharding.GRID,
    "2x2t": v.Sharding.GRID_TRANSPOSED,
}
"""Meshes and partitions by the names that the recorder gives them."""


def sharding_spec(value: object) -> v.Sharding:
    """How a tensor is to lie."""
    if value not in SPECS:
        known = ", ".join(SPECS)
        raise NotModelled(f"the spec {json.shown(str(value))} is not modelled; modelled: {known}")
    return SPECS[str(value)]


def dtype_named(value: object) -> v.DType:
    if value not in RECORDED_DTYPES:
        known = ", ".join(RECORDED_DTYPES)
        raise NotModelled(f"the dtype {json.shown(str(value))} is not modelled; modelled: {known}")
    return v.DType(str(value))


DEVICES = {"": None, "xla:0": 0, "xla:1": 1}
"""What a log says of a device: none means all of them."""


def device_of(step: RawStep, header: Header) -> tuple[RawStep, int | None]:
    """The step without its device, and that device, which only logs of several devices name."""
    if header.devices_used == 1 or "device" not in step.args:
        return step, 0
    name = step.args["device"]
    if not (isinstance(name, str) and name in DEVICES):
        known = ", ".join(map(repr, DEVICES))
        raise FieldError(f"field args.device is {json.shown(str(name))}, not one of {known}")
    others = {key: value for key, value in step.args.items() if key != "device"}
    return replace(step, args=others), DEVICES[name]
