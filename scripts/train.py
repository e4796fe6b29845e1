"""Trains a model, scores it on the test pairs and writes a page of its attention maps.

Examples:
  python scripts/train.py                                      a small English-German grammar
  python scripts/train.py task=copy model.position=sinusoidal  another task, another model
  python scripts/train.py experiment=reverse                   a recipe with its measured score
  python scripts/train.py task=files task.train=pairs.tsv      your own pairs, source TAB target
  python scripts/train.py config=RUN/config.yaml seed=1        a run again, with another seed
  python scripts/train.py resume=RUN                           goes on where it was stopped
  python scripts/train.py init=RUN task=files task.train=pairs.tsv optim.lr=1e-3    fine-tunes
  python scripts/train.py -m seed=0,1,2 run_dir=three          one run after the other

Settings are key=value. The most used, with their defaults:
  task=translation         or copy, reverse, sort, numbers, dates, scan, files, hub
  model=                   tiny, small, base; or model.d_model=128 model.num_heads=4 ...
  model.position=rope      or sinusoidal, learned, relative, alibi, none
  optim.lr=  optim.warmup_steps=  optim.schedule=linear   what is unset follows the task
  trainer.max_steps=  trainer.max_epochs=  trainer.max_time=00:00:15:00
  data.batch_size= or data.batch_tokens=
  data.on_bad_line=error  data.delimiter=  data.encoding=utf-8   how text files are read
  tokenizer.source=  tokenizer.target=    char, word, bpe
  seed=0  run_dir=  logger=default  attention_log.enabled=true
  resume=                  a run, or auto: the one in run_dir, if it has begun
  init=                    a trained model to start from; init_tokenizer=keep or new
Sweeps in several processes, on a cluster, with Optuna: src/seq2see/commands/README.md
All keys with their values: --cfg job; with their meaning: src/seq2see/options/
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("train", __doc__)
