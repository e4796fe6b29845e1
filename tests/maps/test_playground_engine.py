"""The model of the playground's page beside the model in Python, in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from tabs import needs_browser, tabs_of

from seq2see.commands.attention import attention
from seq2see.data.encoded import shifted
from seq2see.decoding import LengthLimit, TranslationModel, decode_sentences, load
from seq2see.maps import playground
from seq2see.maps.capture import attention_layers, capture
from seq2see.maps.kept_weights import KeptWeights
from seq2see.maps.page import assemble
from seq2see.maps.playground.weights import hold, pack, rounded
from seq2see.options import (
    Activation,
    AttentionFormat,
    AttentionOptions,
    DecodeOptions,
    ModelOptions,
    Normalize,
    NormOrder,
    Position,
    Score,
    TokenizerKind,
)
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run
from seq2see.text import Tokenizer
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

MANY = """async ([packed, pairs]) => {
  const { readModel } = window.engine;
  const model = await readModel(packed);
  return pairs.map(([source, target]) => {
    const state = model.begin(model.encode(source));
    return target.map((id) => Array.from(model.next(state, id).logits));
  });
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
    "two embeddings, one of them tied": {"tie_embeddings": True, "num_decoder_layers": 3, "d_ff": 30},
    "randomize_positions": {"randomize_positions": 64},  # in training
}
SIZES = {"d_model", "num_encoder_layers", "num_decoder_layers", "d_ff", "dropout", "attention_dropout", "max_positions"}


def test_every_option_of_a_model_is_tried() -> None:
    tried = {name for variant in VARIANTS.values() for name in variant}
    assert {option.name for option in fields(ModelOptions)} == tried | SIZES


def model_of(options: ModelOptions, *, vocab_size: int = 23, shared: bool = False) -> Transformer:
    """Random weights of the size that training makes them, biases too."""
    torch.manual_seed(0)
    model = Transformer(options, vocab_size, vocab_size, shared_vocabulary=shared).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape)
    return model


def packed(model: Transformer, bits: int) -> dict:
    return pack(model, hold(model, bits))


