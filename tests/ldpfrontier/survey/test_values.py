"""Missing values are asked about, values that look alike are named, and all values are listed."""

import random

import numpy as np
import pytest

from ldpfrontier.survey import CountTable, count_records, privatize_file, read_count_table
from ldpfrontier.survey.values import listed_values, look_alikes
from support.owndata import channel_of, seeded

#: What R, pandas, SQL, Excel, SPSS and people write for a missing value.
DOUBTFUL = ("NA", "N/A", "?", "None", "NULL", "-", ".", "#N/A", "<NA>", "n/a", " na ", "none")


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def records(values, tmp_path):
    lines = "".join(f'"{value}",x\n' for value in ["a", "b", *values])
    return write(tmp_path / "in.csv", f"s,u\n{lines}a,y\n")


@pytest.mark.parametrize("value", DOUBTFUL)
def test_what_may_be_missing_is_asked_about_and_not_taken(tmp_path, value):
    path = records([value, value], tmp_path)
    sentence = (
        f"2 records of {path} have {value!r} as s; missing values must be given a name (--missing unknown)"
        " or left out (--missing drop), and texts that are answers kept (--missing keep)."
    )
    with pytest.raises(ValueError, match="missing values must") as refused:
        count_records(path, ["s"], ["u"])
    assert str(refused.value) == sentence

    named = count_records(path, ["s"], ["u"], missing="unknown")
    assert (named.rows, named.records) == ((("a",), ("b",), ("unknown",)), 5)
    kept = count_records(path, ["s"], ["u"], missing="keep")
    assert (set(kept.rows), kept.records) == ({("a",), ("b",), (value,)}, 5)
    said = []
    left = count_records(path, ["s"], ["u"], missing="drop", remark=said.append)
    assert (left.rows, left.counts.tolist()) == ((("a",), ("b",)), [[1, 1], [1, 0]])
    assert said == [f"2 records of {path} have {value!r} as s; 2 records were left out."]


def test_empty_fields_are_no_answers(tmp_path):
    path = records(["", "nan", "NA"], tmp_path)
    with pytest.raises(
        ValueError, match=r"has '' as s, a record has 'nan' as s and a record has 'NA' as s; "
    ):
        count_records(path, ["s"], ["u"])
    with pytest.raises(ValueError, match=r"'nan' as s; .* or left out \(--missing drop\)\.$"):
        count_records(path, ["s"], ["u"], missing="keep")
    assert count_records(path, ["s"], ["u"], missing="drop").records == 3


def test_counts_with_missing_values_are_added_up(tmp_path):
    path = write(tmp_path / "t.csv", "s,u,count\na,x,5\nNA,x,3\n,x,4\nb,?,7\nb,y,1\n")
    with pytest.raises(ValueError, match=r"7 records of .* have '\?' as u, 4 records have '' as s and 3 rec"):
        read_count_table(path, ["s"], ["u"])
    found = read_count_table(path, ["s"], ["u"], missing="unknown")
    assert found.counts.tolist() == [[0, 5, 0], [7, 0, 1], [0, 7, 0]]
    assert read_count_table(path, ["s"], ["u"], missing="drop").counts.tolist() == [[5, 0], [0, 1]]


def test_many_missing_values_are_named_in_part(tmp_path):
    path = records(["NA", "?", "-", "None", "NULL"], tmp_path)
    with pytest.raises(ValueError, match=r"and 2 more such values; missing values"):
        count_records(path, ["s"], ["u"])


def test_nothing_is_left(tmp_path):
    path = write(tmp_path / "in.csv", "s,u\nNA,x\nNA,y\n")
    with pytest.raises(ValueError, match="has a missing value; nothing is left to count"):
        count_records(path, ["s"], ["u"], missing="drop")


def test_groups_of_numbers_have_missing_values_too(tmp_path):
    random.seed(0)
    lines = "".join(f"{'ab'[k % 2]},{random.randint(0, 50)}\n" for k in range(100))
    path = write(tmp_path / "in.csv", f"s,age\n{lines}a,NA\nb,-\n")
    with pytest.raises(
        ValueError, match=r"A record of .* has 'NA' as age and a record has '-' as age; missing"
    ):
        count_records(path, ["s"], ["age"], bins={"age": 4})
    assert count_records(path, ["s"], ["age"], bins={"age": 4}, missing="drop").records == 100
    unknown = count_records(path, ["s"], ["age"], bins={"age": 4}, missing="unknown")
    assert unknown.columns[-1] == ("unknown",)


