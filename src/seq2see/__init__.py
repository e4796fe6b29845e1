"""seq2see trains small encoder-decoder Transformers and lets people see what they attend to."""
