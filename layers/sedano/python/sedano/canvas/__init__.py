"""The forms of a canvas, with Celery's names: signatures that publish themselves, chain, group, chord, fork, chunks.

    chain(fetch.s(url), parse.s()) | group(store.s(), index.s()) | report.s()

A form is put together from others and published by `delay` or `apply_async`. docs/canvas.md lists the result and the cost of each form.
"""

from __future__ import annotations

from sedano.canvas.form import Form, Publishes
from sedano.canvas.primitives import chain, chord, chunks, fork, group
from sedano.canvas.signature import Sig, signature

__all__ = ["Form", "Publishes", "Sig", "chain", "chord", "chunks", "fork", "group", "signature"]
