"""seq2see trains small encoder-decoder Transformers and lets people see what they attend to."""

__version__ = "0.1.0"
