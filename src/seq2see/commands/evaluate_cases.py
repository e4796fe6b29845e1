"""From wrong outputs to their attention: which are shown, what flags their maps raise, and what those are worth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from seq2see.decoding import Hypothesis, TranslationModel, decode_sentences
from seq2see.evaluation import Evaluation, References, one_line
from seq2see.maps.attended import Asked, CrossHead, aligning_head, captured, example_of, looked_at
from seq2see.maps.cases import Case, Found, Side, flags_of, render, report, spread, unattended_words
from seq2see.maps.causes import agreement, cost, for_page, word_effects
from seq2see.tasks import Pair
from seq2see.tasks.progress import counted
from seq2see.text import EOS, UNK

MOST_WRONG, NUM_RIGHT = 1000, 20  # outputs on the page
NUM_CLOSE = 20  # of either, with what else the beam held and what source words cause
MOST_SCORED = 500  # outputs whose flags are looked at
FEW_RIGHT, MOST_USUAL = 20, 200  # right outputs that are too few, and others that are translated then
MOST_TOKENS = 100_000  # of targets, scored for what words cause in all shown outputs together
MOST_OF_ONE = 20_000  # and of one output; a longer one goes without single heads
NUM_CANDIDATES = 5  # most probable tokens of each place
AT_A_TIME = 64  # outputs whose maps are in memory
SEED = 0


class _Outputs(NamedTuple):
    """What a model made of some sources, one of each for a source."""

    texts: list[str]  # of the sources
    words: list[list[int]]  # the word number of each source token
    asked: list[Asked]  # the source's ids and the output's

    def only(self, numbers: Sequence[int]) -> "_Outputs":
        texts, words, asked = self
        return _Outputs([texts[n] for n in numbers], [words[n] for n in numbers], [asked[n] for n in numbers])


def add_cases(
    trained: TranslationModel,
    evaluation: Evaluation,
    *,
    name: str,
    usual: Callable[[], Sequence[Pair]] = tuple,
) -> None:
    """Adds to a model's evaluation what attention says of wrong outputs, `details["attention_flags"]`, and the page.

    `usual` gives pairs like those of training, to set beside the outputs where hardly any of these is right.
    """
    head = _head(trained, evaluation)
    hypotheses = [evaluation.hypotheses[place] for place in evaluation.firsts]
    outputs = _outputs(trained, [evaluation.pairs[place].source for place in evaluation.firsts], hypotheses)
    is_wrong = np.array([kind is not None for kind in evaluation.kinds])
    spread_usually, flags = _flags(trained, head, outputs, is_wrong, usual)
    evaluation.details["attention_flags"] = flags
    with counted("scoring what source words cause"):
        causes = agreement(trained, outputs.asked, outputs.words)
    if causes is not None:
        evaluation.details["attention_causes"] = causes

    loss, tokens = evaluation.counts.columns["loss"].T
    log_probs = -loss / np.maximum(tokens, 1)
    least_expected = np.argsort(log_probs, kind="stable")
    wrong = least_expected[is_wrong[least_expected]][:MOST_WRONG].tolist()
    right = _some(np.flatnonzero(~is_wrong), NUM_RIGHT)
    shown = [*wrong[:NUM_CLOSE], *right, *wrong[NUM_CLOSE:]]
    close = shown[: min(len(wrong), NUM_CLOSE) + len(right)]
    beams = dict(zip(close, _beams(trained, evaluation, close, outputs.only(close)), strict=True))
    with counted("scoring what source words cause"):
        caused = dict(zip(close, _causes(trained, outputs.only(close)), strict=True))

    def cases(written: Callable[[int], None]) -> Iterator[Case]:
        for begin in range(0, len(shown), AT_A_TIME):
            numbers = shown[begin : begin + AT_A_TIME]
            places = [evaluation.closest[n] for n in numbers]
            asked = [outputs.asked[n] for n in numbers]
            nearest = trained.target_tokenizer.encode_batch([evaluation.pairs[place].target for place in places])
            of_outputs = _sides(trained, asked)
            of_references = _sides(trained, [(source, ids) for (source, _), ids in zip(asked, nearest, strict=True)])
            for n, place, output, reference in zip(numbers, places, of_outputs, of_references, strict=True):
                weights, words, kind = head.of(output.cross), outputs.words[n], evaluation.kinds[n]
                labels = trained.source_tokenizer.tokens(outputs.asked[n][0])
                yield Case(
                    line=evaluation.firsts[n] + 2,  # below the heading of the .tsv file
                    source=outputs.texts[n],
                    source_tokens=(*labels, "<eos>"),
                    kind=None if kind is None else kind.value,
                    ended=hypotheses[n].ended,
                    log_prob=float(log_probs[n]),
                    output=replace(output, text=evaluation.texts[evaluation.firsts[n]]),
                    reference=replace(reference, text=evaluation.references[place]),
                    flags=flags_of(weights, words, spread_usually),
                    unattended=_word_labels(unattended_words(weights, words), words, labels),
                    links=example_of(n, evaluation.pairs[place], trained).links,
                    hypotheses=beams.get(n, ()),
                    causes=caused.get(n),
                )
            written(len(numbers))

    decode, num_wrong = trained.options.decode.filled(), int(is_wrong.sum())
    about = {
        "name": name,
        "step": trained.step,
        "layer": head.layer,
        "head": head.head,
        "flags": flags,
        "beam": decode.beam_size,
        "penalty": decode.length_penalty,
        "wrong": num_wrong,
        "right": len(is_wrong) - num_wrong,
        "causes": causes,
    }
    with counted("writing the page of outputs", len(shown)) as written:
        evaluation.page = render(cases(written), about=about, title=f"{name}: outputs and their attention")


def _outputs(trained: TranslationModel, sources: Sequence[str], hypotheses: Sequence[Hypothesis]) -> _Outputs:
    tokenizer = trained.source_tokenizer
    ids = zip(tokenizer.encode_batch(sources), hypotheses, strict=True)
    words = [tokenizer.word_numbers(source) for source in sources]
    return _Outputs(list(sources), words, [(source, hypothesis.ids) for source, hypothesis in ids])


def _flags(
    trained: TranslationModel,
    head: CrossHead,
    outputs: _Outputs,
    is_wrong: NDArray,
    usual: Callable[[], Sequence[Pair]],
) -> tuple[NDArray, dict[str, Any]]:
    """How attention is usually spread over the source, and what the flags of some outputs say of these."""
    chosen = _some(np.arange(len(is_wrong)), MOST_SCORED)
    wrong: list[bool] = is_wrong[chosen].tolist()
    scored, beside = outputs.only(chosen), _Outputs([], [], [])
    if wrong.count(False) < FEW_RIGHT:
        beside = _right_of(trained, usual())
    maps = [weights for _, weights in looked_at(trained, [*scored.asked, *beside.asked], head)]
    spreads = [spread(weights) for weights in maps]
    usually = np.mean(spreads[len(chosen) :] if beside.texts else spreads, axis=0)
    words = [*scored.words, *beside.words]
    flags = [flags_of(weights, own, usually) for weights, own in zip(maps, words, strict=True)]
    return usually, {
        "attention": f"cross attention, {head}",
        "outputs": len(chosen),
        "of": len(is_wrong),
        "wrong": wrong.count(True),
        "right": wrong.count(False),
        "beside": len(beside.texts),
        "flags": report(flags, [*wrong, *[False] * len(beside.texts)]),
    }


def _right_of(trained: TranslationModel, pairs: Sequence[Pair]) -> _Outputs:
    """The right outputs among some of the pairs."""
    some = [pairs[n] for n in _some(np.arange(len(pairs)), MOST_USUAL)]
    if not some:
        return _Outputs([], [], [])
    asked = References(some, trained.source_tokenizer, trained.target_tokenizer)
    decode = trained.options.decode
    hypotheses, texts = asked.translated(trained.predictor, limit=trained.length_limit, decode=decode)
    right = np.flatnonzero(asked.scorer.counts(texts)[0].columns["exact_match"][:, 0])
    return _outputs(trained, [some[place].source for place in asked.firsts], hypotheses).only(right.tolist())


def _causes(trained: TranslationModel, outputs: _Outputs) -> list[dict[str, Any] | None]:
    """For each output what its source words cause, as the page takes it; None from where that gets too much."""
    found: list[dict[str, Any] | None] = []
    left = MOST_TOKENS
    for (source, target), own in zip(outputs.asked, outputs.words, strict=True):
        num_words = max(own, default=-1) + 1
        heads = cost(trained, (source, target), num_words) <= MOST_OF_ONE
        left -= cost(trained, (source, target), num_words, heads=heads)
        if not num_words or left < 0:
            found.append(None)
            continue
        found.append(for_page(word_effects(trained.model, source, target, own, heads=heads), own))
    return found


def _head(trained: TranslationModel, evaluation: Evaluation) -> CrossHead:
    """The head that aligns best, as this evaluation or an earlier one has found; if nobody knows, a mean."""
    chosen = evaluation.details.get("alignment", {}).get("predicts")
    return aligning_head(trained) if chosen is None else CrossHead(chosen["layer"] - 1, chosen["head"] - 1)


def _some(numbers: NDArray, most: int) -> list[int]:
    """All of them, or so many drawn with a fixed seed; ascending."""
    if len(numbers) <= most:
        return numbers.tolist()
    return np.sort(np.random.default_rng(SEED).choice(numbers, most, replace=False)).tolist()


def _sides(trained: TranslationModel, asked: Sequence[Asked]) -> list[Side]:
    """For each source and target all cross maps, and how probable the target's tokens and others are."""
    tokenizer = trained.target_tokenizer
    sides: dict[int, Side] = {}
    for index, log_probs, cross in captured(trained, asked):
        target = asked[index][1]
        best = log_probs.exp().topk(min(NUM_CANDIDATES, log_probs.shape[-1]), dim=-1)
        taken = log_probs.gather(1, torch.tensor([*target, EOS])[:, None])[:, 0].exp()
        candidates = [
            tuple(zip(tokenizer.tokens(ids), shares, strict=True))
            for ids, shares in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        tokens = (*tokenizer.tokens(target), "<eos>")
        sides[index] = Side("", tokens, tuple(taken.tolist()), tuple(candidates), cross)
    return [sides[index] for index in range(len(asked))]


def _beams(
    trained: TranslationModel, evaluation: Evaluation, shown: Sequence[int], outputs: _Outputs
) -> list[tuple[Found, ...]]:
    """For each shown output all hypotheses of its beam, of which the evaluation keeps the best alone."""
    decode, target = trained.options.decode.filled(), trained.target_tokenizer
    if decode.beam_size is None or decode.beam_size < 2:
        return [()] * len(shown)
    options = replace(decode, num_best=decode.beam_size)
    beams = []
    sources = [source for source, _ in outputs.asked]
    found = decode_sentences(trained.predictor, sources, limit=trained.length_limit, options=options)
    for number, hypotheses in zip(shown, found, strict=True):
        best = evaluation.hypotheses[evaluation.firsts[number]]
        reference = evaluation.references[evaluation.closest[number]]
        beam = []
        for own in [best, *(other for other in hypotheses if other.ids != best.ids)]:
            text = one_line(target.decode(own.ids))
            right = text == reference and UNK not in own.ids
            beam.append(Found(text, own.score, own.ranked_by(decode.length_penalty or 0.0), right, own.ended))
        beams.append(tuple(beam))
    return beams


def _word_labels(chosen: Sequence[int], words: Sequence[int], tokens: Sequence[str]) -> tuple[str, ...]:
    """The words as the labels of their tokens, spaces left out."""
    labels: dict[int, str] = {}
    for word, token in zip(words, tokens, strict=True):
        labels[word] = labels.get(word, "") + (token if token == "␣" else token.replace("␣", ""))
    return tuple(labels[word] for word in chosen)
