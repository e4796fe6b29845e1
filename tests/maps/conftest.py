"""What tests of maps share: planted logs, a small model with a batch, and a browser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from planted_log import planted_log, planted_maps, small_model
from tabs import browser, open_html  # noqa: F401

from seq2see.data import Batch, EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.maps import AttentionLog, Maps
from seq2see.transformer import Transformer


@pytest.fixture
def make_log() -> Callable[..., AttentionLog]:
    """`planted_log`, for tests in other files."""
    return planted_log


@pytest.fixture
def make_maps() -> Callable[..., Maps]:
    """`planted_maps`, for tests in other files."""
    return planted_maps


@pytest.fixture
def make_model() -> Callable[..., Transformer]:
    """`small_model`, for tests in other files."""
    return small_model


@pytest.fixture
def batch() -> Batch:
    """Three pairs: different lengths on both sides, one of them a lone EOS."""
    sources, targets = [[5, 6, 7, 8], [9], [4, 5]], [[6, 5], [7, 8, 9, 10, 11], []]
    return EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(3)).batch(np.arange(3))
