"""Malformed files: every command that reads one ends with a sentence and leaves every file as it was."""

import pytest

from support.malformed import APPLY, AUDIT, ESTIMATE, RECORDS, TABLE, refused

#: Name: content, and part of the sentence. Given as people.csv, with the columns illness, region and age.
BAD_RECORDS = {
    "a byte order mark alone": (b"\xef\xbb\xbf", "people.csv is empty; a row of column names is needed."),
    "spaces alone": (b"  \n", "The column 'illness' is not in people.csv; its columns are   ."),
    "empty lines alone": (b"\n\n\n\n", "people.csv is empty; a row of column names is needed."),
    "UTF-16": (
        "illness,region,age\nno,north,old\n".encode("utf-16"),
        "people.csv is no UTF-8 but UTF-16, as Excel's 'Unicode text' is;",
    ),
    "UTF-32": (
        "illness,region,age\nno,north,old\n".encode("utf-32"),
        "people.csv is no UTF-8 but UTF-16, as Excel's 'Unicode text' is;",
    ),
    "Latin-1 header": (
        "illness,région,age\nno,north,old\n".encode("latin-1"),
        "people.csv is not UTF-8: it has the byte 0xe9 after record 0;",
    ),
    "Latin-1 later": (
        b"illness,region,age\n" + b"no,north,old\n" * 40000 + b"no,n\xf6rd,old\n",
        "people.csv is not UTF-8: it has the byte 0xf6 after record",
    ),
    "a half character at the end": (
        b"illness,region,age\nno,north,old\nno,north,\xc3",
        "people.csv is not UTF-8: it has the byte 0xc3 after record 0;",
    ),
    "surrogates": (
        b"illness,region,age\nno,\xed\xa0\x80,old\n",
        "people.csv is not UTF-8: it has the byte 0xed after record 0;",
    ),
    "compressed": (
        bytes([31, 139, 8, 0]) + bytes(range(256)),
        "people.csv is compressed with gzip; name the file '-' and pipe the output of",
    ),
    "zip archive": (
        b"PK\x03\x04" + bytes(range(256)),
        "people.csv is a zip archive, as .xlsx and .ods files are; save",
    ),
    "NUL bytes": (bytes(1000), "The column 'illness' is not in people.csv; its columns are"),
    "a NUL in a field": (
        b"illness,region,age\nno,no\x00rth,old\nyes,north,old\n",
        "people.csv has 'no\\x00rth' as a region; a value must not contain a NUL",
    ),
    "carriage returns alone": (
        b"illness,region,age\rno,north\r",
        "Record 1 of people.csv has 2 fields; its header has 3.",
    ),
    "semicolons": (
        b"illness;region;age\nno;north;old;\n",
        "Record 1 of people.csv has 4 fields; its header has 3, separated by semicolons.",
    ),
    "tabs": (
        b"illness\tregion\tage\nno\tnorth\n",
        "Record 1 of people.csv has 2 fields; its header has 3, separated by tabs.",
    ),
    "colons": (
        b"illness:region:age\nno:north:old\n",
        "The column 'illness' is not in people.csv; its columns are",
    ),
    "an old Excel file": (
        b"\xd0\xcf\x11\xe0" + bytes(100),
        "people.csv is an old Excel file (.xls); save the",
    ),
    "a Parquet file that was cut": (
        b"PAR1" + bytes(100),
        "people.csv is not a Parquet file that can be read:",
    ),
    "capital letters": (
        b"Illness,Region,Age\nno,north,old\n",
        "The column 'illness' is not in people.csv; its columns are Illness,",
    ),
    "spaces in the header": (
        b"illness, region, age\nno,north,old\n",
        "The column 'region' is not in people.csv; its columns are illness,",
    ),
    "a column twice": (
        b"illness,region,age,age\nno,north,old,old\n",
        "The column 'age' is twice in people.csv; its columns are illness,",
    ),
    "the sensitive column twice": (
        b"illness,illness,region,age\nno,no,north,old\n",
        "The column 'illness' is twice in people.csv; its columns are illness,",
    ),
    "no header": (
        b"no,north,old\nyes,south,old\n",
        "The column 'illness' is not in people.csv; its columns are no, north,",
    ),
    "one field more, late": (
        b"illness,region,age\n" + b"no,north,old\n" * 20000 + b"no,north,old,x\n",
        "Record 20001 of people.csv has 4 fields; its header has 3.",
    ),
    "a comma at the end of each row": (
        b"illness,region,age\nno,north,old,\n",
        "Record 1 of people.csv has 4 fields; its header has 3.",
    ),
    "quote inside a field": (
        b'illness,region,age\n"no"x,north,old\n',
        "people.csv is not a CSV file: ',' expected after '\"', after",
    ),
    "quote never closed": (
        b'illness,region,age\nno,north,"old\nyes,south,old\n' * 3,
        "people.csv is not a CSV file: ',' expected after '\"', after",
    ),
    "quote in the header": (
        b'"illness,region,age\nno,north,old\n',
        "people.csv is not a CSV file: unexpected end of data, after",
    ),
    "a field of 200,000 letters": (
        b"illness,region,age\nno,north," + b"x" * 200_000 + b"\n",
        "people.csv is not a CSV file: field larger than field limit",
    ),
    "missing: spaces": (
        b"illness,region,age\nno,north,   \nyes,north,old\n",
        "A record of people.csv has '   ' as age; missing values",
    ),
    "missing: NAN": (
        b"illness,region,age\nNAN,north,old\nyes,north,old\n",
        "A record of people.csv has 'NAN' as illness; missing",
    ),
    "missing: no-break space": (
        "illness,region,age\nno,\u00a0,old\n".encode(),
        "A record of people.csv has '\\xa0' as region; missing",
    ),
    "JSON": (
        b'{"illness": ["no"], "region": ["north"]}',
        "people.csv is JSON, not a table; CSV and Parquet files are read.",
    ),
    "HTML": (
        b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
        "people.csv is a page (HTML or XML), not a table; CSV and",
    ),
}


