"""What Postgres calls its types, and what becomes of their values: text by its bytes, numbers as doubles."""

from datetime import date

import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.date import Date
from discreet.domain.domain import Domain
from discreet.errors import DomainError, TableError
from discreet.query.query import Count
from discreet.table.propose import propose
from discreet.table.unit import Unit
from tests.populations import live_table, points, population

pytestmark = pytest.mark.xdist_group("postgres")

OTHER, MISSING = "other", "missing"


def category(*values):
    return Category(name="x", source="s", values=values, outside="other", null=True)


def number(low=0, high=9):
    return Integer(name="x", source="s", low=low, high=high, outside="other", null=True)


def amount():
    return Bins(name="x", source="s", edges=(0, 1, 10), grain=1, outside="other", null=True)


def codes(place, attribute):
    """The codes of a column called x, in no order."""
    snapshot = population(place, Domain("t", (attribute,)))
    return sorted(code for (code,) in points(snapshot))


def meant(attribute, expected):
    named = {OTHER: attribute.other_code, MISSING: attribute.null_code}
    return sorted(named.get(code, code) for code in expected)


@pytest.fixture
def table(postgres):
    """Makes a table of one column x, of a type and with values as SQL writes them; says where it is."""

    def make(kind, values, name="typed"):
        postgres.execute(f"DROP TABLE IF EXISTS {name} CASCADE", f"CREATE TABLE {name} (x {kind})")
        for value in values:
            postgres.execute(f"INSERT INTO {name} VALUES ({value})")
        return postgres.uri(name)

    return make


