"""The scheduler: invoked every minute, it publishes the occurrences of the next 90 seconds."""

from sedano.host.functions import scheduler

handler = scheduler()
