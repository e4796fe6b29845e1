"""What happens around the training step: pacing, logging, samples, checkpoints and attention maps."""

from seq2see.training.callbacks.attention import LogAttention
from seq2see.training.callbacks.checkpoints import Checkpoints, Stopped
from seq2see.training.callbacks.numbers import LogMetrics, ReportValidation, SamplesFile
from seq2see.training.callbacks.pace import Pace, Selection

__all__ = [
    "Checkpoints",
    "LogAttention",
    "LogMetrics",
    "Pace",
    "ReportValidation",
    "SamplesFile",
    "Selection",
    "Stopped",
]
