"""`import seq2see` costs nothing, and its public names are there when they are used."""

import subprocess
import sys

import pytest

import seq2see


def test_the_package_its_options_and_the_reading_of_a_command_line_import_no_torch():
    code = (
        "import sys, seq2see.runs.overrides; seq2see.__version__, seq2see.ModelOptions; print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout.strip() == b"False"


@pytest.mark.parametrize("name", seq2see.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(seq2see, name).__doc__
    assert name in dir(seq2see)


def test_the_promised_names_are_public():
    attentions = "AdditiveAttention AttentionLayer DotProductAttention MultiHeadAttention ScaledDotProductAttention"
    functions = "load train mask_from_additive mask_from_hidden mask_from_ones scaled_dot_product_attention"
    assert set(seq2see.__all__) >= {*attentions.split(), *functions.split(), "ModelOptions", "Transformer"}


def test_an_unknown_name_is_refused_as_in_any_module():
    with pytest.raises(AttributeError, match="module 'seq2see' has no attribute 'Tranformer'"):
        seq2see.Tranformer  # noqa: B018
