"""A conversation at the terminal: a line in, its translation out, and on request what the model looked at."""

import shutil
import sys
from contextlib import suppress

from seq2see.commands.translate.lines import Messages, printable
from seq2see.decoding import Constraints, TranslatedLine, TranslationModel
from seq2see.maps.attended import CrossHead, aligning_head, looked_at
from seq2see.maps.drawing import heat_map
from seq2see.options import DecodeOptions

WIDTH = 80  # columns at most
HELP = """\
:map          what the model looked at while it wrote the last translation
:map 2 1      the same for layer 2, head 1
:beam 4       search with so many hypotheses and show them all, with their log-probabilities; 1: greedy
:begin TEXT   the last line once more, with a translation that begins so
:quit         or Ctrl-D"""


def prompt(model: TranslationModel, constraints: Constraints | None, prefix: str) -> int:
    """Asks for lines until there are no more; returns how many there were."""
    with suppress(ImportError):  # arrow keys and history, where the system has them; Windows' own console does
        import readline  # noqa: F401
    conversation = Conversation(model, constraints, prefix)
    print(conversation.greeting, file=sys.stderr, flush=True)
    while True:
        try:
            line = input("> ")
        except EOFError:
            line = ":quit"
            print(file=sys.stderr)
        if line.strip() == ":quit":
            return conversation.num_lines
        answer = conversation.answer(line)
        if answer:
            print(answer, flush=True)


class Conversation:
    """What is said at the prompt, and remembered.

    Args:
        model: `:beam` changes its decoding options.
        constraints: of all translations.
        prefix: what they begin with.
    """

    def __init__(self, model: TranslationModel, constraints: Constraints | None = None, prefix: str = "") -> None:
        self.model, self.prefix = model, prefix
        self.constraints = constraints or Constraints(model.target_tokenizer)
        self.num_lines = 0
        self.last: TranslatedLine | None = None

    @property
    def greeting(self) -> str:
        """Which model it is, and what can be typed."""
        options, ensemble = self.model.model.options, self.model.ensemble
        kind = self.model.options.task.kind
        if ensemble is not None:
            kind += f", first of {len(ensemble.members)} as one"
        return (
            f"{kind}: {options.num_encoder_layers}+{options.num_decoder_layers} layers of "
            f"width {options.d_model}, step {self.model.step:,}, {self._search}\n"
            "type a line to translate it; :map shows its attention, :help more, Ctrl-D ends"
        )

    @property
    def _search(self) -> str:
        decode = self.model.options.decode.filled()
        return "sampling" if decode.sample else "greedy" if decode.beam_size == 1 else f"beam of {decode.beam_size}"

    def answer(self, line: str) -> str:
        """What is printed for a line: its translations, or what a command gives; nothing for a blank one.

        Notes on the line go to stderr.
        """
        if not line.strip():
            return ""
        if line.startswith(":"):
            return self._command(line)
        self.num_lines += 1
        return self._translated(line, self.prefix)

    def _translated(self, line: str, prefix: str) -> str:
        try:
            (self.last,) = self.model.translations(
                [line], first=self.num_lines, constraints=self.constraints, prefixes=[prefix]
            )
        except ValueError as error:
            return str(error)
        messages = Messages(self.model)
        messages.note([self.last])
        messages.finish()
        if len(self.last.translations) == 1:
            return printable(self.last.text)
        return "\n".join(f"{found.score:8.3f}  {printable(found.text)}" for found in self.last.translations)

    def _command(self, line: str) -> str:
        match line[1:].split():
            case ["begin", _, *_]:
                if self.last is None:
                    return "there is no line yet: type one"
                return self._translated(self.last.source, line.partition(" ")[2])
            case ["map"]:
                return self._map(aligning_head(self.model))
            case ["map", layer, head] if layer.isdecimal() and head.isdecimal():
                return self._map(CrossHead(int(layer) - 1, int(head) - 1))
            case ["beam", size] if size.isdecimal():
                try:
                    self.model.decode_as(DecodeOptions(beam_size=int(size), num_best=int(size)))
                except ValueError as error:
                    return str(error)
                return self._search
        return HELP

    def _map(self, place: CrossHead) -> str:
        if self.last is None:
            return "there is no line yet: type one"
        num_layers, num_heads = len(self.model.model.decoder_layers), self.model.model.options.num_heads or 0
        if not (0 <= place.layer < num_layers and 0 <= (place.head or 0) < num_heads):
            return f"layers are 1 to {num_layers}, heads 1 to {num_heads}"
        ids = self.last.translations[0].ids
        ((_, weights),) = looked_at(self.model, [(self.last.ids, ids)], place)
        rows, columns = self.model.target_tokenizer.tokens(ids), self.model.source_tokenizer.tokens(self.last.ids)
        width = min(WIDTH, shutil.get_terminal_size().columns)
        return f"cross attention, {place}\n" + heat_map(weights, [*rows, "<eos>"], [*columns, "<eos>"], width=width)
