"""How a broken rule among options is said."""


def require(condition: bool, message: str) -> None:
    """Raises ValueError with the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def require_positive(options: object, prefix: str, *names: str) -> None:
    """The keys with these names are above 0, or None."""
    for name in names:
        value = getattr(options, name)
        require(value is None or value > 0, f"{prefix}.{name} ({value}) must be positive")


def require_not_negative(options: object, prefix: str, *names: str) -> None:
    """The keys with these names are at least 0, or None."""
    for name in names:
        value = getattr(options, name)
        require(value is None or value >= 0, f"{prefix}.{name} ({value}) must not be negative")
