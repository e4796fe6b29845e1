"""Shows attention maps: of a model on any text, of a run's log, or live. Scores word alignments.

Examples:
  python scripts/attention.py ckpt=RUN input=in.txt output=maps.html
  python scripts/attention.py ckpt=RUN input=in.txt target=out.txt     the decoder is fed these
  echo "The dog sleeps ." | python scripts/attention.py ckpt=latest format=terminal
  python scripts/attention.py ckpt=RUN input=in.txt format=svg layer=2 head=1
  python scripts/attention.py run=RUN output=maps.html                 every logged step
  python scripts/attention.py run=[RUN,OTHER] output=maps.html         the pairs of two runs
  python scripts/attention.py run=RUN format=terminal step=200 layer=2 head=1
  python scripts/attention.py ckpt=RUN format=playground               a page that runs the model
  python scripts/attention.py ckpt=RUN input=in.txt twin=changed.txt   which heads carry a change
  python scripts/attention.py gold=true.txt hypothesis=out.tsv         precision, recall, error rate
  python scripts/attention.py gold=true.txt hypothesis=a.txt reverse=b.txt

Settings:
  ckpt=            a run folder (its best checkpoint) or a .ckpt file, for any text
  run=             a run folder, for the maps that it logged; two, [A,B]: to compare with those of B
  input=           a file of lines; unset: standard input
  target=          a file with a target for each line, fed beside the model's own output
  format=html      a page; svg a figure, csv a row for each cell, terminal blocks in 80 columns;
                   playground a page that holds the model of ckpt= and runs it, offline: type a
                   sentence, switch heads off. input= and target= are the sentences that it begins
                   with; unset: those that the run logged and some of its evaluation
  kind=cross       or encoder, decoder
  layer= head=     from 1; layer= alone: the mean of its heads; none: the head that aligns best if
                   that is known, or the mean of the last layer's (the output says which)
  step=            of run=: a step that it logged; unset: the last
  norms=false      true: norm-weighted maps, what each token adds to the output, for weights
                   with format=html, kind, layer, head, step and norms are what the page opens with
  float32=false    playground: true keeps all 32 bits of a weight; otherwise the fewest that move no
                   logit by more than 0.001 (on the sentences that are named in the page)
  stages=          playground: true holds the model before training and half-way too, if the run
                   kept them; unset: as many of these as 3 megabytes have room for
  twin=            a file with each line of the input changed in one word, into as many tokens; or
                   auto: a change is looked for. What one head gives for the line is put into the
                   model's run on its twin: which share of the difference comes back?
  causes=          true: what each source word does to each target token, left out of the source or
                   hidden from one head, one layer, all cross attention: under the maps of a page,
                   or as a table (format=csv); unset: in a page, of a few short lines
  output=          unset: attention.html, attention.svg or playground.html here; csv and terminal
                   are printed
  decode.beam_size=  ...    unset: as the run decoded
  accelerator=auto or cpu, gpu

Links, one sentence a line:
  gold=            true links: i-j sure, ipj or i?j possible; source word i, target word j, from 0
  hypothesis=      links to score, in the same form or as translate.py writes tsv and jsonl
  reverse=         links of the other direction, target word first, as its model writes them: adds
                   intersection, union and grow-diag-final-and
"""

from seq2see.commands.shell import main

if __name__ == "__main__":
    main("attention", __doc__)
