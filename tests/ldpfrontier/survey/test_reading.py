"""Tables as people have them: separators, quotation marks, Parquet, the standard input, groups, hints."""

import hashlib
import io
import math
import sys

import numpy as np
import pytest

from ldpfrontier.survey import CountTable, count_records, privatize_file, read_count_table
from ldpfrontier.survey.binning import Groups, interval_start, translations_for
from ldpfrontier.survey.cli import main
from support.owndata import channel_of, records_of

RECORDS = [("a", "x", "1"), ("a", "y", "2"), ("b", "x", "3"), ("b", "x", "4")]


def written(path, separator=",", quote="", end="\n", start=""):
    rows = [("s", "u", "age"), *RECORDS]
    text = end.join(separator.join(f"{quote}{value}{quote}" for value in row) for row in rows)
    path.write_bytes((start + text + end).encode())
    return path


def counts_of(path, **more):
    return count_records(path, ["s"], ["u"], **more).counts.tolist()


# What is recognised ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_separators_and_quotation_marks_are_recognised(tmp_path, separator, quote):
    assert counts_of(written(tmp_path / "in.csv", separator, quote)) == [[1, 1], [2, 0]]
    excel = written(tmp_path / "in.csv", separator, quote, "\r\n", "\ufeff")
    assert counts_of(excel) == [[1, 1], [2, 0]]


