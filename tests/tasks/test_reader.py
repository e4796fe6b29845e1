"""Every format: what is read, byte for byte, and what is said of a line that cannot be."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import tarfile
import zipfile

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from seq2see.options import FilesOptions, OnBadLine
from seq2see.tasks import Pair, make_task
from seq2see.text import DataError

QUICK = settings(deadline=None, max_examples=50)
printable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: text.strip())
without_nul = printable.map(lambda text: text.replace("\0", "")).filter(lambda text: text.strip())
field = without_nul.map(lambda text: re.sub(r"[\t\n]", "", text).removesuffix("\r").lstrip("\ufeff"))
field = field.filter(lambda text: text.strip())
fields = st.lists(st.tuples(field, field), min_size=1, max_size=6).filter(lambda rows: sorted(rows[0]) != NAMES)
NAMES = ["source", "target"]
BY_NAME = {"source": "source", "target": "target"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def read(path, data=None, *, skip=False, delimiter=None, encoding="utf-8", **options):
    """The training pairs of a file with these bytes, and the notes but for those on splits."""
    if data is not None:
        path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    name = [str(side) for side in path] if isinstance(path, list) else str(path)
    task = make_task(
        FilesOptions(train=name, **options),
        on_bad_line=OnBadLine.skip if skip else OnBadLine.error,
        delimiter=delimiter,
        encoding=encoding,
    )
    pairs = [(pair.source, pair.target) for pair in task.pairs("train")]
    return pairs, [note for note in task.notes if "split off" not in note]


def complaint(path, data=None, **options):
    """The message for the file, without the folder in front of the name."""
    with pytest.raises(DataError) as error:
        read(path, data, **options)
    place = path[0] if isinstance(path, list) else path
    return str(error.value).replace(f"{place.parent}{os.sep}", "")


@QUICK
@given(fields, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_any_text_without_tabs_and_line_ends_comes_back_from_lines_byte_for_byte(folder, rows, end, has_bom, packed):
    pack, suffix = (gzip.compress, ".gz") if packed else (bytes, "")
    sides = [folder / f"x.en{suffix}", folder / f"x.de{suffix}"]
    bom = "\ufeff" * has_bom
    for side, lines in zip(sides, zip(*rows, strict=True), strict=True):
        side.write_bytes(pack((bom + end.join(lines)).encode("utf-8")))
    lines = bom + end.join(f"{source}\t{target}" for source, target in rows)

    assert read(folder / f"x.tsv{suffix}", pack(lines.encode("utf-8")), source=0, target=1) == (rows, [])
    assert read(sides)[0] == rows


@QUICK
@given(
    st.lists(st.tuples(without_nul, without_nul), min_size=1, max_size=6),
    st.sampled_from([None, *";\t|^]-\\ "]),
    st.sampled_from(["utf-8", "utf-16-le"]),
)
def test_any_text_comes_back_from_csv_as_the_standard_writer_wrote_it(folder, rows, delimiter, encoding):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL, delimiter=delimiter or ",").writerows([NAMES, *rows])
    data = buffer.getvalue().encode(encoding)

    assert read(folder / "x.csv", data, **BY_NAME, delimiter=delimiter, encoding=encoding)[0] == rows


@QUICK
@given(st.lists(st.tuples(printable, printable), min_size=1, max_size=6), st.booleans())
def test_any_text_comes_back_from_jsonl_and_parquet(folder, rows, ascii_only):
    entries = [{"source": source, "target": target, "id": 7} for source, target in rows]
    lines = "".join(json.dumps(entry, ensure_ascii=ascii_only) + "\n" for entry in entries)
    parquet.write_table(pyarrow.Table.from_pylist(entries), folder / "x.parquet")

    assert read(folder / "x.jsonl", lines)[0] == rows
    assert read(folder / "x.parquet")[0] == rows


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl"])
def test_nothing_is_taken_for_a_missing_value_a_number_a_date_or_a_quotation(tmp_path, suffix):
    words = ["NA", "nan", "null", "None", "-", "1e5", "007", "true", "2020-01-01T00:00:00", "#"]
    if suffix == "tsv":
        words += ['"open', 'in "the" middle', "ei\"ns o'ne", 'end"', '"']
    lines = {
        "tsv": [f"{word}\t{word}" for word in words],
        "csv": [f"{word},{word}" for word in words],
        "jsonl": [json.dumps({"source": word, "target": word}) for word in words],
    }

    assert read(tmp_path / f"x.{suffix}", "\n".join(lines[suffix]))[0] == [(word, word) for word in words]


def test_only_newlines_end_a_line_and_a_byte_order_mark_is_dropped(tmp_path):
    odd = "one\x0btwo\x0c\x1c\x85\u2028\u2029three\rfour"

    assert read(tmp_path / "x.tsv", f"{odd}\tb\r\nc\td\r\r\n")[0] == [(odd, "b"), ("c", "d\r")]
    assert read(tmp_path / "x.tsv", "\ufeffsource\ttarget\na b\tb a\n", **BY_NAME)[0] == [("a b", "b a")]


def test_blank_lines_of_any_white_space_are_skipped_and_counted(tmp_path):
    pairs, notes = read(tmp_path / "x.tsv", "a\tb\n\n  \u00a0\u3000\n\t\nc\td\n\r\n")

    assert pairs == [("a", "b"), ("c", "d")]
    assert notes == [f"{tmp_path / 'x.tsv'}: 4 blank lines skipped"]
    assert read(tmp_path / "y.tsv", "\na\tb")[1] == [f"{tmp_path / 'y.tsv'}: 1 blank line skipped"]


GOOD = {"tsv": b"a\tb\n", "csv": b"a,b\n", "jsonl": b'{"source":"a","target":"b"}\n'}
LATIN = "not UTF-8 (byte 0xF6 at byte 4 of the line, in cp1252 it is 'ö'), save the file as UTF-8, or set"
BAD_LINES = {  # after a good one
    "three fields": (
        "tsv",
        "c\td\te",
        "3 fields where 2 were expected, write source and target with one tab between, or choose",
    ),
    "one field": ("tsv", "c d", "1 field where 2 were expected, write source and target with one tab between"),
    "empty target": ("tsv", "c d\t", "empty target, fill it in or remove the line"),
    "blank target": ("tsv", "c d\t  ", "blank target, fill it in"),
    "latin-1": ("tsv", b"sch\xf6n\tc", LATIN),
    "latin-1 csv": ("csv", b"sch\xf6n,c", LATIN),
    "empty csv field": ("csv", ",c", "empty source"),
    "stray quote": ("csv", 'c "d" e,f', "a quote mark inside a field, write it twice and the field in quotes"),
    "open quote": ("csv", '"c,d', "a quoted field begins here and never ends"),
    "missing key": ("jsonl", '{"source":"c"}', "no key 'target', there are: source; choose with task.target"),
    "half an object": ("jsonl", '{"source":"c",', "not JSON (Expecting property name"),
    "a list": ("jsonl", '["c","d"]', "not a JSON object, write one object for each pair, as {"),
    "null": ("jsonl", '{"source":"c","target":null}', "'target' is null, not text, write it as text"),
    "a number": ("jsonl", '{"source":"c","target":1e5}', "'target' is 100000.0, not text"),
    "surrogate": ("jsonl", '{"source":"c","target":"\\ud800"}', "'target' holds half a character"),
    "deep": ("jsonl", '{"a":' * 9999, "not JSON ("),
    "huge": ("jsonl", '{"a":' + "9" * 5000 + "}", "not JSON ("),
}


@pytest.mark.parametrize(("suffix", "line", "message"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_an_error_that_names_file_line_and_remedy_or_is_skipped_and_counted(
    tmp_path, suffix, line, message
):
    path = tmp_path / f"x.{suffix}"
    said = complaint(path, GOOD[suffix] + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    assert said.startswith(f"{path.name}, line 2: {message}") and "\n" not in said
    assert said.endswith(", or set data.on_bad_line=skip")
    pairs, (note,) = read(path, skip=True)
    assert pairs == [("a", "b")]
    assert note.startswith(f"{path}: 1 bad line skipped, the first is line 2: ")


def test_lines_are_counted_as_an_editor_counts_them(tmp_path):
    jsonl = '{"source":"a","target":"b"}\n\n\n{"source":"c","target":"d"}\n{"source":"e","target":\n'
    for name, data, said in (
        ("x.tsv", "a\tb\tc\n", "line 1: 3 fields where 2 were expected"),
        ("x.jsonl", jsonl, "line 5: not JSON (Expecting value at column 24)"),
        ("x.csv", 'a,"b\nb"\r\n\r\nc\r\n', "line 4: 1 field where 2 were expected"),
    ):
        assert complaint(tmp_path / name, data).startswith(f"{name}, {said}")


def test_csv_follows_rfc_4180_and_a_stray_quote_costs_one_line(tmp_path):
    data = 'Hello,"Hallo, ""Welt"""\r\n"two\r\nlines","zwei\n\nZeilen"\r\n"","x"\n\n"",""\r\n a , b \r\nnull,007'
    pairs, notes = read(tmp_path / "x.csv", data, skip=True)
    assert pairs == [("Hello", 'Hallo, "Welt"'), ("two\r\nlines", "zwei\n\nZeilen"), (" a ", " b "), ("null", "007")]
    assert notes[0].endswith("1 blank line skipped")
    assert "2 bad lines skipped, the first is line 6: empty source" in notes[1]

    data = 'a,b\nan "odd one,c\n' + "".join(f"{n},{n}\n" for n in range(12)) + '"another,d\nlast,e\n'
    pairs, notes = read(tmp_path / "x.csv", data, skip=True)
    assert [source for source, _ in pairs] == ["a", *map(str, range(12)), "last"]
    assert "2 bad lines skipped" in notes[0]


