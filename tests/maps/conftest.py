"""What tests of maps share: a batch, and a browser."""

from __future__ import annotations

import numpy as np
import pytest
from tabs import browser, open_html  # noqa: F401

from seq2see.data import Batch, EncodedPairs
from seq2see.data.encoded import Texts


@pytest.fixture
def batch() -> Batch:
    """Three pairs: different lengths on both sides, one of them a lone EOS."""
    sources, targets = [[5, 6, 7, 8], [9], [4, 5]], [[6, 5], [7, 8, 9, 10, 11], []]
    return EncodedPairs(Texts.of(sources), Texts.of(targets), ids=np.arange(3)).batch(np.arange(3))
