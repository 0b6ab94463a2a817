"""How a table's contract is written: each column with its type and its meaning, which is also in the Parquet files."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructField, StructType

TEXT: Final = StringType()
WHOLE: Final = LongType()
REAL: Final = DoubleType()
FLAG: Final = BooleanType()


def contract(**columns: tuple[DataType, str]) -> StructType:
    """Return the schema of these columns, in this order: each its type and its meaning, with the unit."""
    return StructType([StructField(name, kind, metadata={"comment": meaning}) for name, (kind, meaning) in columns.items()])


def kept_to(table: DataFrame, schema: StructType) -> DataFrame:
    """Return *table* with exactly the columns of *schema*, of its types; a column that is missing ends the job."""
    return table.select(*[F.col(field.name).cast(field.dataType).alias(field.name, metadata=field.metadata) for field in schema])