def test_other_delimiters_are_set_and_a_semicolon_is_suggested(tmp_path):
    path = tmp_path / "x.csv"
    data = 'en;sv\n"a; b";c, d\n'
    assert read(path, data, delimiter=";", source="sv", target="en")[0] == [("c, d", "a; b")]
    for columns in ({}, {"source": "en", "target": "sv"}, {"source": 0, "target": 1}):
        assert "or set data.delimiter=';' if that separates the columns" in complaint(path, **columns)
    pairs, (note,) = read(path, "a, b;c\n")
    assert pairs == [("a", " b;c")] and note.endswith(
        "line 1: separated at its commas, or set data.delimiter=';' if that separates the columns"
    )
    assert read(path, 'a\t"b\tc"\n', delimiter="tab")[0] == [("a", "b\tc")]
    assert "data.delimiter=tab" in complaint(path, "a\tb\n")
    assert read(tmp_path / "x.tsv", 'a|"b\n', delimiter="|")[0] == [("a", '"b')]
    assert "with one '|' between" in complaint(tmp_path / "x.tsv", "a\n", delimiter="|")


def test_json_is_a_list_an_object_with_a_list_one_object_or_one_a_line(tmp_path):
    path = tmp_path / "x.json"
    entries = [{"source": "a", "target": "b"}, {"source": "c\n", "target": "d"}]
    pairs = [("a", "b"), ("c\n", "d")]
    for whole in (entries, {"version": 1, "data": entries, "other": [1]}, {"pairs": entries}):
        assert read(path, json.dumps(whole, indent=2))[0] == read(path, json.dumps(whole))[0] == pairs
    assert read(path, "\n".join(map(json.dumps, entries)) + "\n")[0] == pairs
    assert read(path, json.dumps({**entries[0], "tags": ["x"]}, indent=2))[0] == pairs[:1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('[{"source":"a","target":"b"},\n {"source":"c"}]', ", entry 2: no key 'target', there are: source"),
        ('[["a","b"]]', ', entry 1: not a JSON object, write one object for each pair, as {"source"'),
        ('[{"source":"a",\n"target":}]', ", line 2: not JSON (Expecting value"),
        ('{"source":"a","target":"b"}\n{"source":}\n', ", line 2: not JSON (Expecting value at column"),
        ('{"train":[{"source":"a"}],"test":[]}', ", line 1: several lists (train, test), write each into a file"),
        ("", ": no pairs (the file is empty)"),
        ("[" * 9999, ", line 1: not JSON ("),
    ],
)
def test_json_that_gives_no_pairs_is_named(tmp_path, data, message):
    assert complaint(tmp_path / "x.json", data).startswith(f"x.json{message}")


