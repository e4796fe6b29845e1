"""Scores a trained model, teacher-forced and free-running, and shows what is behind the scores.

Examples:
  python scripts/evaluate.py ckpt=latest                    the newest run's test pairs
  python scripts/evaluate.py ckpt=RUN split=valid           its validation pairs
  python scripts/evaluate.py ckpt=RUN split=ood             longer or otherwise unlike training
  python scripts/evaluate.py ckpt=RUN task.test=new.tsv     other pairs
  python scripts/evaluate.py ckpt=model.ckpt output=scores  a checkpoint alone
  python scripts/evaluate.py -m RUN decode.beam_size=1,4 output=scores
                                                            scores/0 and scores/1
  python scripts/evaluate.py RUN RUN                        which is better, and is that certain?
  python scripts/evaluate.py RUN RUN RUN ensemble=true      the three as one model

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file; [A,B] several
  ensemble=true    these as one model, by the mean of their probabilities; same tokenizers
  split=test       or train, valid, ood
  task.test=       files of other pairs, read as the run's training files were, unless you set
                   task.source=  task.target=  task.features=  task.features_separator=
                   data.on_bad_line=  data.delimiter=  data.encoding=
  decode.beam_size=  decode.max_length=  ...     unset: as the run decoded
  output=          folder for <split>.json, .tsv and .html; unset: RUN/evaluation
  baselines=true   what copying and the training pairs alone would score
  report=true      <split>.html: the worst outputs and their attention, and whether attention
                   tells wrong outputs from right ones
  scores=true      <split>.scores.jsonl: log-probabilities of the references, token by token
  accelerator=auto or cpu, gpu
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("evaluate", __doc__)
