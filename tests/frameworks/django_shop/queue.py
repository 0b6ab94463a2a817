"""The project's app."""

from sedano import Retry, Sedano

app = Sedano("shop", queues=("default", "slow"), retry=Retry(max_retries=2, interval_start=0.1), raises=[LookupError])
