"""Writes a page of attention maps: of a model on any text, or of a run's log.

Examples:
  python scripts/attention.py ckpt=RUN input=in.txt output=maps.html
  echo "The dog sleeps ." | python scripts/attention.py ckpt=latest
  python scripts/attention.py run=RUN output=maps.html      every logged step

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file, for any text
  run=             a run folder, for the maps that it logged
  input=           a file of lines; unset: standard input
  output=          the page; unset: attention.html in this directory
  accelerator=auto or cpu, gpu
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("attention", __doc__)
