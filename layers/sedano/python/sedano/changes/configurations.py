"""Changes of an application's configuration (`app.configure`): a value of the layer `stage:`, and the announcement of a new version."""

from __future__ import annotations

from functools import partial

from sedano.app import Sedano
from sedano.changes.pauses import valid
from sedano.changes.plan import AppliedChange, ChangePlan, Effect
from sedano.engine.configuration import Configuration
from sedano.errors import UsageError
from sedano.model.configuration.fields import fields_of
from sedano.model.configuration.layers import STAGE
from sedano.model.configuration.stage_values import STAGE_VALUES, stage_values, with_value

BELOW = "as the layers below say"


def configured(app: Sedano) -> Configuration[object]:
    """Return the configuration of *app*.

    Raises:
        UsageError: it declares no configuration.
    """
    if app.registry.configuration is None:
        raise UsageError('this app has no configuration; declare a frozen dataclass: app.configure(Options, layers=["stage:"])')
    return app.registry.configuration


def set_value(app: Sedano, path: str, value: str | None) -> ChangePlan:
    """Return the plan to set the field *path* in the layer ``stage:``; None removes its value.

    Raises:
        UsageError: the app does not read the layer ``stage:``, no field has this path, it is secret, or the value does not fit its type.
    """
    found = configured(app)
    if STAGE not in {layer.kind for layer in found.layers}:
        raise UsageError('this app reads no layer stage:; declare it: app.configure(…, layers=[…, "stage:"])')
    memo = app.outlet.ports.memos.read([STAGE_VALUES]).get(STAGE_VALUES)
    text = memo.text if memo is not None else ""
    valid(with_value, text, fields_of(found.cls), path, value)
    before = stage_values(text).get(path)
    if value is None and before is None:
        raise UsageError(f"{path}: the layer stage: has no value for it, so there is nothing to remove; see `sedano config show`")
    after = BELOW if value is None else value
    row = next((one for one in found.rows() if one.path == path), None)
    now = "" if row is None else f"; now {row.value} from {row.origin}"
    when = "when no body runs" if row is not None and row.cold else "for the next bodies"
    lines = (f"set 1 field in the layer stage:, {path}: {after}{now}", f"all workers read their layers again; it takes effect {when}")
    make = partial(_set, app, path, value, f"{path} {after}")
    return ChangePlan(verb="config set", what=f"{path}: {after}", lines=lines, number=0, word=path, make=make)


def reload(app: Sedano) -> ChangePlan:
    """Return the plan to make all workers read the layers of the configuration again.

    Raises:
        UsageError: the app has no configuration.
    """
    layers = ", ".join(map(str, configured(app).layers))
    line = f"let all workers read 1 configuration again: {layers}; each worker refuses an invalid one as a whole"
    return ChangePlan(verb="config reload", what="all layers", lines=(line,), number=0, word="reload", make=partial(_reloaded, app))


def _set(app: Sedano, path: str, value: str | None, text: str) -> AppliedChange:
    valid(app.control.set_config, path, value)
    return AppliedChange((Effect(text, {"field": path, "value": BELOW if value is None else value}),))


def _reloaded(app: Sedano) -> AppliedChange:
    app.control.reload()
    return AppliedChange((Effect("announced", {"announced": "a new configuration"}),))
