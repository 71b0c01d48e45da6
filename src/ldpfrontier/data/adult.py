"""UCI Adult (Census Income) as counts of pairs of categorical attributes.

The raw file, a download from UCI and the table shipped in ``resources/`` all give the same counts, checked by
hash.
``python -m ldpfrontier.adult RAW_FILE`` writes the shipped table.
"""

import argparse
import hashlib
import io
import logging
import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip
ATTRIBUTES = (
    "workclass", "education", "marital-status", "occupation", "relationship",
    "race", "sex", "native-country", "income",
)  # fmt: skip
COLUMNS = ("attribute_a", "attribute_b", "value_a", "value_b", "count")
MISSING = "?"

RECORDS = 32_561
LABEL_COUNTS = {"<=50K": 24_720, ">50K": 7_841}
RAW_SHA256 = "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
COUNTS_SHA256 = "04c336d1cc821306945e716a71b99b05ee3dc832238b3423749e75cd8ad723b7"

UCI_API = "https://archive.ics.uci.edu/api/dataset"
UCI_RECORDS = 48_842
CACHE_NAME = "adult_uci_pair_counts.csv"

Source = Literal["auto", "uci", "file", "bundled"]

_LOG = logging.getLogger(__name__)

# Run by a child process, because ucimlrepo has no time-out of its own and only a killed process surely stops.
_CHILD = """
import sys
import ucimlrepo.fetch
ucimlrepo.fetch.API_BASE_URL = sys.argv[1]
ucimlrepo.fetch.fetch_ucirepo(id=2).data.original.to_csv(sys.stdout, index=False)
"""


class AdultError(ValueError):
    """Data that are not the Adult data, or not all of them."""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _checked_records(records: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Return the records if their number and their labels are those of the train part of Adult."""
    if len(records) != RECORDS:
        raise AdultError(f"{origin} has {len(records)} training records; the Adult data have {RECORDS}.")
    found = Counter(records["income"])
    allowed = _listed(LABEL_COUNTS)
    if unknown := sorted(found.keys() - LABEL_COUNTS.keys()):
        raise AdultError(f"{origin} has the unknown income labels {_listed(unknown)}; allowed are {allowed}.")
    if found != LABEL_COUNTS:
        counts, expected = [found[label] for label in LABEL_COUNTS], list(LABEL_COUNTS.values())
        raise AdultError(f"{origin} has the income labels {allowed} {counts} times; Adult has {expected}.")
    return records


def read_raw(path: Path) -> pd.DataFrame:
    """Read a raw ``adult.data`` file.

    Parameters
    ----------
    path : Path
        File of 15 fields per line separated by ``", "``, without a header.

    Returns
    -------
    DataFrame, shape (32561, 9)
        The categorical attributes as strings; a missing value is ``"?"``.

    Raises
    ------
    AdultError
        If the file does not exist, a line has not 15 fields, or the records or labels are not those of Adult.
    """
    if not path.is_file():
        raise AdultError(f"{path} is not a file; the raw 'adult.data' of UCI dataset 2 is needed.")
    rows = []
    # A file that is not text at all (an archive, say) is refused below for its fields.
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), start=1):
        if line:
            rows.append(line.split(", "))
            if len(rows[-1]) != len(FIELDS):
                raise AdultError(
                    f"Line {number} of {path} has {len(rows[-1])} field(s) separated by ', '; "
                    f"an Adult record has {len(FIELDS)}."
                )
    return _checked_records(pd.DataFrame(rows, columns=list(FIELDS))[list(ATTRIBUTES)], str(path))


def train_part(frame: pd.DataFrame) -> pd.DataFrame:
    """Select the train records from the frame that UCI serves.

    Parameters
    ----------
    frame : DataFrame, shape (48842, any)
        Train and test records together, as strings; a test label ends in ``"."``.

    Returns
    -------
    DataFrame, shape (32561, 9)
        The categorical attributes exactly as in the raw file; a missing value is ``"?"``.

    Raises
    ------
    AdultError
        If a column is missing, or the records or labels are not those of Adult.
    """
    origin = "The UCI download"
    if missing := [name for name in ATTRIBUTES if name not in frame]:
        raise AdultError(f"{origin} lacks the columns {_listed(missing)}; needed are {_listed(ATTRIBUTES)}.")
    if len(frame) != UCI_RECORDS:
        raise AdultError(f"{origin} has {len(frame)} records; train and test together have {UCI_RECORDS}.")
    records = frame[list(ATTRIBUTES)].fillna(MISSING)
    return _checked_records(records[~records["income"].str.endswith(".")].reset_index(drop=True), origin)


def _download(api_url: str, timeout: float) -> pd.DataFrame:
    """Run ucimlrepo once in a child process that is killed after `timeout` seconds."""
    command = [sys.executable, "-c", _CHILD, api_url]
    try:
        child = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise ConnectionError(f"there was no complete answer within {timeout:g} s.") from None
    if child.returncode:
        lines = child.stderr.decode(errors="replace").split("\n")
        causes = [line.strip() for line in lines if line.strip()] or [f"exit code {child.returncode}"]
        raise ConnectionError(f"ucimlrepo failed with {causes[-1].removesuffix('.')}.")
    return pd.read_csv(io.BytesIO(child.stdout), dtype=str)


def fetch_uci(
    *, timeout: float = 60.0, retries: int = 2, backoff: float = 1.0, api_url: str = UCI_API
) -> pd.DataFrame:
    """Download the train records with ucimlrepo.

    Parameters
    ----------
    timeout : float
        Seconds after which one attempt is killed, however far it is.
    retries : int
        Attempts after the first one.
    backoff : float
        Seconds before the first retry; doubled for each further one.
    api_url : str
        Address that ucimlrepo asks for the metadata.

    Returns
    -------
    DataFrame, shape (32561, 9)
        As `read_raw`.

    Raises
    ------
    ConnectionError
        If no attempt gave the Adult data; the sentence has the reason of the last one.
    ValueError
        If `timeout` is not positive or `retries` is negative.
    """
    if timeout <= 0:
        raise ValueError(f"The time-out is {timeout:g} s; it must be positive.")
    if retries < 0:
        raise ValueError(f"The number of retries is {retries}; it must not be negative.")
    for attempt in range(retries + 1):
        try:
            return train_part(_download(api_url, timeout))
        except (ConnectionError, AdultError) as error:
            reason = error  # wrong data are fetched again too: a transfer cut short can look complete
        _LOG.info("Attempt %d of %d to download Adult failed: %s", attempt + 1, retries + 1, reason)
        if attempt < retries:
            time.sleep(backoff * 2**attempt)
    raise ConnectionError(f"UCI gave no usable Adult data; attempt {retries + 1} of {retries + 1}: {reason}")


def pair_counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Count every pair of values of every pair of attributes.

    Parameters
    ----------
    frame : DataFrame, shape (n, at least 9)
        Records with the columns `ATTRIBUTES`, as strings.

    Returns
    -------
    DataFrame, shape (cells, 5)
        Columns `COLUMNS`. Pairs follow the order of `ATTRIBUTES`, values are sorted, and a pair of observed
        values that never occur together has a row with count 0.
    """
    coded = {name: np.unique(frame[name].to_numpy(dtype=str), return_inverse=True) for name in ATTRIBUTES}
    tables = []
    for a, b in combinations(ATTRIBUTES, 2):
        (values_a, codes_a), (values_b, codes_b) = coded[a], coded[b]
        cells = codes_a * len(values_b) + codes_b
        columns = (
            a,
            b,
            np.repeat(values_a, len(values_b)),
            np.tile(values_b, len(values_a)),
            np.bincount(cells, minlength=len(values_a) * len(values_b)),
        )
        tables.append(pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))))
    return pd.concat(tables, ignore_index=True)


