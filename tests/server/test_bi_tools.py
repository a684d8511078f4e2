"""What BI tools write over MySQL: their probes, and their charts over time, as their sources have them."""

import datetime as dt
import shutil
from collections import Counter
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from discreet.errors import UnsupportedQuery
from discreet.server.mysql.dates import FUNCTIONS, MOST_DEPTH, standard_text
from discreet.server.mysql.text import read_statement
from tests.conftest import PEOPLE_DOMAIN
from tests.server.mysql_clients import rows, served_over_mysql

FIRST = dt.date(2023, 1, 1)
ROWS = [(i % 100, ("F", "M", None)[i % 3], FIRST + dt.timedelta(days=i % 700)) for i in range(600)]
ADMITTED = """\
[attributes.admitted]
kind = "date"
low = 2023-01-01
high = 2024-12-31
source = "the years of the register"
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder with the table and its domain."""
    folder = tmp_path_factory.mktemp("tools")
    ages, sexes, days = (list(column) for column in zip(*ROWS, strict=True))
    incomes = [float(i * 157 % 100_000) for i in range(len(ROWS))]
    pq.write_table(
        pa.table({"age": ages, "sex": sexes, "income": incomes, "admitted": days}), folder / "people.parquet"
    )
    (folder / "people.toml").write_text(PEOPLE_DOMAIN + ADMITTED)
    return folder


@pytest.fixture(scope="module")
def service(people, tmp_path_factory):
    folder = shutil.copytree(people, tmp_path_factory.mktemp("used") / "tools")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        with served_over_mysql(folder, epsilon=10**6) as found:
            yield found


@contextmanager
def connected(service):
    with service.connect(database="discreet", autocommit=True) as connection:
        rows(connection, "SET discreet_scale = 0.01")
        yield connection


@pytest.fixture
def client(service):
    with connected(service) as connection:
        yield connection


@pytest.fixture
def new_client(people, tmp_path):
    """One of a vault of which nothing is public: what is released of it takes the longer to look through, the more."""
    with served_over_mysql(shutil.copytree(people, tmp_path / "new"), epsilon=10**6) as own, connected(own) as found:
        yield found


def sunday(day):
    return day - dt.timedelta(days=(day.weekday() + 1) % 7)


def monday(day):
    return day - dt.timedelta(days=day.weekday())


