"""Beam search: at each step the most probable continuations of several hypotheses, with a cache."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2see.decoding.hypothesis import (
    Hypothesis,
    allow_only_exact,
    evaluation_mode,
    limits_of,
    next_log_probs,
    penalised,
)
from seq2see.text import BOS, EOS
from seq2see.transformer import Transformer

NEVER = float("-inf")


def beam_search(
    model: Transformer,
    src: Tensor,
    src_mask: Tensor,
    *,
    max_lengths: Sequence[int],
    beam_size: int,
    length_penalty: float = 1.0,
    num_best: int = 1,
    exact_lengths: bool = False,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each row, found with `beam_size` of them at a time.

    A hypothesis that ends takes its place in the beam with it, so that all that are compared while searching are of one
    length, whatever the penalty. A row is done when no place is left, or when no hypothesis that goes on can come to
    rank among its `num_best`: so stopping early changes none of them. A beam of one is greedy decoding.

    Args:
        model: any `Transformer`; its mode is put back after.
        src: source ids, int64 (B, S).
        src_mask: bool (B, S), True = a real token.
        max_lengths: for each row the most tokens to produce, EOS included.
        beam_size: hypotheses followed at a time.
        length_penalty: hypotheses are ranked by log-probability / length ** length_penalty.
        num_best: hypotheses wanted of each row, at most `beam_size`.
        exact_lengths: each hypothesis gets exactly `max_lengths` tokens, EOS being the last.

    Returns:
        For each row at most `num_best` hypotheses, the best first; those that were cut at the limit come last.

    Raises:
        ValueError: `max_lengths` is not one number of at least 0 for each row.
    """
    with evaluation_mode(model):
        search = _Search(model, src, src_mask, max_lengths, beam_size, length_penalty, num_best, exact_lengths)
        while search.goes_on:
            search.step()
    return [search.best(row) for row in range(src.shape[0])]


