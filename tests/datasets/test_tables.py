"""Tables: every format gives the same rows; bad files give a sentence."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pa_dataset
import pytest

from tests.support.tables import ARFF, arff_text, drifting_frame
from tmlcd_core import CondensingInTime, prequential
from tmlcd_core.datasets.tables import open_table
from tmlcd_core.errors import ConfigError, DataError

FRAME = drifting_frame()


def written(form, folder):
    """The frame in one format: a path or a frame."""
    path = folder / f"things.{form.partition(' ')[0]}"
    if form == "csv":
        FRAME.to_csv(path, index=False)
    elif form == "csv with semicolons":
        FRAME.to_csv(path, index=False, sep=";", encoding="utf-8-sig", na_rep="NA")
    elif form == "tsv":
        FRAME.to_csv(path, index=False, sep="\t", na_rep="?")
    elif form == "arff":
        path.write_text(arff_text(FRAME))
    elif form == "parquet":
        FRAME.to_parquet(path, row_group_size=100)
    elif form == "npz":
        texts = {name: FRAME[name].fillna("").to_numpy().astype(str) for name in ("colour", "class")}
        np.savez(path, size=FRAME["size"].to_numpy(), weight=FRAME["weight"].to_numpy(), **texts)
    elif form == "pandas":
        return FRAME
    elif form == "polars":
        polars = pytest.importorskip("polars", reason="*** NO POLARS: pip install polars ***")
        return polars.DataFrame({name: column.tolist() for name, column in FRAME.items()}, strict=False)
    elif form == "arrow":
        return pa.Table.from_pandas(FRAME)
    elif form == "dataset":
        for number, start in enumerate(range(0, len(FRAME), 130)):
            FRAME[start : start + 130].to_parquet(folder / f"{number}.parquet", row_group_size=50)
        return pa_dataset.dataset(folder)
    return path


FORMATS = ["csv", "csv with semicolons", "tsv", "arff", "parquet", "npz", "pandas", "polars", "arrow", "dataset"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_rows_of_the_frame(form, tmp_path):
    table = open_table(written(form, tmp_path))
    kinds = {one.name: one.kind for one in table.columns}
    assert kinds == {"size": "number", "weight": "number", "colour": "category", "class": "category"}
    assert table.count_labels("class").classes == FRAME["class"].value_counts().to_dict()
    rows = pd.concat(table.chunks(["size", "weight", "colour"], "class", size=100), ignore_index=True)
    np.testing.assert_allclose(rows[["size", "weight"]], FRAME[["size", "weight"]], rtol=1e-12)
    assert rows["class"].tolist() == FRAME["class"].tolist()
    assert [None if v != v else v for v in rows["colour"]] == [
        None if v is None or v != v else v for v in FRAME["colour"]
    ]


def test_labels_of_numbers_are_the_same_classes_in_every_format(tmp_path):
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40) % 3})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(y=frame["y"].astype(float)).to_parquet(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=frame[["a"]].to_numpy(), y=frame["y"].to_numpy())
    found = [open_table(tmp_path / f"t.{ending}").count_labels("y") for ending in ("csv", "parquet", "npz")]
    assert [one.classes for one in found] == 3 * [{"0": 14, "1": 13, "2": 13}]
    assert [one.name for one in open_table(tmp_path / "t.npz").columns] == ["X0", "y"]


def test_quoted_fields_keep_delimiters_and_line_breaks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,text,y\n1,"one, two",p\n2,"three\nfour",q\n\n3,"one, two",p\n')
    table = open_table(path)
    assert next(table.chunks(["a", "text"], "y"))["text"].tolist() == ["one, two", "three\nfour", "one, two"]
    assert table.count_labels("y").classes == {"p": 2, "q": 1}


@pytest.mark.parametrize(("ending", "delimiter"), [("csv", ";"), ("tsv", "\t"), ("csv", "|")])
def test_numbers_with_a_decimal_comma_are_those_with_a_point(ending, delimiter, tmp_path):
    for mark in ",.":
        path = tmp_path / f"{ord(mark)}.{ending}"
        FRAME.round(3).to_csv(path, index=False, sep=delimiter, decimal=mark)
    comma, point = (open_table(tmp_path / f"{ord(mark)}.{ending}") for mark in ",.")
    assert comma.columns == point.columns
    assert comma.count_labels("class") == point.count_labels("class")
    for one, other in zip(
        *(table.chunks(["size", "weight", "colour"], "class") for table in (comma, point)), strict=True
    ):
        pd.testing.assert_frame_equal(one, other)
    (tmp_path / "bad.csv").write_text("a;y\n" + "0,5;p\n1,25;q\n" * 3000 + "oops;p\n")
    with pytest.raises(DataError, match="'oops' in the column 'a', row 6001, which holds numbers"):
        everything(tmp_path / "bad.csv")


@pytest.mark.parametrize("text", ["1,500", "2,345,678", "1.234,56"])
def test_numbers_with_commas_that_may_be_read_in_two_ways_are_left_out(text, tmp_path):
    for delimiter, name in ((",", "a.csv"), (";", "b.csv")):
        rows = [f'"{text}"{delimiter}{i}{delimiter}{i % 2}' for i in range(40)]
        (tmp_path / name).write_text(delimiter.join("aby") + "\n" + "\n".join(rows) + "\n")
        assert [one.kind for one in open_table(tmp_path / name).columns] == ["commas", "number", "number"]


def test_dates_identifiers_and_empty_columns_are_left_out(tmp_path):
    rows = [f"2024-01-{1 + i % 28:02d} 10:00,{i},,id{i},{i % 2}" for i in range(40)]
    (tmp_path / "t.csv").write_text("when,a,nothing,who,y\n" + "\n".join(rows) + "\n")
    table = open_table(tmp_path / "t.csv")
    assert [one.kind for one in table.columns] == ["date", "number", "empty", "identifier", "number"]
    assert [one.name for one in table.features("y")] == ["a"]


def test_rows_without_a_label_are_left_out_and_counted():
    frame = pd.DataFrame({"a": np.arange(6.0), "y": ["p", None, "q", "p", np.nan, "q"]})
    found = open_table(frame).count_labels("y")
    assert (found.classes, found.unlabelled) == ({"p": 2, "q": 2}, 2)
    assert next(open_table(frame).chunks(["a"], "y"))["a"].tolist() == [0, 2, 3, 5]


def test_the_likely_label_is_found_by_name_or_as_the_last_column_with_few_values():
    assert open_table(FRAME).likely_label() == "class"
    frame = pd.DataFrame({"kind": list("abab") * 20, "a": np.arange(80.0)})
    assert open_table(frame).likely_label() == "kind"


GOOD = "a,b,y\n" + "".join(f"{i},{i * 2},{i % 2}\n" for i in range(60))
LONG = "a,b,y\n" + "".join(f"{i},{i * 2},{i % 2}\n" for i in range(6000))
MANY = "a,y\n" + "".join(f"{i},c{i}\n" for i in range(100_000))
BAD = {
    "a row is too long": (GOOD + "1,2,0,9\n", r"4 fields in row 61, but 3 columns"),
    "a row is too short": (GOOD + "1,2\n" + GOOD[6:], r"2 fields in row 61, but 3 columns"),
    "a text among numbers": (LONG + "1,oops,0\n", r"'oops' in the column 'b', row 6001, which holds numbers"),
    "a text among few numbers": (GOOD + "1,oops,0\n", r"mixes numbers and text.* 'b', such as 'oops' in row 61"),
    "mixed kinds from the start": (
        "a,y\n" + "".join(f"{'x' if i == 7 else i},{i % 2}\n" for i in range(90)), "mixes numbers.*'x' in row 8"),
    "an infinite number": (GOOD + "inf,2,0\n", r"inf in the column 'a', row 61"),
    "no label column": ("a,b\n1,2\n3,4\n", r"no column 'y' for the labels: choose one of a, b"),
    "a label in each row": ("a,y\n" + "".join(f"{i},k{i}\n" for i in range(60)), "another value in each of its 60"),
    "100,000 classes": (MANY, "more than 1,000 different values, such as c0"),
    "one class": ("a,y\n1,p\n2,p\n", "has 1 class: choose"),
    "no label at all": ("a,y\n1,\n2,\n", "has 0 classes: choose"),
    "an empty file": ("", "is empty"),
    "a header only": ("a,b,y\n", "has no rows"),
    "one column": ("y\n1\n2\n", "fewer than 2 columns"),
    "a name twice": ("a,a,y\n1,2,0\n", "has the column 'a' twice"),
    "no feature": ("when,y\n2024-01-01,0\n2024-01-02,1\n", "no column of numbers or categories besides 'y'"),
    "another encoding": ("a,naïve,y\n1,2,0\n".encode("latin-1"), r"not UTF-8 text \(byte 0xef\)"),
    "another encoding later": (GOOD.encode() + b"1,\xe9,0\n", r"not UTF-8 text \(byte 0xe9\)"),
    "UTF-16": ("a,b,y\n1,2,0\n".encode("utf-16"), "not UTF-8 text"),
    "zero bytes": (b"a,b,y\n\0\0\0", "zero bytes"),
    "an open quote": ('a,y\n1,"' + "x" * 200_000 + "\n", "check its quotes"),
}  # fmt: skip


def everything(path, label="y"):
    """Read all of a table."""
    table = open_table(path)
    table.count_labels(label)
    return list(table.chunks([one.name for one in table.features(label)], label))


@pytest.mark.parametrize("case", BAD)
def test_a_bad_csv_file_gives_a_sentence_and_stays_as_it_is(case, tmp_path):
    content, sentence = BAD[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = path.read_bytes()
    with pytest.raises(DataError, match=sentence):
        everything(path)
    assert path.read_bytes() == before


def test_the_good_rows_of_these_files_are_a_table(tmp_path):
    (tmp_path / "good.csv").write_text(GOOD)
    assert sum(map(len, everything(tmp_path / "good.csv"))) == 60


def test_a_file_of_2_gb_without_lines_is_refused_without_reading_it_all(tmp_path):
    path = tmp_path / "big.csv"
    with open(path, "wb") as file:
        file.truncate(2 * 2**30)  # sparse
    with pytest.raises(DataError, match=r"zero bytes|more than"):
        everything(path)


@pytest.mark.parametrize(("ending", "content", "sentence"), [
    ("arff", ARFF + "{0 1, 1 2}\n", "sparse ARFF"),
    ("arff", ARFF + "1,2,red\n", "3 fields in row 1, but 4 columns"),
    ("arff", "@relation r\n@data\n1,2\n", "fewer than 2 attributes"),
    ("arff", "@relation r\n@attribute a relational\n@data\n", "relational"),
    ("arff", ARFF + "1,two,red,x\n2,3,blue,y\n", "'two' in the column 'weight', row 1"),
    ("parquet", "PAR1 no", "not a Parquet file"),
    ("npz", "PK no", "not an NPZ file"),
    ("xlsx", "PK", r"not a table: give a file that ends in \.csv"),
])  # fmt: skip
def test_other_bad_files_give_a_sentence(ending, content, sentence, tmp_path):
    path = tmp_path / f"bad.{ending}"
    path.write_text(content)
    with pytest.raises(DataError, match=sentence):
        everything(path, "class")


def test_a_pickle_in_an_npz_file_is_not_opened(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([{"a": 1}], object))
    with pytest.raises(DataError, match="not an NPZ file of plain arrays"):
        open_table(tmp_path / "t.npz")


def test_arrays_of_different_length_give_a_sentence(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), y=np.ones(4))
    with pytest.raises(DataError, match=r"X \(3, 2\), y \(4,\): save X"):
        open_table(tmp_path / "t.npz")


def test_a_missing_file_and_a_folder_give_a_sentence(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "folder.csv"):
        with pytest.raises(DataError, match="there is no file"):
            open_table(tmp_path / name)


class LazyFrame:
    """As polars' own: not read yet."""

    __module__ = "polars.lazyframe.frame"
    columns = ()


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (LazyFrame(), r"LazyFrame is not a table: call \.collect\(\)"),
        (FRAME["size"], r"Series is not a table: call \.to_frame\(\)"),
        (pa.Table.from_pandas(FRAME).to_reader(), r"Reader is not a table: call \.read_all\(\)"),
        (pa_dataset.dataset(pa.Table.from_pandas(FRAME)).scanner(), r"call \.to_table\(\)"),
        (FRAME.to_numpy(), "ndarray is not a table: give a pandas frame"),
        ({"a": [1]}, r"dict is not a table: give pandas\.DataFrame"),
        (None, "NoneType is not a table: give a file, a pandas or polars frame"),
    ],
)
def test_what_is_no_table_yet_gives_the_call_that_makes_one(source, remedy):
    with pytest.raises(DataError, match=remedy):
        open_table(source)
    with pytest.raises(ConfigError, match=remedy):
        prequential(CondensingInTime(), source, label="class")


def test_an_arrow_table_without_rows_and_a_missing_part_give_a_sentence(tmp_path):
    with pytest.raises(DataError, match="no rows"):
        _ = open_table(pa.Table.from_pandas(FRAME[:0])).head
    FRAME.to_parquet(tmp_path / "a.parquet")
    table = open_table(pa_dataset.dataset(tmp_path))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        _ = table.head


def test_chunks_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("tmlcd_core.datasets.tables.table.TYPE_ROWS", 50)
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    table = open_table(tmp_path / "t.csv")
    assert len(table.head) == 50
    assert {len(chunk) for chunk in table.chunks(["size"], "class", size=64)} == {64, 900 % 64}


def test_the_key_changes_with_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    before = open_table(path).key
    assert open_table(path).key == before
    path.write_text(GOOD + "1,2,0\n")
    assert open_table(path).key != before
