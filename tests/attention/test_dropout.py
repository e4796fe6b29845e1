"""Dropout drops at the rate that it says, every number on its own, and the same numbers forward and backward."""

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import nn

from seq2see.attention import DotProductAttention, Dropout

SIDE = 1_000


def kept(p: float, seed: int, shape: tuple[int, ...] = (SIDE, SIDE)) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(shape)) != 0


@pytest.mark.parametrize(("p", "rate"), [(0.1, 26 / 256), (0.3, 77 / 256), (0.5, 0.5), (0.9, 230 / 256), (0.01, 0.01)])
def test_the_rate_is_exact_and_the_mean_stays(p: float, rate: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(p)(torch.ones(SIDE, SIDE, dtype=torch.float64))
    off = 5 * (rate * (1 - rate)) ** 0.5 / SIDE  # five standard deviations of a million draws
    assert float((dropped == 0).double().mean()) == pytest.approx(rate, abs=off)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)])
    assert float(dropped.mean()) == pytest.approx(1.0, abs=off / (1 - rate))


@pytest.mark.parametrize("distance", [1, 2, 3, 4, 7, 8, 16, 64, SIDE])
def test_neighbours_are_independent_at_any_distance(distance: int) -> None:
    ones = kept(0.3, 0).flatten().double() - (1 - 77 / 256)
    correlation = float((ones[:-distance] * ones[distance:]).mean() / ones.var())
    assert abs(correlation) < 5 / SIDE


def test_layers_and_steps_draw_anew() -> None:
    torch.manual_seed(0)
    first, second = Dropout(0.5), Dropout(0.5)
    x = torch.ones(SIDE, SIDE)
    draws = [layer(x) != 0 for _ in range(2) for layer in (first, second)]
    for one, other in itertools.combinations(draws, 2):
        assert float((one == other).double().mean()) == pytest.approx(0.5, abs=0.005)


def test_a_seed_repeats_it_and_another_does_not() -> None:
    assert torch.equal(kept(0.1, 7), kept(0.1, 7))
    assert not torch.equal(kept(0.1, 7), kept(0.1, 8))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(3,), (5, 7), (2, 3, 8), (0, 4), ()])
def test_the_gradient_is_dropped_and_scaled_where_the_number_was(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype).requires_grad_()
    y = Dropout(0.4)(x)
    assert y.dtype == dtype and y.shape == x.shape
    (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y))
    torch.testing.assert_close(gradient * x, y)


def test_a_view_of_any_strides_is_dropped_like_any_other() -> None:
    torch.manual_seed(0)
    x = torch.randn(40, 50).t()
    y = Dropout(0.5)(x)
    torch.testing.assert_close(y[y != 0], 2 * x[y != 0])


def test_nothing_is_dropped_in_evaluation_or_without_a_probability() -> None:
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0)(x) is x


def test_under_a_compiler_it_is_torchs_own() -> None:
    compiled = torch.compile(Dropout(0.5), backend="eager", fullgraph=True)
    torch.manual_seed(0)
    expected = nn.Dropout(0.5)(torch.ones(100))
    torch.manual_seed(0)
    torch.testing.assert_close(compiled(torch.ones(100)), expected)


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0, float("nan")])
@pytest.mark.parametrize("make", [Dropout, lambda p: DotProductAttention(dropout=p)])
def test_what_is_no_probability_below_1_is_refused(make: Callable[[float], nn.Module], p: float) -> None:
    with pytest.raises(ValueError, match=r"dropout \(.*\) must be at least 0 and less than 1"):
        make(p)
