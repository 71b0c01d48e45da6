"""Tables of counts: missing values are asked about, numbers grouped, look-alikes named, people counted."""

import math
import random
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from ldpsurvey import CountTable, count_records, privatize_file, read_channel
from ldpsurvey.base.layout import Remark
from ldpsurvey.channel.reports import Codes
from ldpsurvey.command.cli import main
from ldpsurvey.data.groups import bins_text, interval_start, parsed_bins, translations_for
from ldpsurvey.data.values import listed_values, look_alikes, missing_rules
from ldpsurvey.questionnaire.questions import questions_of_records
from support.owndata import channel_of, seeded

#: What R, pandas, SQL, Excel, SPSS, Stata and people write for a missing value.
DOUBTFUL = ("NA", "N/A", "?", "None", "NULL", "-", ".", "#N/A", "<NA>", " na ")
DOUBTFUL = (*DOUBTFUL, "#NULL!", ".a", "\\N", "NaT", "\u2013", "#DIV/0!")


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def records(values, tmp_path):
    lines = "".join(f'"{value}",x\n' for value in ["a", "b", *values])
    return write(tmp_path / "in.csv", f"s,u\n{lines}a,y\n")


# Missing values -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", DOUBTFUL)
def test_what_may_be_missing_is_asked_about_and_not_taken(tmp_path, value):
    path = records([value, value], tmp_path)
    with pytest.raises(ValueError, match=r"as s in 2 records \(row 3\); missing values must .* \(s=keep\)"):
        count_records(path, ["s"], ["u"])
    named = count_records(path, ["s"], ["u"], missing="unknown")
    assert (named.rows, named.records) == ((("a",), ("b",), ("unknown",)), 5)
    kept = count_records(path, ["s"], ["u"], missing="keep")
    assert set(kept.rows) == {("a",), ("b",), (value,)}
    with pytest.warns(Remark, match="2 records were left out"):
        left = count_records(path, ["s"], ["u"], missing="drop")
    assert (left.rows, left.counts.tolist()) == ((("a",), ("b",)), [[1, 1], [1, 0]])
    with pytest.raises(ValueError, match="which itself means a missing value"):
        count_records(path, ["s"], ["u"], missing=value)


def test_empty_fields_are_no_answers(tmp_path):
    path = records(["", "nan", "NA", "?", "-"], tmp_path)
    with pytest.raises(ValueError, match=r"has '' as s in 1 record, .* and 2 more \(row 3\); missing"):
        count_records(path, ["s"], ["u"])
    with pytest.raises(ValueError, match=r"or left out \(s=drop\)\.$"):
        count_records(path, ["s"], ["u"], missing="keep")
    assert count_records(path, ["s"], ["u"], missing="drop").records == 3
    path = write(tmp_path / "in.csv", "s,u\nNA,x\nNA,y\n")
    with pytest.raises(ValueError, match="nothing is left to count"):
        count_records(path, ["s"], ["u"], missing="drop")


def test_counts_with_missing_values_are_added_up(tmp_path):
    path = write(tmp_path / "t.csv", "s,u,count\na,x,5\nNA,x,3\n,x,4\nb,?,7\nb,y,1\n")
    found = count_records(path, ["s"], ["u"], count="count", missing="unknown")
    assert found.counts.tolist() == [[0, 5, 0], [7, 0, 1], [0, 7, 0]]
    found = count_records(path, ["s"], ["u"], count="count", missing="drop")
    assert found.counts.tolist() == [[5, 0], [0, 1]]


def test_codes_are_declared_for_all_columns_or_for_one(tmp_path):
    lines = "ill,age\nno,30\nyes,31\nyes,99\nno,99.0\nRefused,99\nno,-9\n99,40\n"
    path, codes = write(tmp_path / "in.csv", lines), ["age=99", "-9", "refused"]
    found = count_records(
        path, ["ill"], ["age"], missing="unknown", missing_codes=codes, bins={"age": [35, 90]}
    )
    assert found.rows == (("99",), ("no",), ("unknown",), ("yes",))
    assert found.columns == (("(-inf,35)",), ("[35,90)",), ("unknown",))
    by_size = count_records(path, ["ill"], ["age"], missing="drop", missing_codes=codes, bins={"age": 2})
    assert by_size.records == 3  # no group begins at 99, and nobody is -9 years old
    assert by_size.columns == (("(-inf,31)",), ("[31,inf)",))


