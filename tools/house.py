"""The house in a few numbers: lines, how deep imports go, numeric constants, class names that are used twice.

    python -m tools.house src/discreet          # or any other package
    python -m tools.house src/discreet --chain  # with the longest chain of imports

They are signs to look at, not limits to write for.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Imports = dict[str, set[str]]
"""The modules of the package that each module imports."""


def parsed(package: Path) -> dict[str, ast.Module]:
    """Every module by its full name."""
    return {_name(file, package): ast.parse(file.read_text(encoding="utf-8")) for file in package.rglob("*.py")}


def _name(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(modules: dict[str, ast.Module], *, at_once: bool) -> Imports:
    """Which module imports which: those that are imported `at_once` with it, or those in functions too. What only the
    type checker sees is none. A module imports the packages that it is in as well; that is not counted."""
    return {
        name: {found for found in _imported(tree, modules, at_once) if not f"{name}.".startswith(f"{found}.")}
        for name, tree in modules.items()
    }


def _imported(tree: ast.AST, modules: dict[str, ast.Module], at_once: bool) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                for other in node.orelse:
                    yield from _imported(other, modules, at_once)
            case ast.FunctionDef() | ast.AsyncFunctionDef() if at_once:
                continue
            case ast.ImportFrom(module=str(module), level=0):
                for alias in node.names:
                    whole = f"{module}.{alias.name}"
                    yield from (whole if whole in modules else module,) if module in modules else ()
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name in modules)
            case _:
                yield from _imported(node, modules, at_once)


def longest_chain(imports: Imports) -> list[str]:
    """A longest chain of modules, each of which imports the next. Requires that there is no circle."""

    @cache
    def below(module: str) -> tuple[str, ...]:
        return (module, *max(map(below, sorted(imports[module])), key=len, default=()))

    return list(max(map(below, sorted(imports)), key=len))


def circles(imports: Imports) -> set[frozenset[str]]:
    """Modules that import each other, by way of others or not."""
    reached = {module: _reached(module, imports) for module in imports}
    together = {module: frozenset(one for one in reached[module] if module in reached[one]) for module in imports}
    return {circle for circle in together.values() if circle}


def _reached(module: str, imports: Imports) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def numbers(modules: dict[str, ast.Module]) -> int:
    """Constants with a name in capitals, of a module, that are numbers."""
    assigned = [node for tree in modules.values() for node in tree.body if isinstance(node, ast.Assign)]
    return sum(all(map(_is_capital, node.targets)) and _is_number(node.value) for node in assigned)


def _is_capital(target: ast.expr) -> bool:
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(name, ast.Name) and name.id.isupper() for name in names)


def _is_number(value: ast.expr) -> bool:
    """Whether it is written of numbers alone."""
    return not any(isinstance(node, ast.Name | ast.Call | ast.Attribute) for node in ast.walk(value)) and all(
        isinstance(node.value, int | float) and not isinstance(node.value, bool)
        for node in ast.walk(value)
        if isinstance(node, ast.Constant)
    )


def class_names(modules: dict[str, ast.Module]) -> Counter[str]:
    """How often each class name is used."""
    return Counter(node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def main() -> None:
    package = Path(sys.argv[1])
    modules, lines = parsed(package), sum(len(file.read_text().splitlines()) for file in package.rglob("*.py"))
    names, constants = class_names(modules), numbers(modules)
    twice = sorted(name for name, times in names.items() if times > 1)
    chain = longest_chain(imports_of(modules, at_once=True))
    print(f"{len(modules)} modules, {lines:,} lines")
    print(f"imports {len(chain)} deep")
    for circle in sorted(map(sorted, circles(imports_of(modules, at_once=False)))):
        print(f"in a circle, by imports in functions: {', '.join(circle)}")
    print(f"{constants} numeric constants, {1000 * constants / lines:.1f} in 1,000 lines")
    print(f"{len(names)} class names, {len(twice)} of them used twice: {', '.join(twice)}")
    if "--chain" in sys.argv:
        print("\n".join(chain))


if __name__ == "__main__":
    main()
