"""A table over runs: for each recipe its scores over seeds, tested against one of them.

Examples:
  python scripts/compare.py SWEEP
  python scripts/compare.py outputs/reverse/*
  python scripts/compare.py RUN RUN RUN against=RUN
  python scripts/compare.py SWEEP output=table.html
  python scripts/compare.py SWEEP metric=bleu output=table.tex

RUN is a run folder, SWEEP the run_dir of a multirun. against= names a run of the
row that the others are tested against (else the first row is), metric= the score
that is tested. output= ends in .csv (all scores, all digits), .md, .tex (booktabs)
or .html (one page with curves, which opens offline). What the columns mean stands
in src/seq2see/evaluation/README.md.
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("compare", __doc__)
