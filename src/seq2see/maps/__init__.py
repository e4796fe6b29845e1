"""Attention maps: captured, stored, measured and shown.

`maps.open("RUN")` reads a run's log; the page: `from seq2see.maps import page; page.render(log)`.
"""

from seq2see.maps.index import Example, StoredStep
from seq2see.maps.store import AttentionLog, Maps

open = AttentionLog.open

__all__ = ["AttentionLog", "Example", "Maps", "StoredStep", "open"]
