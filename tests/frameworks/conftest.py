"""The Django project of `django_shop`, set up once in a process."""

import os
import sys
from collections.abc import Iterator
from types import ModuleType

import django
import pytest

from sedano.django import configured_app
from sedano.testing import World, world

SETTINGS = "tests.frameworks.django_shop.settings"


@pytest.fixture(scope="session")
def project() -> ModuleType:
    """The tasks of the project, which Django has discovered."""
    os.environ["DJANGO_SETTINGS_MODULE"] = SETTINGS
    django.setup()
    del os.environ["DJANGO_SETTINGS_MODULE"]
    return sys.modules["tests.frameworks.django_shop.tasks"]


@pytest.fixture
def stage(project: ModuleType) -> Iterator[World]:
    """The project's app in memory."""
    with world(configured_app()) as found:
        yield found
