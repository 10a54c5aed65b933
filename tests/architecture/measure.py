"""The figures that the limits of the architecture are about, taken from the program's text.

Everything here is a function of parsed sources; nothing is imported and nothing is run.
"""

import ast
import contextlib
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
ROOT = Path(__file__).parents[2]
FOLDERS = ("app", "core", "packaging", "resources", "tests")
SUBJECT_CHARACTERS = 72
SUBJECT = re.compile(
    r"(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([a-z0-9_]+(, [a-z0-9_]+)*\))?: \S.*"
)
SILENCED = re.compile(r"noqa:.*\bPLR091[37]\b")
HEADLESS = re.compile(r"(Of|That|Whom|(At|Under) which|So (many|much|long|far|often))\b")
ELSEWHERE = re.compile(r"See the (module|class)'s docstring")


@dataclass(frozen=True)
class Source:
    """A Python file of the repository."""

    path: str
    """Relative to the repository's root, with slashes."""
    text: str
    tree: ast.Module

    @classmethod
    def parse(cls, path: str, text: str) -> "Source":
        """Return the source of `text`, as if it stood at `path`."""
        with contextlib.suppress(SystemError):  # of Python 3.11, seldom: "recursion depth mismatch"
            return cls(path, text, ast.parse(text, path))
        return cls(path, text, ast.parse(text, path))

    @property
    def room(self) -> str:
        """The folder right under the repository's root."""
        return self.path.split("/", 1)[0]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def classes(self) -> list[tuple[str, ast.ClassDef]]:
        """All classes, with their qualified names."""
        return list(_classes(self.tree))

    @cached_property
    def functions(self) -> list[tuple[str, Function, bool]]:
        """All functions, with their qualified names, and whether each stands in a class."""
        return list(_functions(self.tree))


@dataclass(frozen=True)
class Figure:
    """One measured number, and the place it was measured at."""

    rule: str
    name: str
    """The path, and after a colon the name of a class or function in it."""
    value: int
    line: int

    @property
    def place(self) -> str:
        """The file and line, as editors understand them."""
        return f"{self.name.partition(':')[0]}:{self.line}"


def read_sources(root: Path = ROOT) -> list[Source]:
    """Read all Python files of the program and of its tests."""
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return [Source.parse(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def file_lines(source: Source) -> Iterator[Figure]:
    """Count the lines of a file."""
    yield Figure("file_lines", source.path, len(source.text.splitlines()), 1)


def class_lines(source: Source) -> Iterator[Figure]:
    """Count the lines of each class, decorators left out."""
    for name, found in source.classes:
        yield Figure("class_lines", f"{source.path}:{name}", found.end_lineno - found.lineno + 1, found.lineno)


def class_methods(source: Source) -> Iterator[Figure]:
    """Count the functions that stand in each class, properties among them; the halves of one property are one."""
    for name, found in source.classes:
        methods = {item.name for item in found.body if isinstance(item, Function)}
        yield Figure("class_methods", f"{source.path}:{name}", len(methods), found.lineno)


def parameters(source: Source) -> Iterator[Figure]:
    """Count the parameters of each function, without a method's own object, `*args` and `**kwargs`."""
    for name, found, owned in source.functions:
        count = len(_named(found)) - (1 if owned and _takes_owner(found) else 0)
        yield Figure("parameters", f"{source.path}:{name}", count, found.lineno)


def silenced_parameters(source: Source) -> Iterator[Figure]:
    """Count the comments of a file that silence ruff's limit on parameters."""
    if "PLR091" not in source.text:
        return
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    lines = [token.start[0] for token in tokens if token.type == tokenize.COMMENT and SILENCED.search(token.string)]
    if lines:
        yield Figure("silenced_parameters", source.path, len(lines), lines[0])


def machine_any(source: Source) -> Iterator[Figure]:
    """Count `list[Any]` and `Sequence[Any]` in each public signature of the machines of `core`.

    A machine is a class with `handle(event, now)` (`core/base/machine.py`).  `__init__` is a public signature too.
    """
    if source.room != "core":
        return
    for name, found in source.classes:
        methods = [item for item in found.body if isinstance(item, Function)]
        if not any(_is_handle(method) for method in methods):
            continue
        for method in methods:
            if method.name.startswith("_") and method.name != "__init__":
                continue
            hints = [argument.annotation for argument in _named(method)] + [method.returns]
            count = sum(_is_any_list(node) for hint in hints if hint is not None for node in ast.walk(hint))
            yield Figure("machine_any", f"{source.path}:{name}.{method.name}", count, method.lineno)


def class_names(source: Source) -> Iterator[Figure]:
    """Give each class of `core` with the place of its definition; the value is 1."""
    if source.room == "core":
        for name, found in source.classes:
            yield Figure("class_names", f"{source.path}:{name.rpartition('.')[2]}", 1, found.lineno)


def short_docstrings(source: Source) -> Iterator[Figure]:
    """Give the words of each docstring of `core` that has at most five."""
    if source.room != "core":
        return
    for node in source.nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            text = ast.get_docstring(node)
            if text is not None and len(text.split()) <= 5:
                yield Figure("short_docstrings", source.path, 1, getattr(node, "lineno", 1))


def headless_docstrings(source: Source) -> Iterator[Figure]:
    """Give each docstring that begins without its subject, those after attributes among them."""
    return _docstrings_that_begin(source, HEADLESS, "headless_docstrings")


def elsewhere_docstrings(source: Source) -> Iterator[Figure]:
    """Give each docstring that only says where another one stands."""
    return _docstrings_that_begin(source, ELSEWHERE, "elsewhere_docstrings")


def crowded_classes(source: Source) -> Iterator[Figure]:
    """Give each class of the program within five percent of a ceiling: such a class was cut to fit, or soon will be."""
    if source.room not in {"app", "core"}:
        return
    for figures, ceiling in ((class_lines(source), 250), (class_methods(source), 15)):
        for figure in figures:
            if 0.95 * ceiling <= figure.value:
                yield figure


def largest_folder(sources: Sequence[Source]) -> int:
    """Number of files that lie flat in the largest folder of the program."""
    return max(Counter(source.path.rpartition("/")[0] for source in _program(sources)).values())


def single_importers(sources: Sequence[Source]) -> int:
    """Number of files of core that one file imports, in the same room."""
    core = {source.path: source for source in _program(sources) if source.room == "core"}
    modules = {_module(path): path for path in core}
    importers: dict[str, set[str]] = defaultdict(set)
    for source in _program(sources):
        for node in source.nodes:
            for name in _imported(node):
                if modules.get(name, source.path) != source.path:
                    importers[modules[name]].add(source.path)
    return sum(len(found) == 1 and _room_of(*found) == _room_of(path) for path, found in importers.items())


def import_permille(sources: Sequence[Source]) -> int:
    """Lines of core that import, of each thousand."""
    lines = imports = 0
    for source in _program(sources):
        if source.room == "core":
            lines += len(source.text.splitlines())
            nodes = [node for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom)]
            imports += sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in nodes)
    return round(1000 * imports / max(lines, 1))


