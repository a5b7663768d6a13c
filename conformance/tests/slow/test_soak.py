"""The soak, a little of it; all of it is `python -m markstep.conformance.benchmarks.soak`."""

from markstep.conformance.benchmarks.soak import Weight, grown, soak


def test_nothing_is_left_between_programs():
    weights = soak(2_500)
    assert len(weights) == 2
    assert not any(weight.records for weight in weights)
    assert not any(weight.buffers for weight in weights)


def test_growth_is_found():
    begin = Weight(1_000, 0, 0, 64, 100)
    assert grown([begin, begin, Weight(9_000, 0, 0, 64, 104)]) == []
    assert "records live" in grown([begin, begin, Weight(9_000, 1, 0, 64, 100)])[0]
    assert "device buffers" in grown([begin, begin, Weight(9_000, 0, 1, 64, 100)])[0]
    assert "bytes more" in grown([begin, begin, Weight(9_000, 0, 0, 64, 106)])[0]
