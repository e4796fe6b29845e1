"""train

Examples:
  python scripts/train.py
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("train", __doc__)
