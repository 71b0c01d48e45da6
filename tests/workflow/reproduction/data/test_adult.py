"""Adult: reading, counting, downloading, and what happens when any of these goes wrong."""

import hashlib
import io
import os
import random
import re
import socket
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.data import adult
from reproduction.data.catalogue import COLUMNS, DataError, DataSet, data_set
from support.uci_server import API, CSV, Uci, serve

REPOSITORY = Path(__file__).resolve().parents[4]
BUNDLED = REPOSITORY / "resources" / "adult_pair_counts.csv"
RAW = Path(os.environ.get("ADULT_DATA", REPOSITORY.parent / "shared/data/adult/adult.data"))
needs_raw = pytest.mark.skipif(not RAW.is_file(), reason="no raw adult.data; set ADULT_DATA to its path")
Rows = list[list[str]]
ONCE = {"timeout": 30.0, "retries": 0}
ADULT = data_set("adult")


def uci_csv(train: Rows, test: Rows) -> bytes:
    """Render records as UCI does: a header, and in the test part dotted labels and nothing for '?'."""
    served = [["" if value == "?" else value for value in row[:-1]] + [row[-1] + "."] for row in test]
    return "\n".join(",".join(row) for row in [list(adult.FIELDS), *train, *served, []]).encode()


def without(column: str, csv: bytes) -> bytes:
    drop = adult.FIELDS.index(column)
    lines = [line.split(",") for line in csv.decode().splitlines()]
    return "\n".join(",".join(line[:drop] + line[drop + 1 :]) for line in lines).encode()


@pytest.fixture(scope="session")
def rows() -> Rows:
    """Made-up records with the real number of each label."""
    draw = random.Random(1)
    labels = [label for label, count in adult.LABEL_COUNTS.items() for _ in range(count)]
    draw.shuffle(labels)
    values = {name: ["?", *(f"{name}-{k}" for k in range(4))] for name in adult.ATTRIBUTES}
    return [
        [draw.choice(values.get(name, ["1"])) for name in adult.FIELDS[:-1]] + [label] for label in labels
    ]


@pytest.fixture(scope="session")
def records(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(adult.FIELDS))[list(adult.ATTRIBUTES)]


@pytest.fixture(scope="session")
def csv(rows: Rows) -> bytes:
    return uci_csv(rows, rows[: adult.UCI_RECORDS - adult.RECORDS])


@pytest.fixture
def made_up(records: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the made-up records pass for Adult, to test what follows a good download."""
    text = adult.counts_text(adult.pair_counts(records))
    passing = DataSet(**vars(ADULT) | {"sha256": hashlib.sha256(text.encode()).hexdigest()})
    monkeypatch.setattr(adult, "data_set", lambda name: passing)
    return text


@pytest.fixture
def uci(csv: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Uci]:
    """Serve the made-up records."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve(csv, adult.FIELDS) as server:
        yield server


@pytest.fixture
def write_raw(rows: Rows, tmp_path: Path) -> Callable[[Rows], Path]:
    def write(changed: Rows = rows) -> Path:
        path = tmp_path / "adult.data"
        path.write_text("".join(", ".join(row) + "\n" for row in changed) + "\n")
        return path

    return write


@pytest.fixture(scope="module")
def text() -> str:
    return ADULT.read(BUNDLED)


@pytest.fixture(scope="module")
def table(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text), keep_default_na=False)


def message(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert text.endswith("."), "an error is a sentence"
    return text


# Reading


def test_raw_file_is_read_as_it_is(rows: Rows, records: pd.DataFrame, write_raw: Callable[..., Path]) -> None:
    frame = adult.read_raw(write_raw())
    pd.testing.assert_frame_equal(frame, records)
    assert (frame["occupation"] == "?").any()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows: [*rows[:2], rows[2][1:], *rows[3:]], "Line 3 of .* has 14 field.* an Adult record"),
        (lambda rows: [*rows[:-1], [*rows[-1][:-1], "50K"]], "unknown income labels '50K'; allowed are"),
        (
            lambda rows: [[*row[:-1], "<=50K"] for row in rows],
            r"'<=50K', '>50K' \[32561, 0\] times; Adult has \[24720, 7841\]",
        ),
    ],
)
def test_wrong_raw_file_gets_a_sentence(
    rows: Rows, write_raw: Callable[..., Path], change: Callable[[Rows], Rows], sentence: str
) -> None:
    path = write_raw(change(rows))
    with pytest.raises(adult.AdultError, match=sentence) as error:
        adult.read_raw(path)
    assert str(path) in message(error)


