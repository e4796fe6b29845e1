"""A task imports what it needs and no more."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("options", "unwanted"),
    [
        ("LettersOptions('sort', train_size=3)", {"torch", "tokenizers", "datasets", "pyarrow", "seq2see.tasks.files"}),
        ("FilesOptions(train='x.tsv')", {"torch", "datasets", "seq2see.tasks.letters"}),  # its pairs are in Arrow
    ],
)
def test_a_task_imports_nothing_that_it_does_not_use(options, unwanted):
    code = (
        "import sys; from seq2see.options import *; from seq2see.tasks import make_task; "
        f"make_task({options}); print(*sys.modules)"
    )

    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert not unwanted & set(answer.stdout.split())
