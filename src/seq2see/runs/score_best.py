"""The test of a trained model: `best.ckpt` on the pairs that nothing was chosen by."""

from seq2see.decoding import device_of, load
from seq2see.evaluation import Evaluation, evaluate_pairs
from seq2see.maps.attended import add_alignment
from seq2see.ranks import rank, sharing
from seq2see.runs.folder import RunFolder, write_evaluation
from seq2see.runs.prepare import TrainingSetup


def score_best(setup: TrainingSetup, folder: RunFolder) -> dict[str, Evaluation]:
    """Scores `best.ckpt` on the splits test and ood, where they have pairs; the first process writes it down."""
    best, evaluations = load(str(folder.best)), {}
    best.decode_as(setup.options.decode)
    for split in ("test", "ood"):
        if pairs := setup.task.pairs(split):
            with sharing():
                evaluation = evaluate_pairs(best, pairs, device=device_of(setup.options.trainer.accelerator))
            if rank() == 0:
                add_alignment(best, evaluation, setup.valid_pairs)
                write_evaluation(evaluation, folder.path / "evaluation", split)
            evaluations[split] = evaluation
    return evaluations
