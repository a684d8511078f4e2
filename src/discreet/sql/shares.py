"""Parts and wholes in a public query: which sums hold a line's own number, or another sum of some of the same lines."""

from sqlglot import exp

from discreet.sql.passes.tree import text_of


def holds_own_line(window: exp.Window) -> bool:
    """Whether a window function sees the line that it stands in, wherever that is."""
    spec = window.args.get("spec")
    if spec is None:
        return True
    begins = spec.args.get("start") == "CURRENT ROW" or spec.args.get("start_side") == "PRECEDING"
    end = spec.args.get("end")
    ends = end in (None, "CURRENT ROW") or spec.args.get("end_side") == "FOLLOWING"
    return begins and ends and not spec.args.get("exclude")


def holds_lines_of(whole: exp.Window, part: exp.Window) -> bool:
    """Whether a window is all lines of a partition that another window is in."""
    if whole.args.get("order") or whole.args.get("spec") or whole.args.get("alias") or part.args.get("alias"):
        return False
    finer = {text_of(one) for one in part.args.get("partition_by") or []}
    return {text_of(one) for one in whole.args.get("partition_by") or []} <= finer


def some_of(part: exp.Expression) -> exp.Column | None:
    """The column that SUM(x) FILTER (WHERE …), or SUM(CASE WHEN … THEN x ELSE 0 END), adds up in some lines."""
    if isinstance(part, exp.Filter):
        part = part.this
    inner = part.this
    if isinstance(inner, exp.Case):
        values = [one.args["true"] for one in inner.args["ifs"]]
        default = inner.args.get("default")
        is_none = default is None or isinstance(default, exp.Null) or default == exp.Literal.number(0)
        inner = values[0] if len(values) == 1 and is_none else None
    return inner if isinstance(inner, exp.Column) else None
