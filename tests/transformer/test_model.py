"""Promises of the whole model that hold for every option: padding, causality, modes, empty sources, the cache."""

import math
from contextlib import contextmanager, nullcontext
from functools import cache

import pytest
import torch
from option_sets import EVERY_OPTION, EVERY_OPTION_NAMES, SIZES
from tensors import assert_same
from torch.nn import functional as F

from seq2see.attention import MultiHeadAttention
from seq2see.options import Activation, ModelOptions, NormOrder, Position
from seq2see.text import PAD
from seq2see.transformer import Transformer

SOURCE_VOCABULARY, TARGET_VOCABULARY = 11, 13
EACH_OPTION = pytest.mark.parametrize("options", EVERY_OPTION, ids=EVERY_OPTION_NAMES)


@cache
def _model(which):
    torch.manual_seed(which)
    model = Transformer(EVERY_OPTION[which], SOURCE_VOCABULARY, TARGET_VOCABULARY).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # no norm is the identity, no bias zero
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def model_of(options):
    return _model(EVERY_OPTION.index(options)).eval()


def small(seed=0, **choices):
    """A model of few sizes; `choices` say what is not as usual."""
    torch.manual_seed(seed)
    return Transformer(ModelOptions(**{**SIZES, **choices}), SOURCE_VOCABULARY, TARGET_VOCABULARY)


def ids(vocabulary, batch, length):
    return torch.randint(4, vocabulary, (batch, length))


def some_batch(seed, batch=3, num_sources=6, num_targets=5):
    """Sources of which the first fills the batch and the last has one token, and targets."""
    torch.manual_seed(seed)
    lengths = torch.linspace(num_sources, 1, batch).round().long()
    src_mask = torch.arange(num_sources) < lengths[:, None]
    src = ids(SOURCE_VOCABULARY, batch, num_sources).where(src_mask, PAD)
    return src, src_mask, ids(TARGET_VOCABULARY, batch, num_targets)


def gradients(model, scalar):
    found = torch.autograd.grad(scalar, list(model.parameters()), allow_unused=True, retain_graph=True)
    return [torch.zeros_like(p) if g is None else g for g, p in zip(found, model.parameters(), strict=True)]


@EACH_OPTION
def test_no_pair_depends_on_its_neighbours_or_on_padding_which_need_not_be_computed(options):
    model = model_of(options)
    src, src_mask, tgt_in = some_batch(0)
    src_mask[2] = False  # a source may be empty
    tgt_mask = torch.arange(5) < torch.tensor([2, 5, 1])[:, None]
    padded, packed = model(src, src_mask, tgt_in)[tgt_mask], model(src, src_mask, tgt_in, tgt_mask)
    assert_same(packed, padded)
    alone = []
    for row in range(3):
        num_sources, num_targets = max(int(src_mask[row].sum()), 1), int(tgt_mask[row].sum())
        alone += model(src[[row], :num_sources], src_mask[[row], :num_sources], tgt_in[[row], :num_targets])
    alone, direction = torch.cat(alone), torch.randn_like(packed)
    assert_same(padded, alone)
    expected = gradients(model, (alone * direction).sum())
    assert all(gradient.isfinite().all() for gradient in expected)
    for logits in (padded, packed):
        assert_same(gradients(model, (logits * direction).sum()), expected)
    whole = torch.ones_like(src_mask), torch.ones_like(tgt_mask)
    assert_same(model(src, whole[0], tgt_in, whole[1]), model(src, whole[0], tgt_in).flatten(0, 1))


@contextmanager
def explicit_path(model):
    """Asks every attention for its weights, as capturing maps does."""

    def ask(module, args, kwargs):
        return args, {**kwargs, "need_weights": True}

    modules = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    handles = [module.register_forward_pre_hook(ask, with_kwargs=True) for module in modules]
    yield
    for handle in handles:
        handle.remove()


@EACH_OPTION
@pytest.mark.parametrize("explicit", [False, True])
def test_the_gradient_with_respect_to_any_later_target_is_exactly_zero(options, explicit):
    model, embedded = model_of(options).train(), []
    handle = model.target_embedding.register_forward_hook(lambda module, args, output: embedded.append(output))
    with explicit_path(model) if explicit else nullcontext():
        logits = model(*some_batch(0))
    handle.remove()
    for t in range(5):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), embedded, retain_graph=True)
        assert (gradient[:, t + 1 :] == 0).all()
        assert gradient[:, t].abs().sum() > 0  # its own token