def test_a_separator_is_recognised_by_the_columns_that_are_asked_for(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("name, given;s;u\nDoe, J.;a;x\nRoe, R.;b;y\n", encoding="utf-8")
    assert counts_of(path) == [[1, 0], [0, 1]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", "#"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["sep={}", "\ufeffsep={}", '"sep={}"'])
def test_a_first_line_for_excel_says_the_separator(tmp_path, separator, end, start):
    path = written(tmp_path / "in.csv", separator, '"', end, start.format(separator) + end)
    found = count_records(path, ["s"], ["u"])
    assert found.counts.tolist() == [[1, 1], [2, 0]]
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    path = written(tmp_path / "in.csv", ",", "", end, "sep=;" + end)
    with pytest.raises(ValueError, match=r"The column 's' is not in .*in\.csv; its columns are s,u,age\."):
        counts_of(path)
    path.write_text(f"sep={separator}{end}s{separator}u{end}a{separator}b{separator}c{end}", newline="")
    with pytest.raises(ValueError, match=r"Record 1 of .* has 3 fields; its header has 2"):
        counts_of(path)


def test_parquet_files_are_read_as_csv_files_are(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    columns = {"s": ["a", "b", "a", None], "u": pyarrow.array([1, 2, 1, 2]), "x": [0.5, 1.0, 0.5, math.nan]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "in.parquet")
    found = count_records(tmp_path / "in.parquet", ["s"], ["u", "x"], missing="unknown")
    assert found.rows == (("a",), ("b",), ("unknown",))
    assert found.columns == tuple((u, x) for u in "12" for x in ("0.5", "1.0", "unknown"))
    assert found.sha256 == hashlib.sha256((tmp_path / "in.parquet").read_bytes()).hexdigest()
    with pytest.raises(
        ValueError, match=r"'S' is not in .*in\.parquet; its columns are s, u, x\. Did you mean 's'\?"
    ):
        count_records(tmp_path / "in.parquet", ["S"])
    parquet.write_table(pyarrow.table({"s": [["a"], ["b"]]}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match=r"The column 's' of .* is of type list<.*values must be texts"):
        count_records(tmp_path / "in.parquet", ["s"])
    parquet.write_table(pyarrow.table({"s": pyarrow.array([], pyarrow.string())}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match="has no records"):
        count_records(tmp_path / "in.parquet", ["s"])


def test_without_pyarrow_a_parquet_file_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "in.csv").write_bytes(b"PAR1")
    words = ["--sensitive", "s", "--epsilon", "1", "--out", str(tmp_path / "c.json")]
    assert main(["design", "--data", str(tmp_path / "in.csv"), *words]) == 2
    assert "pyarrow is not installed; pip install pyarrow brings it" in capsys.readouterr().err


def given(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_standard_input_is_read_once_and_hashed(tmp_path, monkeypatch):
    path = written(tmp_path / "in.csv", ";")
    given(monkeypatch, path.read_bytes())
    found = count_records("-", ["s"], ["u"])
    assert found.counts.tolist() == [[1, 1], [2, 0]]
    assert (found.source, found.sha256) == (
        "the standard input",
        hashlib.sha256(path.read_bytes()).hexdigest(),
    )
    for data, sentence in [
        (b"", "the standard input is empty; a row of column names is needed"),
        (b"PAR1", "The standard input is a Parquet file, which cannot be read from a pipe"),
        (b"s,v\na,b\n", "The column 'u' is not in the standard input; its columns are s, v"),
    ]:
        given(monkeypatch, data)
        with pytest.raises(ValueError, match=sentence):
            count_records("-", ["s"], ["u"])
    with pytest.raises(
        ValueError, match="the standard input can be read only once; state where the groups begin"
    ):
        count_records("-", ["s"], ["age"], bins={"age": 2})
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="The standard input is closed"):
        count_records("-", ["s"], ["u"])


def test_records_from_the_standard_input_are_privatized(tmp_path, monkeypatch, private, table):
    rows = "".join(",".join(record) + "\n" for record in records_of(table))
    given(monkeypatch, ("illness,region,age\n" + rows).encode())
    assert privatize_file(private, "-", tmp_path / "out.csv").records == table.records


# What is close --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "S,u,count\na,x,1\n",
            r"The column 's' is not in .*; its columns are S, u, count\. Did you mean 'S'\?",
        ),
        ("s, u,count\na,x,1\n", r"The column 'u' is not in .*Did you mean ' u'\?"),
        ("s,u,Freq\na,x,1\n", r"'count' is not in .*Did you mean 'Freq', as in --count Freq\?"),
        ('[{"s": "a", "u": "x", "count": 3}]', "is JSON, not a table; CSV and Parquet files are read"),
        ('{\n"s": ["a", "b"]}', "is JSON, not a table; CSV and Parquet files are read"),
        ("<!DOCTYPE html>\n<p>", r"is a page \(HTML or XML\), not a table; CSV and Parquet are read"),
        (
            "s,north,south,west\na,1,2,3\nb,4,5,6\n",
            r"The column 'u' is not in .*, whose columns 'north', 'south', 'west' have whole numbers: it"
            r" looks like a cross table.*with the columns s, u, count; pandas\.melt",
        ),
    ],
)
def test_what_is_nearly_right_gets_a_question(tmp_path, text, sentence):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        read_count_table(tmp_path / "t.csv", ["s"], ["u"])


def test_a_cross_table_is_recognised_whatever_the_counts_are_called(tmp_path):
    (tmp_path / "t.csv").write_text("s,north,south\na,1,2\nb,4,5\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"it looks like a cross table.*with the columns s, u, Freq; pandas"):
        read_count_table(tmp_path / "t.csv", ["s"], ["u"], count="Freq")


def test_a_value_that_is_nearly_known_gets_a_question(tmp_path, private):
    (tmp_path / "in.csv").write_text("illness,region,age\nno,North,old\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"accepts 'north', 'south'\. Did you mean 'north'\?"):
        privatize_file(private, tmp_path / "in.csv", tmp_path / "out.csv")


def count_of(path, count):
    path.write_text(f's,u,count\na,x,"{count}"\nb,x,1\n', encoding="utf-8")
    return int(read_count_table(path, ["s"], ["u"]).counts[0, 0])


@pytest.mark.parametrize("count", ["16.0", "16.", "16.00", "16.000000", " 16 "])
def test_counts_may_be_written_as_measurements(tmp_path, count):
    assert count_of(tmp_path / "t.csv", count) == 16


@pytest.mark.parametrize(
    ("count", "number"),
    [
        ("32,000", 32_000),
        ("1,234,567", 1_234_567),
        ("32 000", 32_000),
        ("32\u202f000", 32_000),
        ("32'000", 32_000),
        ("1’234’567", 1_234_567),
        ("1.234.567", 1_234_567),
        ("123,456,789,012,345", 123_456_789_012_345),
    ],
)
def test_thousands_of_counts_may_be_set_apart(tmp_path, count, number):
    assert count_of(tmp_path / "t.csv", count) == number


@pytest.mark.parametrize("count", ["32.000", "1.250", "999.999"])
def test_a_point_of_a_count_that_may_be_of_decimals_or_of_thousands_is_refused(tmp_path, count):
    with pytest.raises(
        ValueError, match=f"Row 1 of .* has the count '{count}', whose point may be a decimal point"
    ):
        count_of(tmp_path / "t.csv", count)


@pytest.mark.parametrize(
    "count", ["0,875", "32,00", "1,2345", "32,000.5", "1,234 567", "1'234,567", "1,000,000,000,000,000"]
)
def test_what_is_no_count_in_thousands_is_refused(tmp_path, count):
    with pytest.raises(
        ValueError, match=r"counts must be whole numbers, 0 or more, of at most 15 digits; only"
    ):
        count_of(tmp_path / "t.csv", count)


def test_too_many_values_are_refused_before_the_rest_is_read(tmp_path):
    seen = []
    rows = "".join(f"{i},a\n" for i in range(100_000))
    (tmp_path / "in.csv").write_text(f"s,u\n{rows}", encoding="utf-8")
    with pytest.raises(ValueError, match="more than 1000 combinations"):
        count_records(tmp_path / "in.csv", ["s"], ["u"], progress=seen.append)
    assert seen == []


# Missing values and groups --------------------------------------------------------------------------------


def test_missing_values_become_a_value(tmp_path):
    (tmp_path / "in.csv").write_text("s,u\na,x\n,x\nNaN,x\nNA, \n", encoding="utf-8")
    sentence = r"A record of .* has '' as s, .* more such value; missing values must .* \(--missing unknown\)"
    with pytest.raises(ValueError, match=sentence):
        counts_of(tmp_path / "in.csv")
    found = count_records(tmp_path / "in.csv", ["s"], ["u"], missing="unknown")
    assert found.rows == (("a",), ("unknown",))
    assert found.columns == (("unknown",), ("x",))
    assert found.counts.tolist() == [[0, 1], [1, 2]]


def test_numbers_are_put_into_groups(tmp_path):
    ages = [3, 18, 17.5, 40, 64.9, 65, 200, -1]
    (tmp_path / "in.csv").write_text("s,age\n" + "".join(f"a,{age}\nb,{age}\n" for age in ages))
    found = count_records(tmp_path / "in.csv", ["s"], ["age"], bins={"age": [18, 40, 65]})
    assert found.columns == (("(-inf,18)",), ("[18,40)",), ("[40,65)",), ("[65,inf)",))
    assert found.counts.tolist() == [[3, 1, 2, 2]] * 2
    found = count_records(tmp_path / "in.csv", ["s"], ["age"], bins={"age": 4})
    assert found.columns == (("(-inf,17.5)",), ("[17.5,40)",), ("[40,65)",), ("[65,inf)",))
    assert found.counts.tolist() == [[2] * 4] * 2


def test_numbers_may_have_decimal_commas(tmp_path):
    path = tmp_path / "in.csv"
    lengths = ["1,5", "0,125", "10,25", "7", "3.5", "-2,0", "1250,500", "4,1234"]
    path.write_text("s;length\n" + "".join(f"a;{length}\nb;{length}\n" for length in lengths))
    found = count_records(path, ["s"], ["length"], bins={"length": [0, 3.5, 10.25, 1250.5]})
    assert found.columns == (
        ("(-inf,0)",),
        ("[0,3.5)",),
        ("[3.5,10.25)",),
        ("[10.25,1250.5)",),
        ("[1250.5,inf)",),
    )
    assert found.counts.tolist() == [[1, 2, 3, 1, 1]] * 2
    halves = count_records(path, ["s"], ["length"], bins={"length": 2})
    assert halves.columns == (("(-inf,4.1234)",), ("[4.1234,inf)",))
    private = channel_of(found, "grr")
    assert privatize_file(private, path, tmp_path / "out.csv").designed_from


@pytest.mark.parametrize("value", ["1,250", "-12,000", "999,999"])
def test_a_comma_that_may_be_of_decimals_or_of_thousands_is_refused(tmp_path, value):
    path, good = tmp_path / "in.csv", tmp_path / "good.csv"
    path.write_text(f"s;x\na;0,5\nb;{value}\n")
    before, after = value.split(",")
    meant = rf"it may mean {before}{after} or {before}\.{after}; decimals must follow a point\."
    sentence = f"has '{value}' as its x, whose values are put into groups; {meant}"
    for bins in (2, [1.0]):
        with pytest.raises(ValueError, match=sentence):
            count_records(path, ["s"], ["x"], bins={"x": bins})
    good.write_text("s;x\na;0,5\nb;2,5\n")
    private = channel_of(count_records(good, ["s"], ["x"], bins={"x": [1.0]}), "grr")
    with pytest.raises(ValueError, match=sentence):
        privatize_file(private, path, tmp_path / "out.csv")
    for text in ("1.234,5", "1,234.5", "3,5,7", "3,", "1,234,567"):
        path.write_text(f"s;x\na;0,5\nb;{text}\n")
        with pytest.raises(ValueError, match=r"they must be finite numbers with a decimal point or comma"):
            count_records(path, ["s"], ["x"], bins={"x": 2})


def test_groups_have_about_as_many_records_each(tmp_path):
    rng = np.random.default_rng(0)
    incomes = np.round(rng.lognormal(10, 1, 5000), 2)
    path = tmp_path / "in.csv"
    path.write_text("s,income\n" + "".join(f"{i % 2},{x}\n" for i, x in enumerate(incomes)))
    counts = count_records(path, ["s"], ["income"], bins={"income": 7}).counts.sum(axis=0)
    assert counts.size == 7
    assert counts.max() - counts.min() <= 2
    path.write_text("s,n,count\n" + "".join(f"{s},{n},{10 ** (6 - n)}\n" for s in "ab" for n in range(6)))
    found = read_count_table(path, ["s"], ["n"], bins={"n": 3})
    assert found.columns == (("(-inf,1)",), ("[1,inf)",))  # most are 0
    path.write_text("s,n\na,1\nb,1\n")
    with pytest.raises(
        ValueError, match="has fewer than two numbers in the column n; at least two are needed"
    ):
        count_records(path, ["s"], ["n"], bins={"n": 3})


def test_a_channel_puts_numbers_into_its_own_groups(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("s,age\n" + "".join(f"{'ab'[i % 2]},{i}\n" for i in range(100)) + "a,NA\nb,\n")
    table = count_records(path, ["s"], ["age"], missing="unknown", bins={"age": 3})
    assert table.columns == (("(-inf,33)",), ("[33,66)",), ("[66,inf)",), ("unknown",))
    private = channel_of(table, "grr")
    done = privatize_file(private, path, tmp_path / "out.csv", keep=("age",), missing="unknown")
    assert done.designed_from
    with open(tmp_path / "out.csv", encoding="utf-8") as stream:
        assert [line.partition(",")[0] for line in stream][:3] == ["age", "0", "1"]
    with pytest.raises(ValueError, match=r"Record 101 of .* has 'NA' as age; missing values must be left"):
        privatize_file(private, path, tmp_path / "out.csv")
    path.write_text('s,age\na,1000000\nb,"[33,66)"\na,-5.5\nb,unknown\n')
    assert privatize_file(private, path, tmp_path / "out.csv").records == 4
    path.write_text("s,age\na,many\n")
    with pytest.raises(
        ValueError, match=r"Record 1 of .* has 'many' as its age; the channel accepts '\(-inf,33\)'"
    ):
        privatize_file(private, path, tmp_path / "out.csv")


def test_labels_that_only_look_like_intervals_are_left_alone():
    assert [interval_start(text) for text in ("(-inf,3)", "[3,4.5)", "[-1e3,inf)")] == [
        -math.inf,
        3.0,
        -1000.0,
    ]
    for text in ("(-inf,inf)", "[3,4]", "(3,4)", "[a,b)", "[3,4,5)", "3", ""):
        assert interval_start(text) is None
    # No interval of numbers below 3: these are names.
    assert translations_for("in.csv", ["u"], [("[3,4)",), ("[4,inf)",)]) == {}
    assert translations_for("in.csv", ["u"], [("(-inf,3)",), ("[4,inf)",)]) == {}
    assert list(translations_for("in.csv", ["u"], [("(-inf,4)",), ("[4,inf)",)])) == ["u"]


# Records that are counts ----------------------------------------------------------------------------------


def remarks_on(path, useful=("u",)):
    said = []
    count_records(path, ["s"], useful, remark=said.append)
    return said


TABLES_OF_COUNTS = {
    "as R writes it": (
        "rownames,s,u,sex,Freq\n1,a,x,m,7\n2,a,x,f,8\n3,b,x,m,0\n4,b,y,f,1\n",
        " --count Freq",
    ),
    "the usual name": ("s;u;count\na;x;7\nb;x;1,250\n", ""),
    "one column": ("s,N\na,7\nb,8\nc,7\n", " --count N"),
    "16.0": ("s,u,n\na,x,16.0\nb,x,2.0\n", " --count n"),
    "a name with a space": ("s,u, Freq\na,x,16\nb,x,2\n", " --count ' Freq'"),
}


@pytest.mark.parametrize("name", TABLES_OF_COUNTS)
def test_a_table_of_counts_that_is_given_as_records_gets_a_remark(tmp_path, name):
    text, option = TABLES_OF_COUNTS[name]
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    useful = () if name == "one column" else ("u",)
    (said,) = remarks_on(path, useful)
    assert said.startswith(f"{path} looks like a table of counts: the column ")
    assert said.endswith(f"--table {path}{option} in the place of --data reads the counts.")
    count = option.split("--count ")[-1].strip("'") if option else "count"
    assert read_count_table(path, ["s"], useful, count=count).records > 2


RECORDS_WITH_NUMBERS = {
    "persons": "id,s,u,n\n1,a,x,7\n2,a,x,7\n3,b,x,1\n",
    "no whole numbers": "s,u,n\na,x,7.5\nb,x,1\n",
    "another name": "s,u,age\na,x,7\nb,x,1\n",
    "alike": "s,u,n\na,x,7\na,x,6\nb,x,1\n",
    "one": "s,u,n\na,x,7\na,x,7\nb,x,1\n",
}


@pytest.mark.parametrize("name", RECORDS_WITH_NUMBERS)
def test_records_with_whole_numbers_get_none(tmp_path, name):
    (tmp_path / "in.csv").write_text(RECORDS_WITH_NUMBERS[name], encoding="utf-8")
    assert remarks_on(tmp_path / "in.csv") == []


def test_a_column_of_counts_that_is_asked_for_gets_none(tmp_path):
    (tmp_path / "in.csv").write_text("s,n\na,1\nb,2\n", encoding="utf-8")
    assert remarks_on(tmp_path / "in.csv", ("n",)) == []


def test_a_parquet_file_of_counts_gets_a_remark_and_the_command_prints_it(tmp_path, monkeypatch, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    monkeypatch.chdir(tmp_path)
    parquet.write_table(pyarrow.table({"s": ["a", "b"], "u": ["x", "x"], "Freq": [16.0, 2.0]}), "t.parquet")
    words = ["--sensitive", "s", "--useful", "u", "--epsilon", "1", "--mechanism", "grr"]
    assert main(["design", "--data", "t.parquet", *words]) == 0
    warned = capsys.readouterr().err
    assert "ldp-frontier: warning: t.parquet looks like a table of counts: the column 'Freq'" in warned
    assert main(["design", "--table", "t.parquet", "--count", "Freq", *words, "--force"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("edges", [[], [1.0, 1.0], [2.0, 1.0], [math.nan], [0.0, math.inf], ["a"], [None]])
def test_edges_that_are_none_get_a_sentence(edges):
    sentence = "they must begin at one or more numbers|The beginning of a group of 'age' is .*number"
    with pytest.raises(ValueError, match=sentence):
        Groups("in.csv", "age", edges)


@pytest.mark.parametrize("bins", [5, ["age=5"], {"age": None}, {"age": "5"}, {"age": 1}, {"age": [None]}])
def test_groups_that_are_none_get_a_sentence(tmp_path, bins):
    path = written(tmp_path / "in.csv")
    with pytest.raises(ValueError, match=r"must be a mapping|must be a whole number from 2|must be a finite"):
        count_records(path, ["s"], ["age"], bins=bins)


def test_a_column_of_many_numbers_gets_a_hint(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'ab'[i % 2]},{i % 43 / 10}\n" for i in range(430))
    (tmp_path / "in.csv").write_text(f"s,petal length\n{rows}")
    design = ["design", "--data", "in.csv", "--sensitive", "s", "--useful", "petal length", "--epsilon", "1"]
    assert main([*design, "--mechanism", "grr"]) == 0
    hint = "warning: 43 values of petal length are numbers: --bins 'petal length=5' makes 5 groups of them."
    assert hint in capsys.readouterr().err
    assert main([*design, "--mechanism", "grr", "--bins", "petal length=5", "--force"]) == 0
    said = capsys.readouterr()
    assert "warning" not in said.err
    assert "2 values of s, 5 of petal length" in said.out
    assert CountTable(("s",), (), (("a",), ("b",)), ((),), np.array([[1], [2]])).hints == ()
    (tmp_path / "in.csv").write_text(f"s,u\n{rows}a,\nb,\na,\n")
    with pytest.raises(ValueError, match=r"2 records of .* have '' as u; missing values|3 records of"):
        count_records(tmp_path / "in.csv", ["s"], ["u"])
    # One value is a name, as that of missing ones is.
    hints = count_records(tmp_path / "in.csv", ["s"], ["u"], missing="unknown").hints
    assert hints == ("43 values of u are numbers: --bins u=5 makes 5 groups of them.",)


def test_combinations_without_a_record_can_be_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("a,b,c\n1,0,0\n0,1,0\n0,0,1\n1,1,0\n0,0,0\n")
    (tmp_path / "new.csv").write_text("a,b,c\n1,1,1\n0,1,1\n")
    for useful in [[], ["--useful", "c"]]:
        sensitive = ["a", "b"] if useful else ["a", "b", "c"]
        out = f"{len(useful)}.json"
        command = ["design", "--data", "in.csv", "--sensitive", *sensitive, *useful, "--epsilon", "1"]
        assert main([*command, "--against", "anyone", "--out", out]) == 0
        assert "3 of 8 combinations of a, b, c have no record: '0, 1, 1'; '1," in capsys.readouterr().err
        assert main(["apply", "--channel", out, "--data", "new.csv", "--out", f"{out}.csv"]) == 0
    values = "\n".join(f"{i},{i},{i % 2}" for i in range(30))
    (tmp_path / "in.csv").write_text(f"a,b,c\n{values}\n")
    assert main([*command, "--out", "many.json"]) == 2
    assert "have 30 x 30 x 2 = 1,800 combinations" in capsys.readouterr().err
