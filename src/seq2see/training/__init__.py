"""Batches to a trained model: the LightningModule, its objective, its budget and what happens around it."""

from seq2see.training.budget import Budget, learning_rate_factor
from seq2see.training.module import TrainingModule

__all__ = ["Budget", "TrainingModule", "learning_rate_factor"]