#: What becomes of missing values, codes, and the values of a and of b; or what a refusal says.
RULES = {
    "answers and gaps": (["a=keep,gone", "b=drop"], ["a=-9"], "CA NA US gone", "x y"),
    "each its own": (["a=gone", "b=drop"], ["-9"], "CA US gone", "x y"),
    "and the others": (["b=keep", "gone"], ["-9"], "CA US gone", "? x y"),
    "all": (["drop"], ["a=-9"], "CA US", "x y"),
    "gaps are left out": (["a=keep,drop", "gone"], ["a=-9"], "CA NA US", "gone x y"),
    "nothing said": (["a=keep,drop"], ["a=-9"], None, r"has '\?' as b in 1 record \(row 3\)"),
    "a gap": (["keep"], [], None, r"has '' as a in 1 record \(row 7\)"),
    "a code alone": (["a=keep", "b=drop"], ["a=-9"], None, "'-9' is missing, and needs --missing.*: a=drop"),
    "no such column": (["A=keep", "drop"], [], None, "'A' is none of a, b. Did you mean 'a'"),
    "twice": (["a=keep", "a=drop"], [], None, "'a' is there twice"),
    "said already": (["a=keep", "b=drop", "gone"], [], None, "for all columns already"),
    "nothing": (["a=", "b=drop"], [], None, "The name of missing values is ''"),
}


@pytest.mark.filterwarnings("ignore::ldpsurvey.base.layout.Remark")
@pytest.mark.parametrize("which", RULES)
def test_what_becomes_of_missing_values_is_said_by_column(tmp_path, which):
    """Of a table and of a questionnaire alike; and reports follow what the design was told."""
    words, codes, one, other = RULES[which]
    path = write(tmp_path / "in.csv", "a,b\nNA,x\nUS,y\nCA,?\nUS,x\nCA,y\n-9,y\n,x\n")
    options = {"missing": words, "missing_codes": codes}
    if one is None:
        for read in (count_records, questions_of_records):
            with pytest.raises(ValueError, match=other):
                read(path, ["a", "b"], **options)
        return
    table, asked = (read(path, ["a", "b"], **options) for read in (count_records, questions_of_records))
    assert table.values == dict(zip(asked.names, asked.answers, strict=True))
    assert table.values == {"a": tuple(one.split()), "b": tuple(other.split())}
    channel_of(table, "grr", against="anyone").write(tmp_path / "channel.json")
    again = read_channel(tmp_path / "channel.json")
    assert again.table.missing == table.missing
    if which == "and the others":
        assert privatize_file(again, path, tmp_path / "out.csv").records == 7
    else:  # nobody's report can be left out
        with pytest.raises(ValueError, match=r"^Record \d of .* has '(NA|\?|-9|)' as "):
            privatize_file(again, path, tmp_path / "out.csv")


def test_missing_values_are_counted_in_records_and_not_in_weights(tmp_path):
    path = write(tmp_path / "in.csv", "s,u,w\na,x,2.5\nb,y,40\nNA,x,70\nNA,y,0.5\nb,x,9\n")
    with pytest.raises(ValueError, match=r"'NA' as s in 2 records \(row 3\)"):
        count_records(path, ["s"], ["u"], weight="w")
    with pytest.warns(Remark, match="'NA' as s in 2 records; 2 records were left out"):
        count_records(path, ["s"], ["u"], weight="w", missing="drop")


def test_a_code_that_does_not_occur_is_named(tmp_path):
    path = write(tmp_path / "in.csv", "a,b\n1,x\n2,y\n-99,x\n1,y\n")
    for read in (count_records, questions_of_records):
        with pytest.warns(Remark, match="'-98' .* does not occur in .* column a; .* Did you mean '-99'"):
            read(path, ["a", "b"], missing="drop", missing_codes=["a=-98"])
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "the code")
            warnings.filterwarnings("ignore", ".*left out")
            read(path, ["a", "b"], missing="drop", missing_codes=["-99.0", "a=-99"])