@EACH_OPTION
def test_modes_gradients_and_requests_for_weights_change_no_number(options):
    model = model_of(options)
    batch = some_batch(0)
    expected = model(*batch)
    direction = torch.randn_like(expected)
    expected_gradients = gradients(model, (expected * direction).sum())
    with torch.no_grad():
        assert_same(model(*batch), expected)
    with torch.inference_mode():
        assert_same(model(*batch).clone(), expected)
    with explicit_path(model):
        logits = model(*batch)
        assert_same(logits, expected)
        assert_same(gradients(model, (logits * direction).sum()), expected_gradients)
    if options.randomize_positions is None:
        assert_same(model.train()(*batch), expected)


def test_learned_positions_refuse_a_longer_sequence_and_name_the_limit():
    model = small(position=Position.learned, max_positions=6).eval()
    message = r"learned positions end at model.max_positions \(6\) tokens, but a sequence has 7: shorten it, or train"
    src, src_mask, tgt_in = some_batch(0, num_sources=6, num_targets=6)
    model(src, src_mask, tgt_in)
    with pytest.raises(ValueError, match=message):
        model(*some_batch(0, num_sources=7))
    memory, state = model.encode(src, src_mask), model.new_cache()
    model.decode(tgt_in, memory, src_mask, state)
    with pytest.raises(ValueError, match=message):
        model.decode(tgt_in[:, :1], memory, src_mask, state)


@pytest.mark.parametrize("position", [kind for kind in Position if kind is not Position.learned])
def test_other_schemes_go_on_beyond_any_length(position):
    model = small(position=position, cross_position=Position.relative, max_positions=6).eval()
    assert model(*some_batch(0, num_sources=300, num_targets=200)).isfinite().all()


def test_training_draws_positions_and_evaluation_counts_them():
    model, plain, batch = small(randomize_positions=50), small(), some_batch(0)
    plain.load_state_dict(model.state_dict())
    assert_same(model.eval()(*batch), plain.eval()(*batch))
    model.train()
    assert not torch.allclose(model(*batch), model(*batch))
    short = small(randomize_positions=4)
    with pytest.raises(ValueError, match=r"model.randomize_positions \(4\) must be at least .* one has 6 tokens"):
        short(*batch)
    assert short.eval()(*batch).isfinite().all()


def test_in_training_too_a_source_and_a_target_token_of_one_number_share_a_drawn_position():
    model = small(cross_position=Position.relative, randomize_positions=400)
    biases = []
    model.decoder_layers[0].cross_attention.register_forward_pre_hook(
        lambda _, args, kwargs: biases.append(kwargs["positions"].bias), with_kwargs=True
    )
    batch = some_batch(0)
    for _ in range(10):
        model(*batch)
    at_home = model.cross_positions.table.weight[0]  # distance 0
    for bias in biases:
        assert_same(bias.diagonal(dim1=1, dim2=2), at_home[:, None].expand(-1, 5))
    assert any(not torch.equal(bias, biases[0]) for bias in biases)


def test_tied_embeddings_are_one_parameter_and_untied_ones_are_not():
    tied, untied = (ModelOptions(**SIZES, tie_embeddings=tie) for tie in (True, False))
    model = Transformer(tied, 13, 13, shared_vocabulary=True)
    assert model.output_proj.weight is model.target_embedding.weight is model.source_embedding.weight
    model = Transformer(tied, 13, 13)
    assert model.output_proj.weight is model.target_embedding.weight is not model.source_embedding.weight
    model = Transformer(untied, 13, 13, shared_vocabulary=True)
    assert len({id(m.weight) for m in (model.output_proj, model.target_embedding, model.source_embedding)}) == 3
    with pytest.raises(ValueError, match="a shared vocabulary has one size, not 11 and 13"):
        Transformer(tied, 11, 13, shared_vocabulary=True)


def test_shared_layers_are_one_layer_at_every_depth():
    shared, separate, batch = small(share_layers=True), small(), some_batch(0)
    separate.load_state_dict(shared.state_dict())
    assert_same(shared(*batch), separate(*batch))
    assert shared.encoder_layers[0] is shared.encoder_layers[1]


