"""Scores a trained model: teacher-forced and free-running, with sacrebleu's signatures.

Examples:
  python scripts/evaluate.py ckpt=latest                    the newest run's test pairs
  python scripts/evaluate.py ckpt=RUN split=valid           its validation pairs
  python scripts/evaluate.py ckpt=RUN task.test=new.tsv     other pairs
  python scripts/evaluate.py ckpt=model.ckpt output=scores  a checkpoint alone

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file
  split=test       or train, valid
  task.test=       a file of other pairs
  decode.max_length=  decode.batch_size=     unset: as the run decoded
  output=          folder for <split>.json and <split>.tsv; unset: RUN/evaluation
  accelerator=auto or cpu, gpu
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("evaluate", __doc__)
