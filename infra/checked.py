"""The one way in which settings are refused."""


class ConfigError(ValueError):
    """A setting of the deployment cannot be used; the message begins with the setting's name."""


def require(holds: object, name: str, value: object, expected: str) -> None:
    """Raise `ConfigError` about the setting *name* unless *holds*."""
    if not holds:
        raise ConfigError(f"{name}: {value!r} cannot be used; expected {expected}")


def require_within(name: str, value: object, least: int, most: int) -> None:
    """Raise `ConfigError` unless *value* is a whole number from *least* to *most*."""
    whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    require(whole, name, value, f"a whole number from {least} to {most}")