# Counting


def test_every_pair_is_a_full_rectangle(records: pd.DataFrame) -> None:
    table = adult.pair_counts(records)
    pairs = table.groupby(["attribute_a", "attribute_b"], sort=False)
    assert [pair for pair, _ in pairs] == list(combinations(adult.ATTRIBUTES, 2))
    for (a, b), pair in pairs:
        expected = pd.crosstab(records[a], records[b])
        assert list(zip(pair["value_a"], pair["value_b"], strict=True)) == [
            (u, v) for u in expected.index for v in expected.columns
        ]
        assert pair["count"].tolist() == expected.to_numpy().ravel().tolist()


def test_values_that_never_meet_have_a_zero() -> None:
    frame = pd.DataFrame([["x"] * 9, ["y"] * 9, ["y"] * 9], columns=list(adult.ATTRIBUTES))
    table = adult.pair_counts(frame)
    assert table["count"].tolist() == [1, 0, 0, 2] * 36
    assert table["count"].dtype == np.int64


def test_shipped_table(table: pd.DataFrame, text: str) -> None:
    assert tuple(table.columns) == COLUMNS
    assert len(table) == 4186
    assert (table.groupby(["attribute_a", "attribute_b"])["count"].sum() == adult.RECORDS).all()
    assert adult.counts_text(table) == text == BUNDLED.read_text()
    assert hashlib.sha256(BUNDLED.read_bytes()).hexdigest() == ADULT.sha256 == adult.COUNTS_SHA256


# Contingency tables


def test_distinct_values_and_known_margins(text: str) -> None:
    values = {name: ADULT.contingency(text, name, "income").rows for name in adult.ATTRIBUTES[:-1]}
    assert [len(found) for found in values.values()] == [9, 16, 7, 15, 6, 5, 2, 42]
    for name, missing in {"workclass": 1836, "occupation": 1843, "native-country": 583}.items():
        pair = ADULT.contingency(text, name, "income")
        assert sum(pair.counts[pair.rows.index("?")]) == missing
        assert (
            dict(zip(pair.columns, map(sum, zip(*pair.counts, strict=True)), strict=True))
            == adult.LABEL_COUNTS
        )


# Sources without a network


def test_bundled(text: str) -> None:
    loaded, provenance = adult.load_counts("bundled", bundled=BUNDLED)
    assert loaded == text
    assert provenance == {
        "requested": "bundled",
        "used": "bundled",
        "counts_sha256": adult.COUNTS_SHA256,
        "records": 32561,
        "fallback_reason": None,
    }


@needs_raw
@pytest.mark.parametrize("source", ["file", "auto"])
def test_raw_file_gives_the_shipped_counts(source: adult.Source, text: str) -> None:
    loaded, provenance = adult.load_counts(source, file=RAW, bundled=BUNDLED)
    assert loaded == text
    assert (provenance["requested"], provenance["used"]) == (source, "file")


def test_users_file_with_other_counts_is_an_error(write_raw: Callable[..., Path]) -> None:
    path = write_raw()
    with pytest.raises(DataError, match="have the sha256") as error:
        adult.load_counts("auto", file=path, bundled=BUNDLED)
    assert str(path) in message(error)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"source": "web"}, "source is 'web'; allowed are 'auto', 'uci', 'file', 'bundled'"),
        ({"source": "file"}, "no file is given"),
        ({"source": "auto", "timeout": 0}, "time-out is 0 s; it must be positive"),
        ({"source": "auto", "retries": -1}, "retries is -1; it must not be negative"),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as error:
        adult.load_counts(**arguments, bundled=BUNDLED)
    message(error)


# ucimlrepo against a local server


def test_download_gives_the_train_records(uci: Uci, records: pd.DataFrame) -> None:
    frame = adult.fetch_uci(**ONCE, api_url=uci.url + API)
    pd.testing.assert_frame_equal(frame, records)
    assert uci.requests == [f"{API}?id=2", CSV]


def test_retry_after_a_bad_gateway(uci: Uci, records: pd.DataFrame) -> None:
    uci.bad_gateways = 1
    frame = adult.fetch_uci(timeout=30, retries=1, backoff=0.01, api_url=uci.url + API)
    pd.testing.assert_frame_equal(frame, records)
    assert uci.requests == [f"{API}?id=2", f"{API}?id=2", CSV]


