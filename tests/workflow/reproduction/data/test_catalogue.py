"""Data sets by name: what the catalogue says, and tables of counts cut out of a text."""

import hashlib
import re
from pathlib import Path

import pytest
import yaml

from reproduction.data import catalogue as data
from reproduction.data.adult import load_counts
from reproduction.data.catalogue import (
    COLUMNS,
    Contingency,
    DataError,
    DataSet,
    OwnTable,
    attributes,
    catalogue,
    data_set,
)

ROOT = Path(__file__).resolve().parents[4]

#: Three attributes, one pair of values that does not occur, and labels that CSV must quote.
TEXT = """\
attribute_a,attribute_b,value_a,value_b,count
age,city,old,"Bath, UK",1
age,city,old,?,0
age,city,young,"Bath, UK",2
age,city,young,?,3
age,tax,old,NA,1
age,tax,young,NA,5
"""
TOWN = DataSet(
    name="town",
    title="A town",
    citation="Nobody",
    licence="CC0",
    counts="town.csv",
    sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
    attributes=("age", "city", "tax"),
)


# The catalogue --------------------------------------------------------------------------------------------


def test_data_sets_are_found_by_name():
    assert list(catalogue()) == ["adult"]
    adult = data_set("adult")
    assert adult is catalogue()["adult"]
    assert adult.name == "adult"
    assert adult.load() is load_counts
    assert adult.loader_name == "reproduction.data.adult:load_counts"
    assert attributes("adult") == adult.attributes
    assert len(adult.attributes) == 9
    for find in (data_set, attributes):
        with pytest.raises(ValueError, match=r"'adlut' is not a data set; allowed are 'adult'\."):
            find("adlut")


@pytest.mark.parametrize("name", catalogue())
def test_what_is_shipped_is_what_the_catalogue_says(name):
    entry = data_set(name)
    text = entry.read(ROOT / "resources" / entry.counts)
    for i, sensitive in enumerate(entry.attributes):
        for useful in entry.attributes[:i]:
            assert entry.contingency(text, sensitive, useful).counts
    assert entry.title
    assert entry.citation
    assert entry.licence


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"title": "A town"}, "town in .*catalogue.yaml lacks citation, licence, counts, sha256,"),
        ({"atributes": []}, "town in .* has the unknown key 'atributes'; did you mean"),
    ],
)
def test_an_entry_that_does_not_fit_gets_a_sentence(tmp_path, monkeypatch, entry, sentence):
    path = tmp_path / "catalogue.yaml"
    path.write_text(yaml.safe_dump({"town": entry}))
    monkeypatch.setattr(data, "CATALOGUE", path)
    with pytest.raises(DataError, match=sentence):
        catalogue.__wrapped__()


# Files of counts ------------------------------------------------------------------------------------------


def test_a_data_set_without_a_loader_is_what_is_shipped(tmp_path):
    path = tmp_path / "town.csv"
    path.write_text(TEXT)
    assert TOWN.loader_name == "reproduction.data.catalogue:DataSet"
    assert TOWN.load()(bundled=path) == (
        TEXT,
        {"requested": "bundled", "used": "bundled", "counts_sha256": TOWN.sha256},
    )


def test_a_file_of_counts_is_checked(tmp_path):
    path = tmp_path / "town.csv"
    with pytest.raises(
        DataError, match=r"town\.csv is not a file; a CSV table of the town pair counts is needed"
    ):
        TOWN.read(path)
    path.write_text(TEXT)
    assert TOWN.read(path) == TOWN.read(str(path)) == TEXT
    # A copy with other line ends has the same counts.
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert TOWN.read(path) == TEXT
    for damaged in (TEXT.replace("5", "6").encode(), TEXT[:-1].encode(), b"", b"\xff"):
        path.write_bytes(damaged)
        with pytest.raises(
            DataError, match=rf"town\.csv have the sha256 \w{{64}}; those of town have {TOWN.sha256}"
        ):
            TOWN.read(path)


# Tables of counts -----------------------------------------------------------------------------------------


def test_a_pair_is_cut_out_with_sorted_labels_in_either_order():
    pair = TOWN.contingency(TEXT, "age", "city")
    assert pair == Contingency(("old", "young"), ("?", "Bath, UK"), ((0, 1), (3, 2)))
    other = TOWN.contingency(TEXT, "city", "age")
    assert other == Contingency(("?", "Bath, UK"), ("old", "young"), ((0, 3), (1, 2)))
    assert TOWN.contingency(TEXT, "age", "tax").counts == ((1,), (5,))
    head, *rows = TEXT.splitlines()  # in any order of the rows
    assert TOWN.contingency("\n".join([head, *rows[::-1]]), "age", "city") == pair


