"""The model of the playground's page beside the model in Python, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from tabs import needs_browser, tabs_of

from seq2see.maps import playground
from seq2see.maps.page import assemble
from seq2see.maps.playground.weights import pack, rounded
from seq2see.options import Activation, ModelOptions, NormOrder, Position, Score
from seq2see.transformer import Transformer

pytestmark = needs_browser

PAGE = """<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{{policy}}">
<title>{{title}}</title><style>{{style}}</style><script type="application/json" id="log">{{data}}</script>
<script>{{script}}</script>"""
NAMES = "readModel createTokenizer search lengthLimit EOS BOS"

LOGITS = """async ([packed, source, target]) => {
  const { readModel } = window.engine;
  const model = await readModel(packed);
  const state = model.begin(model.encode(source));
  return target.map((id) => Array.from(model.next(state, id).logits));
}"""


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """A page with nothing but the engine, whose names it gives to the tests."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    (folder / "names.js").write_text(f"window.engine = {{ {NAMES.replace(' ', ', ')} }};", encoding="utf-8")
    scripts = [*playground.ENGINE, folder / "names.js"]
    with tabs_of(browser, folder) as open_page:
        yield open_page(assemble(folder / "page.html", scripts=scripts, styles=[], title="engine", data={}))


SMALL = ModelOptions(d_model=24, num_heads=4, num_encoder_layers=2, num_decoder_layers=2, d_ff=40)
VARIANTS = {
    **{f"position={kind.value}": {"position": kind} for kind in Position},
    **{
        f"cross_position={kind.value}": {"position": Position.none, "cross_position": kind}
        for kind in Position
        if not kind.is_embedded
    },
    **{f"score={score.value}": {"score": score, "position": Position.relative} for score in Score},
    **{f"norm={norm.value}": {"norm": norm} for norm in NormOrder},
    **{f"activation={activation.value}": {"activation": activation} for activation in Activation},
    "num_kv_heads=2": {"num_kv_heads": 2},
    "num_kv_heads=1": {"num_kv_heads": 1},
    "six heads": {"num_heads": 6, "position": Position.alibi},
    "window=2": {"window": 2},
    "share_layers": {"share_layers": True},
    "tie_embeddings": {"tie_embeddings": True},
}


def model_of(options: ModelOptions, *, vocab_size: int = 23, shared: bool = False) -> Transformer:
    """Random weights of the size that training makes them, biases too."""
    torch.manual_seed(0)
    model = Transformer(options, vocab_size, vocab_size, shared_vocabulary=shared).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape)
    return model


def logits_of(model: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    src = torch.tensor([source])
    with torch.inference_mode():
        return model(src, torch.ones_like(src, dtype=torch.bool), torch.tensor([target]))[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_those_of_the_python_model(tab, variant: str) -> None:
    model = model_of(replace(SMALL, **VARIANTS[variant]), shared=variant == "tie_embeddings")
    source = [4 + 5 * place % 19 for place in range(150 if "position" in variant else 20)] + [2]
    target = [1] + [4 + 7 * place % 19 for place in range(150 if "position" in variant else 20)]
    found = torch.tensor(tab.evaluate(LOGITS, [pack(model, 32), source, target]))
    assert (found - logits_of(model, source, target)).abs().max() < 1e-5
    for bits in (16, 8):
        found = torch.tensor(tab.evaluate(LOGITS, [pack(model, bits), source, target]))
        assert (found - logits_of(rounded(model, bits), source, target)).abs().max() < 1e-5
