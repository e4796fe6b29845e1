"""A conversation at the terminal: a line in, its translation out, and on request what the model looked at."""

import shutil
import sys
from collections import Counter

import numpy as np

from seq2see.decoding import Trained, TranslatedLine
from seq2see.maps.attended import CrossHead, aligning_head, looked_at, word_numbers
from seq2see.maps.drawing import heat_map
from seq2see.maps.links import word_weights
from seq2see.options import DecodeOptions, TokenizerKind
from seq2see.runs.translate.messages import Messages, about_tags, lacks_tags, shown
from seq2see.text import Tokenizer, normalize, parted

WIDTH = 80  # columns at most
HELP = """\
:map          what the model looked at while it wrote the last translation
:map 2 1      the same for layer 2, head 1
:beam 4       search with so many hypotheses; 1: greedy
:best 3       show so many translations, with their log-probabilities
:quit         or Ctrl-D"""


def prompt(trained: Trained) -> int:
    """Asks for lines until there are no more; returns how many there were."""
    _edit_lines()
    conversation = Conversation(trained)
    _say(conversation.greeting)
    while True:
        try:
            line = input("> ")
        except EOFError:
            _say("")
            return conversation.num_lines
        if line.strip() in (":quit", ":q"):
            return conversation.num_lines
        answer = conversation.answer(line)
        if answer:
            print(answer, flush=True)


class Conversation:
    """What is said at the prompt, and remembered.

    Args:
        trained: the model; `:beam` and `:best` change its decoding options.
    """

    def __init__(self, trained: Trained) -> None:
        self.trained = trained
        self.num_lines = 0
        self.last: TranslatedLine | None = None

    @property
    def greeting(self) -> str:
        """Which model it is, and what can be typed."""
        options = self.trained.model.options
        return (
            f"{self.trained.options.task.kind}: {options.num_encoder_layers}+{options.num_decoder_layers} layers of "
            f"width {options.d_model}, step {self.trained.step:,}, {self._search}\n"
            "type a line to translate it; :map shows its attention, :help more, Ctrl-D ends"
        )

    @property
    def _search(self) -> str:
        decode = self.trained.options.decode.filled()
        how = "sampling" if decode.sample else "greedy" if decode.beam_size == 1 else f"beam of {decode.beam_size}"
        return how if decode.num_best == 1 else f"{how}, {decode.num_best} best"

    def answer(self, line: str) -> str:
        """What is printed for a line: its translations, or what a command gives; nothing for a blank one.

        Notes on the line go to stderr.
        """
        if not line.strip():
            return ""
        if line.startswith(":"):
            return self._command(line[1:].split())
        self.num_lines += 1
        (self.last,) = self.trained.translations([line], first=self.num_lines)
        self._note(self.last)
        if len(self.last.translations) == 1:
            return _visible(self.last.text)
        return "\n".join(f"{found.score:8.3f}  {_visible(found.text)}" for found in self.last.translations)

    def _note(self, line: TranslatedLine) -> None:
        if line.is_cut:
            _say(Messages(self.trained).about_cut(line))
        separator = self.trained.source_tokenizer.tag_separator
        if lacks_tags(line, separator):
            _say(about_tags(separator))
        if line.unknown:
            _say(f"never seen in training: {shown(Counter(line.unknown))}")
        if line.translations and not line.translations[0].ended:
            _say(f"cut at the length limit: {self.trained.length_limit.remedy}")

    def _command(self, words: list[str]) -> str:
        match words:
            case ["help"]:
                return HELP
            case ["map"]:
                return self._map(aligning_head(self.trained))
            case ["map", layer, head] if layer.isdecimal() and head.isdecimal():
                return self._map_of(int(layer), int(head))
            case ["beam", size] if size.isdecimal():
                return self._beam(int(size))
            case ["best", count] if count.isdecimal():
                return self._best(int(count))
        return f":{' '.join(words)} is no command here\n{HELP}"

    def _beam(self, size: int) -> str:
        best = self.trained.options.decode.num_best
        return self._decode_as(beam_size=size, num_best=best and min(best, size))

    def _best(self, count: int) -> str:
        decode = self.trained.options.decode.filled()
        if decode.sample:
            return self._decode_as(num_best=count, sample=True)
        return self._decode_as(num_best=count, beam_size=max(decode.beam_size or 1, count))

    def _decode_as(self, *, num_best: int | None, beam_size: int | None = None, sample: bool | None = None) -> str:
        try:
            self.trained.decode_as(DecodeOptions(num_best=num_best, beam_size=beam_size, sample=sample))
        except ValueError as error:
            return str(error)
        return self._search

    def _map_of(self, layer: int, head: int) -> str:
        options = self.trained.model.options
        num_layers, num_heads = len(self.trained.model.decoder_layers), options.num_heads or 0
        if not (1 <= layer <= num_layers and 1 <= head <= num_heads):
            return f"layers are 1 to {num_layers}, heads 1 to {num_heads}"
        return self._map(CrossHead(layer - 1, head - 1))

    def _map(self, head: CrossHead) -> str:
        if self.last is None:
            return "there is no line yet: type one"
        width = min(WIDTH, shutil.get_terminal_size().columns)
        return f"cross attention, {head}\n" + attention_map(self.trained, self.last, head, width=width)


def attention_map(trained: Trained, line: TranslatedLine, head: CrossHead, *, width: int = WIDTH) -> str:
    """What the model looked at while it wrote the best translation of a line: source words across, target words down.

    A source word's weight is the sum over its tokens, a target word's row the mean over those that it is made of.

    Args:
        trained: the model.
        line: translated, not blank.
        head: whose attention it is.
        width: columns.
    """
    source, target = trained.source_tokenizer, trained.target_tokenizer
    best = line.translations[0]
    ((_, weights),) = looked_at(trained, [(line.ids, best.ids)], head)
    source_numbers = source.word_numbers(line.source)[: len(line.ids)]
    target_numbers = word_numbers(target, best.ids)
    columns = _words(source, line.source)[: max(source_numbers, default=-1) + 1]
    rows = _words(target, best.text)
    with_ends = word_weights(  # takes the last row and column for those of EOS, which are to stay
        np.pad(weights, ((0, 1), (0, 1))),
        source_words=[*source_numbers, len(columns)],
        target_words=[*target_numbers, len(rows)],
    )
    return heat_map(with_ends, [*rows, "<eos>"], [*columns, "<eos>"], width=width)


def _words(tokenizer: Tokenizer, text: str) -> list[str]:
    """What `Tokenizer.word_numbers` counts."""
    tags, text = ([], text) if tokenizer.tag_separator is None else parted(text, tokenizer.tag_separator)
    text = normalize(text, tokenizer.normalize)
    return [*tags, *(text if tokenizer.kind is TokenizerKind.char else text.split())]


def _visible(text: str) -> str:
    return "".join(letter if letter.isprintable() or letter == "\t" else repr(letter)[1:-1] for letter in text)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _edit_lines() -> None:
    """Arrow keys and history, where the system has them; Windows' own console does."""
    try:
        import readline  # noqa: F401
    except ImportError:
        pass
