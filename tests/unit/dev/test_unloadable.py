"""`sedano dev` says what to write when the name of the app is wrong, and shows a traceback only of code that is wrong."""

import importlib

import pytest

from sedano.dev.worker import load, unloadable


def _why(reference: str) -> tuple[str, str]:
    try:
        importlib.import_module(reference.partition(":")[0])
        load(reference, "app")
    except Exception as error:  # noqa: BLE001 - as the worker does
        return unloadable(reference, "code of Ada", error)
    raise AssertionError(f"{reference} is an app")


@pytest.mark.parametrize("missing", ["no_such_shop", "tests.no_such_shop"])
def test_a_module_that_is_missing_is_named_with_the_setting(missing: str) -> None:
    why, trace = _why(f"{missing}.tasks:app")
    assert why.startswith(f"code of Ada has no module {missing}; write app = ")
    assert trace == ""


def test_an_attribute_that_is_missing_needs_no_traceback() -> None:
    why, trace = _why("tests.unit.dev.test_unloadable:nothing")
    assert "has no attribute 'nothing'; expected module:attribute of a Sedano app" in why
    assert trace == ""


def test_a_module_that_the_code_lacks_is_a_fault_of_the_code() -> None:
    why, trace = unloadable("shop.tasks:app", "code of Ada", ModuleNotFoundError("No module named 'pandas'", name="pandas"))
    assert why == "ModuleNotFoundError: No module named 'pandas'"
    assert "ModuleNotFoundError: No module named 'pandas'" in trace
