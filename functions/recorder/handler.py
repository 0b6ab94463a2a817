"""The recorder: a batch of packed worker events in; they become objects of the history bucket.

Objects loaded here stay for good, so the garbage collector need not scan them: not while it grows, and never again.
That is a twelfth of a cold start's CPU.
"""

import gc

gc.disable()

from sedano.host.functions import recorder  # noqa: E402 - the collector rests before anything large is loaded

handler = recorder()
gc.freeze()
gc.enable()
