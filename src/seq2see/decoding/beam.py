"""Beam search: at each step the most probable continuations of several hypotheses, with a cache."""

from collections.abc import Sequence

import torch
from torch import Tensor

from seq2see.decoding.constraints import NEVER, Restriction
from seq2see.decoding.ensemble import Predictor
from seq2see.decoding.hypothesis import Hypothesis, best_first, evaluation_mode, most_ids, next_log_probs
from seq2see.text import BOS, EOS


def beam_search(
    model: Predictor,
    src: Tensor,
    src_mask: Tensor,
    *,
    max_lengths: Sequence[int],
    beam_size: int,
    length_penalty: float = 1.0,
    num_best: int = 1,
    restriction: Restriction | None = None,
) -> list[list[Hypothesis]]:
    """For each row at most `num_best` hypotheses, best first, found with `beam_size` of them at a time.

    Of all continuations those that end are kept if they are among the `beam_size` most probable, and the `beam_size`
    most probable of the others go on: an end takes no place from them. A row is done when nothing that goes on can come
    to rank among its `num_best`: so stopping early changes none of them. A beam of one stops at its first end: it is
    greedy decoding.

    Args:
        model: this and what is not named here as in `greedy`.
        src: source ids, int64 (B, S).
        src_mask: bool (B, S), True = a real token.
        max_lengths: for each row the most tokens to produce, EOS included.
        beam_size: hypotheses followed at a time.
        length_penalty: hypotheses are ranked by log-probability / length ** length_penalty, those that were cut last.
        num_best: at most `beam_size`.
        restriction: what may be written; `beam_size` hypotheses are followed for each number of tokens that texts that
            must appear still need, for those that have begun one are less probable (Hokamp and Liu 2017, Grid Beam
            Search).
    """
    with evaluation_mode(model):
        limits = torch.tensor(max_lengths, device=src.device, dtype=torch.int64)
        search = _Search(model, src, src_mask, limits, beam_size, length_penalty, num_best, restriction)
        while len(search.rows):
            search.step()
    return [best_first(own, length_penalty)[:num_best] for own in search.found]


