"""Writes a model down for other tools: ONNX graphs with a program that runs them, or safetensors.

Examples:
  python scripts/export.py ckpt=RUN output=DIR                      ONNX: any batch and lengths
  python scripts/export.py ckpt=RUN output=DIR int8=true            matrices of 8-bit integers
  python scripts/export.py ckpt=RUN output=DIR format=safetensors   weights by name
  python DIR/translate.py < in.txt > out.txt                        without seq2see
  python scripts/translate.py ckpt=DIR < in.txt > out.txt           format=safetensors

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file
  average=5        the mean of the run's newest kept checkpoints
  format=onnx      encoder.onnx, decoder.onnx (one step, with its cache), translate.py; needs
                   pip install 'seq2see[onnx]'
         safetensors  model.safetensors, which ckpt= of all commands and seq2see.load read too
  int8=false       true: about a third of the size; a few outputs change
  output=          a new folder, with the tokenizers and config.json too
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("export", __doc__)
