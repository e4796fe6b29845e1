"""From wrong outputs to their attention: which are shown, what flags their maps raise, and what those are worth."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seq2see.decoding import TranslationModel, decode_sentences
from seq2see.evaluation import Evaluation, one_line
from seq2see.maps.attended import Asked, CrossHead, aligning_head, captured, looked_at
from seq2see.maps.cases import Case, Found, Side, flags_of, render, report, spread, unattended_words
from seq2see.maps.causes import agreement, cost, for_page, word_effects
from seq2see.text import EOS, UNK

NUM_SHOWN = 20  # outputs of each group
MOST_SCORED = 500  # outputs whose flags are looked at
MOST_TOKENS = 100_000  # of targets, scored for what words cause in all shown outputs together
MOST_OF_ONE = 20_000  # and of one output; a longer one goes without single heads
NUM_CANDIDATES = 5  # most probable tokens of each place
SEED = 0


def add_cases(trained: TranslationModel, evaluation: Evaluation, *, name: str) -> None:
    """Adds to a model's evaluation what attention says of wrong outputs, `details["attention_flags"]`, and the page."""
    head, tokenizer = _head(trained, evaluation), trained.source_tokenizer
    texts = [evaluation.pairs[place].source for place in evaluation.firsts]
    sources = tokenizer.encode_batch(texts)
    words = [tokenizer.word_numbers(text) for text in texts]
    outputs = [evaluation.hypotheses[place] for place in evaluation.firsts]
    asked = [(source, output.ids) for source, output in zip(sources, outputs, strict=True)]
    wrong = evaluation.counts.columns["exact_match"][:, 0] == 0
    usual, flags = _flags(trained, head, asked, words, wrong)

    loss, tokens = evaluation.counts.columns["loss"].T
    log_probs = -loss / np.maximum(tokens, 1)
    worst = np.argsort(log_probs, kind="stable")[:NUM_SHOWN].tolist()
    others = _some(np.setdiff1d(np.arange(len(sources)), worst), NUM_SHOWN)
    shown = [*worst, *others]
    nearest = trained.target_tokenizer.encode_batch([evaluation.pairs[evaluation.closest[n]].target for n in shown])
    of_outputs = _sides(trained, [asked[n] for n in shown])
    of_references = _sides(trained, [(sources[n], ids) for n, ids in zip(shown, nearest, strict=True)])
    beams = _beams(trained, evaluation, shown, [sources[n] for n in shown])
    causes = _causes(trained, [asked[n] for n in shown], [words[n] for n in shown])
    cases = []
    for n, output, reference, beam, caused in zip(shown, of_outputs, of_references, beams, causes, strict=True):
        weights, labels = head.of(output.cross), tokenizer.tokens(sources[n])
        cases.append(
            Case(
                line=evaluation.firsts[n] + 2,  # below the heading of the .tsv file
                group="worst" if len(cases) < len(worst) else "random",
                source=texts[n],
                source_tokens=(*labels, "<eos>"),
                right=not wrong[n],
                ended=outputs[n].ended,
                log_prob=float(log_probs[n]),
                output=replace(output, text=evaluation.texts[evaluation.firsts[n]]),
                reference=replace(reference, text=evaluation.references[evaluation.closest[n]]),
                flags=flags_of(weights, words[n], usual),
                unattended=_word_labels(unattended_words(weights, words[n]), words[n], labels),
                hypotheses=beam,
                causes=caused,
            )
        )
    decode = trained.options.decode.filled()
    about = {
        "name": name,
        "step": trained.step,
        "layer": head.layer,
        "head": head.head,
        "flags": flags,
        "beam": decode.beam_size,
        "penalty": decode.length_penalty,
        "choice": (
            f"worst: the {len(worst)} whose reference the model finds least probable, token for token; "
            f"random: {len(others)} of the other outputs, drawn with a fixed seed."
        ),
    }
    evaluation.details["attention_flags"] = flags
    about["causes"] = agreement(trained, asked, words)
    if about["causes"] is not None:
        evaluation.details["attention_causes"] = about["causes"]
    evaluation.page = render(cases, about=about, title=f"{name}: outputs and their attention")


def _flags(
    trained: TranslationModel, head: CrossHead, asked: Sequence[Asked], words: Sequence[Sequence[int]], wrong: NDArray
) -> tuple[NDArray, dict[str, Any]]:
    """How attention is usually spread over the source, and what the flags of some outputs say of these."""
    scored = _some(np.arange(len(asked)), MOST_SCORED)
    maps = [weights for _, weights in looked_at(trained, [asked[n] for n in scored], head)]
    usual = np.mean([spread(weights) for weights in maps], axis=0)
    flags = [flags_of(weights, words[n], usual) for weights, n in zip(maps, scored, strict=True)]
    num_wrong = int(wrong[scored].sum())
    return usual, {
        "attention": f"cross attention, {head}",
        "outputs": len(scored),
        "of": len(asked),
        "wrong": num_wrong,
        "right": len(scored) - num_wrong,
        "flags": report(flags, wrong[scored].tolist()),
    }


def _causes(
    trained: TranslationModel, asked: Sequence[Asked], words: Sequence[Sequence[int]]
) -> list[dict[str, Any] | None]:
    """For each output what its source words cause, as the page takes it; None from where that gets too much."""
    found: list[dict[str, Any] | None] = []
    left = MOST_TOKENS
    for (source, target), own in zip(asked, words, strict=True):
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
    trained: TranslationModel, evaluation: Evaluation, shown: Sequence[int], sources: Sequence[Sequence[int]]
) -> list[tuple[Found, ...]]:
    """For each shown output all hypotheses of its beam, of which the evaluation keeps the best alone."""
    decode, target = trained.options.decode.filled(), trained.target_tokenizer
    if decode.beam_size is None or decode.beam_size < 2:
        return [()] * len(shown)
    options = replace(decode, num_best=decode.beam_size)
    beams = []
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
