"""A Django project with tasks of sedano and of `django.tasks`, for the tests."""
