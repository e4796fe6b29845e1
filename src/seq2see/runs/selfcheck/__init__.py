"""The promises, proved on a model and pairs of the user's own: a few pairs, double precision, the CPU."""

from collections.abc import Callable

from seq2see.options import SelfcheckOptions
from seq2see.runs.failures import RunFailed
from seq2see.runs.selfcheck import kept, loss, model, outputs
from seq2see.runs.selfcheck.promise import Finding, Promise
from seq2see.runs.selfcheck.subject import Subject
from seq2see.runs.terminal import Terminal, shortened

__all__ = ["PROMISES", "Finding", "Promise", "command", "selfcheck"]

_ROUNDING = 1e-9  # in double precision what is the same differs by about 1e-14

PROMISES = (
    Promise(
        "50 columns of padding change nothing",
        model.padding,
        "logit",
        _ROUNDING,
        "Padding is seen as if it were text, so that an output depends on the other texts of its batch. Follow "
        "src_mask from Transformer.encode and .decode into every attention.",
    ),
    Promise(
        "later targets change no earlier logit",
        model.causality,
        "logit",
        _ROUNDING,
        "The decoder sees what it is to predict: training looks better than it is, and translations are bad. Look at "
        "causal=True in DecoderLayer, and at limit_reach in attention/masks.py.",
    ),
    Promise(
        "attention rows add up to one",
        model.row_sums,
        "",
        _ROUNDING,
        "Weights are not shares: something changes them after the softmax. Look at masked_softmax in "
        "attention/masks.py, and at a score function of your own.",
    ),
    Promise(
        "padding and the future get no attention",
        model.hidden_cells,
        "weight",
        0,
        "A cell that must be hidden is seen in the path that returns weights. Look at the mask that each attention is "
        "called with in transformer/layers.py, and at masked_softmax in attention/masks.py.",
    ),
    Promise(
        "a source without a token stays finite",
        model.empty_source,
        "numbers",
        0,
        "NaN or infinity arises where nothing may be attended to, and one such pair spoils all weights in training. "
        "Look at masked_softmax in attention/masks.py; if all numbers are such, the weights are spoilt already.",
    ),
    Promise(
        "greedy: the batch changes no output",
        outputs.greedy_batches,
        "outputs",
        0,
        "What is decoded together changes the result. If padding holds above, look at how decoding/greedy.py lets rows "
        "go that have ended, and at DecoderCache.select.",
    ),
    Promise(
        f"beam of {outputs.BEAM_SIZE}: the batch changes no output",
        outputs.beam_batches,
        "outputs",
        0,
        "What is decoded together changes the result. If greedy decoding holds above, look at how decoding/beam.py "
        "sorts hypotheses and caches.",
    ),
    Promise(
        "a beam of one = greedy",
        outputs.beam_of_one,
        "outputs",
        0,
        "The two searches disagree where they must not. Look at decoding/beam.py, how it scores and ends hypotheses.",
    ),
    Promise(
        "scores are of the softmax of the loss",
        outputs.scores,
        "nats",
        _ROUNDING,
        "What a text scores is not what the model gives it in training, so that scores, losses and perplexities do not "
        "go together. Look at next_log_probs in decoding/hypothesis.py, and at decoding/forced.py.",
    ),
    Promise(
        "decoding with a cache = without one",
        outputs.cache,
        "logit",
        _ROUNDING,
        "A step sees other keys, values or positions than the whole pass, so that outputs are not what was trained. "
        "Look at KeyValueCache in attention/multihead.py, and at the positions in Transformer.decode_states.",
    ),
    Promise(
        "inputs are the labels, one place later",
        loss.labels,
        "tokens",
        0,
        "Tokens stand in the wrong place: a model learns to copy its input, or the wrong text. Look at shifted in "
        "data/encoded.py, which makes tgt_in and tgt_out, and at the tokenizers.",
    ),
    Promise(
        "a label cannot be seen before it is due",
        loss.only_the_past,
        "nats",
        _ROUNDING,
        "The training loss is not that of a model which is given the tokens before each label and no others, so that a "
        "low loss means nothing. Look at tgt_in in data/encoded.py and training/module.py, then at the causal mask.",
    ),
    Promise(
        "8 pairs = 4 x 2 accumulated",
        loss.accumulation,
        "gradient",
        _ROUNDING,
        "Batches that are accumulated train otherwise than one large batch. Look at training_step and "
        "on_before_optimizer_step in training/module.py: the sum over tokens is divided by all tokens of the step.",
    ),
    Promise(
        "smoothing counts real tokens alone",
        loss.smoothing,
        "nats",
        _ROUNDING,
        "Padding is part of the objective, or smoothing is not what it should be. Look at training/objective.py, and "
        "at how objective_of there chooses the real tokens.",
    ),
    Promise(
        "the loss is the same in any batches",
        loss.batching,
        "nats",
        _ROUNDING,
        "The loss that is reported depends on how pairs are batched, so that runs cannot be compared. Look at "
        "take_train_loss in training/module.py, and at decoding/forced.py: sums over tokens, divided once.",
    ),
    Promise(
        f"a few pairs are learned in {loss.MOST_STEPS} steps",
        loss.by_heart,
        "nats",
        loss.LEARNED,
        "A new model of this shape does not learn four pairs by heart, so it will learn no others. A part of it gets "
        "no gradient, or none that helps: look at what you changed in the model, and at the loss.",
    ),
    Promise(
        "a saved and loaded model is the same",
        kept.saved,
        "numbers",
        0,
        "A checkpoint does not hold all that the model is. Look at Trained.describe and decoding/checkpoint.py: "
        "weights outside the state_dict, or options that are not saved, are lost.",
    ),
    Promise(
        "test files are read as training files are",
        kept.read_again,
        "pairs",
        0,
        "What is scored is not what the file says: other columns, a header that is a pair, or a lost line. Look at "
        "read_pairs in runs/data.py.",
    ),
    Promise(
        "best.ckpt is the best, and scored so",
        kept.chosen,
        "numbers",
        0,
        "Another validation was better, or an evaluation of best.ckpt finds other scores than its validation. Look at "
        "Selection in training/callbacks/pace.py, and at References in evaluation/references.py, which both score by.",
    ),
    Promise(
        "killed and resumed = never interrupted",
        kept.resumed,
        "numbers",
        0,
        "A run that is interrupted ends with another model. Something that training depends on is not in last.ckpt: "
        "look at training/callbacks/checkpoints.py, and at random numbers that you draw in training.",
    ),
)


def command(options: SelfcheckOptions) -> None:
    """What `scripts/selfcheck.py` does: a table of promises.

    Raises:
        RunFailed: one does not hold.
    """
    findings = selfcheck(options, show=Terminal().result)
    num_failed = sum(not finding.passed for finding in findings)
    if num_failed:
        raise RunFailed(f"{num_failed} of {len(findings)} promises {'does' if num_failed == 1 else 'do'} not hold")


def selfcheck(options: SelfcheckOptions, *, show: Callable[[str], None] | None = None) -> list[Finding]:
    """Checks every promise.

    Args:
        options: a checkpoint, or the options of a training run; then the model is a new one.
        show: called with each line of the table as soon as it is known.

    Raises:
        ValueError: the checkpoint, the options or the data are wrong.
    """
    show = show or (lambda line: None)
    subject = Subject.of(options)
    for line in (subject.title, f"{subject.origin}, double precision, CPU"):
        show(shortened(f"  {line}"))
    show("")
    findings = []
    for promise in PROMISES:
        findings.append(promise.check(subject))
        for line in findings[-1].lines:
            show(line)
    num_passed = sum(finding.passed for finding in findings)
    show("")
    show(f"  {num_passed} of {len(findings)} promises hold")
    return findings