def _to_csv(table: pd.DataFrame) -> str:
    return table[list(COLUMNS)].to_csv(index=False, lineterminator="\n")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def counts_digest(table: pd.DataFrame) -> str:
    """Return the SHA-256 of a pair-count table in its canonical form, the bytes of its CSV file.

    Parameters
    ----------
    table : DataFrame, shape (cells, 5)
        As `pair_counts` makes it; the order of the rows counts.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    return _sha256(_to_csv(table))


def _check_digest(digest: str, origin: str) -> None:
    if digest != COUNTS_SHA256:
        raise AdultError(
            f"The pair counts of {origin} have the sha256 {digest}; those of Adult have {COUNTS_SHA256}."
        )


def _checked_counts(records: pd.DataFrame, origin: str) -> pd.DataFrame:
    table = pair_counts(records)
    _check_digest(counts_digest(table), origin)
    return table


def read_counts(path: Path) -> pd.DataFrame:
    """Read a pair-count table from CSV.

    Parameters
    ----------
    path : Path
        File that `write_counts` wrote.

    Returns
    -------
    DataFrame, shape (4186, 5)
        As `pair_counts` makes it.

    Raises
    ------
    AdultError
        If the file does not exist or its digest is not that of the Adult data.
    """
    if not path.is_file():
        raise AdultError(f"{path} is not a file; a CSV table of the Adult pair counts is needed.")
    text = path.read_text(encoding="utf-8", errors="replace")
    _check_digest(_sha256(text), str(path))
    dtypes = dict.fromkeys(COLUMNS[:-1], "str") | {COLUMNS[-1]: "int64"}
    return pd.read_csv(io.StringIO(text), dtype=dtypes, keep_default_na=False)


def write_counts(table: pd.DataFrame, path: Path) -> None:
    """Write a pair-count table as CSV, all or nothing.

    Parameters
    ----------
    table : DataFrame, shape (cells, 5)
        As `pair_counts` makes it.
    path : Path
        Target; an earlier file stays as it is until the new one is complete.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        partial.write_text(_to_csv(table), encoding="utf-8", newline="\n")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def contingency(
    table: pd.DataFrame, sensitive: str, public: str
) -> tuple[npt.NDArray[np.int64], list[str], list[str]]:
    """Select the counts of one pair of attributes.

    Parameters
    ----------
    table : DataFrame, shape (cells, 5)
        As `pair_counts` makes it.
    sensitive, public : str
        Two different members of `ATTRIBUTES`, in either order.

    Returns
    -------
    counts : ndarray of int64, shape (a1, a2)
        Records per sensitive value (row) and public value (column).
    rows, columns : list of str
        The values, sorted.

    Raises
    ------
    ValueError
        If an attribute is unknown or both are the same.
    """
    for name in (sensitive, public):
        if name not in ATTRIBUTES:
            raise ValueError(f"{name!r} is not an Adult attribute; allowed are {_listed(ATTRIBUTES)}.")
    if sensitive == public:
        raise ValueError(
            f"The sensitive and the public attribute are both {public!r}; "
            f"allowed are two different ones of {_listed(ATTRIBUTES)}."
        )
    sensitive_first = ATTRIBUTES.index(sensitive) < ATTRIBUTES.index(public)
    a, b = (sensitive, public) if sensitive_first else (public, sensitive)
    index, columns = ("value_a", "value_b") if sensitive_first else ("value_b", "value_a")
    pair = table[(table["attribute_a"] == a) & (table["attribute_b"] == b)]
    cells = pair.pivot_table(index=index, columns=columns, values="count", aggfunc="sum")
    return cells.to_numpy(dtype=np.int64), list(cells.index), list(cells.columns)


