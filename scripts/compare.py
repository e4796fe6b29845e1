"""A table over runs: scores of each, and their mean and range over the seeds of a recipe.

Examples:
  python scripts/compare.py outputs/reverse/*
  python scripts/compare.py RUN RUN RUN
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("compare", __doc__)
