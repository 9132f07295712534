"""Read an archive with DuckDB and with pyarrow and print what each finds.

Usage: read_archive.py ARCHIVE, a line of JSON per reader and kind:
rows, and per column the count of nulls, of NaN, of infinities, the greatest
and least of an integer, the sum of the finite, the length of texts and lists.
"""

import json
import math
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds


def facts_of(column: pa.ChunkedArray) -> dict:
    """Facts about a column that do not depend on the order of its rows."""
    facts = {"nulls": column.null_count, "type": str(column.type)}
    if pa.types.is_integer(column.type):
        facts["least"], facts["greatest"] = str(pc.min(column).as_py()), str(pc.max(column).as_py())
    elif pa.types.is_floating(column.type):
        values = [v for v in column.to_pylist() if v is not None]
        facts["nan"] = sum(math.isnan(v) for v in values)
        facts["infinite"] = sum(math.isinf(v) for v in values)
        facts["negative_zero"] = sum(v == 0 and math.copysign(1, v) < 0 for v in values)
        facts["sum"] = repr(math.fsum(v for v in values if abs(v) < 1e100))
    else:
        facts["size"] = sum(len(v) for v in column.to_pylist() if v is not None)
    return facts


def report(reader: str, kind: str, table: pa.Table, extra: dict) -> None:
    """Print one line about what a reader found of a kind."""
    columns = {name: facts_of(table[name]) for name in table.column_names if name not in ("event", "run")}
    runs = sorted(set(table["run"].to_pylist()))
    print(json.dumps({"reader": reader, "kind": kind, "rows": table.num_rows, "runs": runs, "columns": columns, **extra}))


def duckdb_count(files: str, condition: str) -> int:
    """Count rows by a filter, which a reader may answer from statistics."""
    query = f"SELECT count(*) FROM read_parquet('{files}', hive_partitioning = true, hive_types = {{'run': VARCHAR}}) WHERE {condition}"
    return duckdb.sql(query).fetchall()[0][0]


def main() -> None:
    """Read every kind with every reader."""
    archive = Path(sys.argv[1])
    for folder in sorted(archive.glob("event=*")):
        kind = folder.name.removeprefix("event=")
        files = f"{folder}/run=*/*.parquet"
        found = duckdb.sql(
            f"SELECT * FROM read_parquet('{files}', hive_partitioning = true, hive_types = {{'run': VARCHAR}})"
        )
        extra = {}
        if kind == "tensor":
            extra["filters"] = {
                "nan": duckdb_count(files, "isnan(value_max)"),
                "large": duckdb_count(files, "value_max > 1e300"),
                "infinite": duckdb_count(files, "value_max = 'inf'::DOUBLE"),
                "small": duckdb_count(files, "value_max < -1e300"),
            }
        report("duckdb", kind, found.to_arrow_table(), extra)
        run = pa.schema([("run", pa.string())])
        data = ds.dataset(folder, format="parquet", partitioning=ds.partitioning(run, flavor="hive"))
        if kind == "tensor":
            value = ds.field("value_max")
            extra["filters"] = {
                "nan": data.count_rows(filter=pc.is_nan(value)),
                "large": data.count_rows(filter=(value > 1e300) | pc.is_nan(value)),
                "infinite": data.count_rows(filter=value == math.inf),
                "small": data.count_rows(filter=value < -1e300),
            }
        report("pyarrow", kind, data.to_table(), extra)


if __name__ == "__main__":
    main()
