"""CSV files of records and of counts: what is read, and a sentence for everything that cannot be."""

import csv
import hashlib
import tracemalloc

import numpy as np
import pytest

from ldpfrontier.survey import CountTable, count_records, read_count_table
from ldpfrontier.survey.counts import Codes
from ldpfrontier.survey.records import read_chunks
from support.owndata import records_of, write_records


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def counted(path, text):
    return count_records(write(path / "in.csv", text), ["s"], ["u"])


# What is read ---------------------------------------------------------------------------------------------


def test_records_are_counted(tmp_path, table):
    path = tmp_path / "people.csv"
    write_records(path, table, records_of(table))
    found = count_records(path, ["illness"], ["region", "age"])
    assert (found.sensitive, found.useful) == (table.sensitive, table.useful)
    # The combination without a record comes last.
    assert (found.rows, found.columns) == (table.rows, (*table.columns, ("south", "young")))
    assert (found.counts == np.pad(table.counts, ((0, 0), (0, 1)))).all()
    assert (found.source, found.records) == ("people.csv", 1340)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.labels[5] == ("yes", "north", "young")
    assert found.distribution[0, 0] == 260 / 1340


def test_without_useful_columns_all_of_a_record_is_sensitive(tmp_path, table):
    write_records(tmp_path / "people.csv", table, records_of(table))
    found = count_records(tmp_path / "people.csv", ["region", "age"])
    assert found.labels == (("north", "old"), ("north", "young"), ("south", "old"), ("south", "young"))
    assert found.counts.tolist() == [[330], [340], [670], [0]]


def test_quotes_commas_line_ends_and_marks_are_part_of_a_value(tmp_path):
    text = '\ufeffs,"u, ""x"""\r\n"a\nb","1,2"\r\n\r\na,"say ""hi"""\r\n"a\nb", é \r\n'
    path = write(tmp_path / "in.csv", text)
    found = count_records(path, ["s"], ['u, "x"'])
    assert found.rows == (("a",), ("a\nb",))
    assert found.columns == ((" é ",), ("1,2",), ('say "hi"',))
    assert found.counts.tolist() == [[0, 0, 1], [1, 1, 0]]


def test_values_are_texts(tmp_path):
    found = counted(tmp_path, "s,u\n1,01\n1.0,1\nna 1,1\ntrue,1\n")
    assert found.rows == (("1",), ("1.0",), ("na 1",), ("true",))
    assert found.columns == (("01",), ("1",))


def test_counts_are_read_and_added_up(tmp_path):
    text = "year,s,u,count\n1,a,x,3\n2,a,x,4\n1,b,x,5\n1,b,y,0\n1,c,y,0\n"
    found = read_count_table(write(tmp_path / "t.csv", text), ["s"], ["u"])
    assert found.rows == (("a",), ("b",), ("c",))
    assert found.counts.tolist() == [[7, 0], [5, 0], [0, 0]]
    other = read_count_table(write(tmp_path / "t.csv", text.replace("count", "n")), ["s"], ["u"], count="n")
    assert (other.counts == found.counts).all()


