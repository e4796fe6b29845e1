"""What am I about to train on? Sizes, lengths, vocabulary, samples, duplicates, leakage, choices.

Examples:
  python scripts/data.py                                       the small English-German grammar
  python scripts/data.py task=scan task.split=length           another task
  python scripts/data.py task=files task.train=pairs.tsv       your own pairs, source TAB target
  python scripts/data.py experiment=reverse output=report.json all of it as JSON, too
  python scripts/data.py config=RUN/config.yaml                what a run was trained on

It takes all settings of train.py: put data.py in its place in any command. Nothing is trained, and
nothing is written but the output file. The settings that change what is shown:
  task=translation         or copy, reverse, sort, numbers, dates, scan, files, hub; task.*
  tokenizer.source=  tokenizer.target=    char, word, bpe; tokenizer.vocab_size=  tokenizer.shared=
  tokenizer.normalize=nfc  or none
  data.max_length=         tokens a side; longer training pairs are counted
  data.on_bad_line=error   or skip; data.delimiter=  data.encoding=utf-8  of text files
  output=                  a .json file
All keys with their values: --cfg job; with their meaning: src/seq2see/options/
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("data", __doc__)
