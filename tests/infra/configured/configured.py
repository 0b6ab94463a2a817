"""An application whose configuration reads parameters and a profile."""

from dataclasses import dataclass

from sedano import Sedano

app = Sedano("configured")


@dataclass(frozen=True)
class Shop:
    """Its configuration."""

    pool: int = 1


settings = app.configure(Shop, layers=["env:SHOP_", "ssm:/shop/prod/", "appconfig:abc1234/de56789/fg01234", "stage:"])


@app.task
def look() -> int:
    """Return the pool."""
    return settings().pool
