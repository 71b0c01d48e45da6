"""Files as people have them, read by pandas: what is read, what is refused, and in how much memory."""

import csv
import hashlib
import io
import math
import sys
import tracemalloc

import pandas as pd
import pytest

from ldpsurvey import count_records, privatize_file
from ldpsurvey.data.csv_files import SEPARATORS
from ldpsurvey.data.reading import CHUNK, as_number, as_whole, read_chunks
from ldpsurvey.questionnaire.questions import questions_of_records
from support.malformed import APPLY, ESTIMATE, RECORDS, TABLE, refused
from support.owndata import channel_of, records_of, write_records

RECORDS_OF_FIVE = [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "3"), ("b", "x", "4")]


def written(path, separator=",", quote="", end="\n", start=""):
    rows = [("s", "u", "age"), *RECORDS_OF_FIVE]
    text = end.join(separator.join(f"{quote}{value}{quote}" for value in row) for row in rows)
    path.write_bytes((start + text + end).encode())
    return path


def counts_of(path, **more):
    return count_records(path, ["s"], ["u"], **more).counts.tolist()


# What is read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("quote", ["", '"'])
def test_separators_and_quotation_marks_are_recognised(tmp_path, separator, quote):
    assert counts_of(written(tmp_path / "in.csv", separator, quote)) == [[1, 1], [2, 0]]
    assert counts_of(written(tmp_path / "in.csv", separator, quote, "\r\n", "\ufeff")) == [[1, 1], [2, 0]]


def test_a_separator_is_recognised_by_the_columns_that_are_asked_for(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("name, given;s;u\nDoe, J.;a;x\n\nRoe, R.;b;y\n", encoding="utf-8")
    assert counts_of(path) == [[1, 0], [0, 1]]


def test_a_field_of_any_length_in_a_column_that_is_not_used_is_read(tmp_path):
    path = written(tmp_path / "in.csv")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([f"{lines[0]},text", *(f"{line},{'x' * 200_000}" for line in lines[1:])]))
    assert counts_of(path) == [[1, 1], [2, 0]]


def test_a_data_frame_is_read_as_its_file_is(tmp_path):
    """Also its categories and what is missing; whatever is neither is refused."""
    pytest.importorskip("pyarrow")
    answers = pd.Categorical(["low", "high", None, "middle"] * 5, ["low", "middle", "high"])
    frame = pd.DataFrame({"s": [10, 9, 8, 9] * 5, "u": answers, "x": [0.5, None] * 10})
    frame.to_parquet(tmp_path / "in.parquet")
    tables = [
        count_records(data, ["s"], ["u", "x"], missing="no") for data in (frame, tmp_path / "in.parquet")
    ]
    assert tables[0].labels == tables[1].labels
    assert (tables[0].counts == tables[1].counts).all()
    assert (tables[0].source, tables[0].sha256) == ("the data frame", "")
    with pytest.raises(ValueError, match=r"'S' is not in the data frame; .* Did you mean 's'\?"):
        count_records(frame, ["S"])
    with pytest.raises(ValueError, match="The records are list; they must be the path of a file, or a data"):
        count_records([("a", "b")], ["s"])


def test_quotes_commas_line_ends_and_what_pandas_takes_for_missing_are_part_of_a_value(tmp_path):
    path = tmp_path / "in.csv"
    values = ["a\nb", "1,2", 'c "d"', "01", "1", "1.0", "é", "None or so", "TRUE"]
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["s"], *([value] for value in values)])
    assert {label for (label,) in count_records(path, ["s"]).rows} == set(values)


def test_records_and_their_counts_give_the_same_table(tmp_path, table):
    write_records(tmp_path / "in.csv", table, records_of(table))
    found = count_records(tmp_path / "in.csv", table.sensitive, table.useful)
    assert found.labels == tuple(
        (s, u, a) for s in ("no", "yes") for u in ("north", "south") for a in ("old", "young")
    )
    rows = [",".join(map(str, (*label, n))) for label, n in zip(table.labels, table.counts.flat, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["illness,region,age,n", *rows]) + "\n")
    again = count_records(tmp_path / "t.csv", table.sensitive, table.useful, count="n")
    assert (again.counts == found.counts).all()
    assert found.sha256 == hashlib.sha256((tmp_path / "in.csv").read_bytes()).hexdigest()


