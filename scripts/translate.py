"""Translates lines: as many out as in, in order; a blank line stays blank. At a terminal, a prompt.

Examples:
  python scripts/translate.py ckpt=latest                   a prompt; :map shows the attention
  python scripts/translate.py ckpt=RUN < in.txt > out.txt
  python scripts/translate.py ckpt=latest input=in.txt output=out.txt
  python scripts/translate.py ckpt=RUN decode.num_best=5 format=jsonl < in.txt
  python scripts/translate.py ckpt=RUN must=[Hund] forbid=[Katze,Maus] < in.txt
  python scripts/translate.py ckpt=RUN last_column=target < pairs.tsv
  tail -f in.txt | python scripts/translate.py ckpt=RUN     lines as they come

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file; [A,B] several
  ensemble=true    these as one model, by the mean of their probabilities; same tokenizers
  average=5        the mean of the run's newest kept checkpoints
  input=  output=  files; unset: standard input and output
  format=text      the best translation of each line alone
         tsv       line, rank, source, hypothesis, score, alignment; a row each
         jsonl     an object a line, with each token's log-probability
  prefix=          what every translation begins with
  must=[a,b]  forbid=[c]  texts that appear in every translation, and in none
  last_column=prefix   lines are SOURCE<tab>what the translation begins with
             =target   lines are SOURCE<tab>TARGET: its log-probability, nats
  copy_unknown=true    an unknown word is the source word that it attends to
  decode.beam_size=1  decode.num_best=1  decode.length_penalty=1.0
  decode.sample=true  decode.temperature=  decode.top_k=  decode.top_p=
  decode.max_source_length=1000  tokens, the end included; longer lines are cut
  decode.max_length=  decode.batch_size=     unset: as the run decoded
  accelerator=auto or cpu, gpu

rank: by score / length ** length_penalty; what was cut at the length limit last.
score: summed log-probability in nats. alignment: source-target word numbers
from 0, by the attention of the row that predicts the target word.
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("translate", __doc__)