@pytest.mark.parametrize("form", ["jsonl", "json.gz", "parquet"])
def test_columns_of_objects_are_chosen_by_name_or_language_and_others_may_hold_anything(tmp_path, form):
    path = tmp_path / f"a::b [1].{form}"
    rows = [
        {"x": "NA", "translation": {"en": "a", "de": "1e5"}, "z": 3.5},
        {"x": "q\r", "translation": {"en": "b", "de": "ü"}, "z": None},
    ]
    if form == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        assert read(path, source=0, target="en")[0] == [("NA", "a"), ("q\r", "b")]
    else:
        lines = "\n".join(map(json.dumps, rows)) if form == "jsonl" else json.dumps(rows)
        path.write_bytes(gzip.compress(lines.encode()) if form == "json.gz" else lines.encode())

    assert read(path, source="en", target="de")[0] == [("a", "1e5"), ("b", "ü")]
    assert read(path, source="x", target="de")[0] == [("NA", "1e5"), ("q\r", "ü")]
    assert " 1: 'z' is 3.5, not text" in complaint(path, source="x", target="z")
    assert "1: no key 'eng', nearest: en; there are: en, de, " in complaint(path, source="eng", target="de")


def test_a_parquet_file_without_the_columns_or_without_rows_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"english": ["a"], "german": ["b"]}), path)
    assert complaint(path).startswith("x.parquet: no column 'source' (task.source), there are: english, german")
    parquet.write_table(pyarrow.table({"source": ["a"], "target": ["b"]}).slice(0, 0), path)
    assert complaint(path).startswith("x.parquet: no pairs (the file is empty)")
    assert complaint(tmp_path / "y.parquet", "no").startswith("y.parquet: not readable as parquet (")


