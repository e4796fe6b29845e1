"""Attention maps: captured, stored, measured and shown. The page: `from seq2see.maps import page; page.render(log)`."""

from seq2see.maps.store import AttentionLog, Example, Maps, StoredStep

__all__ = ["AttentionLog", "Example", "Maps", "StoredStep"]