def logits_of(model: Transformer, source: list[int], target: list[int]) -> torch.Tensor:
    src = torch.tensor([source])
    with torch.inference_mode():
        return model(src, torch.ones_like(src, dtype=torch.bool), torch.tensor([target]))[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_logits_are_those_of_the_python_model(tab, variant: str) -> None:
    model = model_of(replace(SMALL, **VARIANTS[variant]), shared=variant == "tie_embeddings")
    source = [4 + 5 * place % 19 for place in range(150 if "position" in variant else 20)] + [2]
    target = [1] + [4 + 7 * place % 19 for place in range(150 if "position" in variant else 20)]
    found = torch.tensor(tab.evaluate(LOGITS, [packed(model, 32), source, target]))
    assert (found - logits_of(model, source, target)).abs().max() < 1e-5
    for bits in (16, 8):
        found = torch.tensor(tab.evaluate(LOGITS, [packed(model, bits), source, target]))
        assert (found - logits_of(rounded(model, hold(model, bits)), source, target)).abs().max() < 1e-5


CHANGED = """async ([packed, source, target, off, forced, hidden]) => {
  const { readModel } = window.engine;
  const changes = { off: new Set(off), forced, hidden: new Set(hidden) };
  const model = await readModel(packed);
  const read = model.encode(source, changes);
  const state = model.begin(read, changes);
  const told = target.map((id) => model.next(state, id));
  const plain = (heads) => heads.map((head) => Array.from(head));
  return {
    logits: told.map(({ logits }) => Array.from(logits)),
    encoder: read.maps.encoder.map(plain),
    decoder: told.map(({ rows }) => rows.decoder.map(plain)),
    cross: told.map(({ rows }) => rows.cross.map(plain)),
  };
}"""
SOURCE, TARGET = [5, 9, 4, 7, 2], [1, 8, 4, 6]


def test_maps_are_those_of_the_python_model(tab) -> None:
    model = model_of(SMALL)
    batch = shifted(*(np.array([ids]) for ids in (0, SOURCE, [True] * 5, [*TARGET[1:], 2])))
    maps = capture(model, batch._replace(ids=torch.tensor([0])))
    found = tab.evaluate(CHANGED, [packed(model, 32), SOURCE, TARGET, [], [], []])
    np.testing.assert_allclose(np.reshape(found["encoder"], (2, 4, 5, 5)), maps.encoder[0], atol=1e-6)
    np.testing.assert_allclose(np.moveaxis(found["cross"], 0, 2), maps.cross[0], atol=1e-6)
    for step, layers in enumerate(found["decoder"]):
        np.testing.assert_allclose(layers, maps.decoder[0, :, :, step, : step + 1], atol=1e-6)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_head_that_is_off_adds_nothing(tab, kind: str) -> None:
    model = model_of(SMALL)
    found = tab.evaluate(CHANGED, [packed(model, 32), SOURCE, TARGET, [f"{kind} 1 2"], [], []])["logits"]
    with torch.no_grad():  # columns 12 to 17 of the output projection are those of head 2, of width 6
        attention_layers(model, kind)[1].attention.out_proj.weight[:, 12:18] = 0
    assert (torch.tensor(found) - logits_of(model, SOURCE, TARGET)).abs().max() < 1e-5


def test_nobody_attends_to_a_hidden_word(tab) -> None:
    model = model_of(SMALL)
    found = tab.evaluate(CHANGED, [packed(model, 32), SOURCE, TARGET, [], [], [1, 3]])
    mask = torch.tensor([[True, False, True, False, True]])
    with torch.inference_mode():
        expected = model(torch.tensor([SOURCE]), mask, torch.tensor([TARGET]))[0]
    assert (torch.tensor(found["logits"]) - expected).abs().max() < 1e-5
    assert not np.array(found["cross"])[..., [1, 3]].any()


def test_a_query_that_is_forced_reads_one_word_alone(tab) -> None:
    model = model_of(SMALL)
    forced = [{"kind": "cross", "layer": 0, "head": 2, "query": 1, "key": 3}]
    found = tab.evaluate(CHANGED, [packed(model, 32), SOURCE, TARGET, [], forced, []])
    assert found["cross"][1][0][2] == [0, 0, 0, 1, 0]
    attention = attention_layers(model, "cross")[0].attention

    def force(module: object, context: tuple[torch.Tensor]) -> None:
        context[0][:, 1, 12:18] = attention.v_proj(memory)[:, 3, 12:18]

    with torch.inference_mode():
        memory = model.encode(torch.tensor([SOURCE]), torch.ones(1, 5, dtype=torch.bool))
        attention.out_proj.register_forward_pre_hook(force)
        expected = model.decode(torch.tensor([TARGET]), memory, torch.ones(1, 5, dtype=torch.bool))[0]
    assert (torch.tensor(found["logits"]) - expected).abs().max() < 1e-5


STAGE_SEARCH = """async ([trained, stage, sources, limits]) => {
  const { readModel, search, lengthLimit } = window.engine;
  const last = await readModel(trained);
  const model = stage.bits.join() === trained.bits.join() ? last : await readModel(stage, last);
  const read = (source) => ({ source: model.encode(source), maxLength: lengthLimit(limits, source.length) });
  return sources.map(read).map(({ source, maxLength }) => search(model, source, { maxLength })[0].ids);
}"""
STAGE = """async ([trained, stage, source, target]) => {
  const { readModel } = window.engine;
  const model = await readModel(stage, await readModel(trained));
  const state = model.begin(model.encode(source));
  return target.map((id) => Array.from(model.next(state, id).logits));
}"""


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("variant", ["tie_embeddings", "share_layers", "position=learned"])
def test_an_earlier_stage_is_told_from_the_trained_model(tab, variant: str, bits: int) -> None:
    options = replace(SMALL, **VARIANTS[variant])
    trained, other = model_of(options), model_of(options)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape)).mul_(0.8)
    shown = hold(trained, 14)
    told = hold(other, bits, trained=rounded(trained, shown))
    found = torch.tensor(tab.evaluate(STAGE, [pack(trained, shown), pack(other, told), SOURCE, TARGET]))
    assert (found - logits_of(rounded(other, told), SOURCE, TARGET)).abs().max() < 1e-5
    before = dict(trained.named_parameters())
    for name, own in other.named_parameters():
        found = rounded(other, told).get_parameter(name)
        assert found.norm().item() == pytest.approx(own.norm().item(), rel=0.15)
        assert (bits == 0 and own.ndim > 1) or (found - own).norm() < (before[name] - own).norm()


@pytest.mark.parametrize("damage", [lambda text: text[:-6], lambda text: "~~" + text[2:], lambda text: text + text])
@pytest.mark.parametrize("part", ["high", "low"])
def test_damaged_weights_are_refused(tab, part: str, damage: Callable[[str], str]) -> None:
    model = packed(model_of(SMALL), 16)
    model[part] = damage(model[part])
    why = "async (packed) => { try { await window.engine.readModel(packed); } catch (error) { return error.message; } }"
    if part == "high" or len(model[part]) != len(packed(model_of(SMALL), 16)[part]):  # the low bits have no checksum
        assert tab.evaluate(why, model).startswith("the weights in this page")


