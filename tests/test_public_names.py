"""`import seq2see` costs nothing, and its public names are there when they are used."""

import subprocess
import sys

import pytest

import seq2see


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


def test_importing_the_package_imports_no_torch():
    code = "import seq2see, sys; seq2see.__version__, seq2see.ModelOptions; print('torch' in sys.modules)"
    assert run(code).strip() == "False"


def test_a_name_imports_what_it_needs_and_no_more():
    code = "import seq2see, sys; seq2see.MultiHeadAttention; print('torch' in sys.modules, 'lightning' in sys.modules)"
    assert run(code).strip() == "True False"


@pytest.mark.parametrize("name", seq2see.__all__)
def test_every_public_name_is_there_and_documented(name):
    assert getattr(seq2see, name).__doc__
    assert name in dir(seq2see)


def test_the_promised_names_are_public():
    assert set(seq2see.__all__) >= {
        "AdditiveAttention",
        "AttentionLayer",
        "DotProductAttention",
        "ModelOptions",
        "MultiHeadAttention",
        "ScaledDotProductAttention",
        "Transformer",
        "load",
        "mask_from_additive",
        "mask_from_hidden",
        "mask_from_ones",
        "scaled_dot_product_attention",
        "train",
    }


def test_an_unknown_name_is_refused_as_in_any_module():
    with pytest.raises(AttributeError, match="module 'seq2see' has no attribute 'Tranformer'"):
        seq2see.Tranformer  # noqa: B018
