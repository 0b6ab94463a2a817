"""The project's settings."""

SECRET_KEY = "for tests"
USE_TZ = True
INSTALLED_APPS = ["sedano.django", "tests.frameworks.django_shop", "tests.frameworks.django_shop.mailing"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
    "file": {"ENGINE": "django.db.backends.sqlite3", "NAME": "given-by-the-test.db"},
}
SEDANO_APP = "tests.frameworks.django_shop.queue:app"
TASKS = {
    "default": {"BACKEND": "sedano.django.backend.SedanoBackend"},
    "once": {"BACKEND": "sedano.django.backend.SedanoBackend", "QUEUES": ["slow"], "OPTIONS": {"retry": False}},
}