NUMBERS = ["'NaN'", "'Infinity'", "'-Infinity'", "0.1", "7", "-0.0", "NULL"]
CASES = {
    "smallint": (number(), ["0", "9", "10", "-32768", "NULL"], [0, 9, OTHER, OTHER, MISSING]),
    "integer": (number(), ["0", "9", "2147483647", "NULL"], [0, 9, OTHER, MISSING]),
    "bigint": (number(-(2**53), 2**53), ["9007199254740993", str(2**53), "NULL"], [OTHER, 2**54, MISSING]),
    "real": (amount(), NUMBERS, [MISSING, OTHER, OTHER, 0, 1, 0, MISSING]),
    "double precision": (amount(), [*NUMBERS, "1e308", "5e-324"], [MISSING, OTHER, OTHER, 0, 1, 0, MISSING, OTHER, 0]),
    "numeric": (
        amount(),
        [*NUMBERS, "1e400", "-1e400", "1e-400", "1e100000", "-1e-10000", "0." + "9" * 24, "7." + "0" * 9999],
        [MISSING, OTHER, OTHER, 0, 1, 0, MISSING, OTHER, OTHER, 0, OTHER, 0, 1, 1],
    ),
    "numeric(10,2)": (amount(), ["0.994", "0.996", "7.50", "NULL"], [0, 1, 1, MISSING]),
    "text": (
        category("Arden", "ü", "", "NULL"),
        ["'Arden'", "'arden'", "'Arden '", "'ü'", "''", "'NULL'", "NULL", "E'a\\nb\"c'", "'\\.'"],
        [0, OTHER, OTHER, 1, 2, 3, MISSING, OTHER, OTHER],
    ),
    "varchar(5)": (category("Arden"), ["'Arden'", "'arden'", "NULL"], [0, OTHER, MISSING]),
    # What a char(n) is padded with is no part of its value, in Postgres as here.
    "char(7)": (category("Arden", "Arden  "), ["'Arden'", "'Arden  '", "'arden'", "NULL"], [0, 0, OTHER, MISSING]),
    'text COLLATE "und-x-icu"': (category("ss", "ß"), ["'ss'", "'ß'", "'SS'"], [0, 1, OTHER]),
    # Codes that pandas stored with a point: the whole numbers that they are.
    "float8": (category("1", "2"), ["1", "2.5", "'NaN'", "NULL"], [0, OTHER, MISSING, MISSING]),
    "numeric(4,1)": (category("1", "2"), ["1.0", "2.5", "NULL"], [0, OTHER, MISSING]),
    "boolean": (category("false", "true"), ["true", "'f'", "NULL"], [1, 0, MISSING]),
    "date": (
        category("1970-01-01", "0001-01-01", "9999-12-31"),
        ["'1970-01-01'", "'0001-01-01'", "'9999-12-31'", "'infinity'", "'-infinity'", "'4713-01-01 BC'",
         "'5874897-12-31'", "'0001-01-01 BC'", "NULL"],
        [0, 1, 2, OTHER, OTHER, OTHER, OTHER, OTHER, MISSING],
    ),
    "uuid": (
        category("6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        ["'{6F9619FF-8B86-D011-B42D-00C04FC964FF}'", "'00000000-0000-0000-0000-000000000000'", "NULL"],
        [0, OTHER, MISSING],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CASES)
def test_values_of_a_type_have_the_codes_that_the_domain_says(table, kind):
    attribute, values, expected = CASES[kind]
    assert codes(table(kind, values), attribute) == meant(attribute, expected)


def test_numbers_in_text_are_numbers(table):
    values = ["'7'", "' 7 '", "'7e0'", "'NaN'", "'1e400'", "'seven'", "''", "NULL"]
    assert codes(table("text", values), number()) == meant(number(), [7, 7, 7, MISSING, OTHER, *[MISSING] * 3])


ODD_TYPES = (
    "DROP TYPE IF EXISTS mood CASCADE", "DROP DOMAIN IF EXISTS years CASCADE", "DROP DOMAIN IF EXISTS old CASCADE",
    "DROP DOMAIN IF EXISTS feeling CASCADE", "DROP DOMAIN IF EXISTS loose CASCADE",
    "CREATE EXTENSION IF NOT EXISTS citext",
    "CREATE TYPE mood AS ENUM ('good', 'Bad', 'bad')",
    "CREATE DOMAIN feeling AS mood",
    "CREATE DOMAIN years AS smallint CHECK (VALUE < 200)",
    "CREATE DOMAIN old AS years CHECK (VALUE > 5)",
    "CREATE DOMAIN loose AS citext",
    "CREATE COLLATION IF NOT EXISTS ignore_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
)  # fmt: skip


@pytest.fixture(scope="module")
def odd_types(postgres):
    postgres.execute(*ODD_TYPES)


@pytest.mark.usefixtures("odd_types")
class TestOddTypes:
    @pytest.mark.parametrize("kind", ["mood", "feeling"])
    def test_enumerations_are_their_spellings(self, table, kind):
        found = codes(table(kind, ["'Bad'", "'bad'", "'good'", "NULL"]), category("bad", "good"))
        assert found == meant(category("bad", "good"), [OTHER, 0, 1, MISSING])

    @pytest.mark.parametrize("kind", ["years", "old"])
    def test_domains_are_the_types_under_them(self, table, kind):
        assert codes(table(kind, ["7", "150", "NULL"]), number()) == meant(number(), [7, OTHER, MISSING])

    def test_text_that_the_database_takes_for_equal_is_compared_by_its_bytes(self, table):
        """Under a collation that ignores case, Postgres itself would make one group of these."""
        place = table("text COLLATE ignore_case", ["'Arden'", "'arden'", "'ARDEN'", "'Arden'"])
        attribute = category("Arden", "arden")
        expected = meant(attribute, [0, 0, 1, OTHER])
        assert codes(place, attribute) == expected
        domain = Domain("t", (attribute,))
        live = live_table(place, domain)
        live.require([Count(domain.everything)])
        assert live.evaluate([Count(domain.everything, ("x",))])[0].tolist() == [2, 1, 1, 0]

    @pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
    def test_dates_and_moments_are_coded_to_periods_of_a_zone(self, table, kind):
        moments = [
            "'2024-01-31 23:30:00+00'", "'2024-01-31 10:00:00.5+00'", "'infinity'", "'-infinity'", "'4713-01-01 BC'",
            "'294276-01-01'" if kind != "date" else "'5874897-01-01'", "NULL",
        ]  # fmt: skip
        months = Date(
            name="x", source="s", low=date(2024, 1, 1), high=date(2024, 2, 29), period="month", outside="other",
            null=True, zone="Europe/Zurich",
        )  # fmt: skip
        assert codes(table(kind, moments), months) == [0, 1 if kind == "timestamptz" else 0, 2, 2, 2, 2, 3]

    REFUSED = (
        "citext", "loose", "jsonb", "text[]", "bytea", "time", "interval", "money", "inet",
        "xml", "tsvector", "int4range", "point", "oid", "name", '"char"', "bit(3)",
    )  # fmt: skip

    @pytest.mark.parametrize("kind", REFUSED)
    def test_every_other_type_is_refused_by_name_with_what_to_cast_to(self, table, kind):
        place = table(kind, [])
        for attribute in (category("a"), number(), amount()):
            with pytest.raises(
                DomainError, match=r"column 'x' is .* in Postgres, .* in a view with \"x\"::text say"
            ) as no:
                population(place, Domain("t", (attribute,)))
        assert ("citext" if kind in ("citext", "loose") else kind.partition("(")[0][:4]) in str(no.value)
        assert "# x is " in propose(place)

    def test_issue_16_postgres_citext(self, postgres, table):
        """1,000 rows `Arden` answered 998; with one `arden` before them, 1. Now the type is refused by name, and by the
        cast that the refusal names each row is counted by its bytes."""
        for first, expected in (([], [1000, 0]), (["'arden'"], [1000, 1])):
            place = table("citext", first)
            postgres.execute("INSERT INTO typed SELECT 'Arden' FROM generate_series(1, 1000)")
            attribute = Category(name="x", source="s", values=("Arden",), outside="other")
            with pytest.raises(DomainError, match="column 'x' is citext in Postgres"):
                population(place, Domain("t", (attribute,)))
            with pytest.raises(DomainError, match="column 'x' is citext in Postgres"):
                live_table(place, Domain("t", (attribute,)))
            postgres.execute('CREATE VIEW typed_as_text AS SELECT "x"::text AS x FROM typed')
            found = codes(postgres.uri("typed_as_text"), attribute)
            assert [found.count(code) for code in (0, 1)] == expected

    def test_an_id_of_a_type_with_several_spellings_is_refused(self, postgres):
        postgres.execute("DROP TABLE IF EXISTS ids", "CREATE TABLE ids (a citext, b double precision, c uuid, x int)")
        domain = Domain("t", (number(),))
        for name, words in (("a", "'a' is citext in Postgres"), ("b", "'b' is double; an id is text")):
            with pytest.raises(DomainError, match=words):
                population(postgres.uri("ids"), domain, Unit(name, 1))
        assert population(postgres.uri("ids"), domain, Unit("c", 1)).rows.size == 0


def test_a_single_column_in_which_everything_is_missing_has_its_rows(table):
    assert codes(table("text", ["NULL"] * 3), category("a")) == meant(category("a"), [MISSING] * 3)


def test_blocks_of_a_reading_change_nothing(table, monkeypatch):
    monkeypatch.setattr("discreet.table.postgres.BLOCK_BYTES", 1)
    values = ["E'a\\n\\nb'", "''", "NULL", "E'\"a\"'", "'a,b'", "E'\\r\\n'", "'a'"]
    assert codes(table("text", values), category("a", "a\n\nb", '"a"', "a,b", "\r\n", "")) == [0, 1, 2, 3, 4, 5, 7]


# --- databases whose bytes are not UTF-8 ---


@pytest.fixture(scope="module")
def encoded(postgres):
    """Makes a database in an encoding, with a table of raw bytes under the type text; says where it is."""

    def make(encoding, values):
        name = f"in_{encoding.lower()}"
        with postgres.connect() as session:
            session.execute(f"DROP DATABASE IF EXISTS {name}")
            session.execute(
                f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
            )
        place = postgres.uri("raw").replace("/people?", f"/{name}?")
        import psycopg

        address = place.partition("?")[0].replace("postgres://", "postgresql://")
        with psycopg.connect(address, autocommit=True, client_encoding="SQL_ASCII") as session:
            session.execute('CREATE TABLE raw (x text, "\u00fc" int DEFAULT 1)'.encode())
            for value in values:
                escaped = "".join(f"\\x{byte:02x}" for byte in value)
                session.execute(f"INSERT INTO raw (x) VALUES (E'{escaped}')".encode())
        return place

    return make


def test_bytes_that_a_database_never_checked_are_values_like_any_other(encoded):
    place = encoded("SQL_ASCII", [b"Arden", b"\xff\xfe", b"\xc3", "ü".encode(), b"\xfc"])
    attribute = category("Arden", "ü")
    expected = meant(attribute, [0, OTHER, OTHER, 1, OTHER])
    assert codes(place, attribute) == expected
    domain = Domain("t", (attribute, Integer(name="ü", source="s", low=0, high=9)))
    live, query = live_table(place, domain), Count(domain.everything, ("x",))
    live.require([query])
    assert live.evaluate([query])[0].tolist() == [1, 1, 3, 0]


def test_text_of_another_encoding_arrives_as_utf_8_and_is_not_read_live(encoded):
    place = encoded("LATIN1", [b"Arden", b"\xfc", b"\xe9"])
    assert codes(place, category("Arden", "ü")) == meant(category("Arden", "ü"), [0, 1, OTHER])
    with pytest.raises(TableError, match="can be read live"):
        live_table(place, Domain("t", (category("Arden"),)))


def test_bytes_without_a_letter_are_refused_when_the_table_is_taken_in(encoded):
    """0x81 is no letter of WIN1252, and the server does not hand it out: nothing is said of where it stands."""
    place = encoded("WIN1252", [b"Arden", b"\x81"])
    with pytest.raises(TableError, match="cannot be read") as refusal:
        population(place, Domain("t", (category("Arden"),)))
    assert "81" not in str(refusal.value).replace(place, "")


# --- what is not a plain table ---

RELATIONS = {
    "a view": "CREATE VIEW related AS SELECT * FROM plain WHERE x < 5",
    "a view with a limit": "CREATE VIEW related AS SELECT * FROM plain ORDER BY x LIMIT 5",
    "a materialized view": "CREATE MATERIALIZED VIEW related AS SELECT * FROM plain WHERE x < 5",
    "a partitioned table": (
        "CREATE TABLE related (x int) PARTITION BY RANGE (x);"
        "CREATE TABLE part_a PARTITION OF related FOR VALUES FROM (0) TO (3);"
        "CREATE TABLE part_b PARTITION OF related DEFAULT;"
        "INSERT INTO related SELECT * FROM plain WHERE x < 5"
    ),
    "a table with heirs": (
        "CREATE TABLE related (x int); INSERT INTO related SELECT * FROM plain WHERE x < 3;"
        "CREATE TABLE heir () INHERITS (related); INSERT INTO heir SELECT * FROM plain WHERE x IN (3, 4)"
    ),
    "an unlogged table": "CREATE UNLOGGED TABLE related AS SELECT * FROM plain WHERE x < 5",
    "a table with rules about rows": (
        "CREATE TABLE related AS SELECT * FROM plain WHERE x < 5; ALTER TABLE related ENABLE ROW LEVEL SECURITY"
    ),
}


@pytest.fixture(params=RELATIONS, ids=str)
def related(request, postgres):
    postgres.execute(
        "DROP SCHEMA IF EXISTS relations CASCADE",
        "CREATE SCHEMA relations",
        "SET search_path = relations; CREATE TABLE plain AS SELECT * FROM generate_series(0, 9) AS x",
    )
    postgres.execute(f"SET search_path = relations; {RELATIONS[request.param]}")
    return postgres.uri("related", schema="relations")


def test_what_is_no_plain_table_is_snapshotted_and_not_read_live(related):
    assert codes(related, number()) == [0, 1, 2, 3, 4]
    with pytest.raises(
        TableError, match=r"only a plain table of Postgres, .* Leave out --live, and a snapshot is taken"
    ):
        live_table(related, Domain("t", (number(),)))


def test_issue_16_a_postgres_view_or_partitioned_table_that_changes(related, postgres):
    """It was answered without a refresh. Now what is answered is the snapshot, whatever becomes of it."""
    domain = Domain("t", (number(),))
    snapshot = population(related, domain)
    postgres.execute("SET search_path = relations; UPDATE plain SET x = 9", "DROP TABLE relations.plain CASCADE")
    assert snapshot.evaluate([Count(domain.everything, ("x",))])[0].tolist() == [1] * 5 + [0] * 7
