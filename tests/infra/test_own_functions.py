"""The Lambda functions of the user's own that boxed tasks call: the worker alone may call them, and no others."""

import json

import pytest

from infra.config import ConfigError, StageConfig
from sedano.local.stage import stage_context
from sedano.local.synthesis import synthesise
from tests.infra.template import read
from tests.plugins.resources import APP, CODE

RESIZE = "arn:aws:lambda:eu-central-1:123456789012:function:resize"
LIVE = "arn:aws:lambda:eu-central-1:123456789012:function:photos_prod-2:live"


def test_the_worker_may_call_the_functions_that_the_setting_names_and_no_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    context = {**stage_context(APP, CODE), "local": "false", "stage": "prod", "functions": f"resize={RESIZE},photos={LIVE}"}
    made = read(synthesise(context, tmp_path_factory.mktemp("own") / "cdk.out"))
    callers = {function: made.may(function, "lambda:InvokeFunction") for function in made.functions()}
    assert callers.pop("worker") == {RESIZE, LIVE}
    assert not any(callers.values())
    given = made.functions()["worker"]["Environment"]["Variables"]["SEDANO_FUNCTIONS"]
    assert json.loads(given) == {"resize": RESIZE, "photos": LIVE}


@pytest.mark.parametrize(
    ("functions", "words"),
    [
        ({"resize": "resize"}, r"functions\[resize\]: 'resize' cannot be used; expected an ARN such as arn:aws:lambda:"),
        ({"resize": "arn:aws:lambda:eu-central-1:123456789012:function:*"}, r"functions\[resize\]: .*expected an ARN"),
        ({"resize all": RESIZE}, "functions: 'resize all' cannot be used; expected a name of letters"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(functions: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        StageConfig(functions=functions)


def test_a_function_in_another_region_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"functions\[resize\]: .*expected an ARN in eu-west-1"):
        StageConfig(account="123456789012", region="eu-west-1", functions={"resize": RESIZE})
