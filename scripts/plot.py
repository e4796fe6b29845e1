"""A figure of runs, for a paper or a talk: SVG, PNG or PDF.

Examples:
  python scripts/plot.py RUN
  python scripts/plot.py SWEEP what=curves metric=bleu output=curves.pdf
  python scripts/plot.py RUN RUN RUN what=lengths output=lengths.png
  python scripts/plot.py SWEEP what=comparison

RUN is a run folder, SWEEP the run_dir of a multirun. Runs that differ in their seed
alone are one line: their mean, and a band from the lowest to the highest.

Settings:
  what=curves      training and validation loss, and the score, over steps
       lengths     the score by length of source and target, on the test pairs
       comparison  the test score of each recipe: mean, 95 % interval over seeds, each run
  metric=          a score, as bleu; unset: the one that chose the checkpoints, or exact_match
  output=          a .svg, .png or .pdf file; unset: curves.svg and so on, here
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("plot", __doc__)
