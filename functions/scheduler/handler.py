"""The scheduler: invoked by the minute, it publishes what comes round in the next minute and a half."""

from sedano.bootstrap import scheduler

handler = scheduler()