SEARCH = """async ([packed, sources, limits, options]) => {
  const { readModel, search, lengthLimit } = window.engine;
  const model = await readModel(packed);
  return sources.map((source) => {
    const maxLength = lengthLimit(limits, source.length);
    return search(model, model.encode(source), { ...options, maxLength }).map((hypothesis) => {
      const { ids, logProb, ended, tokens, rows } = hypothesis;
      const probability = tokens.reduce((product, token) => product * token.probability, 1);
      return { ids, logProb, ended, probability, numTokens: tokens.length, numRows: rows.length };
    });
  });
}"""


@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("position", [Position.rope, Position.learned])
def test_searches_find_what_python_finds(tab, position: Position, beam_size: int) -> None:
    options = replace(SMALL, position=position, max_positions=9)
    model = model_of(options, vocab_size=7)
    with torch.no_grad():
        model.output_proj.weight *= 0.1  # all tokens are about as probable, EOS too
    cap = options.max_positions if position is Position.learned else None
    limit = LengthLimit(ratio=1.3, slack=4, cap=cap)
    sources = [[4 + (place * number) % 3 for place in range(number % 8)] for number in range(1, 41)]
    given = [[*source, 2] for source in sources]
    for penalty in (0.0, 1.0):
        decode = DecodeOptions(beam_size=beam_size, length_penalty=penalty)
        expected = [best for best, *_ in decode_sentences(model, sources, limit=limit, options=decode)]
        limits = {"ratio": 1.3, "slack": 4, "floor": 0, "asked": None, "cap": cap}
        how = {"beamSize": beam_size, "lengthPenalty": penalty}
        found = [best for best, *_ in tab.evaluate(SEARCH, [packed(model, 32), given, limits, how])]
        assert [(best["ids"], best["ended"]) for best in found] == [(best.ids, best.ended) for best in expected]
        for best, other in zip(found, expected, strict=True):
            assert best["logProb"] == pytest.approx(other.score, abs=1e-4)
            assert best["probability"] == pytest.approx(torch.tensor(other.score).exp().item(), rel=1e-3)
            assert best["numTokens"] == best["numRows"] == len(best["ids"]) + best["ended"]
    assert beam_size > 1 or {best.ended for best in expected} == {True, False}, "limits must matter in this test"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, short_run: Callable[..., list[str]]) -> TranslationModel:
    """A model that copies short texts, with few mistakes."""
    folder = tmp_path_factory.mktemp("runs") / "copy"
    more = ["task.max_length=6", "task.train_size=2000", "trainer.max_steps=150", "trainer.val_check_interval=50"]
    train_run(compose_options("train", short_run(folder, *more)))
    return load(str(folder))


@pytest.mark.parametrize(("bits", "beam_size", "number"), [(32, 1, 200), (16, 1, 200), (32, 4, 50), (16, 4, 50)])
def test_a_trained_model_writes_what_it_writes_in_python(
    tab, trained: TranslationModel, bits: int, beam_size: int, number: int
) -> None:
    generator = np.random.default_rng(1)
    symbols = np.arange(4, trained.source_tokenizer.vocab_size)
    sources = [generator.choice(symbols, size=generator.integers(1, 8)).tolist() for _ in range(number)]
    limit, decode = trained.length_limit, DecodeOptions(beam_size=beam_size)
    expected = [best for best, *_ in decode_sentences(trained.model, sources, limit=limit, options=decode)]
    how = {"beamSize": beam_size, "lengthPenalty": 1}
    given = [[*source, 2] for source in sources]
    found = [best for best, *_ in tab.evaluate(SEARCH, [packed(trained.model, bits), given, vars(limit), how])]
    assert [best["ids"] for best in found] == [best.ids for best in expected]
    right = sum(best.ids == source for best, source in zip(expected, sources, strict=True))
    assert number / 4 < right < number, "neither a model that knows nothing nor one that knows all"


def page_of(
    run: Path, file: Path, *, float32: bool = False, stages: bool | None = None
) -> tuple[dict, dict[str, dict]]:
    """The page's data, and the model of each stage as it stands in it."""
    kind = AttentionFormat.playground
    attention(AttentionOptions(format=kind, ckpt=str(run), output=str(file), float32=float32, stages=stages))
    html = file.read_text(encoding="utf-8")
    data, weights = (re.search(rf'id="{name}">(.*?)</script>', html, re.DOTALL) for name in ("log", "weights"))
    assert data is not None and weights is not None
    data, texts = json.loads(data[1]), weights[1].split("\n")
    parts = zip(data["stages"], texts[::2], texts[1::2], strict=True)
    return data, {own["name"]: {**data["model"], "bits": own["bits"], "high": a, "low": b} for own, a, b in parts}