def test_reports_are_drawn_of_answers_alone(tmp_path):
    path, target = records(["NA", "-9"], tmp_path), tmp_path / "out.csv"
    kept = channel_of(count_records(path, ["s"], ["u"], missing="keep"), "grr", against="anyone")
    # An answer of the channel stays what it is, whatever missing values become.
    for missing in (None, "keep", "a"):
        assert privatize_file(kept, path, target, missing=missing, source=seeded(1), force=True).records == 5
    codes = {"missing": "unknown", "missing_codes": ["-9"]}
    told = channel_of(count_records(path, ["s"], ["u"], **codes), "grr", against="anyone")
    other = replace(told, table=replace(told.table, missing={}))
    target.unlink()
    with pytest.raises(ValueError, match=r"^Record 3 of .* has 'NA' as s, which may be .*--missing s=VALUE"):
        privatize_file(other, path, target)
    with pytest.raises(ValueError, match=r"^Record 4 of .* has '-9' as its s; the channel accepts"):
        privatize_file(other, path, target, missing="unknown")
    with pytest.raises(ValueError, match=r"'unknwon', which is no value .* Did you mean 'unknown'"):
        privatize_file(other, path, target, missing="unknwon")
    for drop in ("drop", ["s=drop"]):
        with pytest.raises(ValueError, match="--missing drop is possible in a design only"):
            privatize_file(other, path, target, missing=drop)
    assert not target.exists()
    assert privatize_file(other, path, target, **codes).records == 5
    assert privatize_file(told, path, target, force=True).records == 5


def test_a_row_of_totals_is_no_answer(tmp_path):
    cells = "ill,region,count\nno,n,4\nyes,n,1\nno,s,3\nyes,s,2\n"
    for totals in (
        "no,Total,7\nyes,Total,3\n",
        "no,Total,7\nyes,Total,3\nTotal,n,5\nTotal,s,5\nTotal,Total,10\n",
    ):
        path = write(tmp_path / "t.csv", cells + totals)
        with pytest.raises(ValueError, match=r"has 'Total' as (region|ill), as often as all others together"):
            count_records(path, ["ill"], ["region"], count="count")
    path = write(tmp_path / "t.csv", cells + "no,all,2\n")  # an answer, since it is no sum
    assert count_records(path, ["ill"], ["region"], count="count").records == 12


# Groups ---------------------------------------------------------------------------------------------------


def test_numbers_are_put_into_groups(tmp_path):
    ages = [3, 18, 17.5, 40, 64.9, 65, 200, -1]
    path = write(tmp_path / "in.csv", "s,age\n" + "".join(f"a,{age}\nb,{age}\n" for age in ages))
    found = count_records(path, ["s"], ["age"], bins={"age": [18, 40, 65]})
    assert found.columns == (("(-inf,18)",), ("[18,40)",), ("[40,65)",), ("[65,inf)",))
    assert found.counts.tolist() == [[3, 1, 2, 2]] * 2
    found = count_records(path, ["s"], ["age"], bins={"age": 4})
    assert found.columns == (("(-inf,17.5)",), ("[17.5,40)",), ("[40,65)",), ("[65,inf)",))
    assert found.counts.tolist() == [[2] * 4] * 2


def test_groups_have_about_as_many_records_each(tmp_path):
    incomes = np.round(np.random.default_rng(0).lognormal(10, 1, 5000), 2)
    path = write(tmp_path / "in.csv", "s,x\n" + "".join(f"{i % 2},{x}\n" for i, x in enumerate(incomes)))
    counts = count_records(path, ["s"], ["x"], bins={"x": 7}).counts.sum(axis=0)
    assert counts.size == 7
    assert counts.max() - counts.min() <= 2
    rows = "".join(f"{s},{n},{10 ** (6 - n)}\n" for s in "ab" for n in range(6))
    write(path, f"s,n,count\n{rows}")
    with pytest.warns(Remark, match="the values of n are put into 2 groups, not 3"):
        found = count_records(path, ["s"], ["n"], count="count", bins={"n": 3})
    assert found.columns == (("(-inf,1)",), ("[1,inf)",))  # most are 0
    write(path, "s,n\na,1\nb,1\n")
    with pytest.raises(ValueError, match="has fewer than two numbers in the column n"):
        count_records(path, ["s"], ["n"], bins={"n": 3})


