"""Views in the law: what they show, what updates them, what they keep alive."""

import copy
from random import Random

import numpy as np
import pytest
from logfiles import lines_of, named, write

from markstep.conformance.logs.monitor import monitor_log
from markstep.spec.design import SOUND, TORCH_XLA_2_9, Design
from markstep.spec.machine import enabled
from markstep.spec.observe import observe
from markstep.spec.rules.views import out_of_date
from markstep.spec.schedule import fits, initial_state, perform
from markstep.spec.state import NONE, State
from markstep.spec.vocabulary import (
    Apply,
    AssignInPlace,
    Clone,
    CopyFromHost,
    CopyInto,
    CreateFromHost,
    Detach,
    Drop,
    ErrorKind,
    Look,
    ReadMany,
    ReadOne,
    SetEager,
    StepBarrier,
    Sync,
    SyncLive,
    TensorName,
    UseSpmd,
    ViewOf,
)

T0, T1, T2, T3 = map(TensorName, range(4))
SQUARE = CreateFromHost(T0, (1, 2, 3, 4), (2, 2))


def run(*program, design: Design = TORCH_XLA_2_9, state: State | None = None) -> State:
    state = state or initial_state()
    for action in program:
        state = perform(state, action, design)
        assert state is not None, action
    return state


def read(state: State, name: TensorName, design: Design = TORCH_XLA_2_9) -> object:
    return run(ReadOne(name), design=design, state=state).value


