"""The pipeline against Celery's `State`, against another formulation of itself, and against DuckDB and Polars."""
