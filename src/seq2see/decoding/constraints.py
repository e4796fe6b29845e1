"""What outputs must begin with, must hold and must not hold, exactly, whatever the tokens are.

Data flow: the texts become one automaton over bytes, which knows words by their ends (`byte_automaton`); run over what
each id spells, it becomes a table (state, id) -> state with the fewest tokens that are still missing (`Constraints`).
A prefix is a path of its own that leads into it (`Path`). Decoding then keeps a state for each hypothesis, and
`Restriction.restrict` makes impossible what the state does not let through, or what would leave too few tokens. Nothing
else changes: all others keep the log-probability that the model gives them.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seq2see.decoding.hypothesis import LengthLimit
from seq2see.options import TokenizerKind
from seq2see.text import EOS, UNK, Tokenizer, normalize

MOST_MUST = 8  # texts: each doubles the states
MOST_CELLS = 2**26  # of the tables
FAR = 2**30  # tokens: there is no way
DEAD = 0  # the node that nothing leaves
NEVER = float("-inf")
_INSIDE = frozenset(range(0x80, 0xC0))  # bytes within a character
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz") | frozenset(range(0xC3, 0xE2))


class Wanted(NamedTuple):
    """A text that is looked for; a word's end is looked for only where capitals or digits tell words apart."""

    spelled: bytes
    begins_word: bool
    ends_word: bool

    @classmethod
    def of(cls, text: str) -> "Wanted":
        """The text, in UTF-8."""
        return cls(text.encode(), _has_ends(text[0]), _has_ends(text[-1]))


def _has_ends(character: str) -> bool:
    return character == "_" or character.isdecimal() or character.lower() != character.upper()


Node = tuple[frozenset[tuple[int, int]], bool]
"""Up to which place which texts match, and whether a letter or digit stands before."""


class ByteAutomaton(NamedTuple):
    """Which texts have come to their end. N nodes, the first of them `DEAD`, the second where all begins."""

    after: np.ndarray  # the node after a byte, (N, 257); the last is no byte
    done: np.ndarray  # a bit for each text that must appear and is complete with this byte, (N, 257)
    done_at_end: np.ndarray  # the same if the output ends here, (N,)
    may_end: np.ndarray  # bool (N,): no text that must not appear would be complete


def byte_automaton(must: Sequence[Wanted], forbid: Sequence[Wanted]) -> ByteAutomaton:
    """Aho and Corasick 1975, of texts that may have to begin or end where a word does."""
    wanted = [*must, *forbid]
    used = {byte for text in wanted for byte in text.spelled}
    begins = {byte: [number for number, text in enumerate(wanted) if text.spelled[0] == byte] for byte in used}

    def moved(node: Node, byte: int) -> tuple[Node, set[int]]:
        places, in_word = node
        is_word = in_word if byte in _INSIDE else byte in _WORD
        begun = {(number, 0) for number in begins.get(byte, ()) if not (in_word and wanted[number].begins_word)}
        complete, following = set(), set()
        for number, place in places | begun:
            spelled, ends_word = wanted[number].spelled, wanted[number].ends_word
            if place == len(spelled):
                complete |= {number} - ({number} if is_word else set())
            elif spelled[place] == byte and (ends_word or place + 1 < len(spelled)):
                following.add((number, place + 1))
            elif spelled[place] == byte:
                complete.add(number)
        return (frozenset(following), is_word), complete

    nodes: dict[Node | None, int] = {None: DEAD, (frozenset(), False): 1}
    order: list[Node] = [(frozenset(), False)]
    rows = [([DEAD] * 257, [0] * 257)]
    for node in order:
        after, done, known = [], [], {}
        for byte in range(256):
            kind = byte if byte in used else (byte in _INSIDE, byte in _WORD)
            if kind not in known:
                following, complete = moved(node, byte)
                if max(complete, default=-1) >= len(must):
                    known[kind] = DEAD, 0
                else:
                    if following not in nodes:
                        nodes[following] = len(nodes)
                        order.append(following)
                    known[kind] = nodes[following], sum(1 << number for number in complete)
            after.append(known[kind][0])
            done.append(known[kind][1])
        rows.append(([*after, nodes[node]], [*done, 0]))
    ending = [{number for number, place in places if place == len(wanted[number].spelled)} for places, _ in order]
    return ByteAutomaton(
        np.array([after for after, _ in rows], dtype=np.int32),
        np.array([done for _, done in rows], dtype=np.uint8),
        np.array([0, *(sum(1 << number for number in own if number < len(must)) for own in ending)], dtype=np.uint8),
        np.array([False, *(max(own, default=-1) < len(must) for own in ending)]),
    )


class Step(NamedTuple):
    """What may follow at a place within a prefix."""

    ids: list[int]
    states: list[int]  # that they lead to; below 0 the place -1 - state of the prefix
    missing: list[int]  # tokens at least, after each
    may_end: bool


class Path(NamedTuple):
    """The way of one source's outputs: the places of its prefix, the last of which lead into the states of all."""

    steps: list[Step]  # for each byte of the prefix
    missing: int  # tokens at least


