"""The worker: a batch of commands in, which of them failed out.

Objects loaded here stay for good, so the garbage collector need not scan them: not while it grows, and never again.
That is a twelfth of a cold start's CPU.
"""

import gc

gc.disable()

from sedano.host.functions import worker  # noqa: E402 - the collector rests before anything large is loaded

handler = worker()
gc.freeze()
gc.enable()
