"""The log of attention maps that people hold in their hands: how it is shown, and logs of other models' maps."""

import html
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seq2see.atomic_write import write_bytes
from seq2see.maps import page
from seq2see.maps.arrays import KINDS, Example, Maps, depth_and_heads
from seq2see.maps.store import StoredLog

SHARE = 0.02  # of the time between two writings of a live page that is spent on one
Tokens = Sequence[str] | Sequence[Sequence[str]]
Links = Sequence[Sequence[tuple[int, int]] | None] | None


class AttentionLog(StoredLog):
    """Attention maps over training, in a folder or in memory; made by `create`, `open` or `of_maps`."""

    def __repr__(self) -> str:
        """What is in it."""
        sizes = {kind: depth_and_heads(self.model, kind) for kind in KINDS}
        kinds = ", ".join(f"{kind} {layers} x {heads}" for kind, (layers, heads) in sizes.items() if layers)
        steps = [f"{step:,}" for step in self.steps]
        when = f"{len(steps)} steps, {steps[0]} to {steps[-1]}" if steps[1:] else f"step {''.join(steps)}"
        linked = "with true links" if any(example.links is not None for example in self.examples) else "no true links"
        pairs = "1 pair" if len(self.examples) == 1 else f"{len(self.examples)} pairs"
        place = "in memory" if self.folder is None else str(self.folder)
        return (
            f"<AttentionLog {place}: {pairs} ({linked}), {when if steps else 'no step yet'};"
            f" layers x heads: {kinds}; show() or save('maps.html') for the page>"
        )

    def save(self, path: str | Path, *, title: str = "Attention maps") -> Path:
        """Write the page, one HTML file that opens anywhere, and return its path."""
        path = Path(os.path.expanduser(path))
        write_bytes(path, page.render(self, title=title).encode("utf-8", "surrogatepass"))
        return path

    def show(self, *, height: int = 960) -> None:
        """Show the page in a notebook, in a frame of so many CSS pixels that is shut off from the notebook around it.

        Raises:
            ImportError: there is no IPython, so no notebook.
        """
        try:
            from IPython.display import display  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise ImportError(
                "show() needs IPython, which a notebook has; anywhere else write the page with save('maps.html')"
            ) from error
        text = html.escape(page.render(self), quote=True)
        frame = f'<iframe srcdoc="{text}" sandbox="allow-scripts allow-downloads" title="Attention maps"'
        frame += f' style="width: 100%; height: {height}px; border: 0"></iframe>'
        display({"text/html": frame, "text/plain": repr(self)}, raw=True)  # HTML(frame) would warn: it wants an address


class LivePage:
    """The page of a log that still grows; what was packed for one writing serves the next.

    Args:
        log: as it grows.
        path: the file.
        title: what the browser's tab shows.
    """

    def __init__(self, log: AttentionLog, path: Path, *, title: str) -> None:
        self.log, self.path, self.title = log, path, title
        self._known: page.Pieces = {}
        self._written, self._last = -math.inf, 0.0  # when, and how long it took

    def keep_up(self) -> None:
        """Writes the page, unless that would take more than `SHARE` of the time since the last writing."""
        if self.log.steps and self._last <= SHARE * (time.monotonic() - self._written):
            self.write(is_live=True)

    def write(self, *, is_live: bool) -> None:
        """Writes the page; one that is live loads itself again from time to time."""
        begun = time.monotonic()
        text = page.render(self.log, title=self.title, known=self._known, is_live=is_live)
        write_bytes(self.path, text.encode("utf-8", "surrogatepass"))
        self._written = time.monotonic()
        self._last = self._written - begun


