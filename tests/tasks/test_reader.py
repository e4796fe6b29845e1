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

from seq2see.options import DataOptions, FilesOptions, OnBadLine
from seq2see.tasks import make_task
from seq2see.text import DataError

QUICK = settings(deadline=None, max_examples=50)
printable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: text.strip())
without_nul = printable.map(lambda text: text.replace("\0", "")).filter(lambda text: text.strip())
field = without_nul.map(lambda text: re.sub(r"[\t\n]", "", text).removesuffix("\r").lstrip("\ufeff"))
field = field.filter(lambda text: text.strip())
fields = st.lists(st.tuples(field, field), min_size=1, max_size=6).filter(lambda rows: sorted(rows[0]) != NAMES)
NAMES = ["source", "target"]
BY_NAME = {"source": "source", "target": "target"}
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
PACKED[".zst"] = lambda data: pyarrow.compress(data, codec="zstd", asbytes=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def write(path, data):
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return path


def table(rows):
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows) if isinstance(rows, list) else pyarrow.table(rows), buffer)
    return buffer.getvalue()


def read(path, data=None, *, skip=False, delimiter=None, encoding="utf-8", **options):
    """The training pairs of a file with these bytes (or of two, each with its own), and the notes but on splits."""
    paths = path if isinstance(path, list) else [path]
    if data is not None:
        for each, content in zip(paths, data if isinstance(data, tuple) else [data], strict=True):
            write(each, content)
    task = make_task(
        FilesOptions(train=[str(side) for side in path] if isinstance(path, list) else str(path), **options),
        DataOptions(on_bad_line=OnBadLine.skip if skip else OnBadLine.error, delimiter=delimiter, encoding=encoding),
    )
    pairs = [(pair.source, pair.target) for pair in task.pairs("train")]
    without = f"{paths[0].parent}{os.sep}"
    return pairs, [note.replace(without, "") for note in task.notes if "split off" not in note]


def complaint(path, data=None, **options):
    """The message for the file, without the folder in front of the name."""
    with pytest.raises(DataError) as error:
        read(path, data, **options)
    place = path[0] if isinstance(path, list) else path
    return str(error.value).replace(f"{place.parent}{os.sep}", "")


def placed(folder, name):
    """The path of a file, or those of parallel ones ("x.en+x.de")."""
    paths = [folder / part for part in name.split("+")]
    return paths if len(paths) > 1 else paths[0]


