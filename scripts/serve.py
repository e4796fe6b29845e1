"""Serves a trained model over HTTP, with its playground at /.

Examples:
  python scripts/serve.py ckpt=RUN
  python scripts/serve.py ckpt=latest port=8080 decode.beam_size=4
  python scripts/serve.py ckpt=model.ckpt host=0.0.0.0 page=false
  python scripts/serve.py ckpt=[A,B,C] ensemble=true           several runs as one model

  curl 127.0.0.1:8000/translate -H 'content-type: application/json' -d '{"texts": ["A dog ."]}'

Paths:
  POST /translate  texts; and beam_size, num_best, max_length, alignment, attention if they are set
  GET /model       what the model is, its scores and the limits
  GET /health      that it answers, and how many texts wait
  GET /            the page that runs the model in the browser

Settings:
  ckpt=              a run folder (its best checkpoint) or a .ckpt file
  average=N          the mean of the run's N newest kept checkpoints
  host=127.0.0.1     0.0.0.0: reachable from other machines
  port=8000          0: a free one, which is named
  page=true          false: no page at /
  max_texts=64       of one request
  max_length=1000    of a text, characters; tokens that a request may ask for
  max_beam_size=8    that a request may ask for
  max_waiting=1024   texts; a request beyond them gets 503
  timeout=30         seconds that a request may take
  window=0.005       seconds that a request waits for others to be translated with
  decode.beam_size=  ...    unset: as the run decoded
  accelerator=auto   or cpu, gpu

It needs: pip install 'seq2see[serve]'
SIGTERM and Ctrl-C end it: nothing new is taken, what has been asked is answered.
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("serve", __doc__)