def test_parquet_files_are_read_as_csv_files_are(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    path = tmp_path / "in.parquet"
    columns = {"s": ["a", "b", "a", None], "u": pyarrow.array([1, 2, 1, 2]), "x": [0.5, 1.0, 0.5, math.nan]}
    parquet.write_table(pyarrow.table(columns), path)
    found = count_records(path, ["s"], ["u", "x"], missing="unknown")
    assert found.rows == (("a",), ("b",), ("unknown",))
    assert found.columns == tuple((u, x) for u in "12" for x in ("0.5", "1.0", "unknown"))
    for file in (path, written(tmp_path / "in.csv")):
        (chunk,) = read_chunks(file, ["u"], patterns=["[st]*", "u"])
        assert (list(chunk), len(chunk)) == (["u", "s"], 4)
        with pytest.raises(ValueError, match=r"No column of .* is called 'A\*'"):
            next(read_chunks(file, ["u"], patterns=["A*"]))
    with pytest.raises(ValueError, match=r"'S' is not in .*in\.parquet; .*Did you mean 's'\?"):
        count_records(path, ["S"])
    parquet.write_table(pyarrow.table({"s": [["a"], ["b"]]}), path)
    with pytest.raises(ValueError, match=r"The column 's' of .* is of type list<"):
        count_records(path, ["s"])
    parquet.write_table(pyarrow.table({"s": pyarrow.array([], pyarrow.string())}), path)
    with pytest.raises(ValueError, match="has no records"):
        count_records(path, ["s"])
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match="is not a Parquet file that can be read"):
        count_records(path, ["s"])


def test_values_of_a_dictionary_have_its_order_and_numbers_theirs(tmp_path):
    """Also if it has values that nobody gave, and through groups and names of missing values."""
    pytest.importorskip("pyarrow")
    answers = pd.Categorical(["low", "high", None, "middle"] * 5, ["never", "low", "middle", "high"])
    frame = pd.DataFrame({"s": ["10", "9", "x", "-1"] * 5, "u": answers})
    for ordered in (True, False):
        frame["u"] = frame["u"].cat.set_categories(frame["u"].cat.categories, ordered=ordered)
        frame.to_parquet(tmp_path / "in.parquet", row_group_size=3)
        found = count_records(tmp_path / "in.parquet", ["s"], ["u"], missing="unknown")
        assert found.columns == (("low",), ("middle",), ("high",), ("unknown",))
        assert found.rows == (("-1",), ("9",), ("10",), ("x",))
        assert found.counts.tolist() == [[0, 5, 0, 0], [0, 0, 5, 0], [5, 0, 0, 0], [0, 0, 0, 5]]
        asked = questions_of_records(tmp_path / "in.parquet", ["s", "u"], missing="unknown")
        assert asked.answers == tuple(tuple(v for (v,) in labels) for labels in (found.rows, found.columns))
    frame.to_csv(tmp_path / "in.csv", index=False)
    found = count_records(tmp_path / "in.csv", ["s"], ["u"], missing="unknown")
    assert found.columns == (("high",), ("low",), ("middle",), ("unknown",))


def test_the_three_headers_of_qualtrics_are_no_answers(tmp_path):
    path = tmp_path / "in.csv"
    lines = ["Start,s,u", 'Start Date,Are you?,"Where,\nnow?"', '"{""ImportId"":""Q1""}","{}","{}"']
    path.write_text("\n".join([*lines, "1,a,x", "2,b,y", ""]), encoding="utf-8")
    assert counts_of(path) == [[1, 0], [0, 1]]
    assert [chunk.index.tolist() for chunk in read_chunks(path, ["s"])] == [[1, 2]]