class _Search:
    """The state of one batch: G rows that are not done, each with W hypotheses (1 at first, then `beam_size`)."""

    def __init__(
        self,
        model: Transformer,
        src: Tensor,
        src_mask: Tensor,
        max_lengths: Sequence[int],
        beam_size: int,
        length_penalty: float,
        num_best: int,
        exact_lengths: bool,
    ) -> None:
        self.model, self.beam_size, self.length_penalty = model, beam_size, length_penalty
        self.num_best, self.exact_lengths = num_best, exact_lengths
        num_rows, device = src.shape[0], src.device
        self.found: list[list[Hypothesis]] = [[] for _ in range(num_rows)]
        self.memory, self.src_mask = model.encode(src, src_mask), src_mask
        self.cache = model.new_cache()
        self.rows = torch.arange(num_rows, device=device)  # (G,)
        self.limits = limits_of(max_lengths, src)  # (G,)
        self.places = torch.full((num_rows,), beam_size, device=device)  # (G,) places that are not taken by an end
        self.tokens = torch.full((num_rows, 1, 1), BOS, device=device)  # (G, W, length), BOS first
        self.scores = torch.zeros(num_rows, 1, device=device, dtype=torch.float64)  # (G, W)
        self.length = 0
        self._keep(self.limits > 0)

    @property
    def goes_on(self) -> bool:
        """Whether a row is not done."""
        return len(self.rows) > 0

    def step(self) -> None:
        """One more token for every hypothesis; some end, and some rows are done."""
        self.length += 1
        parent, token, scores = self._continue()
        leaving = (scores > NEVER) & ((token == EOS) | (self.limits == self.length)[:, None])
        num_rows, width, _ = self.tokens.shape
        in_cache = torch.arange(num_rows, device=parent.device)[:, None] * width + parent  # (G, beam_size)
        self.tokens = torch.cat((_take(self.tokens, parent), token[:, :, None]), dim=2)
        self._record(leaving, scores)
        self.places = self.places - leaving.sum(dim=1)
        self.scores = scores.masked_fill(leaving, NEVER)
        going = self._going()
        everyone = bool(going.all())
        if not everyone:
            self._keep(going)
        if self.beam_size > 1 or not everyone:
            self.cache.select(in_cache[going].flatten(), same_sources=everyone and width == self.beam_size)

    def best(self, row: int) -> list[Hypothesis]:
        """What was found for a row of the batch, the best first."""
        ordered = sorted(self.found[row], key=lambda one: (one.ended, one.ranked_by(self.length_penalty)), reverse=True)
        return ordered[: self.num_best]

    def _continue(self) -> tuple[Tensor, Tensor, Tensor]:
        """For each place in the beam: which hypothesis goes on there, with which token, and its score (G, W)."""
        num_rows, width, _ = self.tokens.shape
        memory = self.memory if self.length == 1 else self.memory[:1].expand(num_rows * width, -1, -1)  # cached by then
        src_mask = self.src_mask.repeat_interleave(width, 0)
        logits = self.model.decode(self.tokens[:, :, -1].reshape(-1, 1), memory, src_mask, self.cache)
        log_probs = next_log_probs(logits[:, -1])  # (G W, V)
        if self.exact_lengths:
            log_probs = allow_only_exact(log_probs, self.limits.repeat_interleave(width), self.length)
        vocab_size = log_probs.shape[-1]
        best, tokens = _top(log_probs, min(self.beam_size, vocab_size))  # no hypothesis needs more
        totals = (self.scores[:, :, None] + best.double().view(num_rows, width, -1)).flatten(1)
        missing = self.beam_size - totals.shape[1]
        if missing > 0:
            totals = torch.nn.functional.pad(totals, (0, missing), value=NEVER)
        scores, index = totals.topk(self.beam_size, dim=-1)
        index = index.clamp(max=width * best.shape[1] - 1)
        parent = index // best.shape[1]
        token = tokens.view(num_rows, -1).gather(1, index)
        free = torch.arange(self.beam_size, device=scores.device) < self.places[:, None]
        return parent, token, scores.masked_fill(~free, NEVER)

    def _record(self, leaving: Tensor, scores: Tensor) -> None:
        rows = self.rows.tolist()
        groups = leaving.nonzero()[:, 0].tolist()
        for group, (_, *ids), score in zip(
            groups, self.tokens[leaving].tolist(), scores[leaving].tolist(), strict=True
        ):
            ended = ids[-1] == EOS
            self.found[rows[group]].append(Hypothesis(ids[:-1] if ended else ids, score, ended))

    def _going(self) -> Tensor:
        """Which rows are not done: bool (G,)."""
        best, limits = self.scores.max(dim=1).values.tolist(), self.limits.tolist()
        going = [
            score > NEVER and not self._settled(row, score, limit)
            for row, score, limit in zip(self.rows.tolist(), best, limits, strict=True)
        ]
        return torch.tensor(going, device=self.scores.device)

    def _settled(self, row: int, score: float, limit: int) -> bool:
        """Whether a hypothesis of this score that goes on cannot come to rank among the best, however it ends."""
        ended = sorted((one.ranked_by(self.length_penalty) for one in self.found[row] if one.ended), reverse=True)
        if len(ended) < self.num_best:
            return False
        # a score only falls; a penalty above 0 divides it by the more the longer it gets
        kindest = max(penalised(score, length, self.length_penalty) for length in (self.length + 1, limit))
        return kindest <= ended[self.num_best - 1]

    def _keep(self, going: Tensor) -> None:
        """Lets the other rows go."""
        self.memory, self.src_mask = self.memory[going], self.src_mask[going]
        self.rows, self.limits, self.places = self.rows[going], self.limits[going], self.places[going]
        self.tokens, self.scores = self.tokens[going], self.scores[going]


def _top(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The greatest of each row and where they are; of equals a beam of one takes the first, as greedy decoding does."""
    best = log_probs.max(dim=-1, keepdim=True) if count == 1 else log_probs.topk(count, dim=-1)
    return best.values, best.indices


def _take(tokens: Tensor, parent: Tensor) -> Tensor:
    """The tokens (G, W, length) of the hypotheses that go on at each place (G, W)."""
    return tokens.gather(1, parent[:, :, None].expand(-1, -1, tokens.shape[2]))
