"""Measures speed: as ratios beside peers where there are some, in one run.

Examples:
  python scripts/benchmark.py                          everything
  python scripts/benchmark.py suite=load               a million pairs: starts, memory, loader
  python scripts/benchmark.py suite=train              a step beside peers, and why
  python scripts/benchmark.py suite=solve              ten runs of reverse, one of the default: long
  python scripts/benchmark.py suite=decode rounds=5    beside Hugging Face and CTranslate2
  python scripts/benchmark.py output=speed.json        the figures as a file, too

Settings are key=value:
  suite=         start, load, train, solve, decode, maps, serve, growth, scaling; all if left out
                 gpu: a step in bf16 beside peers, where there is a GPU
  rounds=3       medians are of so many, after one to warm up
  pairs=1000000  of suite=load

The peers of train and decode come with: pip install -e '.[bench]'
Let nothing else run: the machine's matrix peak and load are measured first.
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("benchmark", __doc__)