def test_lines_of_the_published_scan_files_are_pairs(tmp_path):
    path = tmp_path / "tasks_train.txt"
    data = "IN: jump OUT: I_JUMP\nIN: walk twice OUT: I_WALK I_WALK\n"
    pairs, notes = read(path, data)
    assert pairs == [("jump", "I_JUMP"), ("walk twice", "I_WALK I_WALK")]
    assert notes == [f"{path}: read as lines of the shape 'IN: source OUT: target'"]
    assert "line 3: not of the shape 'IN: source OUT" in complaint(path, data + "look\tI_LOOK\n")
    assert read(path, "IN: a OUT: b\tc\n")[0] == [("IN: a OUT: b", "c")]


def test_files_that_hold_pairs_are_joined_and_errors_name_the_file_and_its_line(tmp_path):
    for number in (2, 1, 10):
        (tmp_path / f"part-{number}.tsv").write_bytes(f"a{number}\tb{number}\n".encode() * 2 + b"\n")
    parts = [("a1", "b1")] * 2 + [("a10", "b10")] * 2 + [("a2", "b2")] * 2

    pairs, notes = read(tmp_path / "part-*.tsv")
    assert pairs == parts and len(notes) == 3 and notes[0] == f"{tmp_path / 'part-1.tsv'}: 1 blank line skipped"
    assert read([tmp_path / "part-1.tsv", tmp_path / "part-10.tsv"])[0] == parts[:4]  # never parallel
    (tmp_path / "more.jsonl").write_text('{"source": "c", "target": "d"}\n')
    assert read([tmp_path / "part-*.tsv", tmp_path / "more.jsonl"])[0] == [*parts, ("c", "d")]
    (tmp_path / "part-10.tsv").write_bytes(b"a\tb\na\n")
    assert complaint(tmp_path / "part-*.tsv").startswith("part-10.tsv, line 2: 1 field where 2 were expected")
    assert complaint(tmp_path / "shard-*.tsv").startswith("shard-*.tsv: no file matches, ")
    (tmp_path / "part-*.tsv").write_bytes(b"only\tthis\n")
    assert read(tmp_path / "part-*.tsv")[0] == [("only", "this")]