def given(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_standard_input_is_read_once(tmp_path, monkeypatch, private, table):
    given(monkeypatch, written(tmp_path / "in.csv", ";").read_bytes())
    found = count_records("-", ["s"], ["u"])
    assert found.counts.tolist() == [[1, 1], [2, 0]]
    assert (found.source, found.sha256) == ("the standard input", "")
    rows = "".join(",".join(record) + "\n" for record in records_of(table))
    given(monkeypatch, ("illness,region,age\n" + rows).encode())
    assert privatize_file(private, "-", tmp_path / "out.csv").records == table.records
    for data, sentence in [
        (b"", "the standard input is empty"),
        (b"PAR1", "cannot be read from a pipe"),
        (b"s,v\na,b\n", "The column 'u' is not in the standard input"),
    ]:
        given(monkeypatch, data)
        with pytest.raises(ValueError, match=sentence):
            count_records("-", ["s"], ["u"])
    with pytest.raises(ValueError, match="the standard input can be read only once"):
        count_records("-", ["s"], ["age"], bins={"age": 2})
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="The standard input is closed"):
        count_records("-", ["s"], ["u"])


def test_chunks_lose_nothing_and_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "in.csv"

    def peak(rows):
        path.write_text("s,u\n" + "".join(f"{i % 2},{i}\n" for i in range(rows)))
        tracemalloc.start()
        found = [(len(chunk), chunk.index[0], chunk["u"].iloc[-1]) for chunk in read_chunks(path, ["u"])]
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sum(size for size, *_ in found) == rows
        assert [first for _, first, _ in found] == [
            1 + sum(s for s, *_ in found[:i]) for i in range(len(found))
        ]
        assert found[-1][2] == str(rows - 1)
        return most

    assert peak(5 * CHUNK) < 1.3 * peak(2 * CHUNK)


# What is refused ------------------------------------------------------------------------------------------

#: As people.csv, with the columns illness, region and age: content, and a part of the sentence.
BAD_RECORDS = {
    "nothing": (b"", "is empty"),
    "a header alone": (b"illness,region,age\n", "has no records"),
    "UTF-16": ("illness,region,age\nno,north,old\n".encode("utf-16"), "is a text in UTF-16, and"),
    "UTF-16 without a mark": (
        "illness,region,age\nno,north,old\n".encode("utf-16-le"),
        "is no text in UTF-8, and no Parquet file",
    ),
    "Latin-1 header": (
        "illness,région,age\nno,n,o\n".encode("latin-1"),
        "The header of people.csv is not UTF-8",
    ),
    "Latin-1 later": (
        b"illness,region,age\n" + b"no,north,old\n" * 50 + "no,südlich,old\n".encode("latin-1"),
        "Record 51 of people.csv is not UTF-8: it has the byte 0xfc in the column 'region'",
    ),
    "a sheet": (b"PK\x03\x04" + bytes(range(1, 99)), "is a spreadsheet, such as .xlsx"),
    "an old sheet": (b"\xd0\xcf\x11\xe0" + bytes(99), "is an old spreadsheet, such as .xls"),
    "packed": (
        b"\x1f\x8b" + bytes(range(1, 99)),
        "is packed by gzip, and no text in UTF-8; unpack it: gunzip",
    ),
    "JSON": (b'[{"illness": "no", "region": "north", "age": "old"}]', "is not in people.csv; its columns"),
    "too few fields": (b"illness,region,age\nno,north,old\nno,north\n", "Record 2 of people.csv has 2"),
    "an empty last field": (b"illness,region,age\nno,north,\n", "has '' as age"),
    "too many fields": (b"illness;region;age\nno;north;old;x\n", "Record 1 of people.csv has 4 fields; its"),
    "too many later": (
        b"illness,region,age\n" + b"no,north,old\n\n" * 20000 + b"a,b,c,d\n",
        "Record 20001 of people.csv has 4 fields; its header has 3",
    ),
    "an open quote": (b'illness,region,age\nno,"north,old\n', "Record 1 of people.csv cannot be read as CSV"),
    "a letter after a quote": (
        b"illness,region,age\n" + b"no,north,old\n" * 50 + b'no,"north"x,old\n',
        "Record 51 of people.csv cannot be read as CSV: ',' expected after '\"' (line 52 of the file)",
    ),
    "spaces in the header": (b" illness ; region;age\nno;north;old\n", "Did you mean ' illness '?"),
    "no age": (b"illness,region\nno,north\n", "The column 'age' is not in people.csv"),
    "age twice": (b"illness,region,age,age\nno,north,old,old\n", "The column 'age' is twice in people.csv"),
    "capital letters": (b"illness,region,Age\nno,north,old\n", "Did you mean 'Age'?"),
    "NaN": (b"illness,region,age\nno,north,NaN\nyes,north,old\n", "has 'NaN' as age"),
    "a second header": (
        b"illness,region,age\n,Response,Open-Ended Response\nno,north,old\n",
        "looks like the second line of a header, as SurveyMonkey writes it",
    ),
}


