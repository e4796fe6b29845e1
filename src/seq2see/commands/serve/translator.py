"""The model, its one thread, and the requests that wait for them: those that come together are translated together."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from copy import copy
from threading import Condition
from typing import Any, NamedTuple

import torch

from seq2see.commands.serve.asked import Asked, Refused
from seq2see.commands.translate.lines import plain
from seq2see.decoding import TranslatedLine, TranslationModel
from seq2see.maps.attended import aligning_head, labels_of, looked_at, with_details
from seq2see.options import ServeOptions

TICK = 0.1  # seconds that `work` waits for a request
MOST_WEIGHTS = 1_000_000  # of attention in one answer, some 7 megabytes
DETAILS = ("tokens", "log_probs", "alignment")  # of a hypothesis


class Overdue(Exception):
    """Nobody waits for this any more."""


class Waiting(NamedTuple):
    """A request and its answer to be."""

    asked: Asked
    answer: Future[dict[str, Any]]
    until: float  # `time.monotonic`, when nobody waits for it any more


class Translator:
    """Translates what waits. `put` may be called in any thread, `work` in one alone, which the model belongs to.

    Args:
        model: on its device; only its beam, number of hypotheses and length are chosen by a request.
        limits: how many texts may wait, how long, and for how long others are waited for.
    """

    def __init__(self, model: TranslationModel, limits: ServeOptions) -> None:
        self.model, self.limits = model, limits
        self.head = aligning_head(model)
        self.num_done = 0  # texts
        self._most = (model.options.decode.filled().batch_size or 1) * torch.get_num_threads()  # texts together
        self._waiting: list[Waiting] = []
        self._changed = Condition()
        self._until = math.inf
        model.model.decoder_layers[0].register_forward_pre_hook(self._stop_if_overdue)

    @property
    def num_waiting(self) -> int:
        """Texts that are not being translated yet."""
        return sum(len(one.asked.texts) for one in self._waiting if not one.answer.cancelled())

    def put(self, asked: Asked) -> Future[dict[str, Any]]:
        """Lets a request wait for its answer, whose future may be cancelled.

        Raises:
            Refused: too many texts wait.
        """
        with self._changed:
            self._waiting = [one for one in self._waiting if not one.answer.cancelled()]
            waiting, most = self.num_waiting, self.limits.max_waiting
            if waiting + len(asked.texts) > most:
                raise Refused(503, f"{waiting:,} texts are waiting, and {most:,} at most may: come again later")
            self._waiting.append(Waiting(asked, Future(), time.monotonic() + self.limits.timeout))
            self._changed.notify()
            return self._waiting[-1].answer

    def work(self) -> None:
        """Answers requests that came together, or waits a moment for one."""
        with self._changed:
            if not self._waiting and not self._changed.wait(TICK):
                return
        time.sleep(self.limits.window)
        together = [one for one in self._take() if one.answer.set_running_or_notify_cancel()]
        if not together:
            return
        self._until = max(one.until for one in together)
        try:
            for one, answer in zip(together, self._answers([one.asked for one in together]), strict=True):
                if isinstance(answer, Refused):
                    one.answer.set_exception(answer)
                else:
                    one.answer.set_result(answer)
        except Overdue:
            pass
        except Exception as error:  # such as no memory: the next ones may be smaller
            for one in together:
                if not one.answer.done():
                    one.answer.set_exception(error)

    def _take(self) -> list[Waiting]:
        """The one that came first and others that are decoded in the same way, as many as are decoded at once."""
        with self._changed:
            taken, left, size = [], [], 0
            for one in self._waiting:
                fits = not taken or size + len(one.asked.texts) <= self._most
                if fits and one.asked.decode == self._waiting[0].asked.decode:
                    taken.append(one)
                    size += len(one.asked.texts)
                else:
                    left.append(one)
            self._waiting = left
            return taken

    def _answers(self, together: Sequence[Asked]) -> list[dict[str, Any] | Refused]:
        model = copy(self.model)
        model.decode_as(together[0].decode)
        lines = iter(model.translations([text for asked in together for text in asked.texts]))
        self.num_done += sum(len(asked.texts) for asked in together)
        lines_of = [[next(lines) for _ in asked.texts] for asked in together]
        whole = zip(together, lines_of, strict=True)
        detailed = self._detailed(line for asked, own in whole if asked.alignment for line in own)
        return [
            self._answer(asked, [next(detailed) for _ in own] if asked.alignment else own)
            for asked, own in zip(together, lines_of, strict=True)
        ]

    def _detailed(self, lines: Iterable[TranslatedLine]) -> Iterator[TranslatedLine]:
        """The lines with details, so many at a time as `MOST_WEIGHTS` says."""
        group: list[TranslatedLine] = []
        for line in lines:
            if group and num_weights([*group, line]) > MOST_WEIGHTS:
                yield from with_details(self.model, group, self.head)
                group = []
            group.append(line)
        yield from with_details(self.model, group, self.head)

    def _answer(self, asked: Asked, lines: Sequence[TranslatedLine]) -> dict[str, Any] | Refused:
        most, weights = MOST_WEIGHTS, num_weights(lines) if asked.attention else 0
        if weights > most:
            return Refused(400, f"attention ({weights:,} weights) must be at most {most:,}: ask for fewer translations")
        ids = [(line.ids, found.ids) for line in lines for found in line.translations]
        maps = iter(looked_at(self.model, ids, self.head) if asked.attention else ())
        translations = []
        for line in lines:
            hypotheses = [plain(found) for found in line.translations]
            own = {"source": line.source, "cut": line.is_cut, "unknown": line.unknown, "hypotheses": hypotheses}
            if asked.attention:
                own["source_tokens"] = labels_of(self.model.source_tokenizer, line.ids)
            for hypothesis in hypotheses:
                if asked.attention:
                    _, seen = next(maps)
                    hypothesis["attention"] = seen[: len(hypothesis["tokens"])].astype(float).round(4).tolist()
                for name in () if asked.alignment else DETAILS:
                    del hypothesis[name]
            translations.append(own)
        return {"translations": translations, **({"alignment_from": str(self.head)} if asked.alignment else {})}

    def _stop_if_overdue(self, *_: object) -> None:
        if time.monotonic() > self._until:
            raise Overdue


def num_weights(lines: Iterable[TranslatedLine]) -> int:
    """Of one head's attention, of all translations."""
    return sum((len(line.ids) + 1) * (len(found.ids) + 1) for line in lines for found in line.translations)
