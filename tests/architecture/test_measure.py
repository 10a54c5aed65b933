"""Each rule fires at a made-up source, and only there."""

from dataclasses import replace

import pytest

from tests.architecture import limits
from tests.architecture.limits import COUNTED, EACH, HOUSE, Exceptions
from tests.architecture.measure import SUBJECT_CHARACTERS, Source, subject_problems

LIMITS = {rule: EACH[rule].limit for rule in EACH}
NONE = Exceptions({rule: {} for rule in EACH}, {}, (), "0" * 40)


def core(text, name="made_up"):
    return Source.parse(f"core/room/{name}.py", text)


def unit_test(text):
    return Source.parse("tests/unit/test_made_up.py", text)


def of_lines(count):
    return "class A:\n" + "    x = 1\n" * (count - 1)


def of_methods(count):
    return "class A:\n" + "".join(f"    def m{i}(self): ...\n" for i in range(count))


def of_parameters(count):
    named = ", ".join(f"p{i}" for i in range(count - 1))
    return f"class A:\n    def f(self, {named}, *args, last, **words): ...\n"


def machine(signature):
    return f"class A:\n    def handle(self, event, now): ...\n    {signature}: ...\n"


BROKEN = {
    "class_lines": (of_lines(LIMITS["class_lines"] + 1), "core/room/made_up.py:A"),
    "class_methods": (of_methods(LIMITS["class_methods"] + 1), "core/room/made_up.py:A"),
    "file_lines": ("x = 1\n" * (LIMITS["file_lines"] + 1), "core/room/made_up.py"),
    "parameters": (of_parameters(LIMITS["parameters"] + 1), "core/room/made_up.py:A.f"),
    "silenced_parameters": ("def f(): ...  # noqa: ANN201, PLR0913 - so it is\n", "core/room/made_up.py"),
    "machine_any": (machine("def tell(self, now) -> Sequence[Any]"), "core/room/made_up.py:A.tell"),
}

KEPT = {
    "class_lines": (of_lines(LIMITS["class_lines"]),),
    "class_methods": (
        of_methods(LIMITS["class_methods"]),
        of_methods(LIMITS["class_methods"]) + "    @m0.setter\n    def m0(self, value): ...\n",
    ),
    "file_lines": ("x = 1\n" * LIMITS["file_lines"],),
    "parameters": (of_parameters(LIMITS["parameters"]),),
    "silenced_parameters": ("x = 1  # noqa: S105\n", 'x = "noqa: PLR0913"\n'),
    "machine_any": (
        machine("def _tell(self, now) -> Sequence[Any]"),
        machine("def tell(self, now) -> list[Message]"),
        "class A:\n    def handle(self, request): ...\n    def tell(self) -> list[Any]: ...\n",
    ),
}


@pytest.mark.parametrize("rule", EACH)
def test_rule_names_file_line_figure_and_limit(rule):
    text, name = BROKEN[rule]
    (problem,) = limits.each_problems([core(text)], rule, {})
    figure = limits.over_limit([core(text)], rule)[name]
    assert problem.startswith(f"core/room/made_up.py:{figure.line}: ")
    assert f"{figure.value} {EACH[rule].says}; the limit is {LIMITS[rule]}" in problem


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in KEPT.items() for text in texts])
def test_rule_passes_what_keeps_the_limit(rule, text):
    assert limits.each_problems([core(text)], rule, {}) == []


@pytest.mark.parametrize("rule", EACH)
def test_exception_allows_its_figure_and_no_more(rule):
    text, name = BROKEN[rule]
    value = limits.over_limit([core(text)], rule)[name].value
    assert limits.each_problems([core(text)], rule, {name: value}) == []
    (exceeded,) = limits.each_problems([core(text)], rule, {name: value - 1})
    assert f"the limit is {value - 1}" in exceeded
    (lower,) = limits.each_problems([core(text)], rule, {name: value + 1})
    assert lower.endswith(f"can be lowered to {value}")
    (needless,) = limits.each_problems([core("x = 1\n")], rule, {name: value})
    assert needless.endswith("no longer needed")


def test_house_is_measured_as_a_whole():
    lone = [core("from core.room.b import x\n", "a"), core("x = 1\n", "b"), core("from core.room.c import y\n", "d")]
    sources = [*lone, core("y = 1\n", "c"), core("import core.room.c\n", "e")]
    assert HOUSE["single_importers"].measured(sources) == 1
    assert HOUSE["import_permille"].measured(sources) == 600
    assert HOUSE["largest_folder"].measured([*sources, unit_test("")]) == 5


def test_house_rule_says_its_figure_and_limit():
    sources = [core("import os\n")]
    assert limits.house_problems(sources, "import_permille", None) == [
        "import_permille: 1000 of each thousand lines of core import; the limit is 65"
    ]
    assert limits.house_problems(sources, "import_permille", 1000) == []
    assert limits.house_problems(sources, "import_permille", 1001) == []
    assert limits.house_problems([core("x = 1\n")], "import_permille", 99)[0].endswith("the limit is 65")


def test_own_object_and_variable_arguments_are_no_parameters():
    static = "class A:\n    @staticmethod\n    def f(a, b, c, d, e, f, g): ...\n"
    plain = "def f(self, a, b, c, d, e, f): ...\n"
    nested = "class A:\n    def f(self):\n        def g(a, b, c, d, e, f, h): ...\n"
    for text in (static, plain, nested):
        assert len(limits.each_problems([core(text)], "parameters", {})) == 1


