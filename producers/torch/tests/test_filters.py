"""Filters: what is wanted, and what matched nothing."""

from __future__ import annotations

from tensortap._config.filters import Filter, stranger
from tensortap._config.settings import settings
from tensortap._health.topology import Place


def of(**given: object) -> Filter:
    return Filter(settings(environment={"TENSORTAP_SPOOL": "/s"}, run="r", **{"level": "mix", **given}))


def test_without_filters_everything_is_wanted() -> None:
    every = of()
    assert every.sees_all and every.values_all
    assert every.wants_step(7) and every.wants_module("layers.0", "Layer") and every.wants_op("Tensor.add.0.forward", "")
    assert every.unmatched() == []


def test_a_module_in_scope_brings_all_inside_it() -> None:
    some = of(scope=["model.layers.[12]"])
    paths = ["model", "model.layers.1", "model.layers.1.mlp.up", "model.layers.11", "model.layers.2.norm"]
    assert [some.wants_module(path, "X") for path in paths] == [False, True, True, False, True]
    assert some.wants_op("Functional.linear.9.forward", "model.layers.1.mlp.up")
    assert not some.wants_op("Functional.linear.9.forward", "model.layers.3.mlp.up")
    assert some.unmatched() == []


def test_ops_are_matched_by_full_name_by_prefix_and_api_or_by_api() -> None:
    for pattern in ("Functional.linear.0.forward", "Functional.lin*", "linear"):
        some = of(ops=[pattern])
        assert some.wants_op("Functional.linear.0.forward", "a")
        assert not some.wants_op("Tensor.add.0.forward", "a")
        assert some.wants_op("Module.a.Linear.forward.0", "a"), "ops choose among APIs, scope among modules"


def test_what_matches_nothing_is_told_with_what_to_do() -> None:
    some = of(scope=["layers.9"], ops=["sofmax"], names=["Relu"], steps="5")
    some.wants_step(0)
    some.wants_module("layers.1", "Layer")
    some.wants_op("Functional.relu.0.forward", "layers.1")
    assert some.unmatched() == [
        "list entry Relu: no op's name contains it; upper and lower case differ",
        "scope pattern layers.9: matched nothing; do you mean layers.1? * stands for any characters",
        "ops pattern sofmax: matched nothing; * stands for any characters",
        "steps 5: no step had such a number",
    ]


def test_a_module_in_msprobes_list_brings_all_inside_it() -> None:
    some = of(names=["layers.0.mlp.LlamaMLP"])
    some.wants_module("layers.0.mlp", "LlamaMLP")
    some.wants_module("layers.0.mlp.up", "Linear")
    assert some.wants_op("Module.layers.0.mlp.LlamaMLP.forward.0", "layers.0.mlp")
    assert some.wants_op("Functional.linear.3.forward", "layers.0.mlp.up")
    assert not some.wants_op("Functional.linear.4.forward", "layers.0.attention")
    assert some.unmatched() == []


def recorded(some: Filter, names: list[str], step: int = 0) -> list[str]:
    some.wants_step(step)
    wanted = []
    for name in names:
        if some.wants_op(name, ""):
            wanted.append(name)
        some.ends_op(name)
    return wanted


def test_msprobes_scope_is_inclusive_and_anew_each_step() -> None:
    some = of(between=["b", "d"])
    assert [recorded(some, list("abcde"), step) for step in range(2)] == [list("bcd"), list("bcd")]
    assert some.unmatched() == []


def test_a_reversed_scope_is_told_and_turned_round_and_nothing_leaks_into_the_next_step() -> None:
    some = of(between=["d", "b"])
    assert recorded(some, list("abcde")) == []
    assert some.unmatched() == ["scope [d, b]: b ran before d; from the next step on they change places"]
    assert [recorded(some, list("abcde"), step) for step in (1, 2, 3)] == [list("bcd")] * 3


def test_msprobes_list_chooses_inside_its_scope_whose_ends_need_not_be_listed() -> None:
    some = of(between=["b.0.forward", "d.0.forward"], names=["c"])
    assert recorded(some, [f"{name}.0.forward" for name in "abcde"]) == ["c.0.forward"]
    assert some.unmatched() == []


def test_an_unknown_scope_name_is_told() -> None:
    some = of(between=["b", "x"])
    assert recorded(some, list("abc")) == ["b", "c"]
    assert some.unmatched() == ["scope name x: no op has this name; names end in the call's number, as in dump.json"]


def test_values_are_chosen_by_direction_and_half() -> None:
    asked = [("forward", "input"), ("forward", "kwarg"), ("forward", "output"), ("backward", "input"), ("backward", "output")]
    chosen = {
        "forward": [True, True, True, False, False],
        "backward": [False, False, False, True, True],
    }
    for direction, wanted in chosen.items():
        some = of(direction=direction)
        assert [some.wants_value(*pair) for pair in asked] == wanted
        assert not some.values_all
    outputs = of(direction="forward", values="output")
    assert [outputs.wants_value(*pair) for pair in asked] == [False, False, True, False, False]


def test_risk_levels_choose_as_msprobe_does() -> None:
    names = ["Functional.linear.0.forward", "Tensor.reshape.0.forward", "Torch.rsqrt.1.forward", "Distributed.all_reduce.0.forward"]
    chosen = {"ALL": [True] * 4, "FOCUS": [True, False, True, True], "CORE": [True, False, False, True]}
    for risk, wanted in chosen.items():
        some = of(risk=risk)
        assert [some.wants_op(name, "") for name in names] == wanted
        assert some.wants_op("Module.a.ReLU.forward.0", "a"), "modules have no risk level"


def test_the_default_risk_level_leaves_out_what_the_recorded_dump_leaves_out() -> None:
    """Read from two dumps of one model by msProbe, one with risk level ALL and one with its default."""
    left_out = "Tensor.expand Tensor.float Tensor.reshape Tensor.to Tensor.transpose Tensor.unsqueeze Torch.arange Torch.cat"
    kept = (
        "Functional.cross_entropy Functional.embedding Functional.linear Functional.pad Functional.scaled_dot_product_attention "
        "Functional.silu Tensor.__add__ Tensor.__and__ Tensor.__eq__ Tensor.__iadd__ Tensor.__le__ Tensor.__matmul__ Tensor.__mul__ "
        "Tensor.__ne__ Tensor.__sub__ Tensor.add_ Tensor.cos Tensor.cumsum Tensor.mean Tensor.pow Tensor.sin Torch.diff Torch.rsqrt"
    )
    some = of(risk="FOCUS")
    assert not any(some.wants_op(f"{name}.0.forward", "") for name in left_out.split())
    assert all(some.wants_op(f"{name}.0.backward", "") for name in kept.split())


def test_ranks_that_do_not_exist_are_told() -> None:
    def told(ranks: object, place: Place) -> str:
        return stranger(settings(environment={"TENSORTAP_SPOOL": "/s"}, run="r", ranks=ranks), place)

    alone, four = Place(rank=0, world_size=1), Place(rank=2, world_size=4, distributed=True)
    assert told([3], alone) == "ranks 3: this is rank 0 of 1, which is not distributed; nothing is recorded"
    assert told("4-6", four) == "ranks 4-6: this is rank 2 of 4; nothing is recorded"
    assert [told([0], alone), told([0], four), told(None, alone), told([9], Place(world_size=None))] == [""] * 4