def test_parallel_files_may_be_named_by_side_and_a_mixed_list_is_refused(tmp_path):
    (tmp_path / "x.tsv").write_bytes(b"a\tb\n")
    (tmp_path / "y.txt").write_bytes(b"c\n")
    named = {"target": str(tmp_path / "x.tsv"), "source": str(tmp_path / "y.txt")}
    assert list(make_task(FilesOptions(train=named)).pairs("train")) == [Pair("c", "a\tb")]
    with pytest.raises(ValueError, match=r"x.tsv holds pairs by its name, .*'\{source: .*x.tsv, target: .*y.txt\}'"):
        read([tmp_path / "x.tsv", tmp_path / "y.txt"])


def test_a_header_is_read_as_names_only_when_columns_are_named(tmp_path):
    path = tmp_path / "x.tsv"
    data = "english\tgerman\na\tb\n"

    pairs, notes = read(path, data)
    assert pairs == [("english", "german"), ("a", "b")]
    assert notes == [
        f"{path}, line 1: read as a pair, set task.source=english task.target=german if it is the names of the columns"
    ]
    assert read(path, data, source=1, target="0") == ([("german", "english"), ("b", "a")], [])
    assert read(path, data, source="german", target="english") == ([("b", "a")], [])
    assert read(path, data, source="german", target=0)[0] == [("b", "a")]
    assert "task.source=en task.target=sv-FI" in read(tmp_path / "x.csv", "en,sv-FI\nnow,nu\n")[1][0]
    assert read(path, "the house\tdas Haus\n")[1] == []


def test_a_header_that_says_source_and_target_is_one_in_all_shards_and_a_note_says_so(tmp_path):
    path = tmp_path / "1.csv"
    pairs, notes = read(path, "target,source\nb,a\n")
    assert pairs == [("a", "b")]
    assert notes == [
        f"{path}, line 1: read as the names of the columns, set task.source=0 task.target=1 if it is a pair"
    ]
    assert read(path, source=1, target=0) == ([("source", "target"), ("a", "b")], [])

    (tmp_path / "2.csv").write_bytes(b"d,c\n")
    said = complaint(tmp_path / "?.csv")
    assert said.startswith("2.csv, line 1: no column 'source' (task.source), there are: d, c; by number they count")
    (tmp_path / "2.csv").write_bytes(b"source,target\nc,d\n")
    assert read(tmp_path / "?.csv")[0] == [("a", "b"), ("c", "d")]


def test_with_columns_chosen_a_line_must_have_the_fields_of_the_first(tmp_path):
    path = tmp_path / "x.tsv"
    data = "1\ta\tb\n2\tc\td\n"

    assert read(path, data, source=1, target=2)[0] == [("a", "b"), ("c", "d")]
    said = complaint(path, data + "3\te\n", source=1, target=2)
    assert said.startswith("x.tsv, line 3: 2 fields where 3 were expected, give it as many as the first line, or set")
    assert "line 3: 4 fields where 3" in complaint(path, data + "3\te\tf\tg\n", source=1, target=2)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"source": "englsh", "target": 1},
            "no column 'englsh' (task.source), nearest: english; there are: english, g",
        ),
        ({"source": "english", "target": "german"}, "2 columns are named 'german', choose task.target by number"),
        ({"source": 0, "target": 3}, "no column '3' (task.target), there are: english, german, german; by number they"),
        ({"source": -1, "target": 0}, "no column '-1' (task.source), there are: "),
        ({"features": 0}, "column 0 is task.features and the source, set task.source and task.target too"),
        ({"features": 1}, "column 1 is task.features and the target, set task.source and task.target too"),
    ],
)
def test_columns_that_cannot_be_are_answered_with_those_that_are_there(tmp_path, columns, said):
    data = "english\tgerman\tgerman\na\tb\tc\n"

    assert complaint(tmp_path / "x.tsv", data, **columns).startswith(f"x.tsv, line 1: {said}")


