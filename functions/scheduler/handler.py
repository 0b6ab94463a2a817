"""The scheduler: invoked by the minute, it publishes what comes round in the next minute and a half."""

from sedano.host.functions import scheduler

handler = scheduler()
