"""Parameters and profiles: read as they were put, below their path alone; what is missing is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sedano.aws.parameters import AwsParameters
from sedano.errors import ConfigurationError, NotAllowed, Unavailable
from sedano.memory import MemoryParameters
from sedano.ports.parameters import OwnersParameters
from sedano.sqlite.parameters import SqliteParameters
from sedano.sqlite.store import Store
from tests.conformance.app_config import AppConfigData
from tests.plugins.resources import Resources


class Owner(NamedTuple):
    """The port, and how the owner of a deployment puts a parameter and a profile there."""

    parameters: OwnersParameters
    put: Callable[[str, str], object]
    deploy: Callable[[str, str], object]


@pytest.fixture(params=["memory", "sqlite", "moto", pytest.param("ministack", marks=pytest.mark.ministack)])
def owner(request: pytest.FixtureRequest, tmp_path: Path) -> Owner:
    """A store without parameters below /conformance."""
    if request.param == "memory":
        kept = MemoryParameters()
        return Owner(kept, kept.put, kept.put)
    if request.param == "sqlite":
        store = SqliteParameters(Store(tmp_path / "sedano.db"))
        return Owner(store, store.put, store.put)
    resources: Resources = request.getfixturevalue("resources" if request.param == "moto" else "ministack_resources")
    ssm, profiles = resources.session.client("ssm", endpoint_url=resources.endpoint_url), AppConfigData()

    def put(name: str, text: str) -> None:
        ssm.put_parameter(Name=name, Value=text, Type="SecureString", Overwrite=True)

    for page in ssm.get_paginator("get_parameters_by_path").paginate(Path="/conformance", Recursive=True):
        for one in page["Parameters"]:
            ssm.delete_parameter(Name=one["Name"])
    return Owner(AwsParameters(ssm, profiles), put, profiles.deploy)


@pytest.mark.parametrize("path", ["/conformance/shop", "/conformance/shop/"])
def test_a_tree_has_all_that_is_below_its_path_and_nothing_else(owner: Owner, path: str) -> None:
    wanted = {f"table/p{number}": str(number) for number in range(12)} | {"pool": "7"}  # more than a page of SSM, which has ten
    for name, text in wanted.items():
        owner.put(f"/conformance/shop/{name}", text)
    owner.put("/conformance/shopping/pool", "8")
    assert owner.parameters.tree(path) == wanted


def test_a_path_without_parameters_is_an_empty_tree(owner: Owner) -> None:
    assert owner.parameters.tree("/conformance/none") == {}


def test_one_parameter_is_read_by_its_name_and_a_missing_one_is_empty(owner: Owner) -> None:
    owner.put("/conformance/orders/token", "Bearer é\n")
    assert owner.parameters.text("/conformance/orders/token") == "Bearer é\n"
    assert owner.parameters.text("/conformance/orders") == ""
    owner.put("/conformance/orders/token", "new")
    assert owner.parameters.text("/conformance/orders/token") == "new"


def test_a_parameter_that_was_put_again_is_read_so(owner: Owner) -> None:
    for text in ("1", "é"):
        owner.put("/conformance/shop/pool", text)
        assert owner.parameters.tree("/conformance/shop") == {"pool": text}


def test_a_profile_is_read_as_it_is_deployed_now_each_time(owner: Owner) -> None:
    for text in (json.dumps({"pool": 1}), json.dumps({"pool": "é"})):
        owner.deploy("shop/prod/settings", text)
        assert owner.parameters.profile("shop", "prod", "settings") == text
        assert owner.parameters.profile("shop", "prod", "settings") == text


def test_a_profile_that_does_not_exist_is_named(owner: Owner) -> None:
    owner.deploy("shop/prod/settings", "{}")
    with pytest.raises(ConfigurationError, match="appconfig:shop/test/settings: "):
        owner.parameters.profile("shop", "test", "settings")


@pytest.mark.parametrize(("code", "error"), [("ThrottlingException", Unavailable), ("AccessDeniedException", NotAllowed)])
def test_a_refusal_of_aws_is_an_error_of_ours(resources: Resources, code: str, error: type[Exception]) -> None:
    ssm: Any = resources.session.client("ssm", endpoint_url=resources.endpoint_url)
    profiles = AppConfigData(refuses=code)
    with pytest.raises(error):
        AwsParameters(ssm, profiles).profile("shop", "prod", "settings")


def test_a_profile_that_is_not_text_is_refused(resources: Resources) -> None:
    profiles = AppConfigData()
    profiles.deployed["shop/prod/settings"] = b"\xff"
    with pytest.raises(ConfigurationError, match="its text is not UTF-8; deploy a JSON object"):
        AwsParameters(resources.session.client("ssm"), profiles).profile("shop", "prod", "settings")