def from_arrays(
    source_tokens: Tokens,
    target_tokens: Tokens,
    *,
    cross: ArrayLike,
    encoder: ArrayLike | None = None,
    decoder: ArrayLike | None = None,
    source_mask: ArrayLike | None = None,
    target_mask: ArrayLike | None = None,
    links: Links = None,
    d_model: int = 0,
) -> AttentionLog:
    """A log of one step, in memory, of any encoder-decoder model's attention weights.

    Args:
        source_tokens: labels of the source tokens of one pair, or of each of B pairs; the last is the end of sentence.
        target_tokens: labels of what each decoder row predicts (the labels that the model is trained on, not its
            shifted input), the end of sentence last.
        cross: rows that sum to 1, (B, layers, H, T, S); for one pair also without B. Rows of padding may hold anything.
        encoder: (B, layers, H, S, S); its layers and heads may be others in number. None: the page has none.
        decoder: (B, layers, H, T, T), row t reading what comes before target token t. None: the page has none.
        source_mask: True or 1 at real source tokens (B, S), or (S,) for one pair; None: all up to the number of tokens.
        target_mask: the same of the target (B, T).
        links: true links (source token, target token) of each pair, 0-based, the ends of sentence not counted; None
            where they are not known.
        d_model: width of the model, for the page's heading.

    Raises:
        ValueError: shapes, tokens, masks and links do not fit each other, or rows do not sum to 1.
    """
    arrays = zip(KINDS, (encoder, decoder, cross), strict=True)
    given = {name: _as_array(array) for name, array in arrays if array is not None}
    given = {name: array[None] if array.ndim == 4 else array for name, array in given.items()}
    shapes = {name: array.shape for name, array in given.items()}
    pairs, layers, heads, num_targets, num_sources = (*shapes["cross"], *[0] * 5)[:5]
    missing = (pairs, 0, heads)  # no layers
    expected = {
        "encoder": (pairs, *shapes.get("encoder", missing)[1:3], num_sources, num_sources),
        "decoder": (pairs, *shapes.get("decoder", missing)[1:2], heads, num_targets, num_targets),
        "cross": (pairs, layers, heads, num_targets, num_sources),
    }
    if any(shape != expected[name] for name, shape in shapes.items()):
        raise ValueError(f"the maps do not fit each other: give (pairs, layers, heads, query, key) each, got {shapes}")
    if source_tokens and isinstance(source_tokens[0], str):
        source_tokens, target_tokens = [source_tokens], [target_tokens]  # pyright: ignore[reportAssignmentType]
    true = [None] * pairs if links is None else links
    if not pairs == len(source_tokens) == len(target_tokens) == len(true):
        raise ValueError(
            f"{len(source_tokens)} source_tokens, {len(target_tokens)} target_tokens and {len(true)} links for maps of"
            f" {pairs} pairs: give one entry a pair"
        )
    sources, columns = _real("source", source_tokens, source_mask, num_sources)
    targets, rows = _real("target", target_tokens, target_mask, num_targets)
    examples = [
        Example(number, _text_of(source), _text_of(target), source, target, None if own is None else tuple(own))
        for number, (source, target, own) in enumerate(zip(sources, targets, true, strict=True))
    ]
    sides = {"encoder": (columns, columns), "decoder": (rows, rows), "cross": (rows, columns)}
    maps = {name: np.zeros(shape, np.float32) for name, shape in expected.items()}
    maps |= {name: _picked(name, array, *sides[name]) for name, array in given.items()}
    (_, depth, encoder_heads, *_), (_, decoder_depth, *_) = expected["encoder"], expected["decoder"]
    model = {"d_model": d_model, "num_heads": heads, "num_encoder_layers": depth, "num_decoder_layers": decoder_depth}
    model |= {"num_encoder_heads": encoder_heads} if encoder_heads != heads else {}
    model |= {"num_cross_layers": layers} if layers != decoder_depth else {}
    return AttentionLog.of_maps(Maps(**maps), examples=examples, model=model)