def shown_by_numpy(array: np.ndarray, view: ViewOf) -> np.ndarray:
    if view.op == "transpose":
        return array.T
    if view.op == "slice":
        dim, begin, end = view.sizes
        return array[(slice(None),) * dim + (slice(begin, end),)]
    return array.reshape(view.sizes)


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_numpy(seed: int) -> None:
    """Under sound, whatever is looked at when: NumPy's views are eager execution."""
    choose, state = Random(seed), run(SQUARE, CreateFromHost(T1, (5, 6, 7, 8), (2, 2)))
    arrays = {T0: np.array([[1.0, 2], [3, 4]]), T1: np.array([[5.0, 6], [7, 8]])}
    for step in range(25):
        name, new = choose.choice(list(arrays)), TensorName(2 + step)
        array, other = arrays[name], choose.choice(list(arrays))
        shapes = [(array.size,), (1, array.size), (array.size, 1), (2, array.size // 2)]
        view = choose.choice(
            [
                *(ViewOf(new, name, op, shape) for op in ("view", "reshape") for shape in shapes),
                ViewOf(new, name, "slice", (choose.randrange(array.ndim), 0, 1)),
                ViewOf(new, name, "transpose"),
            ]
        )
        update = AssignInPlace(name, "add_scalar", (), 1 + step)
        acts = [update, Look(name), StepBarrier(choose.random() < 0.5), ReadOne(name)]
        acts += [CopyInto(name, other), Detach(new, name), Clone(new, name)]
        acts += [Drop(name)] if len(arrays) > 3 else []
        action = view if step % 2 else choose.choice(acts)
        after = perform(state, action, SOUND)
        if after is None:
            continue
        state = after
        match action:
            case ViewOf():
                arrays[new] = shown_by_numpy(array, action)
            case AssignInPlace():
                array += 1 + step
            case CopyInto():
                array[...] = arrays[other].copy()
            case Detach():
                arrays[new] = array
            case Clone():
                arrays[new] = array.copy()
            case Drop():
                del arrays[name]
        for each, expected in arrays.items():
            assert state.record_of(each).truth == tuple(expected.ravel()), (each, action)
    for each, expected in arrays.items():
        assert read(state, each, SOUND) == tuple(expected.ravel())


def test_an_update_through_a_view_writes_the_base_and_makes_the_others_anew() -> None:
    state = run(
        SQUARE, ViewOf(T1, T0, "slice", (0, 0, 1)), ViewOf(T2, T0, "transpose"), StepBarrier(True)
    )
    state = run(AssignInPlace(T1, "add_scalar", (), 1), state=state)
    shown = observe(state)
    assert state.record_of(T0).node.op == "unselect"
    assert (shown[T1].alias, shown[T0].alias) == (2, shown[T0].record)
    assert shown[T2].record == 3  # nobody has looked
    looked = run(Look(T2), state=state)
    assert observe(looked)[T2].record > shown[T1].record
    assert read(looked, T2) == (2, 3, 3, 4)
    assert read(state, T2) == (2, 3, 3, 4)  # whatever is given it looks first


def test_a_view_of_what_was_written_is_made_anew_at_the_first_look() -> None:
    start = run(SQUARE, AssignInPlace(T0, "neg"))
    state = run(ViewOf(T1, T0, "view", (4,)), state=start)
    first = observe(state)[T1].record
    assert observe(run(Look(T1), state=state))[T1].record == first + 1
    plain = run(SQUARE, ViewOf(T1, T0, "view", (4,)), Look(T1))
    assert observe(plain)[T1].record == 2


def test_a_dropped_base_lives_with_its_views_and_takes_part_in_barriers() -> None:
    state = run(SQUARE, ViewOf(T1, T0, "transpose"), Drop(T0))
    assert len(state.live_rows()) == 2
    after = run(SyncLive(), state=state)
    assert after.records[0].live
    assert after.records[0].handle >= 0
    assert run(Drop(T1), state=after).live_rows() == []


def test_a_slice_keeps_what_it_was_cut_from_and_an_old_wrapper_keeps_its_record() -> None:
    made = run(SQUARE, ViewOf(T1, T0, "transpose"), ViewOf(T2, T1, "slice", (0, 0, 1)))
    dropped = run(Drop(T1), state=made)
    assert len(dropped.live_rows()) == 3
    written = run(AssignInPlace(T0, "neg"), Look(T2), state=dropped)
    # the base, the slice, what it was cut from, and what the dropped tensor showed
    assert len(written.live_rows()) == 4
    assert len(run(Drop(T2), state=written).live_rows()) == 1


def test_D44_a_reshape_that_is_no_view_copies_in_sound_and_shares_in_torch_xla() -> None:
    turned = (SQUARE, ViewOf(T1, T0, "transpose"))
    assert perform(run(*turned), ViewOf(T2, T1, "view", (4,)), TORCH_XLA_2_9) is None
    program = (*turned, ViewOf(T2, T1, "reshape", (4,)), AssignInPlace(T0, "neg"))
    copied, shared = run(*program, design=SOUND), run(*program)
    assert copied.record_of(T2).truth == shared.record_of(T2).truth == (1, 3, 2, 4)
    assert read(copied, T2, SOUND) == (1, 3, 2, 4)
    assert read(shared, T2) == (-1, -3, -2, -4)  # as the real one says


@pytest.mark.parametrize(
    ("op", "sizes"),
    [
        ("view", (3,)),
        ("reshape", (-4, -1)),
        ("slice", (2, 0, 1)),
        ("slice", (0, 1, 3)),
        ("slice", (0, 2, 1)),
        ("slice", (0, 1)),
        ("transpose", (0, 1)),
        ("squeeze", ()),
    ],
)
def test_what_no_program_can_mean_is_not_possible(op: str, sizes: tuple[int, ...]) -> None:
    state, action = run(SQUARE), ViewOf(T1, T0, op, sizes)
    assert enabled(state, action, SOUND)
    assert not fits(state, action)


def test_looking_at_what_is_lost_raises() -> None:
    state = run(SQUARE, Apply(T1, "failing_compile", (T0,)), Sync((T1,)))
    assert run(Look(T1), state=state).raised == ErrorKind.LOST
    assert run(Look(T0), state=state).raised == ErrorKind.NONE


def test_a_slice_that_is_all_of_its_tensor_is_not_modelled(tmp_path) -> None:
    lines = lines_of(named("views_func/p0006"))
    number = next(n for n, line in enumerate(lines[1:], 1) if line["action"] == "slice")
    lines[number]["args"] |= {"dim": 0, "start": 0, "end": 2}
    verdict = monitor_log(str(write(tmp_path / "log.jsonl.gz", lines)), TORCH_XLA_2_9)
    assert "a slice that is all of its tensor is not modelled yet" in str(verdict.error)


def test_views_and_other_modes_do_not_meet() -> None:
    state = run(SQUARE, ViewOf(T1, T0, "transpose"))
    assert not fits(state, SetEager(True))
    assert not fits(run(SetEager(True), SQUARE), ViewOf(T1, T0, "transpose"))
    spread = run(UseSpmd(), SQUARE)
    assert not fits(spread, ViewOf(T1, T0, "transpose"))
    assert not fits(State(), ViewOf(T1, T0, "transpose"))


# ---- without functionalization ------------------------------------------------------------------


def aliased(*program) -> State:
    return run(*program, state=initial_state(functional=False))


def test_without_functionalization_an_update_keeps_the_record_and_goes_to_the_alias() -> None:
    plain = aliased(SQUARE, AssignInPlace(T0, "neg"))
    assert observe(plain)[T0].record == 1
    state = aliased(SQUARE, ViewOf(T1, T0, "slice", (0, 0, 1)), ViewOf(T2, T0, "transpose"))
    state = run(AssignInPlace(T1, "neg"), state=state)
    assert state.record_of(T0).node.op != "unselect"  # nobody has looked
    looked = run(Look(T0), Look(T2), state=state)
    assert [observe(looked)[name].record for name in (T0, T1, T2)] == [1, 2, 3]
    assert looked.record_of(T0).node.op == "unselect"
    assert looked.record_of(T2).node.op == "as_strided"
    assert read(state, T2) == (-1, 3, -2, 4)


@pytest.mark.parametrize("seed", range(20))
def test_I17_I18_looking_brings_up_to_date_and_what_changed_has_no_other_data(seed: int) -> None:
    choose, state, late = Random(seed), aliased(SQUARE), 0
    for step in range(40):
        name, new = choose.choice(list(state.tensors)), TensorName(1 + step)
        acts = [
            ViewOf(new, name, "reshape", (4,)),
            ViewOf(new, name, "slice", (0, 0, 1)),
            AssignInPlace(name, "neg"),
            CopyInto(name, choose.choice(list(state.tensors))),
            Sync((name,)),
            ReadMany((name,)),
            ReadOne(name),
        ]
        state = perform(state, choose.choice(acts), TORCH_XLA_2_9) or state
        for each in state.tensors:
            was = out_of_date(state, each)
            looked = run(Look(each), state=state)
            record = looked.record_of(each)
            assert not out_of_date(looked, each)
            assert not was or (record.handle == NONE and not record.host)
            late += was
    assert late > 0


def test_of_two_updates_in_a_row_through_one_path_the_last_one_counts() -> None:
    state = aliased(SQUARE, CreateFromHost(T1, (5, 6), (1, 2)), CreateFromHost(T3, (7, 8), (1, 2)))
    state = run(ViewOf(T2, T0, "slice", (0, 0, 1)), state=state)
    once = run(CopyInto(T2, T1), state=state)
    (alias,) = once.views.aliases.values()
    assert (len(alias.updates), alias.generation) == (1, 1)
    # looking would write it into the root
    again = perform(once, ViewOf(TensorName(9), T2, "transpose"), TORCH_XLA_2_9)
    (alias,) = again.views.aliases.values()
    assert alias.updates == ()
    assert read(once, T0) == (5, 6, 3, 4)


def test_without_functionalization_a_sync_cuts_a_view_off() -> None:
    state = aliased(SQUARE, ViewOf(T1, T0, "transpose"), StepBarrier(True))
    assert state.record_of(T1).view is None
    assert state.record_of(T0).view is not None  # its leaf became its handle, nothing else
    after = run(AssignInPlace(T1, "neg"), state=state)
    assert after.record_of(T0).truth == (-1, -2, -3, -4)
    assert read(after, T0) == (1, 2, 3, 4)  # and so the value is wrong
    assert after.views.objects[T0].memory == after.views.objects[T1].memory


def test_what_an_alias_reads_is_in_use_though_no_record_reads_it() -> None:
    other = CreateFromHost(T2, (5, 6, 7, 8), (4,))
    state = aliased(SQUARE, ViewOf(T1, T0, "view", (4,)), other, CopyInto(T1, T2), Drop(T2))
    state = run(CreateFromHost(T3, (9, 9), (2,)), state=state)
    assert read(state, T0) == (5, 6, 7, 8)


def test_a_tensor_that_was_dropped_is_looked_at_by_the_barrier() -> None:
    state = aliased(SQUARE, ViewOf(T1, T0, "view", (4,)), AssignInPlace(T1, "neg"), Drop(T0))
    after = run(StepBarrier(True), state=state)
    base = after.records[after.views.hidden[T0]]
    assert after.buffers[base.handle].contents == (-1, -2, -3, -4)


def test_host_data_for_a_view_is_an_update_of_its_alias() -> None:
    state = aliased(SQUARE, ViewOf(T1, T0, "slice", (0, 1, 2)), CopyFromHost(T1, (8, 9)))
    assert read(state, T0) == (1, 2, 8, 9)


def test_without_functionalization_there_is_no_eager_mode() -> None:
    assert not fits(aliased(), SetEager(True))


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"eager": True}, "eager"),
        ({"devices": 4, "devices_used": 2}, "devices_used"),
        ({"env": {"XLA_TENSOR_UPDATE_SYNC": "0"}}, "env XLA_TENSOR_UPDATE_SYNC"),
    ],
)
def test_modes_that_nobody_recorded_with_aliases_are_not_modelled(
    tmp_path, changes: dict[str, object], name: str
) -> None:
    lines = lines_of(named("views/p0004"))
    lines[0].update(changes)
    verdict = monitor_log(str(write(tmp_path / "log.jsonl.gz", lines)), TORCH_XLA_2_9)
    assert f"{name} without functionalization is not modelled yet" in str(verdict.error)


@pytest.mark.parametrize("log", ["views/p0042", "views_func/p0024"])
def test_a_log_in_which_a_view_shows_something_else_is_not_explained(tmp_path, log: str) -> None:
    lines = lines_of(named(log))
    for number, line in enumerate(lines[1:], 1):
        for field, other in (("id", 10**6), ("view", None), ("ir", {"kind": "aten::view"})):
            shown = next((t for t in line.get("tensors", {}).values() if t.get("ir")), None)
            if shown is None or shown["ir"]["kind"] == "aten::view":
                continue
            false = copy.deepcopy(lines[: number + 1])
            tensor = next(t for t in false[number]["tensors"].values() if t.get("ir"))
            tensor[field] = (not tensor["view"]) if other is None else other
            verdict = monitor_log(str(write(tmp_path / "log.jsonl.gz", false)), TORCH_XLA_2_9)
            assert verdict.unexplained is not None, (number, field)
