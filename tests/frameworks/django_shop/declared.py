"""The decorator of Django's tasks, of Django 6 or of the package django-tasks."""

from importlib import import_module
from typing import Any

import django

django_task: Any = import_module("django.tasks" if django.VERSION >= (6,) else "django_tasks").task