MANY = {
    "crowded_classes": (of_methods(15), of_methods(14)),
    "elsewhere_docstrings": (
        '"""See the module\'s docstring."""\n',
        'class A:\n    """Holds what the module\'s docstring tells of."""\n',
    ),
    "headless_docstrings": (
        '"""Of all that is read."""\n',
        'def f():\n    """Often it is so."""\n    return "Of a value"\n\nSIDE = 64\n"""Side of the square."""\n',
    ),
    "long_test_names": ("def test_a_b_c_d_e_f_g_h_i_j_k(): ...\n", "def test_a_b_c_d_e_f_g_h_i_j(): ...\n"),
    "private_accesses": (
        "thing._hidden\nsetattr(thing, '_hidden', 1)\nmonkeypatch.setattr('core.room._hidden', 1)\n",
        "class A:\n    def f(self): self._own, super()._own, thing.__class__\n\nsetattr(thing, 'plain', 1)\n",
    ),
    "short_docstrings": (
        'def f():\n    """Five words and no more."""\n',
        'def f():\n    """Six words are enough to stay."""\n',
    ),
}


@pytest.mark.parametrize("rule", COUNTED)
def test_places_are_counted_and_named(rule):
    broken, kept = MANY[rule]
    parse = core if rule.endswith(("docstrings", "classes")) else unit_test
    per_file = broken.count("\n") if rule == "private_accesses" else 1
    limit = COUNTED[rule].limit
    assert limits.counted_problems([parse(kept)] * (limit + 1), rule, None) == []
    several = [parse(broken)] * (limit + 1)
    total = per_file * len(several)
    problem, *places = limits.counted_problems(several, rule, None)
    assert problem == f"{total} {COUNTED[rule].says}; the limit is {limit}"
    assert len(places) == total
    assert places[0] == f"{several[0].path}:1"
    assert limits.counted_problems(several, rule, total) == []
    assert limits.counted_problems(several, rule, total - 1)[0].endswith(f"the limit is {total - 1}")
    assert limits.counted_problems(several, rule, total + 1)[0].endswith(f"can be lowered to {total}")
    assert "no longer needed" in limits.counted_problems([parse(kept)], rule, total)[0]


@pytest.mark.parametrize(
    "text",
    [
        'SIDE = 64\n"""Of the square."""\n',
        'class A:\n    many: int\n    """So many of them."""\n',
        'def f():\n    """So\n    far it goes."""\n',
        'class A:\n    epoch: int\n    """At which it was measured."""\n',
        'class A:\n    def f(self):\n        self.b = 1\n        """ Of the manifest."""\n',
    ],
)
def test_docstring_without_subject_is_found_at_any_place(text):
    assert len(list(COUNTED["headless_docstrings"].measured(core(text)))) == 1
    assert len(list(COUNTED["headless_docstrings"].measured(unit_test(text)))) == 1


def test_class_name_that_stands_twice_is_told():
    first, second = core("class A: ...\n", "first"), core("x = 1\nclass A: ...\n", "second")
    (problem,) = limits.shared_name_problems([first, second], ())
    assert problem == "core/room/first.py:1, core/room/second.py:2: 2 classes are named A; the limit is 1"
    assert limits.shared_name_problems([first, second], ("A",)) == []
    assert limits.shared_name_problems([first], ("A",)) == ["shared_names: A is no longer needed"]
    assert limits.shared_name_problems([first, second], ("A", "A")) == ["shared_names: A stands twice"]


def test_list_of_shared_names_has_a_limit():
    names = [f"A{i}" for i in range(limits.SHARED_NAMES + 1)]
    sources = [core("".join(f"class {name}: ...\n" for name in names), path) for path in ("first", "second")]
    (problem,) = limits.shared_name_problems(sources, names)
    assert problem == f"shared_names: {len(names)} names; the limit is {limits.SHARED_NAMES}"


@pytest.mark.parametrize(
    "subject", ["x" * (SUBJECT_CHARACTERS + 1), "tidy up", "feat(dht) no colon", "fix(Room): x", "fix(a):x", "wip: x"]
)
def test_commit_subject_of_other_form_is_told(subject):
    problems = subject_problems([("abc", subject)])
    assert problems
    assert all(problem.startswith("abc: the subject ") and subject in problem for problem in problems)


def test_commit_subject_of_greatest_length_passes():
    longest = "feat(dht, nat): ".ljust(SUBJECT_CHARACTERS, "x")
    assert subject_problems([("abc", longest), ("def", "docs: one word an idea")]) == []


def test_shrinking_lowers_and_removes_but_never_raises():
    text, name = BROKEN["parameters"]
    long, long_name = BROKEN["class_lines"]
    each = {**NONE.each, "parameters": {name: 99}, "class_lines": {long_name: 1}, "file_lines": {"core/gone.py": 400}}
    before = replace(NONE, each=each, counted={"private_accesses": 99}, shared_names=("A", "Gone"))
    after = limits.shrunk([core(text), core(long, "other"), core("class A: ...\n", "third")], before)
    assert after.each["parameters"] == {name: LIMITS["parameters"] + 1}
    assert after.each["class_lines"] == {}
    assert after.each["file_lines"] == {}
    assert after.counted == {}
    assert after.shared_names == ["A"]
    raised = limits.shrunk([core(long)], before)
    assert raised.each["class_lines"] == {long_name: 1}


def test_exceptions_are_read_as_they_were_written():
    each = {**NONE.each, "parameters": {"core/a.py:A.f": 9}}
    exceptions = replace(NONE, each=each, counted={"short_docstrings": 70}, shared_names=["A", "B"])
    assert limits.read_exceptions(limits.write_exceptions(exceptions)) == exceptions