class Constraints:
    """What all outputs of a model must hold and must not hold; a prefix may be added for each.

    Texts are looked for in the output as it reads, whatever its tokens are. One that begins or ends with a letter of a
    script with capitals, or with a digit or `_`, is not found inside a longer word; other scripts are found anywhere.

    Args:
        tokenizer: of the targets.
        must: texts that appear in each output.
        forbid: texts that appear in none.

    Raises:
        ValueError: a text is blank, cannot be written, or there are too many.
    """

    def __init__(self, tokenizer: Tokenizer, *, must: Sequence[str] = (), forbid: Sequence[str] = ()) -> None:
        self.tokenizer, self.must, self.forbid = tokenizer, list(must), list(forbid)
        for key, texts in (("must", self.must), ("forbid", self.forbid)):
            for text in texts:
                if not text.strip():
                    raise ValueError(f"{key} ({text!r}) has a blank text: leave it out")
        if len(self.must) > MOST_MUST:
            raise ValueError(f"must has {len(self.must)} texts, and at most {MOST_MUST} are looked for: leave some out")
        self._spelled = tokenizer.spellings()
        self._automaton = byte_automaton(
            *([Wanted.of(self._written(t)) for t in own] for own in (self.must, self.forbid))
        )
        cells = self._automaton.after.shape[0] * len(self._spelled)
        if cells > MOST_CELLS:
            raise ValueError(
                f"must and forbid have too many letters for a vocabulary of {len(self._spelled):,}: leave some out"
            )
        self.num_masks = 1 << len(self.must)
        self.after, self.done = self._table()  # of nodes and ids
        self.missing = self._missing()  # tokens at least until an output may end, (nodes, masks)
        for number, text in enumerate(self.must):
            if self.missing[1, (self.num_masks - 1) ^ (1 << number)] >= FAR:
                raise ValueError(f"must ({text}) {self._why(text)}")
        if self.missing[1, 0] >= FAR:
            raise ValueError(f"must ({', '.join(self.must)}) {self._why('')}")

    def _written(self, text: str) -> str:
        return self.tokenizer.writable(text).strip()

    def _why(self, text: str) -> str:
        """Why the model cannot write this."""
        if self.tokenizer.kind is not TokenizerKind.bpe and UNK in (ids := self.tokenizer.encode(text)):
            parts = self.tokenizer.writable(text)
            parts = parts.split() if self.tokenizer.kind is TokenizerKind.word else parts
            unknown = " ".join(part for part, number in zip(parts, ids, strict=True) if number == UNK)
            return f"cannot be written: the model has no symbol for {unknown}: choose words of its training targets"
        if self.forbid:
            return f"cannot be written without what forbid names ({', '.join(self.forbid)}): leave out one of them"
        return "cannot be written with the symbols of the model: choose words of its training targets"

    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """The node after an id, and the bits of the texts that are complete with it, (N, V)."""
        automaton, lengths = self._automaton, np.array([len(spelled) for spelled in self._spelled])
        node = np.repeat(np.arange(len(automaton.after), dtype=np.int32)[:, None], len(lengths), 1)
        done = np.zeros_like(node, dtype=np.uint8)
        for place in range(lengths.max()):
            longer = np.flatnonzero(lengths > place)
            byte, before = np.array([self._spelled[number][place] for number in longer]), node[:, longer]
            done[:, longer] |= automaton.done[before, byte]
            node[:, longer] = automaton.after[before, byte]
        node[:, :UNK] = DEAD
        return node, done

    def _missing(self) -> np.ndarray:
        masks, automaton = np.arange(self.num_masks), self._automaton
        whole = (masks | automaton.done_at_end[:, None]) == self.num_masks - 1
        missing = np.where(whole & automaton.may_end[:, None], 0, FAR)
        columns = zip(np.ascontiguousarray(self.after.T), np.ascontiguousarray(self.done.T), strict=True)
        kinds = {after.tobytes() + done.tobytes(): number for number, (after, done) in enumerate(columns)}
        after, done = (table[:, list(kinds.values())] for table in (self.after, self.done))  # many ids do the same
        while True:
            least = np.stack([missing[after, mask | done].min(1) for mask in masks], axis=1) + 1
            if (least >= missing).all():
                return missing
            missing = np.minimum(missing, least)

    @cached_property
    def _ids_of(self) -> dict[bytes, list[int]]:
        """Which ids spell this."""
        ids: dict[bytes, list[int]] = {}
        for number, spelled in enumerate(self._spelled[UNK + 1 :], start=UNK + 1):
            ids.setdefault(spelled, []).append(number)
        return ids

    @cached_property
    def _sorted(self) -> list[bytes]:
        return sorted(self._ids_of)

    def path(self, prefix: str, *, number: int, limit: LengthLimit, source_length: int) -> Path:
        """The way through a prefix, in which ids may end anywhere and the last one may go on behind it.

        Args:
            prefix: what the output begins with, letter for letter; white space at its end ends a word, or the output.
            number: of the line, for messages.
            limit: of outputs.
            source_length: tokens of the source, EOS included.

        Raises:
            ValueError: it cannot be written at all, or not with so few tokens.
        """
        if self.tokenizer.kind is TokenizerKind.word:
            text = self._written(prefix) + " " * (bool(prefix.strip()) and prefix[-1].isspace())
        else:
            text = normalize(prefix, self.tokenizer.normalize)
        steps, missing = self._steps(text.encode())
        if missing >= FAR:
            raise ValueError(f"line {number}: prefix ({prefix}) {self._why(prefix)}")
        most = min(limit.of(source_length), FAR if limit.cap is None else limit.cap - 1)  # the last place is the end's
        if missing > most:
            asked = " and ".join(
                [f"prefix ({prefix})"] * bool(prefix) + [f"must ({', '.join(self.must)})"] * bool(self.must)
            )
            raise ValueError(
                f"line {number}: {asked or 'forbid'} needs at least {missing} tokens, and the length limit is {most}: "
                f"{limit.remedy}"
            )
        return Path(steps, missing)

    def _steps(self, text: bytes) -> tuple[list[Step], int]:
        """What may follow at each byte of a prefix, and how many tokens are missing at its begin."""
        nodes, masks = [1], [0]
        for byte in text:
            masks.append(masks[-1] | int(self._automaton.done[nodes[-1], byte]))
            nodes.append(int(self._automaton.after[nodes[-1], byte]))
        longest = max(map(len, self._spelled))
        missing = [FAR] * len(text) + [int(self.missing[nodes[-1], masks[-1]])]
        steps = []
        for place in reversed(range(len(text))):
            rest, own = text[place:], Step([], [], [], False)
            for end in range(place + 1, min(len(text), place + longest) + 1):
                for number in self._ids_of.get(text[place:end], ()):
                    own.ids.append(number)
                    own.states.append(-1 - end if end < len(text) else nodes[end] * self.num_masks + masks[end])
                    own.missing.append(missing[end])
            if len(rest) < longest:
                for spelled in self._sorted[bisect_left(self._sorted, rest) :]:
                    if not spelled.startswith(rest):
                        break
                    for number in self._ids_of[spelled] if spelled != rest else ():
                        node, mask = self.after[nodes[place], number], masks[place] | self.done[nodes[place], number]
                        own.ids.append(number)
                        own.states.append(int(node * self.num_masks + mask))
                        own.missing.append(int(self.missing[node, mask]))
            may_end = rest.isspace() and self.missing[nodes[place], masks[place]] == 0
            missing[place] = 0 if may_end else min([FAR, *(1 + least for least in own.missing)])
            steps.append(own._replace(may_end=bool(may_end)))
        return steps[::-1], missing[0]