def test_records_and_their_counts_give_the_same_table(tmp_path, table):
    write_records(tmp_path / "r.csv", table, records_of(table))
    with open(tmp_path / "t.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*table.attributes, "count"])
        flat = table.counts.ravel().tolist()
        writer.writerows([*label, n] for label, n in zip(table.labels, flat, strict=True))
    records = count_records(tmp_path / "r.csv", table.sensitive, table.useful)
    counts = read_count_table(tmp_path / "t.csv", table.sensitive, table.useful)
    assert (records.counts == counts.counts).all()
    assert records.labels == counts.labels


def test_chunks_are_of_the_size_asked_for_and_lose_nothing(tmp_path):
    write(tmp_path / "in.csv", "a,b\n" + "".join(f"{i},x\n\n" for i in range(25)))
    chunks = list(read_chunks(tmp_path / "in.csv", ["b", "a"], 10))
    assert [len(chunk) for chunk in chunks] == [10, 10, 5]
    assert [record for chunk in chunks for record in chunk] == [("x", str(i)) for i in range(25)]


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    for records in (50_000, 150_000):
        write(tmp_path / "in.csv", "id,s,u\n" + "".join(f"{i},{i % 3},{i % 7}\n" for i in range(records)))
        tracemalloc.start()
        assert count_records(tmp_path / "in.csv", ["s"], ["u"]).records == records
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


# What is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"in\.csv is empty; a row of column names is needed"),
        ("\n\n", r"in\.csv is empty; a row of column names is needed"),
        ("s,u\n", r"in\.csv has no records; at least one is needed"),
        ("s,v\na,b\n", r"The column 'u' is not in .*in\.csv; its columns are s, v\."),
        ("s,u,u\na,b,c\n", r"The column 'u' is twice in .*in\.csv; its columns are s, u, u\."),
        ("s,u\na,b\na\n", r"Record 2 of .*in\.csv has 1 fields; its header has 2"),
        ("s,u\na,b,c\n", r"Record 1 of .*in\.csv has 3 fields; its header has 2"),
        (b"s,u\na,b\nc,\xe9\n", r"in\.csv is not UTF-8: it has the byte 0xe9"),
        ("s,u\na,b\n".encode("utf-16"), r"in\.csv is no UTF-8 but UTF-16, as Excel"),
        ('s,u\na,b\nb,"c\nd,e\n', r"in\.csv is not a CSV file: unexpected end of data, after record 0"),
        ('s,u\na,"b"c\n', r"in\.csv is not a CSV file: ',' expected after '\"', after record 0"),
        ("s,u\na,b\nc,\n", r"A record of .*in\.csv has '' as u; missing values must be given a name"),
        ("s,u\na,b\nNaN,b\n", r"A record of .*in\.csv has 'NaN' as s; missing values must be given a name"),
        ("s,u\na,b\na,c\n", r"s has the single value 'a'; at least two values are"),
        (
            "s,u\n" + "".join(f"{i % 2},{i}\n" for i in range(10_000)),
            r"in\.csv has more than 1000 combinations of s, u \(u alone has 10000 values or more\)\."
            r" 10000 values of u are numbers: --bins u=5",
        ),
        (
            "s,u\n" + "".join(f"{i},{i}\n" for i in range(40)),
            r"in\.csv has 40 x 40 sensitive and useful values or more; at most 1000 pairs are allowed",
        ),
    ],
)
def test_records_that_cannot_be_counted_get_a_sentence(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        counted(tmp_path, text)


@pytest.mark.parametrize("count", ["-1", "nan", "1.5", "", "1e3", "inf", "٣", "9" * 16])
def test_counts_that_are_no_whole_numbers_get_a_sentence(tmp_path, count):
    write(tmp_path / "t.csv", f"s,u,count\na,b,1\nc,d,{count}\n")
    with pytest.raises(
        ValueError, match=r"Row 2 of .*t\.csv has the count '.*'; counts must be whole numbers"
    ):
        read_count_table(tmp_path / "t.csv", ["s"], ["u"])


def test_counts_that_are_all_zero_get_a_sentence(tmp_path):
    write(tmp_path / "t.csv", "s,u,count\na,b,0\nc,d,0\n")
    with pytest.raises(ValueError, match=r"t\.csv contains no records; at least one is needed"):
        read_count_table(tmp_path / "t.csv", ["s"], ["u"])


@pytest.mark.parametrize(
    ("sensitive", "useful", "sentence"),
    [
        ([], ["u"], "No column is sensitive"),
        (["s"], ["s"], "The column 's' is named twice"),
        (["s", "u"], ["v", "u"], "The column 'u' is named twice"),
        (["s"], ["count"], "The column 'count' contains the counts; it must be neither"),
    ],
)
def test_columns_that_contradict_each_other_get_a_sentence(tmp_path, sensitive, useful, sentence):
    write(tmp_path / "t.csv", "s,u,count\na,b,1\n")
    with pytest.raises(ValueError, match=sentence):
        read_count_table(tmp_path / "t.csv", sensitive, useful)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        count_records(tmp_path / "none.csv", ["s"])


@pytest.mark.parametrize("counts", [[[1, 2]], [[1, -2], [3, 4]], [1, 2]])
def test_a_table_checks_its_counts(counts):
    with pytest.raises(ValueError, match=r"The counts have shape .*; they must be whole numbers, 0 or more"):
        CountTable(("s",), ("u",), (("a",), ("b",)), (("x",), ("y",)), np.array(counts))


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        (
            ("yes", "east", "old"),
            "has 'east' as its region; the channel accepts 'north', 'south'",
        ),
        (
            ("maybe", "east", "old"),
            "has 'maybe' as its illness; the channel accepts 'no', 'yes'",
        ),
        (
            ("yes", "south", "young"),
            "is 'yes, south, young'. The channel has no row for this combination",
        ),
        (("yes", " ", "old"), "has ' ' as region; missing values must be left out of the file"),
    ],
)
def test_a_value_that_is_not_known_gets_a_sentence(table, label, sentence):
    codes = Codes("in.csv", table.attributes, table.labels)
    assert codes(table.labels).tolist() == list(range(6))
    with pytest.raises(ValueError, match=f"Record 8 of in.csv {sentence}"):
        codes([table.labels[0], label], done=6)


def test_many_columns_get_advice(tmp_path):
    lines = "".join(f"{i % 2},{i % 23},{i % 29}\n" for i in range(2 * 23 * 29))
    path = write(tmp_path / "in.csv", f"s,u,v\n{lines}")
    with pytest.raises(
        ValueError, match="with --against anyone: the levels of all reports of a person add up"
    ):
        count_records(path, ["s"], ["u", "v"])
    lines = "".join(f"v{i % 2},w{i}\n" for i in range(2000))
    with pytest.raises(ValueError, match=r"Merge values into groups first\.$"):
        count_records(write(tmp_path / "in.csv", f"s,u\n{lines}"), ["s"], ["u"])


def test_the_header_of_qualtrics_is_no_answer(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text(
        'Q1,Q2\n"Are you ill?","Where do you\nlive?"\n'
        '"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\nyes,north\n'
    )
    with pytest.raises(ValueError, match="comes from Qualtrics: its first two records are the texts"):
        count_records(path, ["Q1"], ["Q2"])


@pytest.mark.parametrize(
    "start", [b"<stata_dta><header>", b"r\x02\x01\x00", b"s\x01\x01\x00", b"q\x02\x01\x00"]
)
def test_stata_files_are_named(tmp_path, start):
    (tmp_path / "in.dta").write_bytes(start + b"\xff\xfe")
    with pytest.raises(ValueError, match=r"is a Stata file \(\.dta\); save it as CSV"):
        count_records(tmp_path / "in.dta", ["s"])
