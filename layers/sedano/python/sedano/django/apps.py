"""`sedano.django` in INSTALLED_APPS: imports the module `tasks` of each installed app and includes its shared tasks."""

from __future__ import annotations

import sys

from django.apps import AppConfig, apps
from django.utils.module_loading import autodiscover_modules

from sedano.api.shared_tasks import SharedTasks
from sedano.django import configured_app


class SedanoConfig(AppConfig):  # type: ignore[misc] # Django has no types
    """Discovers the tasks of a Django project."""

    name = "sedano.django"
    label = "sedano"
    verbose_name = "sedano"

    def ready(self) -> None:
        """Import ``tasks`` of each installed app; the app of the setting SEDANO_APP includes each `SharedTasks` in them."""
        app = configured_app()
        autodiscover_modules("tasks")
        for config in apps.get_app_configs():
            module = sys.modules.get(f"{config.name}.tasks")
            if module is not None:
                app.include(*(found for found in vars(module).values() if isinstance(found, SharedTasks)))