@pytest.mark.parametrize("which", BAD_RECORDS)
def test_records_that_cannot_be_read_get_a_sentence_and_leave_every_file(here, capsys, which):
    data, sentence = BAD_RECORDS[which]
    (here / "people.csv").write_bytes(data)
    if which == "NaN" or which == "an empty last field":
        sentence = sentence.replace("has ", "").partition(" as")[0]
    words = [*RECORDS, "people.csv", "--useful", "region", "age"]
    for command in (words, APPLY):
        refused(here, capsys, command, sentence)


COUNTS = ["1,5", "32,000", "1.000", "-3", "1e3", "16.5", "0x10", "٣"]


@pytest.mark.parametrize("count", [*COUNTS, "", "many", "9" * 16, "9" * 5000])
def test_counts_are_whole_numbers_without_separators(here, capsys, count):
    assert as_whole(count) is None or count == "1.000"
    if count == "1.000":
        return  # a measurement of 1
    (here / "table.csv").write_text(
        f'illness,region,count\nyes,south,3\nno,north,"{count}"\n', encoding="utf-8"
    )
    refused(here, capsys, [*TABLE, "table.csv"], "Row 2 of table.csv has the count")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("no,north,3\nno,south,4\n", "illness has the single value 'no'"),
        ("no,north,1\nyes,south,0\n", "All records are equal"),
        ("no,north,0\nyes,south,0\n", "table.csv contains no records"),
        ("".join(f"{i},{i},1\n" for i in range(32)), "have 32 x 32 = 1,024 combinations"),
        ("no,a,999999999999999\nyes,a,1\n" * 10_000, "2^53 at most together"),
    ],
)
def test_tables_that_say_too_little_or_too_much_are_refused(here, capsys, rows, sentence):
    (here / "table.csv").write_text("illness,region,count\n" + rows)
    refused(here, capsys, [*TABLE, "table.csv"], sentence)


@pytest.mark.parametrize(
    "text", ["report\ny1\ny99\n", "report\n1\n", "report\nY1\n", 'report\n""\n', "report\n", "y1\n"]
)
def test_what_is_no_report_is_refused(here, capsys, text):
    (here / "reports.csv").write_text(text)
    refused(here, capsys, [*ESTIMATE, "--out", "e.csv", "--picture", "e.svg"], "reports.csv")


# Numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1.5", 1.5, None),
        (" -2 ", -2.0, -2.0),
        ("1,5", None, 1.5),
        (".5e1", 5.0, None),
        ("1,250", None, 1.25),
        ("1.234,5", None, None),
        ("1e400", None, None),
        ("nan", None, None),
        ("1_0", None, None),
        ("", None, None),
    ],
)
def test_decimals_follow_a_point_or_a_comma_and_not_either(text, point, comma):
    assert (as_number(text), as_number(text, ",")) == (point, comma)


def test_groups_of_decimal_commas(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(
        "s;length\n" + "".join(f"{s};{x}\n" for s in "ab" for x in ("0,125", "1,5", "7", "1250,500"))
    )
    with pytest.raises(
        ValueError, match=r"'0,125' as its length, .* decimal point \(or a comma with --decimal ,\)"
    ):
        count_records(path, ["s"], ["length"], bins={"length": 2})
    for bins, labels in ((2, ("(-inf,7)", "[7,inf)")), ([1.25], ("(-inf,1.25)", "[1.25,inf)"))):
        found = count_records(path, ["s"], ["length"], bins={"length": bins}, decimal=",")
        assert found.columns == tuple((label,) for label in labels)
    private = channel_of(found, "grr")
    assert privatize_file(private, path, tmp_path / "out.csv", decimal=",").designed_from
    with pytest.raises(ValueError, match="with --decimal ,"):
        privatize_file(private, path, tmp_path / "none.csv")
