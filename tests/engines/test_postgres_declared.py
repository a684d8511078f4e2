"""What the catalogue of Postgres declares goes into a draft; no row does."""

import datetime as dt
import tomllib

import pytest

from discreet.domain.read import parse_domain
from discreet.table.propose import propose

pytestmark = pytest.mark.xdist_group("postgres")

MAKE = (
    "DROP TABLE IF EXISTS declared CASCADE",
    "DROP DOMAIN IF EXISTS percent",
    "DROP TYPE IF EXISTS mood",
    "CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy')",
    "CREATE DOMAIN percent AS integer CHECK (VALUE BETWEEN 0 AND 100)",
    """CREATE TABLE declared (
        id serial PRIMARY KEY,
        age smallint NOT NULL CHECK (age >= 0 AND age < 121),
        "Sex" varchar(1) CHECK ("Sex" IN ('F', 'M')),
        mood mood NOT NULL,
        share percent NOT NULL,
        less percent NOT NULL CHECK (less <= 50),
        born date NOT NULL CHECK (born BETWEEN '2000-01-01' AND '2009-12-31'),
        member boolean NOT NULL,
        town text NOT NULL
    )""",
    "COMMENT ON COLUMN declared.age IS 'Age at the last birthday'",
    """INSERT INTO declared (age, "Sex", mood, share, less, born, member, town)
       VALUES (41, 'F', 'sad', 7, 3, '2001-02-03', true, 'secret')""",
)


def test_enums_checks_domains_comments_and_keys_of_postgres_are_declared(postgres):
    postgres.execute(*MAKE)
    text = propose(postgres.uri("declared"))
    attributes = tomllib.loads(text)["attributes"]
    assert {name: {k: v for k, v in said.items() if k != "source"} for name, said in attributes.items()} == {
        "age": {"kind": "integer", "low": 0, "high": 120},
        "Sex": {"kind": "category", "values": ["F", "M"], "null": True},
        "mood": {"kind": "category", "values": ["sad", "so so", "happy"]},
        "share": {"kind": "integer", "low": 0, "high": 100},
        "less": {"kind": "integer", "low": 0, "high": 50},
        "born": {"kind": "date", "low": dt.date(2000, 1, 1), "high": dt.date(2009, 12, 31), "period": "month"},
        "member": {"kind": "category", "values": [False, True]},
        "town": {"kind": "category", "values": []},
    }
    assert "# Age at the last birthday\n" in text
    assert "# id is the key of the table" in text
    assert not any(found in text for found in ("secret", "41", "2001"))
    assert parse_domain(text.replace("values = []", 'values = ["x"]').replace('source = ""', 'source = "a test"'))


def test_a_view_declares_its_comments_and_no_more(postgres):
    postgres.execute(*MAKE, "CREATE VIEW seen_by_all AS SELECT age, mood FROM declared")
    attributes = tomllib.loads(propose(postgres.uri("seen_by_all")))["attributes"]
    assert "low" not in attributes["age"]
    assert attributes["mood"]["values"] == ["sad", "so so", "happy"]
