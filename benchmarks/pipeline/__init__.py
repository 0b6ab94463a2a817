"""The pipeline compared with Celery's `State`, with another formulation of itself, and with DuckDB and Polars."""
