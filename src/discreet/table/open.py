"""Where the rows live → something that can be read: files, databases, and tables that Python holds."""

from pathlib import Path

from discreet.errors import TableError
from discreet.postgres_address import is_postgres, table_place
from discreet.table.parquet import open_parquet
from discreet.table.paths import files_of, kind_of_all
from discreet.table.settings import settings_of
from discreet.table.source import FRAME, Source


def open_source(table: object) -> Source:
    """Open a location or a table in memory.

    Locations are paths (Parquet, CSV, also as `people.csv?encoding=latin-1&separator=tab`, or a DuckDB file as
    `people.duckdb?table=people`), and URIs of Postgres and of Spark; tables in memory are pandas, polars and Arrow
    frames, and Ibis tables of DuckDB, Postgres and Spark.
    """
    if isinstance(table, str | Path):
        return _open_location(str(table))
    if type(table).__module__.partition(".")[0] == "ibis":
        from discreet.table.ibis_table import open_ibis  # Ibis and its engines take long to import

        return open_ibis(table)
    from discreet.table.frame import open_frame

    return open_frame(table)


def locate(table: object) -> str:
    """The location that a vault keeps: an absolute path, a URI without a password, or `memory:` for a frame."""
    if not isinstance(table, str | Path):
        return FRAME
    if is_postgres(str(table)):
        return table_place(str(table)).location
    if is_spark(str(table)):
        from discreet.table.spark import locate_spark

        return locate_spark(str(table))
    path, _, query = str(table).partition("?")
    return str(Path(path).absolute()) + (f"?{query}" if query else "")


def is_spark(uri: str) -> bool:
    return uri.startswith(("spark+parquet:", "spark://"))


def _open_location(uri: str) -> Source:
    if is_postgres(uri):
        from discreet.table.postgres_source import open_postgres

        return open_postgres(uri)
    if is_spark(uri):
        from discreet.table.spark import open_spark

        return open_spark(uri)
    if uri == FRAME:
        raise TableError("the table was held by Python, as a data frame say; hand it over again: vault.refresh(table)")
    scheme, found, _ = uri.partition("://")
    if found:
        raise TableError(f"{scheme} tables are not supported; use postgres, spark, or a Parquet, CSV or DuckDB file")
    path = uri.partition("?")[0]
    match kind_of_all(files_of(path)):
        case "parquet":
            return open_parquet(settings_of(uri, "a Parquet file", {})[0])
        case "csv":
            from discreet.table.csv import open_csv

            return open_csv(uri)
        case "arrow":
            from discreet.table.arrow_file import open_arrow

            return open_arrow(settings_of(uri, "an Arrow file", {})[0])
        case "excel":
            from discreet.table.excel import open_excel

            return open_excel(uri)
        case "statistics":
            from discreet.table.statistics_file import open_statistics

            return open_statistics(uri)
        case "sqlite":
            from discreet.table.sqlite_file import open_sqlite

            return open_sqlite(uri)
        case _:
            from discreet.table.duck import open_duckdb_file

            return open_duckdb_file(uri)