def first_of(day, months):
    return day.replace(month=(day.month - 1) // months * months + 1, day=1)


def seconds(day, every):
    return int((day - dt.date(1970, 1, 1)).days * 86400 // every * every)


SUPERSET = {
    "DATE({col})": lambda day: day,
    "DATE(DATE_SUB({col}, INTERVAL DAYOFWEEK({col}) - 1 DAY))": sunday,
    "DATE(DATE_SUB({col}, INTERVAL DAYOFWEEK(DATE_SUB({col}, INTERVAL 1 DAY)) - 1 DAY))": monday,
    "DATE(DATE_SUB({col}, INTERVAL DAYOFMONTH({col}) - 1 DAY))": lambda day: day.replace(day=1),
    "MAKEDATE(YEAR({col}), 1) + INTERVAL QUARTER({col}) QUARTER - INTERVAL 1 QUARTER": lambda day: first_of(day, 3),
    "DATE(DATE_SUB({col}, INTERVAL DAYOFYEAR({col}) - 1 DAY))": lambda day: first_of(day, 12),
    "DATE_ADD(DATE({col}), INTERVAL HOUR({col}) HOUR)": lambda day: day,
}
METABASE = {
    "STR_TO_DATE(CONCAT(YEARWEEK({col}), ' Sunday'), '%X%V %W')": sunday,
    "STR_TO_DATE(CONCAT(DATE_FORMAT({col}, '%Y-%m'), '-01'), '%Y-%m-%d')": lambda day: day.replace(day=1),
    "STR_TO_DATE(CONCAT(YEAR({col}), '-', ((QUARTER({col}) * 3) - 2), '-01'), '%Y-%m-%d')": lambda day: first_of(
        day, 3
    ),
    "MAKEDATE(YEAR({col}), 1)": lambda day: first_of(day, 12),
    "DAYOFWEEK({col})": lambda day: (day.weekday() + 1) % 7 + 1,
    "WEEKDAY({col})": lambda day: day.weekday(),
    "WEEK({col}, 3)": lambda day: day.isocalendar().week,
    "WEEK({col})": lambda day: int(day.strftime("%U")),
    "MONTH({col})": lambda day: day.month,
    "DAYOFYEAR({col})": lambda day: int(day.strftime("%j")),
    "MAKEDATE(2023, DAYOFYEAR({col}))": lambda day: FIRST + dt.timedelta(days=int(day.strftime("%j")) - 1),
    "DATEDIFF({col}, '2023-06-01') DIV 100": lambda day: int((day - dt.date(2023, 6, 1)).days / 100),
    "DATE_FORMAT({col}, '%M %e, %y')": lambda day: f"{day:%B} {day.day}, {day:%y}",
}
GRAFANA = {
    "UNIX_TIMESTAMP({col}) DIV 86400 * 86400": lambda day: seconds(day, 86400),
    "UNIX_TIMESTAMP({col}) DIV 2592000 * 2592000": lambda day: seconds(day, 2592000),
}


@pytest.mark.parametrize(("written", "expected"), [
    *SUPERSET.items(), *METABASE.items(), *GRAFANA.items()
], ids=[*SUPERSET, *METABASE, *GRAFANA])  # fmt: skip
def test_a_chart_over_time_has_the_groups_that_mysql_would_make(new_client, written, expected):
    by = written.replace("{col}", "`people`.`admitted`")
    found = rows(
        new_client, f"SELECT {by} AS `t`, COUNT(*) AS `n` FROM `people` GROUP BY {by} ORDER BY `n` DESC LIMIT 5000"
    )[0]
    wanted = Counter(str(expected(day)) for _, _, day in ROWS)
    counted = {str(label).removesuffix(" 00:00:00"): n for label, n in found if round(n)}
    assert {label: round(n) for label, n in counted.items()} == wanted


WHERE = {
    "admitted >= STR_TO_DATE('2023-03-01', '%Y-%m-%d') AND admitted < STR_TO_DATE('2023-06-01', '%Y-%m-%d')": (59, 151),
    "admitted >= STR_TO_DATE('2023-03-01 00:00:00.000000', '%Y-%m-%d %H:%i:%s.%f')": (59, 600),
    "admitted >= timestamp '2023-03-01 00:00:00' AND admitted < timestamp '2023-03-11 00:00:00.000'": (59, 69),
    "DATE(`people`.`admitted`) BETWEEN '2023-01-11' AND '2023-01-20'": (10, 20),
    "admitted BETWEEN FROM_UNIXTIME(1672531200) AND FROM_UNIXTIME(1673308799)": (0, 9),
    "admitted >= DATE_ADD(DATE('2023-01-31'), INTERVAL -29 DAY) AND admitted < DATE_SUB('2023-02-03', INTERVAL 1 MONTH)"
    "": (1, 2),
    "admitted < ADDDATE('2023-01-01', 3)": (0, 3),
    "admitted < NOW() AND admitted <= CURRENT_DATE AND admitted < CURDATE() + INTERVAL '1' DAY": (0, 600),
    "UNIX_TIMESTAMP(admitted) < UNIX_TIMESTAMP('2023-01-05')": (0, 4),
}


@pytest.mark.parametrize(("where", "days"), WHERE.items(), ids=WHERE)
def test_a_filter_of_time_takes_the_days_that_it_says(client, where, days):
    [(found,)] = rows(client, f"SELECT COUNT(*) AS n FROM people WHERE {where}")[0]
    assert round(found) == days[1] - days[0]


@pytest.mark.parametrize("sql", [
    "SELECT WEEK(admitted, 5), COUNT(*) FROM people GROUP BY 1", "SELECT DATE_FORMAT(admitted, '%Q') FROM people",
    "SELECT STR_TO_DATE(sex, sex), COUNT(*) FROM people GROUP BY 1", "SELECT COUNT(*) FROM people WHERE DATE() = 1",
    "SELECT FROM_UNIXTIME(age), COUNT(*) FROM people GROUP BY 1", "SELECT DATE_SUB('day', admitted, 3) FROM people",
    "SELECT COUNT(*) FROM people WHERE " + "DATE(" * (MOST_DEPTH + 1) + "admitted" + ")" * (MOST_DEPTH + 1) + " > 1",
])  # fmt: skip
def test_what_would_mean_something_else_is_refused(sql):
    with pytest.raises(UnsupportedQuery):
        standard_text(read_statement(sql), "discreet")


@pytest.mark.parametrize("sql", [
    "SELECT date, `date_add` FROM people", "SELECT people.week AS interval FROM people", "SELECT 'DATE(x)' date FROM t",
    "SELECT timestamp FROM people", "SELECT dates.now FROM dates", "SELECT YEAR(a), LAST_DAY(a), div_of(a) FROM t",
])  # fmt: skip
def test_names_that_are_called_as_functions_stay_names(sql):
    assert standard_text(read_statement(sql), "discreet") == sql.replace("`", '"')


def test_a_statement_grows_no_faster_than_it_is_long():
    for name in FUNCTIONS:
        given = {
            "makedate": "1, {}",
            "date_format": "{}, '%Y'",
            "str_to_date": "{}, '%Y'",
            "week": "{}, 0",
            "datediff": "{}, 1",
            "from_unixtime": "7",
        }.get(name, "{}, 1" if "date" in name and name != "date" else "{}")
        text = "x"
        for _ in range(MOST_DEPTH - 1):
            text = f"{name}({given.format(text)})"
        assert len(standard_text(read_statement(f"SELECT {text}"), "discreet")) < 100 * MOST_DEPTH, name
    for text in ("INTERVAL " * 7_000, "INTERVAL (1" * 5_000, "NOW(" * 10_000, "DATE (" * 9_000, "( " * 20_000):
        assert standard_text(read_statement(text), "discreet") == text.strip()


PROBES = {
    "Metabase": [
        ("SELECT TRUE AS `_` FROM `discreet`.`people` WHERE 1 <> 1 LIMIT 0", []),
        ("SELECT `people`.`sex` AS `sex` FROM `people` GROUP BY `people`.`sex` ORDER BY `people`.`sex` ASC LIMIT 1000",
         [("F",), ("M",), (None,)]),
        ("SELECT `people`.`age` AS `age`, SUBSTRING(`people`.`sex`, 1, 1234) AS `substring1` FROM `people` LIMIT 10000",
         []),
        ("SELECT @@GLOBAL.time_zone AS global_tz, @@system_time_zone AS system_tz, time_format(timediff(now(), "
         "convert_tz(now(), @@GLOBAL.time_zone, '+00:00')), '%H:%i') AS 'offset'", [("UTC", "UTC", "00:00")]),
        ("SHOW GRANTS FOR CURRENT_USER()", [("GRANT SELECT ON `discreet`.* TO CURRENT_USER",)]),
        ("SELECT convert_tz('2024-01-01', 'Mars', 'UTC') a, timediff('x', now()) b, time_format('x', '%H') c",
         [(None, None, None)]),
    ],
    "Grafana": [
        ("SELECT DISTINCT TABLE_SCHEMA from information_schema.TABLES where TABLE_TYPE != 'SYSTEM VIEW' "
         "ORDER BY TABLE_SCHEMA", [("discreet",)]),
        ("SELECT table_name FROM information_schema.tables WHERE table_schema = 'discreet' ORDER BY table_name",
         [("people",), ("people_with_intervals",)]),
        ("SELECT quote(DATABASE())", [("'discreet'",)]),
        ("SELECT column_name FROM information_schema.columns WHERE table_schema = database() AND table_name = 'people' "
         "AND data_type IN ('timestamp','datetime', 'bigint', 'int', 'double', 'float') ORDER BY "
         "(CASE WHEN data_type='timestamp' THEN 4 WHEN data_type='datetime' THEN 3 ELSE 1 END) DESC, column_name",
         [("age",), ("income",)]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("tool", PROBES)
def test_the_probes_of_a_tool_are_answered_and_cost_nothing(service, client, tool):
    entries = service.entries
    for sql, expected in PROBES[tool]:
        assert rows(client, sql)[0] == expected, sql
    assert service.entries == entries


def test_a_look_at_a_function_of_a_column_that_is_not_there_is_refused(client):
    for sql in ("SELECT SUBSTRING(name, 1, 9) FROM people LIMIT 9", "SELECT any_of_them(sex) FROM people LIMIT 9"):
        with pytest.raises(Exception, match=r"has no attribute|not supported"):
            rows(client, sql)


def test_sqlalchemy_inspects_all_that_there_is(service):
    engine = sa.create_engine(f"mysql+pymysql://ada:{service.token}@127.0.0.1:{service.port}/discreet")
    entries, seen = service.entries, sa.inspect(engine)
    found = {name: seen.has_table(name) for name in ("people", "people_with_intervals", "nobody", "PEOPLE")}
    assert found == {"people": True, "people_with_intervals": True, "nobody": False, "PEOPLE": True}
    assert seen.has_table("people", schema="discreet")
    assert seen.get_view_names() == ["people_with_intervals"]
    assert [column["name"] for column in seen.get_columns("people")] == ["age", "sex", "income", "admitted"]
    assert not seen.get_pk_constraint("people")["constrained_columns"]
    for none in (seen.get_foreign_keys, seen.get_indexes, seen.get_unique_constraints, seen.get_check_constraints):
        assert none("people") == []
    assert not seen.has_index("people", "x")
    assert seen.get_schema_names() == ["discreet", "information_schema"]
    assert (None, "people") in seen.get_multi_columns()
    assert seen.get_view_definition("people_with_intervals").startswith("CREATE VIEW")
    assert service.entries == entries
    engine.dispose()
