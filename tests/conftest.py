"""What every test gets: the tools of the machine, a printed seed, and the fixtures in tests/plugins.

Each module in tests/plugins is a pytest plugin, so a room's fixtures are shared by naming them and nothing else.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from requirements.toolchain import environment

os.environ.update(environment(os.environ))
pytest_plugins = sorted(f"tests.plugins.{path.stem}" for path in Path(__file__).parent.glob("plugins/[!_]*.py"))

# The machine is small and shared: time says nothing about a property. A failure prints the line that repeats it.
settings.register_profile("sedano", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sedano")


def pytest_report_header(config: pytest.Config) -> str:
    """Say which seed the generated tests use."""
    seed = config.getoption("hypothesis_seed")
    return f"seed: {seed} (make test SEED={seed} repeats it, SEED=random draws another)" if seed else "seed: drawn anew"