def from_hf(
    outputs: Any,
    tokens: tuple[Tokens, Tokens],
    *,
    source_mask: ArrayLike | None = None,
    target_mask: ArrayLike | None = None,
    links: Links = None,
) -> AttentionLog:
    """A log of what a Hugging Face encoder-decoder model (T5, Marian, BART, ...) attends to.

    ```python
    outputs = model(input_ids=ids, attention_mask=mask, labels=labels, output_attentions=True)
    log = from_hf(outputs, (tokenizer.convert_ids_to_tokens(ids[0]), tokenizer.convert_ids_to_tokens(labels[0])))
    ```

    Args:
        outputs: what the model returned for `output_attentions=True`: anything with `encoder_attentions`,
            `decoder_attentions` and `cross_attentions`, one tensor (B, H, query, key) a layer. A model that was loaded
            with a fused kernel returns none: load it with `attn_implementation="eager"`.
        tokens: labels of the source and of the target, see `from_arrays`.
        source_mask: the `attention_mask`, (B, S).
        target_mask: 1 at real labels, (B, T), such as `labels != -100`.
        links: see `from_arrays`.

    Raises:
        ValueError: the attentions are missing, are those of `generate()`, or do not fit, see `from_arrays`.
    """
    stacked = {}
    for kind in KINDS:
        name = f"{kind}_attentions"
        layers = getattr(outputs, name, None)
        if not layers or any(layer is None or isinstance(layer, tuple | list) for layer in layers):
            raise ValueError(
                f'outputs.{name} is no tensor a layer; load the model with attn_implementation="eager" and call it with'
                " output_attentions=True, not generate() but model(input_ids=..., decoder_input_ids=...)"
            )
        stacked[kind] = np.stack([_as_array(layer) for layer in layers], axis=1)
    states = getattr(outputs, "encoder_last_hidden_state", None)
    return from_arrays(
        *tokens,
        **stacked,
        source_mask=source_mask,
        target_mask=target_mask,
        links=links,
        d_model=0 if states is None else int(states.shape[-1]),
    )


def _text_of(tokens: Sequence[str]) -> str:
    """What the tokens read, the end left out; the marks of a word's start that SentencePiece and byte-level BPE set."""
    marked = any(token.startswith(("\u2581", "\u0120")) for token in tokens)
    return ("" if marked else " ").join(tokens[:-1]).translate({0x2581: " ", 0x120: " "} if marked else {}).strip()


def _as_array(values: Any) -> NDArray:
    """Float32 of an array, a list, or a tensor on any device and of any type, bfloat16 too."""
    if hasattr(values, "detach"):
        values = values.detach().float().cpu().numpy()
    return np.asarray(values, dtype=np.float32)


def _real(
    side: str, tokens: Sequence[Sequence[str]], mask: ArrayLike | None, size: int
) -> tuple[list[tuple[str, ...]], list[NDArray]]:
    """For each pair its real tokens, and their places in the arrays."""
    masks = None if mask is None else np.atleast_2d(_as_array(mask)) != 0
    if masks is not None and masks.shape != (len(tokens), size):
        raise ValueError(f"{side}_mask has shape {masks.shape}, the maps need {(len(tokens), size)}")
    real, places = [], []
    for number, labels in enumerate(tokens):
        own = np.arange(min(len(labels), size)) if masks is None else np.flatnonzero(masks[number])
        if masks is not None and len(labels) == size:
            labels = [labels[int(place)] for place in own]
        if not len(labels) or len(labels) != len(own):
            raise ValueError(
                f"pair {number}: {len(labels)} {side} tokens for {len(own)} of {size} places of the maps; give one"
                " label a place, padding left out or masked"
            )
        real.append(tuple(labels))
        places.append(own)
    return real, places


def _picked(name: str, array: NDArray, queries: list[NDArray], keys: list[NDArray]) -> NDArray:
    """The real cells of each pair in the upper left corner, zero elsewhere."""
    picked = np.zeros_like(array)
    for number, (rows, columns) in enumerate(zip(queries, keys, strict=True)):
        cells = array[number][:, :, rows[:, None], columns]
        worst = np.abs(cells.sum(-1) - 1).max()
        if not worst < 0.01:  # also where it is not a number
            raise ValueError(
                f"{name}, pair {number}: a row's weights miss 1 by {worst:.3g}; give weights after the softmax,"
                " in evaluation mode (no dropout), with a mask if there is padding"
            )
        picked[number, :, :, : len(rows), : len(columns)] = cells
    return picked
