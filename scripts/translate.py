"""translate

Examples:
  python scripts/translate.py
"""

from seq2see.runs.shell import main

if __name__ == "__main__":
    main("translate", __doc__)