@pytest.mark.parametrize("which", BAD_RECORDS)
@pytest.mark.parametrize("command", ["design", "apply", "audit"])
def test_records(here, capsys, which, command):
    data, sentence = BAD_RECORDS[which]
    (here / "people.csv").write_bytes(data)
    if command == "design":
        refused(here, capsys, [*RECORDS, "people.csv", "--useful", "region", "age"], sentence)
    elif command == "apply":
        # What is missing is named with its record.
        refused(here, capsys, APPLY, sentence.removeprefix("A record").partition("; a NUL")[0][:25])
    else:
        refused(here, capsys, [*AUDIT, "--data", "people.csv"], "people.csv")


BAD_COUNTS = {
    "a count with a decimal comma": (
        'illness,region,count\nno,north,"1,5"\n',
        "Row 1 of table.csv has the count '1,5'; counts must be",
    ),
    "a count with a point before three digits": (
        "illness,region,count\nno,north,1.000\n",
        "Row 1 of table.csv has the count '1.000', whose point may be",
    ),
    "a count with a sign": (
        "illness,region,count\nno,north,+1\n",
        "Row 1 of table.csv has the count '+1'; counts must be whole",
    ),
    "a count with an exponent": (
        "illness,region,count\nno,north,1e3\n",
        "Row 1 of table.csv has the count '1e3'; counts must be whole",
    ),
    "a count with a point": (
        "illness,region,count\nno,north,16.5\n",
        "Row 1 of table.csv has the count '16.5'; counts must be whole",
    ),
    "a count in hexadecimal": (
        "illness,region,count\nno,north,0x10\n",
        "Row 1 of table.csv has the count '0x10'; counts must be whole",
    ),
    "a count with an underscore": (
        "illness,region,count\nno,north,1_000\n",
        "Row 1 of table.csv has the count '1_000'; counts must be",
    ),
    "a count in Arabic digits": (
        "illness,region,count\nno,north,٣\n",
        "Row 1 of table.csv has the count '٣'; counts must be whole",
    ),
    "a superscript as a count": (
        "illness,region,count\nno,north,²\n",
        "Row 1 of table.csv has the count '²'; counts must be whole",
    ),
    "an infinite count": (
        "illness,region,count\nno,north,inf\n",
        "Row 1 of table.csv has the count 'inf'; counts must be whole",
    ),
    "a count of 16 digits": (
        "illness,region,count\nno,north,9999999999999999\nyes,north,1\n",
        "Row 1 of table.csv has the count '9999999999999999'; counts",
    ),
    "a count of 400 digits": (
        f"illness,region,count\nno,north,{'9' * 400}\n",
        "Row 1 of table.csv has the count '",
    ),
    "a count of 5,000 digits": (
        f"illness,region,count\nno,north,{'9' * 5000}\n",
        "Row 1 of table.csv has the count '",
    ),
    "counts that add up to more than 2^53": (
        "illness,region,count\n"
        + "".join(f"{s},{u},999999999999999\n" for s in ("no", "yes") for u in range(9)),
        "The counts have shape (2, 9); they must be whole numbers, 0",
    ),
    "counts of rows that add up": (
        "illness,region,count\n" + "no,a,999999999999999\nyes,a,1\n" * 10_000,
        "The counts have shape (2, 1); they must be whole numbers, 0",
    ),
    "all counts 0": (
        "illness,region,count\nno,north,0\nyes,south,0\n",
        "table.csv contains no records; at least one is needed.",
    ),
    "one sensitive value": (
        "illness,region,count\nno,north,3\nno,south,4\n",
        "illness has the single value 'no'; at least two values are",
    ),
    "one record": (
        "illness,region,count\nno,north,1\nyes,south,0\n",
        "All records are equal; at least two different records are needed.",
    ),
    "no counts": (
        "illness,region\nno,north\n",
        "The column 'count' is not in table.csv; its columns are illness,",
    ),
    "counts twice": (
        "illness,region,count,count\nno,north,1,1\n",
        "The column 'count' is twice in table.csv; its columns are illness,",
    ),
    "1,001 values": (
        "illness,region,count\n" + "".join(f"{i},a,1\n" for i in range(1001)),
        "table.csv has more than 1000 combinations of illness, region",
    ),
    "1,024 pairs": (
        "illness,region,count\n" + "".join(f"{i},{i},1\n" for i in range(32)),
        "table.csv has 32 x 32 sensitive and useful values or more; at most",
    ),
}


