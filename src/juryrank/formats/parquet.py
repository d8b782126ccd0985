"""Parquet files -> rows, with texts kept as codes into a dictionary."""

from __future__ import annotations

import io
import re

import pandas as pd

from juryrank.columns import Origin
from juryrank.errors import MissingExtraError
from juryrank.formats.source import Rows, from_frame, unreadable

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(data: bytes, source: str) -> Rows:
    """Read every column; text columns come as categoricals, whatever the writer chose."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError.of("parquet", f"reading {source}") from None
    try:
        schema = pq.read_schema(io.BytesIO(data))
        texts = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
        table = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts).read()
        frame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise unreadable(source, f"not a Parquet file that can be read: {str(error).strip()}") from None
    return from_frame(_without_index(frame), Origin(source))


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop the unnamed index that pandas stores beside a frame's columns."""
    return frame.loc[:, [_PANDAS_INDEX.fullmatch(str(name)) is None for name in frame.columns]]
