"""Translates lines: as many out as in, in the same order; a blank line stays blank.

Examples:
  python scripts/translate.py ckpt=RUN < in.txt > out.txt
  python scripts/translate.py ckpt=latest input=in.txt output=out.txt
  echo "The dog sleeps ." | python scripts/translate.py ckpt=latest

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file
  input=  output=  files; unset: standard input and output
  decode.max_length=  decode.batch_size=     unset: as the run decoded
  accelerator=auto or cpu, gpu
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("translate", __doc__)