@pytest.mark.parametrize(
    ("sensitive", "useful", "sentence"),
    [
        ("size", "city", "'size' is not an attribute of town; allowed are 'age', 'city', 'tax'."),
        ("city", "Age", "'Age' is not an attribute of town; allowed are 'age', 'city', 'tax'."),
        ("city", "city", "The sensitive and the useful attribute are both 'city'; allowed are two different"),
    ],
)
def test_wrong_attributes_get_a_sentence(sensitive, useful, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        TOWN.contingency(TEXT, sensitive, useful)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (",count\n", ",number\n", "lack the columns count."),
        (TEXT, "", f"lack the columns {', '.join(COLUMNS)}."),
        ("old,?,0", "old,?,0.5", "repeat a pair of values in line 3, or have no number there."),
        ("old,?,0", "young,?,0", "repeat a pair of values in line 5, or have no number there."),
        ("age,city,old,?,0\n", "", "have 3 pairs of values of age and city; all 2 x 2 are needed, with 0"),
    ],
)
def test_counts_that_are_no_table_get_a_sentence(old, new, sentence):
    assert old in TEXT
    with pytest.raises(DataError, match=re.escape(f"The pair counts of town {sentence}")):
        TOWN.contingency(TEXT.replace(old, new), "age", "city")


# Tables of the user's own ---------------------------------------------------------------------------------


OWN = """region,age,"ill, or not",n
north,old,yes,3
north,young,yes,2
south,old,no,7
south,young,yes,0
"""
ENTRY = {"sensitive": "ill, or not", "useful": "region", "count": "n"}


def test_a_table_of_ones_own_is_counted(tmp_path):
    (tmp_path / "own.csv").write_text(OWN)
    configuration = {"data": {"own": {**ENTRY, "file": str(tmp_path / "own.csv")}}}
    own = data_set("own", configuration)
    assert own.attributes == attributes("own", configuration) == ("ill, or not", "region")
    assert own.path(Path("resources")) == tmp_path / "own.csv"
    expected = Contingency(("no", "yes"), ("north", "south"), ((0, 7), (5, 0)))
    assert own.contingency(own.read(own.path(Path())), *own.attributes) == expected
    text, source = own.load()(bundled=tmp_path / "own.csv")
    assert own.contingency(text, *own.attributes) == expected
    assert source["file_sha256"] == hashlib.sha256(OWN.encode()).hexdigest()


def test_a_table_of_ones_own_that_cannot_be_counted_gets_a_sentence(tmp_path):
    own = data_set("own", {"data": {"own": {**ENTRY, "file": "own.csv"}}})
    with pytest.raises(DataError, match=r"own\.csv: No such file or directory"):
        own.read(tmp_path / "own.csv")
    (tmp_path / "own.csv").write_text(OWN.replace("7", "-7"))
    with pytest.raises(DataError, match=r"Row 3 of .*own\.csv has the count '-7'; counts must be"):
        own.read(tmp_path / "own.csv")


def test_the_catalogue_comes_first():
    configuration = {"data": {"adult": {**ENTRY, "file": "own.csv"}}}
    assert data_set("adult", configuration) is catalogue()["adult"]
    with pytest.raises(ValueError, match="'town' is not a data set; allowed are 'own', 'adult'"):
        data_set("town", {"data": {"own": {**ENTRY, "file": "own.csv"}}})


def test_missing_values_of_ones_own_table_are_asked_about(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("s,u\na,x\nb,x\nNA,y\n", encoding="utf-8")
    entry = {"file": str(path), "sensitive": "s", "useful": "u", "count": None}
    with pytest.raises(DataError, match="has 'NA' as s; missing values must be given a name"):
        OwnTable.from_entry("people", entry).read(path)
    for missing, rows in (
        ("unknown", ["a", "b", "unknown"]),
        ("keep", ["NA", "a", "b"]),
        ("drop", ["a", "b"]),
    ):
        lines = OwnTable.from_entry("people", {**entry, "missing": missing}).read(path).splitlines()
        assert sorted({line.split(",")[2] for line in lines[1:]}) == rows