def test_reports_are_drawn_of_answers_alone(tmp_path):
    table = count_records(records(["NA"] * 3, tmp_path), ["s"], ["u"], missing="keep")
    kept = channel_of(table, "grr", against="anyone")
    path, target = tmp_path / "in.csv", tmp_path / "out.csv"
    # An answer of the channel stays what it is, whatever missing values become.
    for missing in (None, "keep", "a"):
        assert privatize_file(kept, path, target, missing=missing, source=seeded(1)).records == 6
    other = channel_of(count_records(path, ["s"], ["u"], missing="unknown"), "grr", against="anyone")
    target.unlink()
    with pytest.raises(
        ValueError, match=r"^Record 3 of .* has 'NA' as s; missing values must be left out of the file"
    ):
        privatize_file(other, path, target)
    with pytest.raises(ValueError, match="--missing drop is possible in a design only: a person without a"):
        privatize_file(other, path, target, missing="drop")
    assert not target.exists()
    assert privatize_file(other, path, target, missing="unknown", source=seeded(1)).records == 6


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("Yes", "yes", "'Yes' and 'yes'"),
        ("yes", "yes ", "'yes' and 'yes '"),
        ("New  York", "new york", "'New  York' and 'new york'"),
        ("caf\u00e9", "cafe\u0301", r"'café' and 'cafe\u0301'"),
        ("1", "1.0", "'1' and '1.0'"),
        ("1,5", "1.50", "'1,5' and '1.50'"),
        ("a\u200bb", "ab", r"'a\u200bb' and 'ab'"),
        ("\uff21", "a", "'Ａ' and 'a'"),
    ],
)
def test_values_that_look_alike_are_named(first, second, shown):
    labels = [(first, "x"), (second, "x"), ("other", "y")]
    assert look_alikes(["s", "u"], labels) == [
        f"values of s look alike, and are counted as different answers: {shown}. If they are the same answer,"
        " write them in one way."
    ]
    rows, columns = tuple((label[0],) for label in labels), (("x",),)
    assert len(CountTable(("s",), ("u",), rows, columns, np.ones((3, 1))).hints) == 1


def test_values_that_differ_are_not_named_and_few_of_many_are():
    assert look_alikes(["s"], [("1",), ("10",), ("[1,2)",), ("[10,20)",), ("a b",), ("ab",)]) == []
    labels = [(text,) for letter in "abcde" for text in (letter, letter.upper())]
    assert "'a' and 'A'; 'b' and 'B'; 'c' and 'C', and 2 more. If" in look_alikes(["s"], labels)[0]


def test_values_are_listed_in_a_line_each():
    labels = [(str(age), name) for age in range(60) for name in ("no", "yes", "no, never", " x", "\x1b[1m")]
    ages, answers = listed_values(["age", "illness"], labels, 80)
    assert ages == "age: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, and 42 more"
    assert len(ages) <= 80
    assert answers == r"illness: no, yes, 'no, never', ' x', \x1b[1m"
    assert listed_values(["n" * 100], [("v" * 100,), ("w" * 100,)], 80) == [
        f"{'n' * 37}...: {'v' * 23}..., and 1 more"
    ]
    assert listed_values(["n" * 100], [("v" * 100,), ("w" * 100,)], 30) == ["n" * 12 + "...: 2 values"]


@pytest.mark.parametrize("value", ["#NULL!", ".a", ".z", "\\N", "NaT", "\u2013", "\u2014", "#DIV/0!"])
def test_codes_of_programs_are_no_answers(tmp_path, value):
    """SPSS, Stata, SQL, pandas, editors that replace a hyphen, and spreadsheets."""
    path = records([value], tmp_path)
    with pytest.raises(ValueError, match="missing values must be given a name"):
        count_records(path, ["s"], ["u"])
    assert count_records(path, ["s"], ["u"], missing="drop").records == 3


def test_codes_are_declared_for_all_columns_or_for_one(tmp_path):
    lines = "ill,age\nno,30\nyes,31\nyes,99\nno,99.0\nRefused,99\nno,-9\n99,40\n"
    path = write(tmp_path / "in.csv", lines)
    codes = ["age=99", "-9", "refused"]
    found = count_records(
        path, ["ill"], ["age"], missing="unknown", missing_codes=codes, bins={"age": [35, 90]}
    )
    assert found.rows == (("99",), ("no",), ("unknown",), ("yes",))
    assert found.columns == (("(-inf,35)",), ("[35,90)",), ("unknown",))
    by_size = count_records(path, ["ill"], ["age"], missing="drop", missing_codes=codes, bins={"age": 2})
    assert by_size.records == 3  # no group begins at 99, and nobody is -9 years old
    assert by_size.columns == (("(-inf,31)",), ("[31,inf)",))
    with pytest.raises(ValueError, match="missing values must be given a name"):
        count_records(path, ["ill"], ["age"], missing_codes=codes)


def test_apply_takes_the_same_codes(tmp_path):
    table = CountTable(("s",), (), (("a",), ("b",), ("unknown",)), ((),), np.array([[5], [4], [1]]))
    private = channel_of(table, "grr", 1.0)
    path = write(tmp_path / "in.csv", "s\na\n-9\n")
    with pytest.raises(ValueError, match="'-9' as its s; the channel accepts"):
        privatize_file(private, path, tmp_path / "out.csv", missing="unknown")
    done = privatize_file(private, path, tmp_path / "out.csv", missing="unknown", missing_codes=["-9"])
    assert done.records == 2


def test_a_row_of_totals_is_no_answer(tmp_path):
    cells = "ill,region,count\nno,n,4\nyes,n,1\nno,s,3\nyes,s,2\n"
    for totals in (
        "no,Total,7\nyes,Total,3\n",
        "no,Total,7\nyes,Total,3\nTotal,n,5\nTotal,s,5\nTotal,Total,10\n",
    ):
        path = write(tmp_path / "t.csv", cells + totals)
        with pytest.raises(ValueError, match=r"has 'Total' as (region|ill), as often as all others together"):
            read_count_table(path, ["ill"], ["region"])
    # An answer, since it is no sum.
    path = write(tmp_path / "t.csv", cells + "no,all,2\n")
    assert read_count_table(path, ["ill"], ["region"]).columns == (("all",), ("n",), ("s",))