def test_tags_are_single_words_with_a_tab_between_them_and_the_source(tmp_path):
    data = "lemma\tform\ttags\ngehen\tging\tV;PST;1 SG\ngeht\tgeht\t\n"

    pairs, _ = read(tmp_path / "x.tsv", data, source="lemma", target="form", features="tags")
    assert pairs == [("V;PST;1_SG\tgehen", "ging"), ("\tgeht", "geht")]
    pairs, _ = read(tmp_path / "y.tsv", "gehen\tging\tV|PST\n", features=2, features_separator="|")
    assert pairs == [("V|PST\tgehen", "ging")]
    entry = {"source": "gehen", "target": "ging", "tags": ["V", "", "PST 1"]}
    assert read(tmp_path / "x.jsonl", json.dumps(entry), features="tags")[0] == [("V;PST_1\tgehen", "ging")]


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (["V;PST"], "'tags' is ['V;PST'], with ';' in a tag, set another task.features_separator"),
        (["\ud800"], "'tags' holds half a character (a lone surrogate), mend the escape"),
        (["V", 3], "'tags' is ['V', 3], not text"),
        (None, "'tags' is null, not text"),
    ],
)
def test_tags_that_are_no_tags_are_refused(tmp_path, tags, said):
    data = json.dumps({"source": "gehen", "target": "ging", "tags": tags})

    assert f"x.jsonl, line 1: {said}" in complaint(tmp_path / "x.jsonl", data, features="tags")


def test_parallel_files_of_unequal_length_are_refused_and_nothing_is_cut_short(tmp_path):
    sides = [tmp_path / "ten.src", tmp_path / "eleven.tgt"]
    sides[0].write_bytes(b"x\n" * 10)
    sides[1].write_bytes(b"y\n" * 10 + b"y")

    for files in (sides, sides[::-1]):
        for skip in (False, True):
            assert complaint(files, skip=skip).startswith(
                "eleven.tgt, line 11: no line to go with it, ten.src has 10 lines, give both the same number"
            )


def test_parallel_lines_keep_their_tabs_and_a_line_that_is_blank_in_one_file_is_named(tmp_path):
    sides = [tmp_path / "x.en.gz", tmp_path / "x.de"]
    sides[0].write_bytes(gzip.compress(b"a\tb\n\nc\n"))
    sides[1].write_bytes(b"d\te\n \nf\n")
    pairs, notes = read(sides)
    assert pairs == [("a\tb", "d\te"), ("c", "f")]
    shown = f"{sides[0]} and {sides[1]}"
    looks = f"{shown}: read as a file of sources and one of targets, though both look like pairs"
    assert notes == [looks, f"{shown}: 1 blank line skipped"]

    sides[0].write_bytes(gzip.compress(b"source\n"))
    sides[1].write_bytes(b"target\n")
    assert read(sides) == ([("source", "target")], [])

    sides[0].write_bytes(gzip.compress(b"a\n\nc\n"))
    sides[1].write_bytes(b"d\n \n\n")
    assert complaint(sides).startswith("x.en.gz and x.de, line 3: empty target")
    with pytest.raises(ValueError, match="parallel files have none"):
        read(sides, source=0, target=1)


