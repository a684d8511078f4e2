"""What a statement goes through on its way to two halves, a module each; `sql/split.py` has them in order.

A pass takes a tree and hands back a tree, as the rules of sqlglot's optimizer do. Between `inline_rows` and
`lift_aggregates`, a SELECT over the vault's rows is one that reads ROWS, in terms of attributes alone.
"""
