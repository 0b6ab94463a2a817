"""`app.configure`: the configuration of an application, a frozen dataclass whose fields get their values from layers.

    @dataclass(frozen=True)
    class Mail:
        sender: str
        pool: int = field(default=10, metadata=COLD)

    settings = app.configure(Mail, layers=["toml:shop.toml", "env:SHOP_"])
    settings().sender
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from sedano.engine.publisher.publisher import Outlet
from sedano.engine.registry import Registry
from sedano.errors import OptionError

if TYPE_CHECKING:
    from sedano.engine.configuration import Configuration

C = TypeVar("C")
NEEDED = {"ssm": ("parameters",), "appconfig": ("parameters",), "stage": ("memos", "control")}
"""The optional ports that each kind of layer needs."""


class Configured(ABC):
    """The configuration of an app."""

    registry: Registry

    @property
    @abstractmethod
    def outlet(self) -> Outlet:
        """The publisher."""

    def configure(self, cls: type[C], *, layers: Sequence[str]) -> Configuration[C]:
        """Declare the configuration of this app: *cls*, whose fields get their values from *layers*.

        No layer is read now. A worker reads them before its boot steps, and does not start with invalid values; a program reads them at the
        first call of the returned function. `current().config` is the version with which a body began.

        Args:
            cls: a dataclass with ``frozen=True``. Its fields are strings, numbers, booleans, durations, members of an Enum, tuples of
                these, or frozen dataclasses. A field with ``metadata=COLD`` changes only while no body runs; one with ``repr=False`` is
                secret.
            layers: the sources of the values; a later one overrides an earlier one: ``module:shop.defaults``, ``toml:shop.toml``,
                ``env:SHOP_``, ``ssm:/shop/`` (Parameter Store), ``appconfig:shop/prod/settings``, ``stage:`` (`app.control.set_config`).

        Returns:
            a function that returns the current version; inside a body, the version with which that body began.

        Raises:
            OptionError: *cls* is not a frozen dataclass, a field has a type that no layer can give, a layer does not exist, or the app
                already has a configuration.
        """
        from sedano.engine.configuration import Configuration
        from sedano.model.configuration.fields import fields_of
        from sedano.model.configuration.layers import layer

        if isinstance(layers, str):
            raise OptionError(f"layers: {layers!r} is a text; write [{layers!r}]")
        fields, found = fields_of(cls), [layer(one) for one in layers]
        if self.registry.configuration is not None:
            raise OptionError("app.configure: this app has a configuration already; add the fields to its dataclass")
        for one in found:
            for port in NEEDED.get(one.kind, ()):
                self.registry.need(port, f"the layer {one}")
        declared = Configuration(cls, fields, found, lambda: self.outlet.ports)
        self.registry.configuration = declared
        return declared
