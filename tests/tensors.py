"""What tests of tensors share."""

import pytest
import torch

DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu])])
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 6e-2}


def require(device: str) -> str:
    """The device; the test is skipped where there is none."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return device


def assert_same(found, expected, dtype: torch.dtype = torch.float64) -> None:
    """Equal but for what rounding in this precision does."""
    torch.testing.assert_close(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