@pytest.mark.parametrize("data", ["", "\n \n\t\n", "\ufeff"])
def test_a_file_without_pairs_is_an_error(tmp_path, data):
    reason = "the file is empty" if not data.strip("\ufeff") else "3 blank lines skipped"

    assert complaint(tmp_path / "x.tsv", data) == f"x.tsv: no pairs ({reason}), give it at least one line"


def test_a_file_that_cannot_be_had_is_named_with_its_neighbours(tmp_path):
    (tmp_path / "pairs.tsv").touch()
    assert complaint(tmp_path / "pair.tsv") == f"pair.tsv: no such file, nearest in {tmp_path}: pairs.tsv"
    assert complaint(tmp_path / "qqq.txt").startswith("qqq.txt: no such file, and no similar name in")
    assert "no such file, nor a folder" in complaint(tmp_path / "nowhere" / "x.tsv")
    (tmp_path / "folder.tsv").mkdir()
    (tmp_path / "folder.tsv" / "in.tsv").touch()
    assert complaint(tmp_path / "folder.tsv") == "folder.tsv: a folder, not a file, name a file in it: in.tsv"
    if os.name != "nt" and os.geteuid() != 0:  # root may read everything
        (tmp_path / "x.tsv").touch(mode=0)
        assert complaint(tmp_path / "x.tsv").startswith("x.tsv: cannot be read (Permission denied), check")


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PACKED[".zst"] = lambda data: pyarrow.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_is_unpacked_whatever_its_name(tmp_path, suffix):
    rows = [(f"source {n} " * 999, f"target {n} " * 999) for n in range(14)]
    half = "".join(f"{source}\t{target}\n" for source, target in rows[:7]).encode("ascii")
    rest = "".join(f"{source}\t{target}\n" for source, target in rows[7:]).encode("ascii")
    packed = PACKED[suffix](half) + PACKED[suffix](rest)  # as parallel packers write it

    assert read(tmp_path / f"x.tsv{suffix}", packed)[0] == rows
    assert read(tmp_path / "x.tsv", packed)[0] == rows
    assert read(tmp_path / f"x.csv{suffix}", PACKED[suffix](b'"a, b",c'))[0] == [("a, b", "c")]
    name = f"y.tsv{suffix}"
    assert complaint(tmp_path / name, "a\tb").startswith(f"{name}: cannot be unpacked (it is not packed")
    cut = complaint(tmp_path / name, PACKED[suffix](os.urandom(999).hex().encode("ascii"))[:300])
    assert cut.startswith(f"{name}: cannot be unpacked (") and f"make the {suffix} file anew" in cut


def test_what_is_no_text_file_is_named_for_what_it_is(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_bytes(b"a\tb\n")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(pairs, "pairs.tsv")
    for name, mode in (("x.tgz", "w:gz"), ("x.tar.xz", "w:xz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(pairs, "pairs.tsv")
    parquet.write_table(pyarrow.table({"source": ["a"], "target": ["b"]}), tmp_path / "x.pq")

    said = {path.name: complaint(path, skip=True) for path in tmp_path.iterdir() if path != pairs}
    unpack = "not a text file, unpack it and name the files in it"
    assert said == {
        "x.zip": f"x.zip: a zip archive or an Excel workbook, {unpack}, or save its sheet as .csv",
        **{name: f"{name}: a tar archive, {unpack}" for name in ("x.tgz", "x.tar.xz")},
        "x.pq": "x.pq: a parquet file, not a text file, give it a name that ends in .parquet",
    }


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "x.tmx",
            '\ufeff<?xml version="1.0"?>\n<tmx>\n',
            "XML (as TMX and XLIFF are), which is not read here, convert",
        ),
        ("x.xlf", '<xliff version="1.2">\n', "XML (as TMX and XLIFF are), which is not read here"),
        ("x.txt", '{"source": "a", "target": "b"}\n', "JSON by its look, give the file a name that ends in .jsonl"),
        ("x.tsv", "a\tb\rc\td\r", "the whole file is one line, with carriage returns (CR) where its lines seem"),
        ("x.csv", "a,b\rc,d\re,f", "the whole file is one line, with carriage returns"),
        ("x.jsonl", '{"source":"a","target":"b"}\r{"source":"c","target":"d"}\r', "the whole file is one line, with"),
        ("x.tsv", "c\0d\te\n", "a NUL, which no text has, remove it, or name a text file"),
    ],
)
def test_another_format_is_named_and_never_skipped_line_by_line(tmp_path, name, data, message):
    for skip in (False, True):
        assert complaint(tmp_path / name, data, skip=skip).startswith(f"{name}, line 1: {message}")