def private_accesses(source: Source) -> Iterator[Figure]:
    """Give each place of a test that names a private attribute of anything but its own object.

    A name in a string given to `getattr`, `setattr` or `delattr` counts like one after a dot.
    """
    if source.room != "tests":
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node.value):
            yield Figure("private_accesses", source.path, 1, node.lineno)
        if isinstance(node, ast.Call) and _called(node) in {"getattr", "setattr", "delattr"}:
            strings = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if any(_is_private(string.rpartition(".")[2]) for string in strings):
                yield Figure("private_accesses", source.path, 1, node.lineno)


def long_test_names(source: Source) -> Iterator[Figure]:
    """Give each test whose name has more than ten words after `test`."""
    if source.room != "tests":
        return
    for name, found, _ in source.functions:
        if found.name.startswith("test_") and found.name.count("_") > 10:
            yield Figure("long_test_names", f"{source.path}:{name}", 1, found.lineno)


def subject_problems(subjects: Iterable[tuple[str, str]]) -> list[str]:
    """Say what is wrong with subject lines of commits.

    Args:
        subjects: Pairs of a commit's name and its subject line.

    Returns:
        One sentence for each problem.
    """
    problems = []
    for commit, subject in subjects:
        if len(subject) > SUBJECT_CHARACTERS:
            problems.append(
                f"{commit}: the subject has {len(subject)} characters; the limit is {SUBJECT_CHARACTERS}: {subject}"
            )
        if not SUBJECT.fullmatch(subject):
            problems.append(f"{commit}: the subject is not of the form `type(room): ...`: {subject}")
    return problems


def _classes(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for node in _statements(tree):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
        inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef | Function) else prefix
        yield from _classes(node, inner)


def _functions(tree: ast.AST, prefix: str = "", *, owned: bool = False) -> Iterator[tuple[str, Function, bool]]:
    for node in _statements(tree):
        is_class = isinstance(node, ast.ClassDef)
        if isinstance(node, Function):
            yield prefix + node.name, node, owned
        inner = f"{prefix}{node.name}." if isinstance(node, ast.ClassDef | Function) else prefix
        yield from _functions(node, inner, owned=is_class or (owned and not isinstance(node, Function)))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Children that can have classes and functions in them: expressions, which are most, have none."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _docstrings_that_begin(source: Source, begin: re.Pattern[str], rule: str) -> Iterator[Figure]:
    for node in source.nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            words = " ".join(node.value.value.split())
            if begin.match(words):
                yield Figure(rule, source.path, 1, node.lineno)


def _program(sources: Sequence[Source]) -> list[Source]:
    return [source for source in sources if source.room in {"app", "core"}]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _room_of(path: str) -> str:
    return "/".join(path.split("/")[:2])


def _imported(node: ast.AST) -> list[str]:
    """Names of modules that a statement imports, and of what it takes from them, which may be modules."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _named(function: Function) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _takes_owner(method: Function) -> bool:
    static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in method.decorator_list)
    return not static and bool(method.args.posonlyargs or method.args.args)


def _is_handle(method: Function) -> bool:
    return method.name == "handle" and [argument.arg for argument in _named(method)] == ["self", "event", "now"]


def _is_any_list(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node) in {"list[Any]", "Sequence[Any]"}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _is_own(value: ast.expr) -> bool:
    return (isinstance(value, ast.Name) and value.id in {"self", "cls"}) or (
        isinstance(value, ast.Call) and _called(value) == "super"
    )


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""
