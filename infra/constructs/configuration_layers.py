"""The grants of the layers of an application's configuration: the parameters below a path, one parameter, and profiles of AppConfig."""

import re
from collections.abc import Sequence

from aws_cdk import Stack

from ..application import PARAMETER
from ..config import require
from .grants import Grants

#: The actions that read a profile of AppConfig.
PROFILES = ["appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration"]
#: The form of the ids that the ARN of a profile has.
_ID = re.compile(r"[a-z0-9]{4,7}")


def allow_layers(grants: Grants, stack: Stack, layers: Sequence[str], *, local: bool) -> None:
    """Grant reading the sources that *layers* name, and nothing else; an endpoint on this machine accepts names in place of ids.

    Raises:
        ConfigError: a profile is given by names instead of ids.
    """
    for layer in layers:
        kind, _, where = layer.partition(":")
        if kind == "ssm":
            path = stack.format_arn(service="ssm", resource="parameter", resource_name=where.strip("/"))
            grants.allow(["ssm:GetParametersByPath"], path)
        elif kind == PARAMETER:
            one = stack.format_arn(service="ssm", resource="parameter", resource_name=where.strip("/"))
            grants.allow(["ssm:GetParameter"], one)
        elif kind == "appconfig":
            application, environment, profile = where.split("/")
            ids = all(map(_ID.fullmatch, (application, environment, profile)))
            require(ids or local, "layers", layer, "the ids of application, environment and profile, since IAM grants by ids")
            name = f"{application}/environment/{environment}/configuration/{profile}"
            grants.allow(PROFILES, stack.format_arn(service="appconfig", resource="application", resource_name=name))
