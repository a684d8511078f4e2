"""What Figure 5's errors are to be compared with: one bucket of everybody, which tells the values' shares alone."""

import numpy as np

from experiments.buckets.people import People, census_people
from experiments.buckets.plot import write_rows
from experiments.buckets.relative import QUERIES, count_queries


def one_bucket_error(people: People, number: int = QUERIES) -> float:
    """The mean relative error where everybody who meets the conditions on columns has a value with its share of all."""
    shares = np.array(people.counts) / len(people.values)
    return float(
        np.mean(
            [
                abs(query.actual - len(query.people) * shares[query.wanted].sum()) / query.actual
                for query in count_queries(people, number)
            ]
        )
    )


def draw() -> None:
    rows = [(name, f"{100 * one_bucket_error(census_people(name)):.2f}") for name in ("occupation", "education")]
    write_rows("fig5_baseline", ("table", "relative error of one bucket, %"), rows)