@pytest.mark.slow
def test_pages_of_the_default_run_answer_as_python_does(tab, tmp_path: Path) -> None:
    run, file = tmp_path / "run", tmp_path / "play.html"
    train_run(compose_options("train", [f"run_dir={run}", "trainer.max_steps=200", "logger=none"]))
    trained = load(str(run))
    rows = (run / "evaluation" / "test.tsv").read_text(encoding="utf-8").split("\n")[1:201]
    sources = trained.source_tokenizer.encode_batch(row.split("\t")[0] for row in rows)
    expected = [best.ids for best, *_ in decode_sentences(trained.model, sources, limit=trained.length_limit)]
    given = [[*source, 2] for source in sources]
    pairs = [(source, [1, *target]) for source, target in zip(given, expected, strict=True)]
    exact = deepcopy(trained.model).double()
    for float32, model, most in ((True, exact, 1e-5), (False, trained.model, 1e-3)):  # Python's float32 sums lose 2e-5
        data, models = page_of(run, file, float32=float32)
        greedy = {"beamSize": 1, "lengthPenalty": 1}
        found = tab.evaluate(SEARCH, [models["trained"], given, data["limits"], greedy])
        assert [best["ids"] for best, *_ in found] == expected
        for (source, target), logits in zip(pairs, tab.evaluate(MANY, [models["trained"], pairs]), strict=True):
            assert (torch.tensor(logits) - logits_of(model, source, target)).abs().max() < most
    assert file.stat().st_size < 3_000_000 and {"untrained", "trained"} <= {*models}
    data, models = page_of(run, file, stages=True)
    steps = [stage["step"] for stage in data["stages"]]
    assert [*models] == ["untrained", "half-trained", "trained"] and {*steps[:2]} <= {
        *KeptWeights(run / "attention").steps
    }
    right = []
    for model in models.values():
        found = tab.evaluate(STAGE_SEARCH, [models["trained"], model, given[:50], data["limits"]])
        near = [Levenshtein.normalized_similarity(*pair) for pair in zip(found, expected, strict=False)]
        right.append(sum(near) / len(near))
    assert right[0] < 0.3 < right[1] < 0.95 < right[2]


TOKENIZE = """([state, texts, lists]) => {
  const tokenizer = window.engine.createTokenizer(state);
  return {
    ids: texts.map((text) => tokenizer.encode(text)),
    texts: lists.map((ids) => tokenizer.decode(ids)),
    labels: lists.map((ids) => tokenizer.tokens(ids)),
  };
}"""
LINES = [
    "it's the dog's bone, they'll say; we've 12 dogs  and\t3 cats \n\n ",
    "\u00e9l\u00e8ve e\u0301le\u0300ve \u1100\u1161\u11a8 \uac01 \u212b",
    "\u6211\u5011\u559c\u6b61\u8c93\u3002 \u65e5\u672c\u8a9e \u3000 \uc548\ub155",
    "\U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea <pad> <unk> \\ \x00 \x1c \x85 \ufeff \u2028",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947 \u00bd\u00b2 \u2167",
]
CHARACTERS = st.one_of(
    st.sampled_from(sorted(set("".join(LINES)))),
    st.sampled_from("\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u200b\u2029\u202f\u205f\u3000\ufeff\u180e;'"),
    st.characters(exclude_categories=("Cs", "Cn")),
)
TEXT = st.text(CHARACTERS, max_size=30)


@pytest.mark.parametrize("tag_separator", [None, ";"])
@pytest.mark.parametrize("normalize", Normalize)
@pytest.mark.parametrize("kind", TokenizerKind)
def test_tokenizers_are_those_of_python(
    tab, kind: TokenizerKind, normalize: Normalize, tag_separator: str | None
) -> None:
    lines = LINES if tag_separator is None else [*(f"V;PST;{n}\t{line}" for n, line in enumerate(LINES)), "a b"]
    tokenizer = Tokenizer.fit(kind, lines * 3, normalize=normalize, tag_separator=tag_separator)

    @settings(max_examples=60)
    @given(
        st.lists(st.one_of(st.sampled_from(lines), TEXT, TEXT.map("V; PST ;\u00e9;;x\t".__add__)), max_size=30),
        st.lists(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=12), max_size=30),
    )
    def same(texts: list[str], lists: list[list[int]]) -> None:
        found = tab.evaluate(TOKENIZE, [tokenizer.state(), texts, [*lists, *tokenizer.encode_batch(texts)]])
        lists = [*lists, *tokenizer.encode_batch(texts)]
        assert found["ids"] == tokenizer.encode_batch(texts)
        assert found["texts"] == [tokenizer.decode(ids) for ids in lists]
        assert found["labels"] == [tokenizer.tokens(ids) for ids in lists]

    same()
