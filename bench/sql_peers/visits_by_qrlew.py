"""Visits by group by Qrlew, in its own interpreter: `python -m bench.sql_peers.visits_by_qrlew POSTGRES ROWS REPEATS`.

Prints the counts by group, a JSON object a line, of each time that the query is rewritten and run.
"""

import json
import sys
from importlib.metadata import version

import pyqrlew
import sqlalchemy as sa

QUERY = 'SELECT "ward", COUNT(*) AS n FROM visits GROUP BY "ward"'
BUDGET = {"epsilon": 1.0, "delta": 1e-5}


def main() -> None:
    uri, rows, repeats = sys.argv[1:]
    engine = sa.create_engine(uri.replace("postgres://", "postgresql+psycopg2://"))
    wards = [str(ward) for ward in range(16)]
    dataset = pyqrlew.Dataset.from_database("people", engine, None).with_possible_values(None, "visits", "ward", wards)
    print(json.dumps({"version": version("pyqrlew")}), flush=True)
    for _ in range(int(repeats)):
        relation = dataset.relation(QUERY, pyqrlew.Dialect.PostgreSql)
        rewritten = relation.rewrite_with_differential_privacy(
            dataset, [("visits", [], "person")], BUDGET, max_multiplicity=float(rows)
        )
        private = rewritten.relation().to_query(pyqrlew.Dialect.PostgreSql)
        with engine.connect() as connection:
            found = connection.execute(sa.text(private.replace(":", r"\:"))).fetchall()
        print(json.dumps({str(ward): float(count) for ward, count in found}), flush=True)


if __name__ == "__main__":
    main()
