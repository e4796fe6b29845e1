"""Dropout drops at the rate that it says, every number on its own, and the same numbers forward and backward."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from seq2see.attention import DotProductAttention, Dropout

SIDE = 1_000


def kept(p: float, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(SIDE, SIDE)) != 0


@pytest.mark.parametrize(("p", "rate"), [(0.1, 26 / 256), (0.3, 77 / 256), (0.5, 0.5), (0.9, 230 / 256), (0.01, 0.01)])
def test_the_rate_is_exact_and_the_mean_stays(p: float, rate: float) -> None:
    torch.manual_seed(0)
    dropped = Dropout(p)(torch.ones(SIDE, SIDE, dtype=torch.float64))
    off = 5 * (rate * (1 - rate)) ** 0.5 / SIDE  # five standard deviations of a million draws
    assert float((dropped == 0).double().mean()) == pytest.approx(rate, abs=off)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)])
    assert float(dropped.mean()) == pytest.approx(1.0, abs=off / (1 - rate))


def test_neighbours_are_independent_at_any_distance() -> None:
    ones = kept(0.3, 0).flatten().double() - (1 - 77 / 256)
    for distance in (1, 2, 3, 4, 7, 8, 16, 64, SIDE):
        correlation = float((ones[:-distance] * ones[distance:]).mean() / ones.var())
        assert abs(correlation) < 5 / SIDE, distance


def test_a_seed_repeats_it_and_another_call_or_seed_draws_anew() -> None:
    first, again = kept(0.5, 7), kept(0.5, 7)
    assert torch.equal(first, again)
    for other in (Dropout(0.5)(torch.ones(SIDE, SIDE)) != 0, kept(0.5, 8)):
        assert float((first == other).double().mean()) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3,), (5, 7), (0, 4), ()])
def test_the_gradient_is_dropped_and_scaled_where_the_number_was(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape).to(dtype).requires_grad_()
    for view in (x, x.mT) if x.ndim > 1 else (x,):
        y = Dropout(0.4)(view)
        assert y.dtype == dtype and y.shape == view.shape
        (gradient,) = torch.autograd.grad(y, view, torch.ones_like(y))
        torch.testing.assert_close(gradient * view, y)
    assert Dropout(0.4).eval()(x) is x and Dropout(0.0)(x) is x


@pytest.mark.slow  # so long does torch take to load its compiler
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
