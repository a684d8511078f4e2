"""The variables of a session: those that clients look at when they connect, and Discreet's own, which say how sharp
answers shall be and whether their intervals come along."""

from collections.abc import Callable, Sequence
from typing import Any

from mysql_mimic.charset import CharacterSet
from mysql_mimic.variables import SYSTEM_VARIABLES, GlobalVariables, SessionVariables, VariableSchema

from discreet.answer.policy import MOST_IN_COMPOUND
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.noise.confidence import exact_confidence
from discreet.query.plan import exact_scale
from discreet.server.mysql.text import Token, TokenList
from discreet.sql.tokens import shown

VERSION = "8.0.29-discreet"
MOST_BYTES = 1 << 20
"""Of a packet from a client: the longest statement is far shorter."""
NO_LIMIT = 2**64 - 1
IDLE_SECONDS = 600
"""A session that says nothing for so long is closed; pools of clients open another when they need one."""
SPOKEN = ("character_set_client", "character_set_connection", "character_set_results")
SETTINGS = ("discreet_compound_size", "discreet_confidence", "discreet_estimate", "discreet_intervals",
            "discreet_null_unanswered", "discreet_relax", "discreet_scale", "discreet_weights",
            "discreet_within")  # fmt: skip
ESTIMATES = ("unbiased", "modelled")


def _switch(what: str) -> Any:
    def check(value: object) -> int:
        if str(value).lower() not in ("0", "1", "on", "off", "true", "false"):
            raise InvalidNoise(f"{what} or 0")
        return int(str(value).lower() in ("1", "on", "true"))

    return check


def _amount(name: str) -> Any:
    def check(value: object) -> str:
        if name == "discreet_confidence":
            exact_confidence(str(value), name)
        else:
            exact_scale(str(value), name)
        return str(value)

    return check


def _estimate(value: object) -> str:
    if str(value).lower() not in ESTIMATES:
        raise InvalidNoise(
            "discreet_estimate is 'unbiased', or 'modelled': from the model of everything public, free and biased"
        )
    return str(value).lower()


def _weights(value: object) -> str:
    _by_attribute(str(value))
    return str(value)


