"""BPE dropout in training: the same pairs, in other pieces each epoch, whoever makes the batches."""

import json
from random import Random

import numpy as np
import pytest
import torch

from seq2see.data import Batch, EncodedPairs, ResegmentedPairs, make_loader
from seq2see.options import TokenizerKind
from seq2see.tasks import Pair
from seq2see.text import BOS, EOS, PAD, Tokenizer

WORDS = "the old man and the sea were never older than that house of his by an eastern shore".split()
RANDOM = np.random.default_rng(0)
PAIRS = [
    Pair(*(" ".join(RANDOM.choice(WORDS, size)) for size in sizes))
    for sizes in RANDOM.integers(1, 16, (200, 2)).tolist()
]
BPE = Tokenizer.fit(TokenizerKind.bpe, (text for pair in PAIRS for text in pair[:2]), vocab_size=330)
CHAR = Tokenizer.fit(TokenizerKind.char, (pair.target for pair in PAIRS))
USUAL = EncodedPairs.from_pairs(PAIRS, BPE, BPE)


def resegmented(pairs=USUAL, target=BPE, **options):
    return ResegmentedPairs(pairs, BPE, target, **{"rate": 0.2, "seed": 0, **options})


def loader(pairs, num_workers=0, **options):
    sizes = {} if options.keys() & {"batch_size", "batch_tokens"} else {"batch_tokens": 900}
    return make_loader(pairs, num_workers=num_workers, **{"shuffle": True, "seed": 5, **sizes, **options})


def equal(batch: Batch, other: Batch):
    return all(torch.equal(a, b) for a, b in zip(batch, other, strict=True))


def ids(row):
    return row[row != PAD].tolist()


def texts(rows):
    return [BPE.decode(ids(row)[:-1]) for row in rows]


def test_every_pair_comes_once_an_epoch_with_its_own_text_in_other_pieces():
    changed = 0
    for batch in loader(resegmented()):
        usual = USUAL.batch(batch.ids)
        assert texts(batch.src) == texts(usual.src)
        assert texts(batch.tgt_out) == texts(usual.tgt_out)
        changed += sum(ids(row) != ids(old) for row, old in zip(batch.src, usual.src, strict=True))
    assert changed > 0.8 * len(PAIRS)


def test_the_loader_gives_each_epoch_its_own_pieces():
    anew = resegmented()
    batches = loader(anew)
    for epoch in range(2):
        for batch in batches:
            assert equal(batch, anew.batch(batch.ids.tolist(), epoch=epoch))


def test_a_batch_is_padded_and_shifted_like_any_other():
    batch = resegmented().batch([3, 1, 4], epoch=0)

    assert torch.equal(batch.src_mask, batch.src != PAD)
    for source, tgt_in, tgt_out in zip(batch.src, batch.tgt_in, batch.tgt_out, strict=True):
        assert ids(tgt_in) == [BOS, *ids(tgt_out)[:-1]]
        assert (ids(tgt_out)[-1], ids(source)[-1]) == (EOS, EOS)
    assert [tensor.dtype for tensor in batch] == [torch.int64, torch.int64, torch.bool, torch.int64, torch.int64]


def test_seed_epoch_pair_and_side_decide_the_pieces_and_nothing_else():
    pairs = EncodedPairs.from_pairs([Pair("never older", "never older")] * 40, BPE, BPE)
    first = resegmented(pairs, rate=0.5).batch(range(40), epoch=1)

    again = resegmented(pairs, rate=0.5).batch([7, 3], epoch=1)
    for place, row in ((7, 0), (3, 1)):
        assert ids(again.src[row]) == ids(first.src[place])
    assert not equal(resegmented(pairs, rate=0.5).batch(range(40), epoch=2), first)
    assert not equal(resegmented(pairs, rate=0.5, seed=1).batch(range(40), epoch=1), first)
    assert len({tuple(row) for row in first.src.tolist()}) > 5
    assert first.src.tolist() != first.tgt_out.tolist()


def test_a_side_that_is_not_bpe_stays_as_it_is():
    pairs = EncodedPairs.from_pairs(PAIRS, BPE, CHAR)
    anew = resegmented(pairs, target=CHAR)

    assert torch.equal(anew.batch(range(50), epoch=0).tgt_out, pairs.batch(range(50)).tgt_out)
    assert (anew.target_lengths == pairs.target_lengths).all()
    assert not torch.equal(anew.batch(range(50), epoch=0).src, pairs.batch(range(50)).src)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_no_batch_has_more_tokens_than_are_allowed(rate):
    anew = resegmented(rate=rate)
    for _ in range(2):
        for batch in loader(anew, batch_tokens=400):
            assert batch.src.numel() + batch.tgt_out.numel() <= 400 or len(batch.ids) == 1


def test_no_text_outgrows_the_length_that_is_allowed():
    longest = int(max(USUAL.source_lengths.max(), USUAL.target_lengths.max()))
    anew = resegmented(rate=0.9, max_length=longest)

    assert max(anew.source_lengths.max(), anew.target_lengths.max()) == longest
    batch = anew.batch(range(len(PAIRS)), epoch=0)
    assert batch.src.shape[1] <= longest
    assert batch.tgt_out.shape[1] <= longest
    assert resegmented(rate=0.9).batch(range(len(PAIRS)), epoch=0).src.shape[1] > longest


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_few_texts_have_no_room_for_their_new_pieces(rate):
    dropout = BPE.merge_dropout(rate)
    assert dropout is not None
    lengths = [len(dropout(BPE.encode(pair.source), Random(place))) + 1 for place, pair in enumerate(PAIRS)]

    assert np.mean(lengths > resegmented(rate=rate).source_lengths) < 0.06


def test_no_pairs_are_no_batches():
    assert list(loader(resegmented(EncodedPairs.from_pairs([], BPE, BPE)))) == []


@pytest.mark.parametrize("num_workers", [1, 2])
def test_workers_make_the_same_batches(num_workers):
    alone, forked = loader(resegmented()), loader(resegmented(), num_workers)
    for _ in range(2):
        assert all(equal(ours, theirs) for ours, theirs in zip(alone, forked, strict=True))


def test_spawned_workers_go_on_in_the_middle_of_an_epoch():
    alone = loader(resegmented())
    list(alone)
    second = list(alone)
    broken = loader(resegmented())
    list(broken)
    for number, _ in enumerate(broken, start=1):
        if number == 4:
            break
    state = json.loads(json.dumps(broken.state_dict()))

    spawned = loader(resegmented(), num_workers=2)
    spawned.multiprocessing_context = "spawn"
    spawned.load_state_dict(state)

    for epoch in (second[4:], list(alone)):
        assert all(equal(ours, theirs) for ours, theirs in zip(epoch, spawned, strict=True))