class Restriction:
    """The constraints of one batch of rows; a state stands for what a hypothesis has written.

    States are node * masks + mask; those of a prefix's places come behind them.

    Args:
        constraints: those of all rows.
        paths: of each row.
        device: of the log-probabilities.
    """

    def __init__(self, constraints: Constraints, paths: Sequence[Path], device: torch.device) -> None:
        self.paths, self.num_masks = paths, constraints.num_masks
        self.after = torch.from_numpy(constraints.after).to(device).long()
        self.done = torch.from_numpy(constraints.done).to(device).long()
        self.missing = torch.from_numpy(constraints.missing.flatten()).to(device)
        self.base = len(self.missing)
        begin = [self.base if path.steps else self.num_masks for path in paths]
        self.begin = torch.tensor(begin, device=device, dtype=torch.int64)  # state of each row
        most = int(constraints.missing[1, 0]) if constraints.must else 0
        self.banks = torch.cat((self.missing.clamp(max=most), self.missing.new_tensor([most])))
        self.num_banks = most + 1

    def restrict(self, log_probs: Tensor, states: Tensor, rows: Tensor, left: Tensor) -> Tensor:
        """Makes what is not possible improbable; returns the states that follow.

        Args:
            log_probs: of what follows each hypothesis, (R, V); changed.
            states: of the hypotheses, int64 (R,).
            rows: whose these are, int64 (R,).
            left: tokens that may still be written after the next one, int64 (R,).

        Returns:
            int64 (R, V).
        """
        in_prefix = states >= self.base
        free = states.masked_fill(in_prefix, 0)
        node, mask = free // self.num_masks, free % self.num_masks
        following = self.after[node] * self.num_masks + (mask[:, None] | self.done[node])
        left = left.clamp(min=0)
        possible = self.missing[following] <= left[:, None]
        possible[:, EOS] = self.missing[free] == 0
        for place in in_prefix.nonzero()[:, 0].tolist():
            step = self.paths[int(rows[place])].steps[int(states[place]) - self.base]
            ids = torch.tensor(step.ids, device=states.device, dtype=torch.int64)
            after, missing = torch.tensor([step.states, step.missing], device=states.device, dtype=torch.int64)
            following[place, ids] = torch.where(after < 0, self.base - 1 - after, after)
            possible[place, ids] = missing <= left[place]
            possible[place, EOS] = step.may_end
        log_probs.masked_fill_(~possible, NEVER)
        return following

    def bank(self, states: Tensor) -> Tensor:
        """How much is missing of what must appear: hypotheses of one bank compete with each other alone."""
        return self.banks[states.clamp(max=self.base)]