def test_parallel_files_whose_lines_end_in_carriage_returns_are_no_single_pair(tmp_path):
    sides = [tmp_path / "x.en", tmp_path / "x.de"]
    for side in sides:
        side.write_bytes(b"a\rb\rc")
    assert "the whole file is one line, with carriage returns (CR)" in complaint(sides)
    for side in sides:
        side.write_bytes(b"a\rb\n")
    assert read(sides)[0] == [("a\rb", "a\rb")]


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-16", "utf-16-le"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32-le")],
)
@pytest.mark.parametrize("text", ["a\tb\n", "аб в\tг\n", "数据\t模型\n"])
def test_utf_16_is_named_with_or_without_its_mark_and_read_when_asked_for(tmp_path, encoding, named, text):
    data = (text * 80).encode(encoding)
    label = named[:6].upper()

    for skip in (False, True):
        assert complaint(tmp_path / "x.tsv", data, skip=skip) == (
            f"x.tsv, line 1: not UTF-8 but {label}, set data.encoding={named}, or save the file as UTF-8"
        )
    for asked in (encoding, named):
        assert read(tmp_path / "x.tsv", encoding=asked)[0] == [tuple(text.strip().split("\t"))] * 80


def test_other_encodings_are_read_when_asked_for_and_their_lines_end_as_others_do(tmp_path):
    path = tmp_path / "x.tsv"
    text = "\ufeffa਍\tb\r\nc\rd\teĊ"  # characters whose two bytes are, or hold, those of line ends
    for encoding in ("utf-8", "utf-8-sig", "UTF8", "utf-16-le", "utf-16-be", "utf-32-le"):
        data = text.encode("utf-8" if encoding.lower().startswith("utf-8") or encoding == "UTF8" else encoding)
        assert read(path, data, encoding=encoding)[0] == [("a਍", "b"), ("c\rd", "eĊ")]
    assert read(path, "schön\tnice €\n".encode("cp1252"), encoding="cp1252")[0] == [("schön", "nice €")]
    assert "not ASCII (byte 0xF6 at byte 4 of the line), save the file as UTF-8, or set another data.encoding" in (
        complaint(path, encoding="ascii")
    )
    assert complaint(path, b"abc", encoding="utf-16-le").startswith("x.tsv: not utf-16-le (")


@pytest.mark.parametrize(
    "name", ["数据.tsv", "it's.tsv", "a b=c,d.tsv", "[x]{y}*.TSV", "~x.tsv", "-.tsv", 'q"q.tsv', "no suffix"]
)
def test_any_file_name_is_read_and_a_tilde_is_the_home_folder(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(b"a\tb")
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path))
    for typed in (name, f"~/{name}"):
        assert list(make_task(FilesOptions(train=typed)).pairs("train")) == [Pair("a", "b")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_reading_shows_how_far_it_is_on_a_terminal_and_nowhere_else(tmp_path, monkeypatch):
    for console, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", console)
        read(tmp_path / "[x].tsv", "a\tb\n" * 20)
        assert ("reading [x].tsv" in console.getvalue()) is shown
        with pytest.raises(DataError):
            read(tmp_path / "[x].tsv", "a\tb\n" * 20 + "c\n")
        assert console.getvalue() == "" or "\x1b[?25h" in console.getvalue(), "the cursor is there again"
