"""evaluate

Examples:
  python scripts/evaluate.py
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("evaluate", __doc__)