def test_auto_without_a_network(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    loaded, provenance = adult.load_counts(
        "auto", bundled=BUNDLED, cache=tmp_path, **ONCE, api_url=f"http://127.0.0.1:{port}{API}"
    )
    assert loaded == text
    assert (provenance["requested"], provenance["used"]) == ("auto", "bundled")
    assert provenance["fallback_reason"] == (
        "UCI gave no usable Adult data; attempt 1 of 1: "
        "ucimlrepo failed with ConnectionError: Error connecting to server."
    )
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert provenance["fallback_reason"] in caplog.text
    assert not list(tmp_path.iterdir())


def silently_cut(uci: Uci) -> None:
    uci.csv = uci.csv[:-1000]


def no_occupation(uci: Uci) -> None:
    uci.csv = without("occupation", uci.csv)
    uci.columns = [name for name in uci.columns if name != "occupation"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (silently_cut, r"has 488\d\d records; train and test together have 48842"),
        (no_occupation, "lacks the columns 'occupation'; needed are 'workclass', "),
    ],
)
def test_wrong_download(uci: Uci, spoil: Callable[[Uci], None], reason: str, text: str) -> None:
    spoil(uci)
    loaded, provenance = adult.load_counts("auto", bundled=BUNDLED, **ONCE, api_url=uci.url + API)
    assert loaded == text
    assert provenance["used"] == "bundled"
    assert re.search(reason, provenance["fallback_reason"])
    assert provenance["fallback_reason"].endswith(".")


def test_wrong_download_is_an_error_if_uci_is_asked_for(uci: Uci) -> None:
    silently_cut(uci)
    with pytest.raises(ConnectionError, match="records; train and test together"):
        adult.load_counts("uci", bundled=BUNDLED, **ONCE, api_url=uci.url + API)


def test_download_with_other_counts(monkeypatch: pytest.MonkeyPatch, records: pd.DataFrame) -> None:
    monkeypatch.setattr(adult, "fetch_uci", lambda **_: records)
    with pytest.raises(DataError, match="pair counts of the UCI download have the sha256"):
        adult.load_counts("uci", bundled=BUNDLED)
    _, provenance = adult.load_counts("auto", bundled=BUNDLED)
    assert provenance["used"] == "bundled"
    assert "have the sha256" in provenance["fallback_reason"]


# The cache


def test_second_download_comes_from_the_cache(uci: Uci, made_up: str, tmp_path: Path) -> None:
    def load() -> tuple[str, dict[str, object]]:
        return adult.load_counts(
            "auto", bundled=BUNDLED, cache=tmp_path / "new", **ONCE, api_url=uci.url + API
        )

    first, first_provenance = load()
    asked = len(uci.requests)
    second, second_provenance = load()
    assert len(uci.requests) == asked == 2
    assert first == made_up
    assert second == made_up
    assert first_provenance == second_provenance
    assert first_provenance["used"] == "uci"


def test_spoiled_cache_is_fetched_again(
    records: pd.DataFrame,
    made_up: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    downloads: list[object] = []

    def fetch(**parameters: object) -> pd.DataFrame:
        downloads.append(parameters)
        return records

    monkeypatch.setattr(adult, "fetch_uci", fetch)
    cache = tmp_path / adult.CACHE_NAME
    sound = made_up.encode()
    cache.write_bytes(sound[:-1])
    loaded, _ = adult.load_counts("uci", bundled=BUNDLED, cache=tmp_path)
    assert loaded == made_up
    assert len(downloads) == 1
    assert "fetched again" in caplog.text
    assert cache.read_bytes() == sound


def test_server_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{API}"
        with pytest.raises(ConnectionError, match=r"no complete answer within 1\.5 s") as error:
            adult.fetch_uci(timeout=1.5, retries=0, api_url=url)
    message(error)


def test_waits_double(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> pd.DataFrame:
        raise ConnectionError("no.")

    waits: list[float] = []
    monkeypatch.setattr(adult, "_download", fail)
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(ConnectionError, match="attempt 4 of 4: no"):
        adult.fetch_uci(retries=3, backoff=0.5)
    assert waits == [0.5, 1.0, 2.0]


def test_bundled_file_that_was_changed(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(BUNDLED.read_text().replace("10th,100\n", "10th,101\n"))
    with pytest.raises(DataError, match=f"have the sha256 .*{adult.COUNTS_SHA256}") as error:
        adult.load_counts("bundled", bundled=path)
    assert str(path) in message(error)