def _by_attribute(text: str) -> dict[str, str]:
    """Weights as they are written: 'age=4, sex=2'; none for an empty text."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(name.strip() and weight.strip() for name, _, weight in pairs):
        raise InvalidNoise("discreet_weights looks like 'age=4, sex=2'")
    for name, _, weight in pairs:
        exact_scale(weight.strip(), f"the weight of {name.strip()}")
    return {name.strip(): weight.strip() for name, _, weight in pairs}


def _size(value: object) -> int:
    if not str(value).isdecimal() or not 1 <= int(str(value)) <= MOST_IN_COMPOUND:
        raise InvalidNoise(f"discreet_compound_size is a whole number from 1 to {MOST_IN_COMPOUND}")
    return int(str(value))


def _idle(value: object) -> int:
    """A client may ask for less patience than the server has, not for more."""
    if not str(value).isdigit():
        raise InvalidNoise("wait_timeout is a whole number of seconds")
    return min(max(int(str(value)), 1), IDLE_SECONDS)


def _charset(value: object) -> str:
    name = "utf8mb4" if str(value).lower() in ("utf8", "binary") else str(value).lower()
    if name not in CharacterSet.__members__:
        raise UnsupportedQuery(f"there is no character set {shown(str(value))} here; use utf8mb4")
    return name


VARIABLES: dict[str, VariableSchema] = {
    **SYSTEM_VARIABLES,
    **dict.fromkeys(SPOKEN, (_charset, "utf8mb4", True)),
    "autocommit": (_switch("autocommit is 1"), 1, True),
    "character_set_system": (str, "utf8mb4", False),
    "default_storage_engine": (str, "Discreet", False),
    "default_tmp_storage_engine": (str, "Discreet", False),
    "foreign_key_checks": (int, 1, True),
    "group_concat_max_len": (int, 1024, True),
    "have_ssl": (str, "YES", False),
    "hostname": (str, "discreet", False),
    "license": (str, "Apache-2.0", False),
    "interactive_timeout": (_idle, IDLE_SECONDS, True),
    "lower_case_table_names": (int, 1, False),
    "max_allowed_packet": (int, MOST_BYTES, True),
    "net_read_timeout": (int, 30, True),
    "net_write_timeout": (int, 30, True),
    "protocol_version": (int, 10, False),
    "query_cache_size": (int, 0, False),
    "query_cache_type": (str, "OFF", False),
    "read_only": (int, 1, False),
    "sql_mode": (str, "", True),
    "sql_notes": (int, 1, True),
    **dict.fromkeys(("session_track_gtids", "session_track_transaction_info"), (str, "OFF", True)),
    **dict.fromkeys(("session_track_schema", "session_track_state_change"), (str, "OFF", True)),
    "session_track_system_variables": (str, "", True),
    "sql_select_limit": (int, NO_LIMIT, True),
    "sql_quote_show_create": (int, 1, True),
    "sql_safe_updates": (int, 0, True),
    "tx_isolation": (str, "READ-COMMITTED", True),
    "tx_read_only": (int, 0, True),
    "unique_checks": (int, 1, True),
    "version": (str, VERSION, False),
    "version_comment": (str, "Discreet: a private statistical database", False),
    "version_compile_machine": (str, "", False),
    "version_compile_os": (str, "", False),
    "wait_timeout": (_idle, IDLE_SECONDS, True),
    "discreet_compound_size": (_size, None, True),
    "discreet_confidence": (_amount("discreet_confidence"), None, True),
    "discreet_estimate": (_estimate, ESTIMATES[0], True),
    "discreet_intervals": (
        _switch(
            "discreet_intervals is 1 (noisy columns come with _low, _high, _shrunken and _may_be_zero, and lines with "
            "their kind and region)"
        ),
        0,
        True,
    ),
    "discreet_null_unanswered": (
        _switch("discreet_null_unanswered is 1 (a number for which too little is left is NULL, with a warning)"),
        None,
        True,
    ),
    "discreet_relax": (_switch("discreet_relax is 1 (a region without budget is answered by one nearby)"), None, True),
    "discreet_scale": (_amount("discreet_scale"), None, True),
    "discreet_weights": (_weights, "", True),
    "discreet_within": (_amount("discreet_within"), None, True),
}


def fresh_variables() -> SessionVariables:
    return SessionVariables(GlobalVariables(VARIABLES))


def wish_of(variables: SessionVariables) -> dict[str, Any]:
    """What `Vault.ask` is told of how sharp the answer shall be."""
    chosen = {name: variables.get_variable(f"discreet_{name}") for name in ("scale", "within", "confidence")}
    relax = variables.get_variable("discreet_relax")
    wish = {name: None if value is None else exact_scale(value, name) for name, value in chosen.items()}
    estimate = variables.get_variable("discreet_estimate")
    return {
        **wish,
        "relax": None if relax is None else bool(relax),
        "weights": _by_attribute(variables.get_variable("discreet_weights")) or None,
        "compound_size": variables.get_variable("discreet_compound_size"),
        "estimate": estimate,
    }


def value_of(variables: SessionVariables, written: str) -> Any:
    """The value of `@@name`, `@@session.name` or `@@global.name`; switches are 0 or 1, as MySQL shows them."""
    if not written.startswith("@@"):
        raise UnsupportedQuery(f"{shown(written)}: variables of your own are not supported")
    scope, _, name = written[2:].replace("`", "").lower().rpartition(".")
    if scope not in ("", "session", "local", "global") or name not in VARIABLES:
        raise UnsupportedQuery(f"there is no variable {shown(written)} here; {_known(name)}")
    value = variables.get_variable(name)
    return int(value) if isinstance(value, bool) else value


def _known(name: str) -> str:
    own = ", ".join(SETTINGS)
    return f"Discreet's own are {own}" if name.startswith("discreet") else f"see SHOW VARIABLES ({own}, …)"


def set_variables(
    statement: TokenList, variables: SessionVariables, evaluate: Callable[[Sequence[Token]], Any]
) -> None:
    """Do a SET: variables of the session, NAMES, CHARACTER SET; TRANSACTION says nothing here, where all is read.
    `evaluate` tells the value of an expression, such as CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')."""
    tokens = statement.tokens[1:]
    if any(token.is_word("transaction") for token in tokens[:2]):
        return
    if tokens and tokens[0].is_word("names", "charset", "character"):
        named = tokens[2:] if tokens[0].is_word("character") else tokens[1:]
        if not named:
            raise UnsupportedQuery("SET NAMES takes a character set, such as utf8mb4")
        for name in SPOKEN:
            variables.set(name, None if named[0].is_word("default") else named[0].value)
        return
    for name, value in [_assignment(part, variables, evaluate) for part in _parts(tokens)]:
        variables.set(name, value)


def _parts(tokens: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.is_sign("(") - token.is_sign(")")
        if token.is_sign(",") and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _assignment(
    tokens: list[Token], variables: SessionVariables, evaluate: Callable[[Sequence[Token]], Any]
) -> tuple[str, Any]:
    if tokens and tokens[0].is_word("session", "local", "global"):
        if tokens[0].is_word("global"):
            raise UnsupportedQuery("SET GLOBAL is not supported: a session sets its own variables")
        tokens = tokens[1:]
    match tokens:
        case [left, equals, *written] if equals.text in ("=", ":=") and written:
            name = left.value if left.kind in ("word", "name") else left.text
            variable = name if name.startswith("@") else f"@@{name}"
            value_of(variables, variable)
            name = variable.rpartition(".")[2].removeprefix("@@").replace("`", "").lower()
            *signs, right = written
            if [sign.text for sign in signs] in ([], ["-"]):
                return name, _value(right, variables, "".join(sign.text for sign in signs))
            return name, evaluate(written)
    raise UnsupportedQuery("SET takes a variable and a value, as in SET discreet_intervals = 1")


def _value(token: Token, variables: SessionVariables, sign: str) -> Any:
    if token.kind == "variable":
        return value_of(variables, token.text)
    if token.is_word("default", "null"):
        return None
    if token.is_word("on", "true", "off", "false"):
        return int(token.is_word("on", "true"))
    return f"{sign}{token.value if token.kind == 'string' else token.text}"
