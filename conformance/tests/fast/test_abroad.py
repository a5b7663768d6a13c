"""An op on tensors of two devices, in the law: refused by sound, traced to death by torch_xla."""

from markstep.spec import vocabulary as v
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.devices import Process, perform_on, process
from markstep.spec.vocabulary import BufferStatus, ErrorKind, IrKind, TensorName

HERE, THERE, SUM = TensorName(0), TensorName(1), TensorName(2)
OP = v.Apply(SUM, "add", (HERE, THERE))


def two(design: Design) -> Process:
    """A tensor on each of two devices, evaluated; then the one on the second is updated."""
    both: Process | None = process(2)
    for device, action in (
        (0, v.CreateFromHost(HERE, (1, 2), (2,))),
        (1, v.CreateFromHost(THERE, (5, 7), (2,))),
        (0, v.StepBarrier(wait=True)),
        (1, v.StepBarrier(wait=True)),
        (0, OP),
    ):
        assert both is not None
        both = perform_on(both, device, action, design)
    assert both is not None
    return both


def test_sound_refuses_it_and_nothing_changes() -> None:
    both = two(SOUND)
    assert both.last.raised == ErrorKind.BAD_ARGUMENT
    assert both.home(SUM) is None
    assert [s.record_of(n).ir for s, n in zip(both.states, (HERE, THERE), strict=True)] == [
        IrKind.NONE,
        IrKind.NONE,
    ]


def test_torch_xla_traces_it_on_the_device_of_the_first_operand() -> None:
    both = two(TORCH_XLA_2_9)
    assert both.last.raised == ErrorKind.NONE
    assert both.home(SUM) == 0
    first, second = both.states
    assert first.record_of(SUM).ir == IrKind.OP
    assert second.record_of(THERE).ir == IrKind.LEAF, "the operand got its ir"
    assert sum(record.live for record in first.records) == 2, "nobody else is left over"
    strangers = [b for b in first.buffers if b.elsewhere]
    assert [b.status for b in strangers] == [BufferStatus.PLACEHOLDER]


def test_evaluating_it_ends_the_process() -> None:
    both = perform_on(two(TORCH_XLA_2_9), None, v.ReadOne(SUM), TORCH_XLA_2_9)
    assert both is not None
    assert all(state.device.crashed for state in both.states)


def test_what_is_only_on_the_second_device_goes_on() -> None:
    both = perform_on(two(TORCH_XLA_2_9), None, v.ReadOne(THERE), TORCH_XLA_2_9)
    assert both is not None
    assert both.last.value == (5, 7)
