"""The part of `app.control` for the configuration of an application (`app.configure`)."""

from __future__ import annotations

from sedano.api.control_part import ControlPart
from sedano.engine.cluster.control import keep_stage_value
from sedano.errors import OptionError
from sedano.model.cluster.control_record import with_config
from sedano.model.configuration.fields import fields_of
from sedano.model.configuration.layers import STAGE


class ConfigurationControl(ControlPart):
    """Announces new versions of the configuration, and sets values of the layer `stage:`."""

    def reload(self) -> None:
        """Let all workers read the layers of the configuration again (`app.configure`), those that start later too.

        A worker that is a process does so within two seconds, a worker on Lambda before the batch after its next heartbeat. An invalid
        configuration is refused by each worker that reads it; its log says why.

        Raises:
            Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
        """
        self._controlling.change(with_config)

    def set_config(self, path: str, value: str | None) -> None:
        """Set a field in the layer ``stage:`` of the configuration, and announce it as `reload` does.

        Args:
            path: the field, such as ``pool`` or ``smtp.host``.
            value: its value as a text; None takes it away, so that the layers below count again.

        Raises:
            OptionError: the app has no layer ``stage:``, no field has this path, the field is secret, or the value does not fit its
                type.
            Unavailable: the store did not answer, or others changed it under each attempt; trying again is safe.
        """
        found = self._registry.configuration
        if found is None or STAGE not in {layer.kind for layer in found.layers}:
            raise OptionError('this app reads no layer stage:; declare it: app.configure(…, layers=[…, "stage:"])')
        keep_stage_value(self._ports, fields_of(found.cls), path, value)
        self.reload()
