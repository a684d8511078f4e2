"""The JSON schema of domains, for editors: names, types and lists while one types. `read.py` has the last word."""

from typing import Any, get_args

from discreet.domain.attribute import Outside
from discreet.domain.codebook import WORDS
from discreet.domain.date import Late, Period
from discreet.domain.domain import NullIds
from discreet.domain.notation import NOTATION_KEYS
from discreet.domain.read import (
    COMMON_KEYS,
    DISCOVER,
    LARGEST_INTEGER,
    LONGEST_FOUND,
    LONGEST_NAMED,
    MOST_FOUND,
    MOST_NAMED,
    NAME,
    OWN_KEYS,
)

Schema = dict[str, Any]

TEXT = {"type": "string", "minLength": 1}
WHOLE = {"type": "integer", "minimum": -LARGEST_INTEGER, "maximum": LARGEST_INTEGER}
VALUE = {"type": ["string", "integer", "boolean"]}
NUMBER = {"type": ["integer", "number"]}
DAY = {"type": "string", "format": "date"}
"""What an editor makes of a date of TOML, and of a text that writes one."""
FLAG = {"type": "boolean", "default": False}

SAID: dict[str, Schema] = {
    "kind": {"enum": list(OWN_KEYS), "description": "What the column holds, and how it is coded."},
    "source": {**TEXT, "description": "The public document that the values come from: not the data."},
    "outside": {"default": "drop", "description": "What becomes of a row with another value than those declared."},
    "null": {**FLAG, "description": "Whether missing values have a code of their own; else their rows are left out."},
    "values": {
        "anyOf": [
            {"type": "array", "items": VALUE, "minItems": 1, "uniqueItems": True},
            {"const": DISCOVER},
        ],
        "description": 'The categories, in order; what is alike stands together. "discover" finds them in the table.',
    },
    "most": {
        **WHOLE,
        "minimum": 1,
        "maximum": MOST_NAMED,
        "default": MOST_FOUND,
        "description": "How many values are discovered, at most.",
    },
    "longest": {
        **WHOLE,
        "minimum": 1,
        "maximum": LONGEST_NAMED,
        "default": LONGEST_FOUND,
        "description": "How long a discovered value is, in bytes, at most.",
    },
    "values_from": {
        "description": "A codebook beside this file: CSV, JSON, DDI or SDMX, or the value labels of SPSS or Stata.",
        "anyOf": [
            TEXT,
            {
                "type": "object",
                "properties": {"file": TEXT, **dict.fromkeys(WORDS, TEXT)},
                "required": ["file"],
                "additionalProperties": False,
            },
        ],
    },
    "hierarchy": {"$ref": "#/$defs/groups", "description": "Groups of values: lists, or again tables of groups."},
    "prefix": {**FLAG, "description": "Whether a value is the longest declared one that it begins with."},
    "edges": {
        "type": "array",
        "items": NUMBER,
        "minItems": 2,
        "uniqueItems": True,
        "description": "Where bins [a, b) begin and end, ascending; -inf and inf open an end.",
    },
    "grain": {
        **NUMBER,
        "exclusiveMinimum": 0,
        "description": "The unit that a row is rounded to before it is summed; without it there is no SUM and no AVG.",
    },
    "period": {"enum": list(get_args(Period)), "default": "day", "description": "What has one code each."},
    "zone": {**TEXT, "default": "UTC", "description": "The time zone in which moments have their day: Europe/Zurich."},
    "format": {**TEXT, "default": "YYYY-MM-DD", "description": "How text writes a date: DD.MM.YYYY."},
    "grows": {**FLAG, "description": "Whether rows are appended period by period; high is as far as that can go."},
    "late": {
        "enum": list(get_args(Late)),
        "default": "drop",
        "description": "What becomes of appended rows of closed periods: left out, or the append is refused.",
    },
    "missing": {
        "type": "array",
        "items": {"type": ["string", "integer"]},
        "description": "Texts or whole numbers that stand for a missing value.",
    },
    "booleans": {
        "anyOf": [{"$ref": "#/$defs/pair"}, {"type": "array", "items": {"$ref": "#/$defs/pair"}}],
        "description": "How true and false are written besides: yes/no.",
    },
    "trim": {**FLAG, "description": "Whether blanks around a value are no part of it."},
    "ignore_case": {**FLAG, "description": "Whether upper and lower case are the same."},
    "decimal": {"enum": [".", ","], "default": ".", "description": "The decimal sign."},
    "thousands": {"type": "string", "maxLength": 1, "description": "What may stand between each three digits."},
}
"""What each key takes, where that is the same for all kinds."""
ENDS: dict[str, Schema] = {
    "integer": {
        key: {**WHOLE, "description": f"The {end} whole number."} for key, end in (("low", "first"), ("high", "last"))
    },
    "date": {
        "low": {**DAY, "description": "The first day of a period: 2026-01-01."},
        "high": {**DAY, "description": "The last day of a period: 2026-12-31."},
    },
}
REQUIRED = {"integer": ("low", "high"), "bins": ("edges",), "date": ("low", "high")}


def domain_schema() -> Schema:
    """The JSON schema (draft 7, which editors of TOML read) of domains. A domain that `read_domain` takes fits it."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A domain of Discreet",
        "description": "What is public about a table: the columns that may be asked about, and their values.",
        "type": "object",
        "properties": {
            "name": {"type": "string", "pattern": f"^{NAME.pattern}$", "description": "The table's name in SQL."},
            "null_ids": {
                "enum": list(get_args(NullIds)),
                "description": "What rows without an id are, with init --id.",
            },
            "notation": {
                "type": "object",
                "properties": {key: SAID[key] for key in NOTATION_KEYS},
                "additionalProperties": False,
                "description": "How values are written, for all attributes.",
            },
            "codebooks": {"type": "object", "additionalProperties": {"type": "string"}},
            "found": {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
            "attributes": {
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/attribute"},
                "minProperties": 1,
                "description": "A table for each column that may be asked about, by the column's name.",
            },
        },
        "required": ["name", "attributes"],
        "additionalProperties": False,
        "$defs": {
            "attribute": {
                "type": "object",
                "properties": {"kind": SAID["kind"]},
                "required": ["kind"],
                "allOf": [_if_kind(kind) for kind in OWN_KEYS],
            },
            "groups": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "anyOf": [{"type": "array", "items": VALUE, "minItems": 1}, {"$ref": "#/$defs/groups"}]
                },
            },
            "pair": {"type": "string", "pattern": "^[^/]+/[^/]+$"},
        },
    }


def _if_kind(kind: str) -> Schema:
    outside = [choice for choice in get_args(Outside) if kind != "category" or choice != "clamp"]
    written = [key for key, kinds in NOTATION_KEYS.items() if kind in kinds]
    keys = {key: SAID[key] for key in (*COMMON_KEYS, *OWN_KEYS[kind], *written) if key in SAID}
    then: Schema = {
        "properties": {**keys, **ENDS.get(kind, {}), "outside": {**SAID["outside"], "enum": outside}},
        "additionalProperties": False,
        "required": ["source", *REQUIRED.get(kind, ())],
    }
    if kind == "category":  # a codebook may say its source itself
        then["required"] = []
        then["anyOf"] = [{"required": ["values_from"]}] + [
            {"required": [key, "source"]} for key in ("values", "hierarchy")
        ]
    return {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": then}