def _uci_counts(cache_dir: Path | None, **fetch: Any) -> pd.DataFrame:
    """Return the counts from the cache if it is sound, else download them and fill the cache."""
    cache = cache_dir / CACHE_NAME if cache_dir else None
    if cache and cache.is_file():
        try:
            return read_counts(cache)
        except AdultError as error:
            _LOG.warning("The cached download is fetched again: %s", error)
    table = _checked_counts(fetch_uci(**fetch), "the UCI download")
    if cache:
        write_counts(table, cache)
    return table


def load_counts(
    source: Source,
    *,
    bundled: Path,
    file: Path | None = None,
    cache_dir: Path | None = None,
    timeout: float = 60.0,
    retries: int = 2,
    backoff: float = 1.0,
    api_url: str = UCI_API,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Load the pair counts of Adult from the source asked for.

    Parameters
    ----------
    source : {"auto", "uci", "file", "bundled"}
        ``auto`` takes `file` if there is one, else UCI, and `bundled` if UCI gives no usable data.
    bundled : Path
        The pair-count table that the project ships.
    file : Path, optional
        A raw ``adult.data``.
    cache_dir : Path, optional
        Directory that keeps the counts of a download; without it every call downloads.
    timeout, retries, backoff, api_url
        As in `fetch_uci`; times in seconds.

    Returns
    -------
    table : DataFrame, shape (4186, 5)
        As `pair_counts` makes it, the same for every source.
    provenance : dict
        ``requested``, ``used``, ``counts_sha256``, ``records``, and ``fallback_reason`` (a sentence, or
        None). It does not depend on the cache, the time or the machine.

    Raises
    ------
    AdultError
        If the data of the source are not those of Adult, or a file does not exist.
    ConnectionError
        If `source` is ``uci`` and no attempt gave usable data.
    ValueError
        If `source` is unknown, or is ``file`` without a file, or a parameter of the download is out of range.
    """
    if source not in get_args(Source):
        raise ValueError(f"The Adult source is {source!r}; allowed are {_listed(get_args(Source))}.")
    used, reason = source, None
    if source == "auto":
        used = "uci" if file is None else "file"
    if used == "file":
        if file is None:
            raise ValueError("The Adult source is 'file' but no file is given; a raw 'adult.data' is needed.")
        table = _checked_counts(read_raw(file), str(file))
    elif used == "uci":
        try:
            table = _uci_counts(cache_dir, timeout=timeout, retries=retries, backoff=backoff, api_url=api_url)
        except (ConnectionError, AdultError) as error:
            if source == "uci":
                raise
            used, reason = "bundled", str(error)
            _LOG.warning("The Adult counts that the project ships are used: %s", reason)
    if used == "bundled":
        table = read_counts(bundled)
    return table, {
        "requested": source,
        "used": used,
        "counts_sha256": COUNTS_SHA256,
        "records": RECORDS,
        "fallback_reason": reason,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the shipped pair-count table from the raw file.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; default ``sys.argv[1:]``.

    Raises
    ------
    SystemExit
        With a sentence, if the raw file is not the one that UCI distributes.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ldpfrontier.adult", description="Count pairs of attributes."
    )
    parser.add_argument("raw_file", type=Path, help="the raw adult.data")
    parser.add_argument("--output", type=Path, default="resources/adult_pair_counts.csv", help="CSV table")
    options = parser.parse_args(arguments)
    try:
        records = read_raw(options.raw_file)
        digest = hashlib.sha256(options.raw_file.read_bytes()).hexdigest()
        if digest != RAW_SHA256:
            raise AdultError(f"{options.raw_file} has the sha256 {digest}; UCI's file has {RAW_SHA256}.")
        write_counts(_checked_counts(records, str(options.raw_file)), options.output)
    except AdultError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
