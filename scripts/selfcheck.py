"""Do the promises hold on your own model and data? What was measured of each, and what it may be.

Examples:
  python scripts/selfcheck.py ckpt=RUN                    a trained model, on its own pairs
  python scripts/selfcheck.py ckpt=model.ckpt             its pairs may be gone: then random tokens
  python scripts/selfcheck.py                             the default configuration, not trained
  python scripts/selfcheck.py task=copy model.position=alibi
  python scripts/selfcheck.py config=RUN/config.yaml      a run's configuration, not trained

What is checked: padding, later targets and the other pairs of a batch change nothing; a cache and a
beam of one change no output; the loss counts real tokens, however they are batched or accumulated,
of inputs that do not contain what is to be predicted, and scores are made of the same
log-probabilities; a new model of this shape learns a few pairs by heart; a saved model, and a run
that was interrupted, lose nothing.
Half a minute for model=tiny; longer for large ones.

Settings:
  ckpt=      a run folder (its best checkpoint) or a .ckpt file; then nothing else is to be set
  or all settings of train.py: put selfcheck.py in its place in any command

It takes a few pairs, the CPU and double precision, so that rounding hides nothing. Nothing is kept
but tokenised pairs, in the cache that training looks into.
Exit code 0: all hold; 1: one does not, and below it stands where to look.
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("selfcheck", __doc__)
