"""Reads the source of a Celery application and says what changes under sedano: the work of `sedano migrate check`.

`answers` and the tables `settings`, `options` and `imports` hold the answers, which `docs/celery.md` shows too. `scopes` resolves names
within one file, `findings` is what a file yields, `rules` and its neighbours visit the syntax tree, `report` joins the files of a folder.
Nothing here imports or runs the code that it reads.
"""
