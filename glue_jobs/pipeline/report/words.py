"""Numbers, times and names as a person reads them; every text that came from outside is escaped here and nowhere else."""

import html
from datetime import UTC, datetime

_SMALL = ((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0), (7200.0, "min", 1 / 60), (172800.0, "h", 1 / 3600))


def safe(text: object) -> str:
    """Return *text*, escaped; an unknown value is a dash."""
    return html.escape(str(text), quote=True) if text is not None else "–"


def count(number: float | None) -> str:
    """Return a whole number with thin spaces."""
    return f"{round(number):,}".replace(",", "\u2009") if number is not None else "–"


def lasting(seconds: float | None) -> str:
    """Return a duration in the unit that suits it."""
    if seconds is None:
        return "–"
    unit, factor = next(((unit, factor) for limit, unit, factor in _SMALL if abs(seconds) < limit), ("d", 1 / 86400))
    value = seconds * factor
    return f"{value:.0f}\u2009{unit}" if value >= 100 or value == int(value) else f"{value:.3g}\u2009{unit}"


def dollars(nanodollars: float) -> str:
    """Return an amount; small ones with their significant digits."""
    value = nanodollars / 1e9
    return f"${value:,.2f}" if value >= 1 else f"${value:.2g}" if value >= 1e-4 or value == 0 else f"${value:.1e}"


def share(part: float, whole: float) -> str:
    """Return a percentage."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.1f}\u2009%" if 0 < percent < 10 else f"{percent:.0f}\u2009%"


def moment(seconds: float, span: float = 0.0) -> str:
    """Return a time in UTC, as precise as a history of *span* seconds needs."""
    pattern = "%H:%M:%S" if span < 3600 else "%d %b %H:%M" if span < 90 * 86400 else "%d %b %Y"
    return datetime.fromtimestamp(max(0.0, min(seconds, 253402300799.0)), UTC).strftime(pattern)


def day(seconds: float) -> str:
    """Return a date with its time."""
    return datetime.fromtimestamp(max(0.0, min(seconds, 253402300799.0)), UTC).strftime("%d %B %Y, %H:%M:%S")
