"""The options of `sedano dev`: those of a deployed stage are neither shown nor taken."""

import re

import pytest

from sedano.cli import main

STAGED = ("--stage", "--region", "--profile")


def test_help_shows_no_option_of_a_deployed_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--help"]) == 0
    shown = {*re.findall(r"--[a-z-]+", capsys.readouterr().out)}
    assert {"--app", "--code", "--port"} <= shown
    assert not shown & {*STAGED}


@pytest.mark.parametrize("option", STAGED)
def test_an_option_of_a_deployed_stage_is_refused_before_the_verb_and_after_it(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([option, "prod", "dev"]) == 2
    assert f"{option}: `sedano dev` runs on this machine and reaches no deployed stage; leave the option out" in capsys.readouterr().err
    assert main(["dev", option, "prod"]) == 2
    assert option in capsys.readouterr().err