def test_a_window_limits_what_each_layer_sees():
    model = small(num_encoder_layers=1, num_decoder_layers=1, window=1, position=Position.none).double().eval()
    src, mask = torch.tensor([[4, 5, 6, 7]]), torch.ones(1, 4, dtype=torch.bool)
    memory, other = model.encode(src, mask), model.encode(torch.tensor([[4, 5, 9, 9]]), mask)
    assert torch.equal(memory[0, 0], other[0, 0]) and not torch.equal(memory[0, 1], other[0, 1])
    first, second = (model.decode(torch.tensor([[start, 5, 6, 7]]), memory, mask) for start in (1, 8))
    assert torch.equal(first[0, 2:], second[0, 2:]) and not torch.equal(first[0, 1], second[0, 1])


@pytest.mark.parametrize("norm", NormOrder)
def test_dropout_acts_on_embeddings_sublayers_and_hidden_numbers(norm):
    """At each of its places half of the numbers are zero with a probability of 0.5, and none in evaluation."""
    model = small(d_model=32, d_ff=64, num_encoder_layers=1, num_decoder_layers=1, dropout=0.5, norm=norm)
    zeros = {}

    def count(name, tensor):
        zeros[name] = float((tensor == 0).double().mean())

    for side, layer in (("encoder", model.encoder_layers[0]), ("decoder", model.decoder_layers[0])):
        layer.register_forward_pre_hook(lambda _, args, name=f"{side} embedding": count(name, args[0]))
        for part, module in layer.named_children():
            module.dropout.register_forward_hook(lambda _, __, out, name=f"{side} {part}": count(name, out))
        hidden = f"hidden {side}"
        layer.feed_forward.out_proj.register_forward_pre_hook(lambda _, args, name=hidden: count(name, args[0]))
    model(*some_batch(0))
    assert len(zeros) == 9
    for name, share in zeros.items():  # hidden numbers: a relu's zeros, and half of the others
        assert 0.6 < share < 0.9 if "hidden" in name else 0.3 < share < 0.7, name
    model.eval()(*some_batch(0))
    assert all(share == 0 for name, share in zeros.items() if "hidden" not in name)


def test_no_linear_map_sees_padding_in_training():
    model = small()
    src, src_mask, tgt_in = some_batch(0)
    tgt_mask = torch.arange(5) < torch.tensor([2, 5, 1])[:, None]
    seen = set()
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda module, args: seen.add(tuple(args[0].shape[:-1])))
    model(src, src_mask, tgt_in, tgt_mask)
    assert seen == {(int(src_mask.sum()),), (int(tgt_mask.sum()),)}


@EACH_OPTION
@pytest.mark.parametrize("chunks", [[1] * 8, [3, 1, 4]])
def test_a_cache_changes_no_logit_and_rows_may_leave_and_repeat(options, chunks):
    model, rows = model_of(options), torch.tensor([1, 1, 0])
    src, src_mask, tgt_in = some_batch(0, num_targets=8)
    src_mask[2] = False
    memory, state = model.encode(src, src_mask), model.new_cache()
    expected = model.decode(tgt_in, memory, src_mask)
    model.train()  # even then: what is cached is not drawn anew
    logits = [model.decode(part, memory, src_mask, state) for part in tgt_in.split(chunks, dim=1)]
    assert_same(torch.cat(logits, dim=1), expected)
    state.select(rows)
    more = torch.cat((tgt_in, tgt_in[:, :1]), dim=1)[rows]
    last = model.decode(more[:, 8:], memory[rows], src_mask[rows], state)
    assert_same(last, model.eval().decode(more, memory[rows], src_mask[rows])[:, 8:])


@pytest.mark.parametrize(("tie_embeddings", "activation"), [(False, Activation.relu), (True, Activation.swiglu)])
@pytest.mark.parametrize("norm", NormOrder)
@pytest.mark.parametrize("depth", [1, 12])
def test_the_loss_at_birth_is_about_log_v_and_no_gradient_vanishes_or_explodes(tie_embeddings, activation, norm, depth):
    torch.manual_seed(0)
    choices = dict(norm=norm, activation=activation, tie_embeddings=tie_embeddings)
    sizes = dict(d_model=64, num_heads=4, d_ff=64, num_encoder_layers=depth, num_decoder_layers=depth)
    model = Transformer(ModelOptions(**sizes, **choices), 500, 500)
    src, tgt = torch.randint(4, 500, (8, 8)), torch.randint(4, 500, (8, 9))
    logits = model(src, torch.ones_like(src, dtype=torch.bool), tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    assert abs(float(loss.detach()) - math.log(500)) < 0.4
    loss.backward()
    layers = (*model.encoder_layers, *model.decoder_layers)
    norms = [float(layer.feed_forward.in_proj.weight.grad.norm()) for layer in layers]
    assert min(norms) > 0 and max(norms) / min(norms) < 100