def test_a_channel_puts_numbers_into_its_own_groups(tmp_path):
    rows = "".join(f"{'ab'[i % 2]},{i}\n" for i in random.Random(0).sample(range(100), 100))
    path, target = write(tmp_path / "in.csv", f"s,age\n{rows}a,NA\nb,\n"), tmp_path / "out.csv"
    table = count_records(path, ["s"], ["age"], missing="unknown", bins={"age": 3})
    assert table.columns == (("(-inf,33)",), ("[33,66)",), ("[66,inf)",), ("unknown",))
    private = channel_of(table, "grr")
    done = privatize_file(private, path, target, keep=("age",), missing="unknown")
    assert done.designed_from
    kept = [line.partition(",")[0] for line in target.read_text().splitlines()]
    assert kept == ["age", *(line.partition(",")[2] for line in path.read_text().splitlines()[1:])]
    target.unlink()
    write(path, 's,age\na,1000000\nb,"[33,66)"\na,-5.5\nb,unknown\n')
    assert privatize_file(private, path, target).records == 4
    target.unlink()
    for value, sentence in (
        ("many", "'many' as its age; the channel"),
        ("1;250", "'1;250' as its age, whose"),
    ):
        write(path, f"s,age\na,{value}\n")
        with pytest.raises(ValueError, match=sentence):
            privatize_file(private, path, target)


def test_labels_that_only_look_like_intervals_are_left_alone():
    starts = [interval_start(text) for text in ("(-inf,3)", "[3,4.5)", "[-1e3,inf)")]
    assert starts == [-math.inf, 3.0, -1000.0]
    for text in ("(-inf,inf)", "[3,4]", "(3,4)", "[a,b)", "[3,4,5)", "3", ""):
        assert interval_start(text) is None
    # No interval of numbers below 3: these are names.
    for labels in (("[3,4)", "[4,inf)"), ("(-inf,3)", "[4,inf)")):
        assert translations_for("in.csv", {"u": labels})["u"]("5") == "5"
    assert translations_for("in.csv", {"u": ("(-inf,4)", "[4,inf)")})["u"]("5") == "[4,inf)"


@pytest.mark.parametrize(
    "word", ["age", "age=", "=5", "age=x", "age=1", "age=1001", "age=2.5", "age=3,2", "age=1,1"]
)
def test_groups_that_are_none_get_a_sentence(tmp_path, word):
    path = write(tmp_path / "in.csv", "s,age\na,1\nb,2\n")
    with pytest.raises(ValueError, match=r"--bins has|The number of groups|must begin at one or more"):
        count_records(path, ["s"], ["age"], bins=parsed_bins([word]))


def test_a_number_of_groups_and_a_number_at_which_one_begins_are_told_apart():
    assert parsed_bins(["age=30", "size=30,"]) == {"age": 30, "size": [30.0]}
    number, cut = bins_text(parsed_bins(["age=30", "size=30,"]))
    assert "is 30 groups with about as many records each" in number
    assert "begin at 30 are --bins age=30,." in number
    assert "groups of size begin at 30," in cut


# Counts and people ----------------------------------------------------------------------------------------

LIKE_COUNTS = {
    "as R writes it": (
        "rownames,s,u,sex,Freq\n1,a,x,m,7\n2,a,x,f,8\n3,b,x,m,0\n4,b,y,f,1\n",
        " --count Freq",
    ),
    "the usual name": ("s;u;count\na;x;7\nb;x;1\n", ""),
    "a name with a space": ("s,u, Freq\na,x,16.0\nb,x,2\n", " --count ' Freq'"),
}
PEOPLE = {
    "persons": "id,s,u,n\n1,a,x,7\n2,a,x,7\n3,b,x,1\n",
    "no whole numbers": "s,u,n\na,x,7.5\nb,x,1\n",
    "another name": "s,u,age\na,x,7\nb,x,1\n",
    "alike": "s,u,n\na,x,7\na,x,6\nb,x,1\n",
}