class _Search:
    """The state of one batch: G rows that are not done, each with W hypotheses (1 at first, later `beam_size`)."""

    def __init__(
        self,
        model: Predictor,
        src: Tensor,
        src_mask: Tensor,
        limits: Tensor,
        beam_size: int,
        length_penalty: float,
        num_best: int,
        restriction: Restriction | None,
    ) -> None:
        self.model, self.beam_size, self.length_penalty = model, beam_size, length_penalty
        self.restriction, self.num_banks = restriction, 1 if restriction is None else restriction.num_banks
        self.is_greedy = beam_size * self.num_banks == 1
        num_rows, device = src.shape[0], src.device
        self.found: list[list[Hypothesis]] = [[] for _ in range(num_rows)]
        self.memory, self.src_mask = model.encode(src, src_mask), src_mask
        self.cache, self.most_ids = model.new_cache(), most_ids(model)
        self.rows, self.limits = torch.arange(num_rows, device=device), limits  # (G,)
        self.ranks = torch.full((num_rows, num_best), NEVER, device=device, dtype=torch.float64)  # of the best ends
        self.tokens = torch.full((num_rows, 1, 1), BOS, device=device)  # (G, W, length), BOS first
        self.scores = torch.zeros(num_rows, 1, device=device, dtype=torch.float64)  # (G, W)
        self.states = torch.zeros_like(self.scores, dtype=torch.int64)  # (G, W), as `Restriction` counts
        if restriction is not None:
            self.states = restriction.begin[:, None]
        self.length = 0
        self._keep(limits > 0)

    def step(self) -> None:
        """One more token for every hypothesis; some end, and some rows are done."""
        self.length += 1
        num_rows, width, _ = self.tokens.shape
        log_probs = self._log_probs()
        following = self._restricted(log_probs)
        ends = self.scores + log_probs[:, :, EOS].double()
        parent, token, scores = self._others(log_probs, following)
        both = torch.cat((ends, scores[:, : scores.shape[1] // self.num_banks]), dim=1)  # an end needs nothing more
        least = both.topk(min(self.beam_size, both.shape[1])).values[:, -1:]
        ends = ends.masked_fill(ends < least, NEVER)
        self._record(ends, ended=True)
        ranks = torch.cat((self.ranks, ends / self.length**self.length_penalty), dim=1)
        self.ranks = ranks.topk(self.ranks.shape[1], dim=1).values
        in_cache = torch.arange(num_rows, device=parent.device)[:, None] * width + parent  # (G, W)
        before = self.tokens.gather(1, parent[:, :, None].expand(-1, -1, self.length))
        self.tokens, self.scores = torch.cat((before, token[:, :, None]), dim=2), scores
        if following is not None:
            self.states = following[torch.arange(num_rows, device=parent.device)[:, None], parent, token]
        is_cut = self.limits.clamp(max=self.most_ids) == self.length
        self._record(scores.masked_fill(~is_cut[:, None], NEVER), ended=False)
        going = (self.limits > self.length) & ~self._settled()
        everyone = bool(going.all())
        if not everyone:
            self._keep(going)
        if not self.is_greedy or not everyone:
            self.cache.select(in_cache[going].flatten(), same_sources=everyone and width == scores.shape[1])

    def _log_probs(self) -> Tensor:
        """Of what follows each hypothesis, (G, W, V)."""
        num_rows, width, _ = self.tokens.shape
        memory = self.memory if self.length == 1 else self.memory[:1].expand(num_rows * width, -1, -1)  # cached by then
        src_mask = self.src_mask.repeat_interleave(width, 0)
        logits = self.model.decode(self.tokens[:, :, -1].reshape(-1, 1), memory, src_mask, self.cache)
        return next_log_probs(logits[:, -1]).view(num_rows, width, -1)

    def _restricted(self, log_probs: Tensor) -> Tensor | None:
        """Makes log-probabilities (G, W, V) of what may not follow impossible; the states after each token."""
        if self.restriction is None:
            return None
        flat, width = log_probs.flatten(0, 1), log_probs.shape[1]
        left = self.limits.clamp(max=self.most_ids) - self.length
        following = self.restriction.restrict(
            flat, self.states.flatten(), self.rows.repeat_interleave(width), left.repeat_interleave(width)
        )
        return following.view_as(log_probs)

    def _others(self, log_probs: Tensor, following: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations that do not end: which hypothesis goes on, with which token, and its score (G, W).

        They are the best of each bank of the restriction.
        """
        log_probs[:, :, EOS] = NEVER
        if self.restriction is None or following is None or self.num_banks == 1:
            return self._best(log_probs)
        banks = self.restriction.bank(following)
        found = [self._best(log_probs.masked_fill(banks != bank, NEVER)) for bank in range(self.num_banks)]
        parents, tokens, scores = (torch.cat(parts, dim=1) for parts in zip(*found, strict=True))
        return parents, tokens, scores

    def _best(self, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The most probable of all continuations: hypothesis, token and score, (G, `beam_size`)."""
        if self.beam_size == 1:  # of equals the first, as greedy decoding takes
            best, tokens = log_probs.max(dim=-1, keepdim=True)
        else:
            best, tokens = log_probs.topk(min(self.beam_size, log_probs.shape[-1]), dim=-1)  # no hypothesis needs more
        totals = (self.scores[:, :, None] + best.double()).flatten(1)
        scores, index = totals.topk(min(self.beam_size, totals.shape[1]), dim=-1)
        return index // best.shape[-1], tokens.flatten(1).gather(1, index), scores

    def _record(self, scores: Tensor, *, ended: bool) -> None:
        """Keeps the hypotheses whose scores (G, W) are possible."""
        leaving = scores > NEVER
        rows = self.rows[leaving.nonzero()[:, 0]].tolist()
        for row, (_, *ids), score in zip(rows, self.tokens[leaving].tolist(), scores[leaving].tolist(), strict=True):
            self.found[row].append(Hypothesis(ids, score, ended))

    def _settled(self) -> Tensor:
        """For which rows no hypothesis that goes on can come to rank among the best, however it ends: bool (G,)."""
        if self.is_greedy:
            return self.ranks[:, 0] > NEVER
        best = self.scores.max(dim=1).values
        # a score only falls; a penalty above 0 divides it by the more the longer it gets
        soon, late = best / (self.length + 1) ** self.length_penalty, best / self.limits.double() ** self.length_penalty
        return torch.maximum(soon, late) <= self.ranks[:, -1]

    def _keep(self, going: Tensor) -> None:
        """Lets the other rows go."""
        self.memory, self.src_mask = self.memory[going], self.src_mask[going]
        self.rows, self.limits, self.ranks = self.rows[going], self.limits[going], self.ranks[going]
        self.tokens, self.scores, self.states = self.tokens[going], self.scores[going], self.states[going]
