"""Attention maps: captured, stored, measured and shown.

`maps.open("RUN")` reads a run's log, `maps.from_hf(outputs, tokens)` and `maps.from_arrays(...)` make one of another
model's weights; `log.show()` in a notebook, `log.save("maps.html")` anywhere.
"""

from seq2see.maps.arrays import Example, Maps, StoredStep
from seq2see.maps.log import AttentionLog, from_arrays, from_hf

open = AttentionLog.open

__all__ = ["AttentionLog", "Example", "Maps", "StoredStep", "from_arrays", "from_hf", "open"]
