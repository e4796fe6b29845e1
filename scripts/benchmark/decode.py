"""Decoding beside Hugging Face `generate` and CTranslate2, greedily and with a beam of four.

All have random weights of the same shapes, the same 256 sources of 24 tokens in batches of 64, and are made to write
exactly 24 tokens for each, so that all do the same work.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import torch

from benchmark.figure import Figure, Rounds
from seq2see.decoding import LengthLimit, decode_sentences
from seq2see.options import BenchmarkOptions, DecodeOptions, ModelOptions
from seq2see.text import EOS
from seq2see.transformer import Transformer

D_MODEL, NUM_LAYERS, NUM_HEADS, D_FF, VOCAB_SIZE = 256, 3, 4, 1024, 8_000  # `model=small`
NUM_SENTENCES, LENGTH, BATCH_SIZE = 256, 24, 64
BEAMS = (1, 4)
OURS = "seq2see"


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Sentences a second.

    Raises:
        ValueError: a peer is not installed.
    """
    try:
        ctranslate2, transformers = import_module("ctranslate2"), import_module("transformers")
    except ImportError as error:
        raise ValueError(f"suite=decode needs its peers ({error.name}): pip install -e '.[bench]'") from error
    num_threads = torch.get_num_threads()
    generator = torch.Generator().manual_seed(0)
    sources = torch.randint(4, VOCAB_SIZE, (NUM_SENTENCES, LENGTH - 1), generator=generator).tolist()
    with tempfile.TemporaryDirectory() as folder:
        spec = _ctranslate2_model(ctranslate2)
        spec.save(folder)
        for beam_size in BEAMS:
            contenders = {
                OURS: _ours(sources, beam_size),
                "Hugging Face generate": _hugging_face(transformers, sources, beam_size),
                "CTranslate2, 1 worker, 2 threads": _ctranslate2(ctranslate2, folder, sources, beam_size, 1, 2),
                "CTranslate2, 2 workers, 1 thread": _ctranslate2(ctranslate2, folder, sources, beam_size, 2, 1),
            }
            torch.set_num_threads(num_threads)  # a CTranslate2 of one thread a worker sets it to one for all
            rounds = Rounds.run(f"decode, beam {beam_size}", "sentences/s", contenders, rounds=options.rounds)
            yield from rounds.figures(OURS, {OURS: "greedy" if beam_size == 1 else f"beam of {beam_size}"})


def _ours(sources: Sequence[Sequence[int]], beam_size: int) -> Callable[[], float]:
    options = ModelOptions(
        d_model=D_MODEL,
        num_heads=NUM_HEADS,
        num_encoder_layers=NUM_LAYERS,
        num_decoder_layers=NUM_LAYERS,
        d_ff=D_FF,
    )
    model = Transformer(options, VOCAB_SIZE, VOCAB_SIZE).eval()
    decode = DecodeOptions(beam_size=beam_size, batch_size=BATCH_SIZE)
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0  # never the most probable: all outputs have the same length

    def work() -> float:
        found = decode_sentences(model, sources, limit=LengthLimit(1.0, asked=LENGTH), options=decode)
        assert all(len(best.ids) == LENGTH for best, *_ in found)
        return len(found)

    return work


def _hugging_face(transformers: Any, sources: Sequence[Sequence[int]], beam_size: int) -> Callable[[], float]:
    config = transformers.MarianConfig(
        vocab_size=VOCAB_SIZE,
        d_model=D_MODEL,
        encoder_layers=NUM_LAYERS,
        decoder_layers=NUM_LAYERS,
        encoder_attention_heads=NUM_HEADS,
        decoder_attention_heads=NUM_HEADS,
        encoder_ffn_dim=D_FF,
        decoder_ffn_dim=D_FF,
        activation_function="relu",
        pad_token_id=0,
        eos_token_id=2,
        bos_token_id=1,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).eval()
    batches = torch.tensor([[*source, 2] for source in sources]).split(BATCH_SIZE)

    def work() -> float:
        for batch in batches:
            found = model.generate(
                batch,
                attention_mask=torch.ones_like(batch),
                num_beams=beam_size,
                do_sample=False,
                min_new_tokens=LENGTH,
                max_new_tokens=LENGTH,
            )
            assert found.shape == (len(batch), LENGTH + 1)
        return len(sources)

    return work


def _ctranslate2(
    ctranslate2: Any, folder: str, sources: Sequence[Sequence[int]], beam_size: int, workers: int, threads: int
) -> Callable[[], float]:
    translator = ctranslate2.Translator(
        folder, device="cpu", compute_type="float32", inter_threads=workers, intra_threads=threads
    )
    lines = [[*(f"t{symbol}" for symbol in source), "</s>"] for source in sources]

    def work() -> float:
        found = translator.translate_batch(
            lines,
            beam_size=beam_size,
            max_batch_size=BATCH_SIZE,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
        )
        assert all(len(one.hypotheses[0]) == LENGTH for one in found)
        return len(found)

    return work


def _ctranslate2_model(ctranslate2: Any) -> Any:
    """A CTranslate2 model of the same shapes, with random weights."""
    spec = ctranslate2.specs.TransformerSpec.from_config(
        (NUM_LAYERS, NUM_LAYERS), NUM_HEADS, pre_norm=True, activation=ctranslate2.specs.Activation.RELU
    )
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32)

    def fill_linear(linear: Any, rows: int, columns: int) -> None:
        linear.weight, linear.bias = matrix(rows, columns), np.zeros(rows, np.float32)

    def fill_norm(norm: Any) -> None:
        norm.gamma, norm.beta = np.ones(D_MODEL, np.float32), np.zeros(D_MODEL, np.float32)

    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = matrix(VOCAB_SIZE, D_MODEL)
        side.position_encodings.encodings = matrix(256, D_MODEL)
        fill_norm(side.layer_norm)
        for layer in side.layer:
            fill_linear(layer.self_attention.linear[0], 3 * D_MODEL, D_MODEL)
            fill_linear(layer.self_attention.linear[1], D_MODEL, D_MODEL)
            fill_norm(layer.self_attention.layer_norm)
            if side is spec.decoder:
                fill_linear(layer.attention.linear[0], D_MODEL, D_MODEL)
                fill_linear(layer.attention.linear[1], 2 * D_MODEL, D_MODEL)
                fill_linear(layer.attention.linear[2], D_MODEL, D_MODEL)
                fill_norm(layer.attention.layer_norm)
            fill_linear(layer.ffn.linear_0, D_FF, D_MODEL)
            fill_linear(layer.ffn.linear_1, D_MODEL, D_FF)
            fill_norm(layer.ffn.layer_norm)
    fill_linear(spec.decoder.projection, VOCAB_SIZE, D_MODEL)
    symbols = ["<blank>", "<s>", "</s>", *(f"t{number}" for number in range(3, VOCAB_SIZE))]
    spec.register_source_vocabulary(symbols)
    spec.register_target_vocabulary(symbols)
    spec.validate()
    spec.optimize()
    return spec
