"""Errors of ours say five things, and keep them when they travel between processes."""

from __future__ import annotations

import pickle

import pytest

import daskgraphpart.errors as errors_module
from daskgraphpart import GraphPartError
from daskgraphpart.errors import IdOutOfRangeError, OptionError, check_choice

KINDS = [
    *(k for k in vars(errors_module).values() if isinstance(k, type) and issubclass(k, GraphPartError)),
    IdOutOfRangeError,
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_pickles_with_all_it_says(kind: type[GraphPartError]) -> None:
    error = kind("is wrong", file="a.csv", place="row 3", option="fill", expected=1, found=2, hint="mend it")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error) == "a.csv, fill row 3: is wrong: expected 1, found 2. Mend it."
    fields = (again.file, again.place, again.option, again.expected, again.found, again.hint)
    assert fields == ("a.csv", "row 3", "fill", 1, 2, "mend it")


def test_what_is_not_known_is_not_said() -> None:
    assert str(GraphPartError("is wrong")) == "Is wrong"
    assert str(GraphPartError("is wrong", found=0)) == "Is wrong: 0"


def test_the_first_sentence_may_name_the_option_itself() -> None:
    error = GraphPartError("--seed -1 is too small", option="seed", hint="use 0 or more")
    assert str(error) == "seed -1 is too small. Use 0 or more."
    assert error.for_command_line() == "--seed -1 is too small. Use 0 or more."


def test_choices_are_listed_and_the_nearest_is_named() -> None:
    with pytest.raises(OptionError, match=r"^Unknown layout 'dlg'\. Did you mean dgl\? Choose from dgl, ranks\.$"):
        check_choice("layout", "--layout", "dlg", ("dgl", "ranks"))
    with pytest.raises(OptionError, match=r"^cast: unknown feature 'x'\. There are none\.$"):
        check_choice("feature", "--cast", "x", ())


def test_python_is_told_of_keywords_and_the_command_line_of_options() -> None:
    error = GraphPartError("too small", option="memory", found="--odd", hint="give more --num-parts, or --overwrite")
    assert str(error) == "memory: too small: --odd. Give more num_parts, or overwrite=True."
    expected = "--memory: too small: --odd. Give more --num-parts, or --overwrite."
    assert error.for_command_line() == pickle.loads(pickle.dumps(error)).for_command_line() == expected
    named = GraphPartError("no feature", option="balance", place="types:a/b", file="x--map-ids.csv")
    assert str(named) == "x--map-ids.csv, balance types:a/b: no feature"
    assert named.for_command_line() == "x--map-ids.csv, --balance types:a/b: no feature"
    passed_on = GraphPartError("odd", place="--mask m")
    assert (passed_on.option, passed_on.place, str(passed_on)) == ("masks", "m", "masks m: odd")
    error.add_hint("add --restart, or run `build --map-ids`")
    assert str(error).endswith(". Add restart=True, or run `build --map-ids`.")
