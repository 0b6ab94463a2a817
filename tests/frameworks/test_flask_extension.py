"""A Flask program with an application factory: its extension gives bodies the application, and the app its stage."""

import pytest
from flask import Flask, current_app

from sedano import Sedano, testing
from sedano.errors import RemoteError
from sedano.flask import FlaskTasks

app = Sedano("factories")
tasks = FlaskTasks(app)


@app.task(name="factories.sender", retry=False)
@tasks.in_context
def sender() -> str:
    """Return what the application is configured with."""
    return str(current_app.config["SENDER"])


@app.task(name="factories.asender")
@tasks.in_context
async def asender() -> str:
    """Return the same from an event loop."""
    return str(current_app.config["SENDER"])


def create_app(name: str) -> Flask:
    """Make an application, as each test of a Flask program does."""
    web = Flask("shop")
    web.config["SENDER"] = name
    tasks.init_app(web, {})

    @web.post("/send")
    def send() -> str:
        return sender.delay().id

    return web


def test_bodies_run_in_the_application_that_the_factory_made_last() -> None:
    with testing.world(app) as world:
        for name in ("anna", "bert"):
            task = create_app(name).test_client().post("/send").text
            world.drain()
            assert app.result(task).get() == name
        assert asender.delay().get() == "bert"


def test_the_application_has_the_app_among_its_extensions() -> None:
    assert create_app("anna").extensions["sedano"] is app


def test_a_run_without_an_application_says_where_to_make_one() -> None:
    other = Sedano("unmade")
    without = FlaskTasks(other)

    @other.task(name="unmade.body", retry=False)
    @without.in_context
    def body() -> None:
        """Do nothing."""

    with testing.world(other), pytest.raises(RemoteError, match=r"call init_app\(web\), or your application factory, in the module"):
        body.delay().get()


def test_an_application_that_is_there_already_needs_no_second_step() -> None:
    web = Flask("shop")
    assert FlaskTasks(app, web).app is web.extensions["sedano"]


def test_the_configuration_names_the_stage_where_the_environment_names_none() -> None:
    web = Flask("shop")
    web.config.update(SEDANO_STAGE="prod", SEDANO_LEDGER_TABLE="table", SEDANO_QUEUES={"default": "url"}, SEDANO_APP=None, PORT="80")
    environment = {"HOME": "here"}
    FlaskTasks(app).init_app(web, environment)
    assert environment == {"HOME": "here", "SEDANO_STAGE": "prod", "SEDANO_LEDGER_TABLE": "table", "SEDANO_QUEUES": '{"default": "url"}'}


def test_the_environment_names_the_stage_alone_so_that_two_stages_are_never_mixed() -> None:
    web = Flask("shop")
    web.config.update(SEDANO_STAGE="prod", SEDANO_LEDGER_TABLE="table")
    environment = {"SEDANO_STAGE": "dev"}
    FlaskTasks(app).init_app(web, environment)
    assert environment == {"SEDANO_STAGE": "dev"}
