"""Files of SPSS, Stata and SAS: labels, their order, missing values, and what cannot be read."""

import datetime
import io
import sys

import pandas as pd
import pytest

from ldpsurvey import count_records, privatize_file
from ldpsurvey.data.reading import read_chunks
from support.owndata import channel_of

pyreadstat = pytest.importorskip("pyreadstat")

#: Code 3 has no label, nobody gave 4, and two codes are called the same.
LABELS = {1: "never", 2: "now and then", 4: "often", 5: "other", 6: "other", 98: "refused"}
FRAME = pd.DataFrame(
    {
        "q": [6, 2, 1, 3, 5, None, 98, -7],
        "sex": ["m", "f", "m", "f", "m", "f", "XX", "m"],
        "age": [20, 31.5, 40, 18, 22, 35, 50, 60],
        "day": [datetime.date(2026, 1, 1 + place % 2) for place in range(8)],
    }
)
ANSWERS = (("never",), ("now and then",), ("3",), ("other (5)",), ("other (6)",), ("unknown",))


def of_spss(path):
    pyreadstat.write_sav(
        FRAME,
        path,
        variable_value_labels={"q": LABELS, "sex": {"m": "male", "XX": "not told"}},
        missing_ranges={"q": [98, {"lo": -9, "hi": -1}], "sex": ["XX"]},
        compress=path.suffix == ".zsav",
    )


def of_stata(path):
    frame = FRAME.astype({"q": object})
    frame.loc[[6, 7], "q"] = ["a", "b"]
    labels = {**{code: LABELS[code] for code in LABELS if code != 98}, "a": "refused", "c": "not asked"}
    frame["sex"] = frame["sex"].replace("XX", "")  # which is how Stata writes a missing text
    pyreadstat.write_dta(
        frame, path, variable_value_labels={"q": labels}, missing_user_values={"q": ["a", "b", "c"]}
    )


@pytest.mark.parametrize(("name", "write"), [("in.sav", of_spss), ("in.zsav", of_spss), ("in.dta", of_stata)])
def test_labels_are_answers_in_the_order_of_codes_and_declared_missing_values_are_missing(
    tmp_path, name, write
):
    write(tmp_path / name)
    found = count_records(tmp_path / name, ["q"], ["sex"], missing="unknown")
    assert found.rows == ANSWERS
    assert found.counts.sum(axis=1).tolist() == [1, 1, 1, 1, 1, 3]
    sexes = {"f", "male" if write is of_spss else "m", "unknown"}
    assert {label for (label,) in found.columns} == sexes
    with pytest.raises(ValueError, match="has '' as q in 3 records"):
        count_records(tmp_path / name, ["q"])


def test_numbers_and_dates_are_written_plainly_and_numbers_are_grouped(tmp_path):
    of_spss(tmp_path / "in.sav")
    (chunk,) = read_chunks(tmp_path / "in.sav", ["age", "day"], optional=["missing"])
    assert chunk["age"].tolist() == ["20", "31.5", "40", "18", "22", "35", "50", "60"]
    assert chunk["day"].tolist() == ["2026-01-01", "2026-01-02"] * 4
    assert chunk["missing"].tolist() == [""] * 8
    grouped = count_records(tmp_path / "in.sav", ["age"], ["day"], bins={"age": [31]})
    assert grouped.counts.tolist() == [[2, 1], [2, 3]]


@pytest.mark.parametrize(
    ("name", "columns", "write"),
    [("in.por", ("SEX", "AGE"), "write_por"), ("in.xpt", ("sex", "age"), "write_xport")],
)
def test_portable_files_of_spss_and_transport_files_of_sas_are_read(tmp_path, name, columns, write):
    frame = FRAME[["sex", "age"]].set_axis(columns, axis=1)
    getattr(pyreadstat, write)(frame, tmp_path / name)
    (chunk,) = read_chunks(tmp_path / name, columns)
    assert chunk[columns[0]].tolist() == FRAME["sex"].tolist()
    assert chunk[columns[1]].astype(float).tolist() == FRAME["age"].tolist()


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_all_versions_of_stata_are_recognised(tmp_path, version):
    pyreadstat.write_dta(FRAME[["sex"]], tmp_path / "in.dta", version=version)
    assert count_records(tmp_path / "in.dta", ["sex"]).counts.ravel().tolist() == [1, 3, 4]


def test_records_of_a_file_are_privatized_as_it_was_designed_from(tmp_path):
    of_spss(tmp_path / "in.sav")
    table = count_records(tmp_path / "in.sav", ["q"], missing="unknown")
    private = channel_of(table, "grr")
    done = privatize_file(private, tmp_path / "in.sav", tmp_path / "out.csv", missing="unknown")
    assert (done.records, done.designed_from) == (8, True)


def test_what_cannot_be_read_gets_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "in.sav"
    of_spss(path)
    with pytest.raises(ValueError, match=r"'Sex' is not in .*in\.sav; .*Did you mean 'sex'\?"):
        count_records(path, ["Sex"])
    data = path.read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    with pytest.raises(ValueError, match="a file of a statistics program, which cannot be read from a pipe"):
        count_records("-", ["sex"])
    path.write_bytes(data[:300])
    with pytest.raises(ValueError, match=r"in\.sav is no file of SPSS, Stata or SAS that can be read: "):
        count_records(path, ["sex"])
    pyreadstat.write_sav(FRAME.iloc[:0], path)
    with pytest.raises(ValueError, match="has no records"):
        count_records(path, ["sex"])