@pytest.mark.parametrize("which", [*LIKE_COUNTS, *PEOPLE])
def test_counts_that_are_given_as_records_get_a_remark_and_no_reports(tmp_path, which, private):
    text, option = LIKE_COUNTS.get(which, (PEOPLE.get(which), None))
    path = write(tmp_path / "t.csv", text)
    with warnings.catch_warnings(record=True) as said:
        table = count_records(path, ["s"], ["u"])
    # Of a single value there is no question, which is said after that.
    with warnings.catch_warnings(record=True) as also, suppress(ValueError):
        questions_of_records(path, ["s", "u"])
    assert [str(one.message) for one in also] == [str(one.message) for one in said]
    assert [str(one.message).partition("--table")[2] for one in said] == (
        [] if option is None else [f" {path}{option} in the place of --data reads the counts."]
    )
    channel = channel_of(table, "grr")
    if option is None:
        assert privatize_file(channel, path, tmp_path / "out.csv").records == table.records
    else:
        with pytest.raises(ValueError, match="A report is drawn for every row"):
            privatize_file(channel, path, tmp_path / "out.csv")


def test_combinations_without_a_record_can_be_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in.csv", "a,b,c\n1,0,0\n0,1,0\n0,0,1\n1,1,0\n0,0,0\n")
    write(tmp_path / "new.csv", "a,b,c\n1,1,1\n0,1,1\n")
    command = ["design", "--data", "in.csv", "--sensitive", "a", "b", "--useful", "c", "--epsilon", "1"]
    assert main([*command, "--against", "anyone"]) == 0
    assert "3 of 8 combinations of a, b, c have no record: '0, 1, 1'; '1," in capsys.readouterr().err
    assert main(["apply", "--channel", "channel.json", "--data", "new.csv", "--out", "out.csv"]) == 0
    values = "\n".join(f"{i},{i},{i % 2}" for i in range(30))
    write(tmp_path / "in.csv", f"a,b,c\n{values}\n")
    assert main([*command, "--out", "many.json"]) == 2
    assert "have 30 x 30 x 2 = 1,800 combinations" in capsys.readouterr().err


def test_a_channel_without_a_row_for_a_combination_says_so(table):
    codes = Codes("in.csv", table.attributes, table.labels)  # ("south", "young") is none
    assert codes(table.labels, range(1, 7)).tolist() == list(range(6))
    with pytest.raises(
        ValueError, match=r"Record 8 of in\.csv is 'no, south, young'\. The channel has no row"
    ):
        codes([table.labels[0], ("no", "south", "young")], [7, 8])


@pytest.mark.parametrize(
    "counts", [[[1, 2]], [[1, -2], [3, 4]], [1, 2], [[0.5, 1], [1, 1]], [[2**53, 1], [1, 1]]]
)
def test_a_table_checks_its_counts(counts):
    with pytest.raises(ValueError, match="they must be whole numbers"):
        CountTable(("s",), ("u",), (("a",), ("b",)), (("c",), ("d",)), counts)


# Values in words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("Yes", "yes", "'Yes' and 'yes'"),
        ("yes", "yes ", "'yes' and 'yes '"),
        ("caf\u00e9", "cafe\u0301", r"'café' and 'cafe\u0301'"),
        ("1", "1.0", "'1' and '1.0'"),
        ("a\u200bb", "ab", r"'a\u200bb' and 'ab'"),
        ("\uff21", "a", "'Ａ' and 'a'"),
    ],
)
def test_values_that_look_alike_are_named(first, second, shown):
    (said,) = look_alikes(["s", "u"], [(first, "x"), (second, "x"), ("other", "y")])
    assert f"values of s look alike, and are counted as different answers: {shown}." in said


def test_values_that_differ_are_not_named_and_few_of_many_are():
    assert look_alikes(["s"], [("1",), ("10",), ("[1,2)",), ("[10,20)",), ("a b",), ("ab",)]) == []
    labels = [(text,) for letter in "abcde" for text in (letter, letter.upper())]
    assert "'c' and 'C', and 2 more. If" in look_alikes(["s"], labels)[0]


def test_values_are_listed_in_a_line_each():
    labels = [(str(age), name) for age in range(60) for name in ("no", "no, never", " x", "\x1b[1m")]
    ages, answers = listed_values(["age", "illness"], labels, 80)
    assert ages.startswith("age: 0, 1, 2,")
    assert ages.endswith("...")
    assert len(ages) == 80
    assert answers == "illness: no, 'no, never', ' x', \\x1b[1m"


def test_a_mapping_says_what_is_missing_in_each_column():
    columns = ["age", "income"]
    assert missing_rules({"income": "unknown"}, (), columns) == missing_rules("income=unknown", (), columns)
    with pytest.raises(ValueError, match="is none of age, income"):
        missing_rules({"incme": "unknown"}, (), columns)