@QUICK
@given(fields, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_any_text_without_tabs_and_line_ends_comes_back_from_lines_byte_for_byte(folder, rows, end, has_bom, packed):
    pack, suffix = (gzip.compress, ".gz") if packed else (bytes, "")
    bom = "\ufeff" * has_bom
    sides = tuple(pack((bom + end.join(lines)).encode("utf-8")) for lines in zip(*rows, strict=True))
    lines = bom + end.join(f"{source}\t{target}" for source, target in rows)

    assert read(folder / f"x.tsv{suffix}", pack(lines.encode("utf-8")), source=0, target=1) == (rows, [])
    assert read([folder / f"x.en{suffix}", folder / f"x.de{suffix}"], sides)[0] == rows


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

    assert read(folder / "x.jsonl", lines)[0] == read(folder / "x.parquet", table(entries))[0] == rows


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


ODD = "one\x0btwo\x0c\x1c\x85\u2028\u2029three\rfour"
HEADER = "english\tgerman\na\tb\n"
AS_PAIR = "x.tsv, line 1: read as a pair, set task.source={} task.target={} if it is the names of the columns"
AS_NAMES = "x.csv, line 1: read as the names of the columns, set task.source=0 task.target=1 if it is a pair"
SEMICOLON = ", or set data.delimiter=';' if that separates the columns"
SCAN = "IN: jump OUT: I_JUMP\nIN: walk twice OUT: I_WALK I_WALK\n"
RFC_4180 = 'Hello,"Hallo, ""Welt"""\r\n"two\r\nlines","zwei\n\nZeilen"\r\n"","x"\n\n"",""\r\n a , b \r\nnull,007'
STRAY = 'a,b\nan "odd one,c\n' + "".join(f"{n},{n}\n" for n in range(3)) + '"another,d\nlast,e\n'
OBJECTS = [{"source": "a", "target": "b"}, {"source": "c\n", "target": "d"}]
TWO = [("a", "b"), ("c\n", "d")]
LANGUAGES = [
    {"x": "NA", "translation": {"en": "a", "de": "1e5"}, "z": 3.5},
    {"x": "q\r", "translation": {"en": "b", "de": "ü"}, "z": None},
]
READ = [  # file, its bytes, options, pairs, notes
    ("x.tsv", f"{ODD}\tb\r\nc\td\r\r\n", {}, [(ODD, "b"), ("c", "d\r")], []),
    ("x.tsv", "\ufeffsource\ttarget\na b\tb a\n", BY_NAME, [("a b", "b a")], []),
    ("x.tsv", "a\tb\n\n  \u00a0\u3000\n\t\nc\td\n\r\n", {}, [("a", "b"), ("c", "d")], ["x.tsv: 4 blank lines skipped"]),
    ("x.tsv", "\na\tb", {}, [("a", "b")], ["x.tsv: 1 blank line skipped"]),
    ("x.csv", RFC_4180, {"skip": True},
     [("Hello", 'Hallo, "Welt"'), ("two\r\nlines", "zwei\n\nZeilen"), (" a ", " b "), ("null", "007")],
     ["x.csv: 1 blank line skipped", "x.csv: 2 bad lines skipped, the first is line 6: empty source"]),
    ("x.csv", STRAY, {"skip": True}, [("a", "b"), ("0", "0"), ("1", "1"), ("2", "2"), ("last", "e")],
     ["x.csv: 2 bad lines skipped, the first is line 2: a quote mark inside a field"]),
    ("x.csv", 'en;sv\n"a; b";c, d\n', {"delimiter": ";", "source": "sv", "target": "en"}, [("c, d", "a; b")], []),
    ("x.csv", "a, b;c\n", {}, [("a", " b;c")], [f"x.csv, line 1: separated at its commas{SEMICOLON}"]),
    ("x.csv", 'a\t"b\tc"\n', {"delimiter": "tab"}, [("a", "b\tc")], []),
    ("x.tsv", 'a|"b\n', {"delimiter": "|"}, [("a", '"b')], []),
    ("x.json", json.dumps(OBJECTS, indent=2), {}, TWO, []),
    ("x.json", json.dumps({"version": 1, "data": OBJECTS, "other": [1]}), {}, TWO, []),
    ("x.json", json.dumps({"pairs": OBJECTS}, indent=2), {}, TWO, []),
    ("x.json", "\n".join(map(json.dumps, OBJECTS)) + "\n", {}, TWO, []),
    ("x.json", json.dumps({**OBJECTS[0], "tags": ["x"]}, indent=2), {}, TWO[:1], []),
    ("tasks_train.txt", SCAN, {}, [("jump", "I_JUMP"), ("walk twice", "I_WALK I_WALK")],
     ["tasks_train.txt: read as lines of the shape 'IN: source OUT: target'"]),
    ("x.txt", "IN: a OUT: b\tc\n", {}, [("IN: a OUT: b", "c")], []),
    ("x.tsv", HEADER, {}, [("english", "german"), ("a", "b")], [AS_PAIR.format("english", "german")]),
    ("x.tsv", HEADER, {"source": 1, "target": "0"}, [("german", "english"), ("b", "a")], []),
    ("x.tsv", HEADER, {"source": "german", "target": "english"}, [("b", "a")], []),
    ("x.tsv", HEADER, {"source": "german", "target": 0}, [("b", "a")], []),
    ("x.tsv", "en\tsv-FI\nnow\tnu\n", {}, [("en", "sv-FI"), ("now", "nu")], [AS_PAIR.format("en", "sv-FI")]),
    ("x.tsv", "the house\tdas Haus\n", {}, [("the house", "das Haus")], []),
    ("x.csv", "target,source\nb,a\n", {}, [("a", "b")], [AS_NAMES]),
    ("x.csv", "target,source\nb,a\n", {"source": 1, "target": 0}, [("source", "target"), ("a", "b")], []),
    ("x.tsv", "1\ta\tb\n2\tc\td\n", {"source": 1, "target": 2}, [("a", "b"), ("c", "d")], []),
    ("x.tsv", "lemma\tform\ttags\ngehen\tging\tV;PST;1 SG\ngeht\tgeht\t\n",
     {"source": "lemma", "target": "form", "features": "tags"},
     [("V;PST;1_SG\tgehen", "ging"), ("\tgeht", "geht")], []),
    ("x.tsv", "gehen\tging\tV|PST\n", {"features": 2, "features_separator": "|"}, [("V|PST\tgehen", "ging")], []),
    ("x.jsonl", '{"source": "gehen", "target": "ging", "tags": ["V", "", "PST 1"]}', {"features": "tags"},
     [("V;PST_1\tgehen", "ging")], []),
    ("x.en+x.de", ("a\tb\n\nc\n", "d\te\n \nf\n"), {}, [("a\tb", "d\te"), ("c", "f")],
     ["x.en and x.de: read as a file of sources and one of targets, though both look like pairs",
      "x.en and x.de: 1 blank line skipped"]),
    ("x.en+x.de", ("source\n", "target\n"), {}, [("source", "target")], []),
    ("x.en+x.de", ("a\rb\n", "a\rb\n"), {}, [("a\rb", "a\rb")], []),
    *[
        (f"a::b [1].{form}", data, options, pairs, [])
        for form, data in (
            ("parquet", table(LANGUAGES)),
            ("jsonl", "\n".join(map(json.dumps, LANGUAGES))),
            ("json.gz", gzip.compress(json.dumps(LANGUAGES).encode())),
        )
        for options, pairs in (
            ({"source": "en", "target": "de"}, [("a", "1e5"), ("b", "ü")]),
            ({"source": "x", "target": "de"}, [("NA", "1e5"), ("q\r", "ü")]),
        )
    ],
    ("x.parquet", table(LANGUAGES), {"source": 0, "target": "en"}, [("NA", "a"), ("q\r", "b")], []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "options", "pairs", "notes"), READ, ids=range(len(READ)))
def test_a_file_gives_these_pairs_and_notes(tmp_path, name, data, options, pairs, notes):
    assert read(placed(tmp_path, name), data, **options) == (pairs, notes)


GOOD = {"tsv": b"a\tb\n", "csv": b"a,b\n", "jsonl": b'{"source":"a","target":"b"}\n'}
LATIN = "not UTF-8 (byte 0xF6 at byte 4 of the line, in cp1252 it is 'ö'), save the file as UTF-8, or set"
CHINESE = (
    "not UTF-8 (byte 0xCA at byte 1 of the line, in cp1252 it is 'Ê', in gb18030 '数'), save the file as UTF-8, or set"
)
TAGGED = '{"source":"c","target":"d","tags":%s}'
BAD_LINES = [  # after a good one
    ("tsv", "c\td\te", "3 fields where 2 were expected, write source and target with one tab between, or choose"),
    ("tsv", "c d", "1 field where 2 were expected, write source and target with one tab between"),
    ("tsv", "c d\t", "empty target, fill it in or remove the line"),
    ("tsv", "c d\t  ", "blank target, fill it in"),
    ("tsv", b"sch\xf6n\tc", LATIN),
    ("csv", b"sch\xf6n,c", LATIN),
    ("csv", "数据,data".encode("gbk"), f"{CHINESE} data.encoding=cp1252 or gb18030"),
    ("csv", ",c", "empty source"),
    ("csv", 'c "d" e,f', "a quote mark inside a field, write it twice and the field in quotes"),
    ("csv", '"c,d', "a quoted field begins here and never ends"),
    ("jsonl", '{"source":"c"}', "no key 'target', there are: source; choose with task.target"),
    ("jsonl", '{"source":"c",', "not JSON (Expecting property name"),
    ("jsonl", '["c","d"]', "not a JSON object, write one object for each pair, as {"),
    ("jsonl", '{"source":"c","target":null}', "'target' is null, not text, write it as text"),
    ("jsonl", '{"source":"c","target":1e5}', "'target' is 100000.0, not text"),
    ("jsonl", '{"source":"c","target":"\\ud800"}', "'target' holds half a character"),
    ("jsonl", '{"a":' * 9999, "not JSON ("),
    ("jsonl", '{"a":' + "9" * 5000 + "}", "not JSON ("),
]


@pytest.mark.parametrize(("suffix", "line", "message"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_an_error_that_names_file_line_and_remedy_or_is_skipped_and_counted(
    tmp_path, suffix, line, message
):
    path = tmp_path / f"x.{suffix}"
    said = complaint(path, GOOD[suffix] + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    assert said.startswith(f"{path.name}, line 2: {message}") and "\n" not in said
    assert said.endswith(", or set data.on_bad_line=skip")
    pairs, (note,) = read(path, skip=True)
    assert pairs == [("a", "b")] and note.startswith(f"x.{suffix}: 1 bad line skipped, the first is line 2: ")


THREE = "english\tgerman\tgerman\na\tb\tc\n"
CR = ", line 1: the whole file is one line, with carriage returns (CR) where its lines seem"
REFUSED = [  # file, its bytes, options, what is said after its name
    ("x.tsv", "a\tb\tc\n", {}, ", line 1: 3 fields where 2 were expected"),
    ("x.jsonl", '{"source":"a","target":"b"}\n\n\n{"source":\n', {}, ", line 4: not JSON (Expecting value at column"),
    ("x.csv", 'a,"b\nb"\r\n\r\nc\r\n', {}, ", line 4: 1 field where 2 were expected"),
    ("x.csv", "a;b\n", {}, f", line 1: 1 field where 2 .*{SEMICOLON}"),
    ("x.csv", "en;sv\na;b\n", {"source": "en", "target": "sv"}, f", line 1: no column 'en' .*{SEMICOLON}"),
    ("x.csv", "en;sv\na;b\n", {"source": 0, "target": 1}, f", line 1: no column '1' .*{SEMICOLON}"),
    ("x.csv", "a\tb\n", {}, ", line 1: 1 field where 2 .*data.delimiter=tab"),
    ("x.tsv", "a\n", {"delimiter": "|"}, ", line 1: 1 field .* with one '|' between"),
    ("x.tsv", "1\ta\tb\n3\te\n", {"source": 1, "target": 2}, ", line 2: 2 fields where 3 were expected, give it as"),
    ("x.tsv", "1\ta\tb\n3\te\tf\tg\n", {"source": 1, "target": 2}, ", line 2: 4 fields where 3"),
    ("x.json", '[{"source":"a","target":"b"},\n {"source":"c"}]', {}, ", entry 2: no key 'target', there are: source"),
    ("x.json", '[["a","b"]]', {}, ', entry 1: not a JSON object, write one object for each pair, as {"source"'),
    ("x.json", '[{"source":"a",\n"target":}]', {}, ", line 2: not JSON (Expecting value"),
    ("x.json", '{"source":"a","target":"b"}\n{"source":}\n', {}, ", line 2: not JSON (Expecting value at column"),
    ("x.json", '{"train":[{"source":"a"}],"test":[]}', {}, ", line 1: several lists (train, test), write each into"),
    ("x.json", "", {}, ": no pairs (the file is empty)"),
    ("x.json", "[" * 9999, {}, ", line 1: not JSON ("),
    ("x.jsonl", TAGGED % '["V;PST"]', {"features": "tags"}, ", line 1: 'tags' is .*, with ';' in a tag, set another"),
    ("x.jsonl", TAGGED % '["\\ud800"]', {"features": "tags"}, ", line 1: 'tags' holds half a character"),
    ("x.jsonl", TAGGED % '["V", 3]', {"features": "tags"}, ", line 1: 'tags' is ['V', 3], not text"),
    ("x.jsonl", TAGGED % "null", {"features": "tags"}, ", line 1: 'tags' is null, not text"),
    ("x.jsonl", json.dumps(LANGUAGES[0]), {"source": "x", "target": "z"}, ", line 1: 'z' is 3.5, not text"),
    ("x.jsonl", json.dumps(LANGUAGES[0]), {"source": "eng", "target": "de"}, ", line 1: no key 'eng', nearest: en;"),
    ("x.parquet", table({"english": ["a"]}), {}, ": no column 'source' (task.source), there are: english"),
    ("x.parquet", table({"source": pyarrow.array([], pyarrow.string()), "target": pyarrow.array([], pyarrow.string())}),
     {}, ": no pairs (the file is empty)"),
    ("x.parquet", "no", {}, ": not readable as parquet ("),
    ("x.txt", SCAN + "look\tI_LOOK\n", {}, ", line 3: not of the shape 'IN: source OUT"),
    ("x.tsv", THREE, {"source": "englsh", "target": 1}, ", line 1: no column 'englsh' (task.source), nearest: english"),
    ("x.tsv", THREE, {"source": "english", "target": "german"}, ", line 1: several columns 'german' (task"),
    ("x.tsv", THREE, {"source": 0, "target": 3}, ", line 1: no column '3' (task.target), there are: english, german, "),
    ("x.tsv", THREE, {"source": -1, "target": 0}, ", line 1: no column '-1' (task.source), there are: "),
    ("x.tsv", THREE, {"features": 0}, ", line 1: column 0 is task.features and the source, set task.source and task."),
    ("x.tsv", THREE, {"features": 1}, ", line 1: column 1 is task.features and the target, set task.source and task."),
    ("x.tsv", "", {}, ": no pairs (the file is empty), give it at least one line"),
    ("x.tsv", "\ufeff", {}, ": no pairs (the file is empty), give it at least one line"),
    ("x.tsv", "\n \n\t\n", {}, ": no pairs (3 blank lines skipped), give it at least one line"),
    ("x.en+x.de", (b"x\n" * 10, b"y\n" * 10 + b"y"), {},
     "^x.de, line 11: no line to go with it, x.en has 10 lines, give both the same number"),
    ("x.en+x.de", (b"x\n" * 10 + b"y", b"y\n" * 10), {}, "^x.en, line 11: no line to go with it, x.de has 10 lines"),
    ("x.en+x.de", ("a\n\nc\n", "d\n \n\n"), {}, "^x.en and x.de, line 3: empty target"),
    ("x.en+x.de", ("a\rb\rc", "a\rb\rc"), {}, f"^x.en and x.de{CR}"),
    ("x.tsv", "a\tb\rc\td\r", {}, CR),
    ("x.csv", "a,b\rc,d\re,f", {}, CR),
    ("x.jsonl", '{"source":"a","target":"b"}\r{"source":"c","target":"d"}\r', {}, CR),
    ("x.tmx", '\ufeff<?xml version="1.0"?>\n<tmx>\n', {}, ", line 1: XML (as TMX and XLIFF are), which is not read"),
    ("x.xlf", '<xliff version="1.2">\n', {}, ", line 1: XML (as TMX and XLIFF are), which is not read here"),
    ("x.txt", '{"source": "a", "target": "b"}\n', {}, ", line 1: JSON by its look, give the file a name that"),
    ("x.tsv", "c\0d\te\n", {}, ", line 1: a NUL, which no text has, remove it, or name a text file"),
    ("x.tsv", "schön\tb\n", {"encoding": "ascii"},
     ", line 1: not ASCII (byte 0xC3 at byte 4 of the line), save the file as UTF-8, or set another data.encoding"),
    ("x.tsv", b"abc", {"encoding": "utf-16-le"}, ": not utf-16-le ("),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "options", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_file_that_cannot_be_used_is_refused_with_its_name_and_the_remedy(tmp_path, name, data, options, message):
    path = placed(tmp_path, name)
    said = complaint(path, data, **options)
    start = message.removeprefix("^") if message.startswith("^") else name + message
    assert re.match(".*".join(map(re.escape, start.split(".*"))), said) and "\n" not in said
    if not said.endswith("or set data.on_bad_line=skip"):
        assert complaint(path, skip=True, **options) == said


def test_files_that_hold_pairs_are_joined_and_errors_name_the_file_and_its_line(tmp_path):
    for number in (2, 1, 10):
        write(tmp_path / f"part-{number}.tsv", f"a{number}\tb{number}\n" * 2 + "\n")
    parts = [("a1", "b1")] * 2 + [("a10", "b10")] * 2 + [("a2", "b2")] * 2

    pairs, notes = read(tmp_path / "part-*.tsv")
    assert pairs == parts and len(notes) == 3 and notes[0] == "part-1.tsv: 1 blank line skipped"
    assert read([tmp_path / "part-1.tsv", tmp_path / "part-10.tsv"])[0] == parts[:4]  # never parallel
    more = write(tmp_path / "more.jsonl", '{"source": "c", "target": "d"}\n')
    assert read([tmp_path / "part-*.tsv", more])[0] == [*parts, ("c", "d")]
    write(tmp_path / "part-10.tsv", "a\tb\na\n")
    assert complaint(tmp_path / "part-*.tsv").startswith("part-10.tsv, line 2: 1 field where 2 were expected")
    assert complaint(tmp_path / "shard-*.tsv").startswith("shard-*.tsv: no file matches, ")
    assert read(tmp_path / "part-*.tsv", "only\tthis\n")[0] == [("only", "this")]


def test_a_header_that_says_source_and_target_is_one_in_all_shards(tmp_path):
    write(tmp_path / "1.csv", "target,source\nb,a\n")
    write(tmp_path / "2.csv", "d,c\n")
    said = complaint(tmp_path / "?.csv")
    assert said.startswith("2.csv, line 1: no column 'source' (task.source), there are: d, c; by number they count")
    write(tmp_path / "2.csv", "source,target\nc,d\n")
    assert read(tmp_path / "?.csv")[0] == [("a", "b"), ("c", "d")]


def test_parallel_files_may_be_named_by_side_have_no_columns_and_a_mixed_list_is_refused(tmp_path):
    pairs, lines = write(tmp_path / "x.tsv", "a\tb\n"), write(tmp_path / "y.txt", "c\n")
    named = {"target": str(pairs), "source": str(lines)}
    assert [pair[:2] for pair in make_task(FilesOptions(train=named)).pairs("train")] == [("c", "a\tb")]
    with pytest.raises(ValueError, match=r"x.tsv holds pairs by its name, .*'\{source: .*x.tsv, target: .*y.txt\}'"):
        read([pairs, lines])
    with pytest.raises(ValueError, match="parallel files have none"):
        read([lines, write(tmp_path / "z.txt", "d\n")], source=0, target=1)


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


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_text_is_unpacked_whatever_its_name(tmp_path, suffix):
    rows = [(f"source {n} " * 999, f"target {n} " * 999) for n in range(14)]
    lines = [f"{source}\t{target}\n" for source, target in rows]
    packed = b"".join(PACKED[suffix]("".join(half).encode()) for half in (lines[:7], lines[7:]))  # by parallel packers

    assert read(tmp_path / f"x.tsv{suffix}", packed)[0] == read(tmp_path / "x.tsv", packed)[0] == rows
    assert read(tmp_path / f"x.csv{suffix}", PACKED[suffix](b'"a, b",c'))[0] == [("a, b", "c")]
    name = f"y.tsv{suffix}"
    assert complaint(tmp_path / name, "a\tb").startswith(f"{name}: cannot be unpacked (it is not packed")
    cut = complaint(tmp_path / name, PACKED[suffix](os.urandom(999).hex().encode("ascii"))[:300])
    assert cut.startswith(f"{name}: cannot be unpacked (") and f"make the {suffix} file anew" in cut


def test_what_is_no_text_file_is_named_for_what_it_is(tmp_path):
    pairs = write(tmp_path / "pairs.tsv", "a\tb\n")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(pairs, "pairs.tsv")
    for name, mode in (("x.tgz", "w:gz"), ("x.tar.xz", "w:xz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(pairs, "pairs.tsv")
    write(tmp_path / "x.pq", table([{"source": "a", "target": "b"}]))

    said = {path.name: complaint(path, skip=True) for path in tmp_path.iterdir() if path != pairs}
    unpack = "not a text file, unpack it and name the files in it"
    assert said == {
        "x.zip": f"x.zip: a zip archive or an Excel workbook, {unpack}, or save its sheet as .csv",
        **{name: f"{name}: a tar archive, {unpack}" for name in ("x.tgz", "x.tar.xz")},
        "x.pq": "x.pq: a parquet file, not a text file, give it a name that ends in .parquet",
    }


@pytest.mark.parametrize(
    ("encoding", "named"),
    [("utf-16", "utf-16-le"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("utf-32", "utf-32-le")],
)
@pytest.mark.parametrize("text", ["a\tb\n", "аб в\tг\n", "数据\t模型\n"])
def test_utf_16_is_named_with_or_without_its_mark_and_read_when_asked_for(tmp_path, encoding, named, text):
    data = (text * 80).encode(encoding)
    for skip in (False, True):
        assert complaint(tmp_path / "x.tsv", data, skip=skip) == (
            f"x.tsv, line 1: not UTF-8 but {named[:6].upper()}, set data.encoding={named}, or save the file as UTF-8"
        )
    for asked in (encoding, named):
        assert read(tmp_path / "x.tsv", encoding=asked)[0] == [tuple(text.strip().split("\t"))] * 80


def test_other_encodings_are_read_when_asked_for_and_their_lines_end_as_others_do(tmp_path):
    path = tmp_path / "x.tsv"
    text = "\ufeffa਍\tb\r\nc\rd\teĊ"  # characters whose two bytes are, or hold, those of line ends
    for encoding in ("utf-8", "utf-8-sig", "UTF8", "utf-16-le", "utf-16-be", "utf-32-le"):
        data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding)
        assert read(path, data, encoding=encoding)[0] == [("a਍", "b"), ("c\rd", "eĊ")]
    assert read(path, "schön\tnice €\n".encode("cp1252"), encoding="cp1252")[0] == [("schön", "nice €")]


@pytest.mark.parametrize(
    "name", ["数据.tsv", "it's.tsv", "a b=c,d.tsv", "[x]{y}*.TSV", "~x.tsv", "-.tsv", 'q"q.tsv', "no suffix"]
)
def test_any_file_name_is_read_and_a_tilde_is_the_home_folder(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, "a\tb")
    for home in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(home, str(tmp_path))
    for typed in (name, f"~/{name}"):
        assert [pair[:2] for pair in make_task(FilesOptions(train=typed)).pairs("train")] == [("a", "b")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_reading_shows_how_far_it_is_on_a_terminal_and_nowhere_else(tmp_path, monkeypatch):
    for console, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr("sys.stderr", console)
        read(tmp_path / "[x].tsv", "a\tb\n" * 20)
        assert ("reading [x].tsv" in console.getvalue()) is shown
        complaint(tmp_path / "[x].tsv", "a\tb\n" * 20 + "c\n")
        assert console.getvalue() == "" or "\x1b[?25h" in console.getvalue(), "the cursor is there again"
