"""attention

Examples:
  python scripts/attention.py
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("attention", __doc__)
