"""The router: a batch of domain events in; each becomes a command for every task that subscribed.

Objects loaded here stay for good, so the garbage collector need not scan them: not while it grows, and never again.
That is a twelfth of a cold start's CPU.
"""

import gc

gc.disable()

from sedano.host.functions import router  # noqa: E402 - the collector rests before anything large is loaded

handler = router()
gc.freeze()
gc.enable()