@pytest.mark.parametrize("which", BAD_COUNTS)
def test_counts(here, capsys, which):
    text, sentence = BAD_COUNTS[which]
    (here / "table.csv").write_text(text, encoding="utf-8")
    refused(here, capsys, [*TABLE, "table.csv"], sentence)


BAD_REPORTS = {
    "of another channel": (
        "report\ny1\ny99\n",
        "Record 2 of reports.csv has 'y99' as its report; the channel",
    ),
    "numbers": ("report\n1\n2\n", "Record 1 of reports.csv has '1' as its report; the channel"),
    "capital letters": ("report\nY1\n", "Record 1 of reports.csv has 'Y1' as its report; the channel"),
    "spaces": ("report\ny1 \n", "Record 1 of reports.csv has 'y1 ' as its report; the channel"),
    "missing": ('report\ny1\n""\n', "Record 2 of reports.csv has '' as report; missing values"),
    "none": ("report\n", "reports.csv has no records; at least one is needed."),
    "two columns": (
        "report,report\ny1,y1\n",
        "The column 'report' is twice in reports.csv; its columns are report,",
    ),
    "no header": ("y1\ny2\n", "The column 'report' is not in reports.csv; its columns are y1."),
    "an empty header": ('""\ny1\n', "The column 'report' is not in reports.csv; its columns are ."),
}


@pytest.mark.parametrize("which", BAD_REPORTS)
def test_reports(here, capsys, which):
    text, sentence = BAD_REPORTS[which]
    (here / "reports.csv").write_text(text, encoding="utf-8")
    refused(here, capsys, [*ESTIMATE, "--out", "e.csv", "--picture", "e.svg"], sentence)
