"""UCI Adult (Census Income) as counts of pairs of categorical attributes, from any of three sources.

For every pair (a, b) of the nine categorical attributes, n(x, y) = |{records with a = x and b = y}| over the
32,561 training records. The raw file, a download from UCI (dataset 2, by ucimlrepo) and the table shipped in
``resources/`` must give the same text, which is checked by its hash.
"""

import io
import logging
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from ldpfrontier.base.atomic import write_text
from reproduction.data.catalogue import COLUMNS, DataError, data_set

FIELDS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week",
    "native-country", "income",
)  # fmt: skip
ATTRIBUTES = data_set("adult").attributes
MISSING = "?"

RECORDS = 32_561
LABEL_COUNTS = {"<=50K": 24_720, ">50K": 7_841}
COUNTS_SHA256 = data_set("adult").sha256

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


class AdultError(DataError):
    """Data that are not the Adult data, or not all of them."""


def _join(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _require_adult(records: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Return the records if their number and their labels are those of the train part of Adult."""
    if len(records) != RECORDS:
        raise AdultError(f"{origin} has {len(records)} training records; the Adult data have {RECORDS}.")
    found = Counter(records["income"])
    allowed = _join(LABEL_COUNTS)
    if unknown := sorted(found.keys() - LABEL_COUNTS.keys()):
        raise AdultError(f"{origin} has the unknown income labels {_join(unknown)}; allowed are {allowed}.")
    if found != LABEL_COUNTS:
        counts, expected = [found[label] for label in LABEL_COUNTS], list(LABEL_COUNTS.values())
        raise AdultError(f"{origin} has the income labels {allowed} {counts} times; Adult has {expected}.")
    return records


def read_raw(path: Path) -> pd.DataFrame:
    """Return the 9 categorical attributes of a raw ``adult.data`` file, with ``"?"`` for missing values.

    A file that does not exist, or does not have the 32,561 records of 15 fields separated by ``", "``, is
    refused.
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
    return _require_adult(pd.DataFrame(rows, columns=list(FIELDS))[list(ATTRIBUTES)], str(path))


def train_part(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the train records of the 48,842 that UCI serves, as `read_raw`; test labels end in ``"."``."""
    origin = "The UCI download"
    if missing := [name for name in ATTRIBUTES if name not in frame]:
        raise AdultError(f"{origin} lacks the columns {_join(missing)}; needed are {_join(ATTRIBUTES)}.")
    if len(frame) != UCI_RECORDS:
        raise AdultError(f"{origin} has {len(frame)} records; train and test together have {UCI_RECORDS}.")
    records = frame[list(ATTRIBUTES)].fillna(MISSING)
    return _require_adult(records[~records["income"].str.endswith(".")].reset_index(drop=True), origin)


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
    """Download the train records with ucimlrepo, from the address that it asks for the metadata.

    An attempt is killed after `timeout` seconds. After the first one there are so many retries, the first
    after `backoff` seconds, each further one after twice as many. If no attempt gives the Adult data, the
    sentence of the ConnectionError has the reason of the last one.
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
    """Count every pair of values of every pair of attributes of records, which are texts: `COLUMNS`.

    Pairs follow the order of `ATTRIBUTES`, values are sorted, and a pair of observed values that never occur
    together has a row with count 0.
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


def counts_text(table: pd.DataFrame) -> str:
    """Return a table, as `pair_counts` makes it, in its canonical form: the text of its CSV file."""
    return table[list(COLUMNS)].to_csv(index=False, lineterminator="\n")


def canonical_counts(records: pd.DataFrame, origin: str) -> str:
    """Return the pair counts of records as the text of their file; those of other data are refused."""
    text = counts_text(pair_counts(records))
    data_set("adult").check(text, origin)
    return text


def _uci_counts(cache: Path | None, **fetch: Any) -> str:
    """Return the counts in the cache if their hash is right, else download them into it."""
    file = cache / CACHE_NAME if cache else None
    if file and file.is_file():
        try:
            return data_set("adult").read(file)
        except DataError as error:
            _LOG.warning("The cached download is fetched again: %s", error)
    text = canonical_counts(fetch_uci(**fetch), "the UCI download")
    if file:
        write_text(text, file)
    return text


def load_counts(
    source: Source,
    *,
    bundled: Path | str,
    file: Path | str | None = None,
    cache: Path | str | None = None,
    timeout: float = 60.0,
    retries: int = 2,
    backoff: float = 1.0,
    api_url: str = UCI_API,
) -> tuple[str, dict[str, Any]]:
    """Return the pair counts of Adult, the same text from every source, and their provenance.

    The source ``auto`` takes the raw ``adult.data`` in `file` if there is one, else UCI, and the table that
    the project ships, `bundled`, if UCI gives no usable data. The folder `cache` keeps the counts of a
    download; without it every call downloads. The other arguments are as of `fetch_uci`. The provenance,
    ``requested``, ``used``, ``counts_sha256``, ``records``, and ``fallback_reason`` (a sentence, or None),
    does not depend on the cache, the time or the machine.
    """
    if source not in get_args(Source):
        raise ValueError(f"The Adult source is {source!r}; allowed are {_join(get_args(Source))}.")
    used, reason = source, None
    if source == "auto":
        used = "uci" if file is None else "file"
    if used == "file":
        if file is None:
            raise ValueError("The Adult source is 'file' but no file is given; a raw 'adult.data' is needed.")
        text = canonical_counts(read_raw(Path(file)), str(file))
    elif used == "uci":
        try:
            folder = Path(cache) if cache else None
            text = _uci_counts(folder, timeout=timeout, retries=retries, backoff=backoff, api_url=api_url)
        except (ConnectionError, DataError) as error:
            if source == "uci":
                raise
            used, reason = "bundled", str(error)
            _LOG.warning("The Adult counts that the project ships are used: %s", reason)
    if used == "bundled":
        text = data_set("adult").read(bundled)
    return text, {
        "requested": source,
        "used": used,
        "counts_sha256": COUNTS_SHA256,
        "records": RECORDS,
        "fallback_reason": reason,
    }
