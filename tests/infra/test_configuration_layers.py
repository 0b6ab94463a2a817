"""The layers of an application's configuration: its worker may read what they name, and an application without them grants nothing."""

from pathlib import Path

import pytest

from sedano.local.failure import LocalStageError
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import Templates, read

CODE = Path(__file__).parent / "configured"
READS = {"ssm:GetParametersByPath", "appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration"}


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Production of an application whose configuration has a layer of each kind."""
    context = {**stage_context("configured:app", CODE), "local": "false", "stage": "prod"}
    return read(synthesise(context, tmp_path_factory.mktemp("configured") / "cdk.out"))


def granted(templates: Templates, function: str) -> dict[str, set[str]]:
    """What *function* may read of parameters and profiles, by action."""
    return {action: templates.may(function, action) for action in READS if templates.may(function, action)}


def test_an_app_without_such_layers_is_granted_none(templates: Templates) -> None:
    assert {function: granted(templates, function) for function in templates.functions()} == {name: {} for name in templates.functions()}


def test_the_worker_may_read_the_path_and_the_profile_that_are_declared_and_no_other(configured: Templates) -> None:
    found = {action: {name.split(":")[-1] for name in names} for action, names in granted(configured, "worker").items()}
    profile = {"application/abc1234/environment/de56789/configuration/fg01234"}
    assert found == {
        "ssm:GetParametersByPath": {"parameter/shop/prod"}, "appconfig:StartConfigurationSession": profile,
        "appconfig:GetLatestConfiguration": profile,
    }  # fmt: skip
    assert [function for function in configured.functions() if function != "worker" and granted(configured, function)] == []


def test_a_profile_by_names_is_refused_because_its_permission_needs_ids(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    text = (CODE / "configured.py").read_text().replace("abc1234/de56789/fg01234", "shop/prod/settings")
    (code / "named.py").write_text(text)
    context = {**stage_context("named:app", code), "local": "false", "stage": "prod"}
    with pytest.raises(LocalStageError, match=r"layers: .appconfig:shop/prod/settings.*the ids of application, environment and profile"):
        synthesise(context, tmp_path / "cdk.out")
    synthesise({**context, "local": "true"}, tmp_path / "local.out")
