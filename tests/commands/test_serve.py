"""A model over HTTP: what a client gets, what it is refused, and how the service ends."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from seq2see.commands.serve.asked import Asked, Refused, most_bytes, read_asked
from seq2see.commands.serve.translator import Translator
from seq2see.commands.shell import run
from seq2see.decoding import TranslationModel, load
from seq2see.maps.attended import aligning_head, with_details
from seq2see.options import DecodeOptions, ServeOptions

SCRIPT = Path(__file__).parents[2] / "scripts" / "serve.py"
SLOW = ["max_length=100000", "max_texts=64", "page=false"]  # a translation may be made to take long
JSON = {"content-type": "application/json"}


class Service:
    """A running one."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def ask(
        self, body: Any = None, path: str = "/translate", method: str = "POST", headers: dict[str, str] = JSON
    ) -> tuple[int, Any]:
        """The status, and the answer as JSON or text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if "json" in answer.getheader("content-type", "") else text

    def get(self, path: str) -> Any:
        status, answer = self.ask(path=path, method="GET")
        assert status == 200
        return answer

    def raw(self, sent: bytes, *, cut: bool) -> bytes:
        """What comes back first for these bytes; `cut`: after which the client is gone."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(sent)
            if cut:
                connection.shutdown(socket.SHUT_WR)
            return connection.recv(65536)

    def ended(self) -> tuple[int, str]:
        """The exit code, and what was said since it began."""
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said


@contextmanager
def serving(run: Path, *more: str) -> Iterator[Service]:
    command = [sys.executable, str(SCRIPT), f"ckpt={run}", "port=0", *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stderr is not None
    try:
        while (
            found := re.match(r"serve: http://127\.0\.0\.1:(\d+)/ serves ", line := process.stderr.readline())
        ) is None:
            assert line, "it ended"
        yield Service(process, int(found[1]))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def service(small_run: Path) -> Iterator[Service]:
    with serving(small_run, "max_length=200", "timeout=20") as service:
        yield service
        service.process.terminate()
        code, said = service.ended()
        assert code == 143 and "Traceback" not in said, said


@pytest.fixture(scope="module")
def trained(small_run: Path) -> TranslationModel:
    return load(str(small_run))


def test_it_answers_as_the_model_does_with_details_where_they_are_asked_for(
    service: Service, trained: TranslationModel
) -> None:
    texts = ["a b c", " ", "d e ? f"]
    status, answer = service.ask({"texts": texts})
    lines = trained.translations(texts)
    assert status == 200
    for got, line in zip(answer["translations"], lines, strict=True):
        best = [{"text": one.text, "score": round(one.score, 6), "ended": one.ended} for one in line.translations]
        assert got == {"source": line.source, "cut": False, "unknown": [*line.unknown], "hypotheses": best}
    assert answer["translations"][2]["unknown"] == ["?"]

    trained.decode_as(DecodeOptions(beam_size=3, num_best=2, max_length=4))
    detailed = with_details(trained, trained.translations(texts), aligning_head(trained))
    asked = {"texts": texts, "beam_size": 3, "num_best": 2, "max_length": 4, "attention": True}
    status, answer = service.ask(asked)
    assert status == 200 and answer["alignment_from"] == str(aligning_head(trained))
    for got, line in zip(answer["translations"], detailed, strict=True):
        assert len(got["hypotheses"]) == len(line.translations) == (0 if line.source == " " else 2)
        for one, own in zip(got["hypotheses"], line.translations, strict=True):
            assert (one["text"], one["tokens"]) == (own.text, [*own.tokens]) and len(own.ids) <= 4
            assert sum(one["log_probs"]) == pytest.approx(one["score"], abs=1e-4)
            assert one["alignment"] == " ".join(f"{i}-{j}" for i, j in own.links)
            assert len(one["attention"]) == len(one["tokens"])
            for row in one["attention"]:
                assert len(row) == len(got["source_tokens"]) and sum(row) == pytest.approx(1, abs=0.01)


def test_it_says_what_it_is_and_shows_the_page(service: Service, trained: TranslationModel, small_run: Path) -> None:
    model = service.get("/model")
    assert (model["name"], model["task"]["kind"], model["step"]) == ("small", "copy", trained.step)
    assert model["parameters"] == sum(own.numel() for own in trained.model.parameters())
    assert model["source"] == {"tokenizer": "word", "symbols": trained.source_tokenizer.vocab_size}
    assert model["scores"] == json.loads((small_run / "result.json").read_text())["test"]
    assert model["limits"]["max_length"] == 200 and str(small_run.parent) not in json.dumps(model)
    assert service.get("/health")["status"] == "ok"
    page = service.get("/")
    assert page.startswith("<!DOCTYPE html>") and "<title>small" in page


def test_many_clients_get_what_each_would_get_alone(service: Service) -> None:
    draw = random.Random(0)
    texts = [" ".join(draw.choices("abcdefgh", k=draw.randint(1, 9))) for _ in range(60)]
    asked = [{"texts": [text], "beam_size": 1 + place % 3} for place, text in enumerate(texts)]
    alone = [service.ask(one) for one in asked]
    with ThreadPoolExecutor(20) as pool:
        together = list(pool.map(service.ask, asked))
    for (status, one), (_, other) in zip(together, alone, strict=True):
        (best,), (same,) = (answer["translations"][0]["hypotheses"] for answer in (one, other))
        assert status == 200 and best["text"] == same["text"]
        assert best["score"] == pytest.approx(same["score"], abs=1e-4)


REFUSED = {
    '{"texts": "a b"}': "texts ('a b') must be a list: put even a single text into one",
    '{"texts": []}': "texts (0) must be 1 to 64 in one request: send several requests",
    '{"texts": ["a", 3]}': "texts[1] (3) must be a text: put it into quotes",
    '{"texts": ["\\ud800"]}': "holds half a character: write both halves of each \\u pair",
    '{"texts": ["%s"]}' % ("a" * 201): "has 201 characters and must have at most 200: split it",
    '{"texts": ["a"], "beam_size": 99}': "beam_size (99) must be a whole number from 1 to 8: or leave it out",
    '{"texts": ["a"], "beam_size": 2.0}': "beam_size (2.0) must be a whole number",
    '{"texts": ["a"], "beam_size": true}': "beam_size (True) must be a whole number",
    '{"texts": ["a"], "beam_size": NaN}': "the body is not JSON (NaN is no number there)",
    '{"texts": ["a"], "max_length": 1e999}': "max_length (inf) must be a whole number from 1 to 200",
    '{"texts": ["a"], "beam_size": 2, "num_best": 3}': "num_best (3) must not exceed beam_size (2): raise beam_size",
    '{"texts": ["a"], "attention": 1}': "attention (1) must be true or false",
    '{"texts": ["a"], "ckpt": "/etc/passwd"}': "'ckpt': there is no such key: use texts, beam_size",
    "[1, 2]": 'the body ([1, 2]) must be an object: send {"texts": ["..."]}',
    "[" * 100_000: "the body is nested too deeply",
    '{"texts": ["a"], "beam_size": %s}' % ("9" * 9_999): "the body is not JSON (Exceeds the limit",
    '{"texts": ["a"]': "the body is not JSON (Expecting ',' delimiter",
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_a_wrong_request_is_refused_with_the_value_the_rule_and_the_remedy(body: str, message: str) -> None:
    with pytest.raises(Refused, match=re.escape(message)) as refused:
        read_asked(body.encode(), limits=ServeOptions(max_length=200), own=DecodeOptions())
    assert refused.value.status == 400 and len(str(refused.value)) < 300


def hostile(draw: random.Random) -> tuple[bytes, dict[str, str]]:
    """A body that asks for nothing that can be done, and its headers."""
    odd = [None, True, 3, -1, 0, 1.5, 10**30, "", "x", [], {}, [[]], {"a": 1}, [None], [1, "a"]]
    good = {"texts": ["a b"]}
    kind = draw.randrange(9)
    if kind == 0:
        return json.dumps({"texts": draw.choice(odd)}).encode(), JSON
    if kind == 1:
        key = draw.choice(["beam_size", "num_best", "max_length"])
        return json.dumps(
            {**good, key: draw.choice([value for value in odd if value is not None and value != 3])}
        ).replace("true", draw.choice(["true", "NaN", "-Infinity", "1e400"])).encode(), JSON
    if kind == 2:
        opening = draw.choice(["[", '{"a":', '{"texts":[', '[{"a":'])
        return (opening * draw.randint(500, 50_000)).encode(), JSON
    if kind == 3:
        return ('{"texts": ["a"], "beam_size": %s}' % ("9" * draw.randint(2, 100_000))).encode(), JSON
    if kind == 4:
        broken = bytearray(json.dumps({"texts": ["ä b" * 9]}, ensure_ascii=False).encode())
        broken[draw.randrange(len(broken))] = draw.randint(0x80, 0xFF)
        return bytes(broken).replace(b"\xc3", b"\xff"), JSON
    if kind == 5:
        other = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json"]
        return json.dumps(good).encode(), {"content-type": draw.choice(other)}
    if kind == 6:
        return json.dumps({"texts": draw.choice([["a" * 201], ["a"] * 65, ["a" * 10_000_000]])}).encode(), JSON
    if kind == 7:
        return json.dumps(good).encode()[: draw.randrange(len(json.dumps(good)))], JSON
    return bytes(draw.randrange(256) for _ in range(draw.randint(1, 200))), JSON


def test_two_hundred_hostile_bodies_are_refused_and_the_service_goes_on(service: Service) -> None:
    draw, limit = random.Random(1), most_bytes(ServeOptions(max_length=200))
    for number in range(200):
        body, headers = hostile(draw)
        status, answer = service.ask(body, headers=headers)
        assert 400 <= status < 500 and answer["error"], (number, body[:200], status)
        assert status == (415 if headers is not JSON else 413 if len(body) > limit else 400), (number, body[:200])
    assert service.ask({"texts": ["a b"]})[0] == 200 and service.get("/health")["waiting"] == 0


HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (CHUNKED + b'10\r\n{"texts": ["a"]}\r\n0\r\n\r\n', 200),
        (CHUNKED + b"5\r\n[[[[[\r\n" * 100_000 + b"0\r\n\r\n", 413),
        (CHUNKED + b"zz\r\n", 400),
        (HEAD + b"Content-Length: -5\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        (b"GET /translate HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    ],
    ids=["chunked", "endless", "no_chunk", "negative", "two_lengths", "tls", "file", "method"],
)
def test_what_is_no_proper_request_is_answered_with_its_status(service: Service, sent: bytes, status: int) -> None:
    got = service.raw(sent, cut=False)
    assert got.startswith(b"HTTP/1.1 %d " % status), got[:200]


def test_clients_that_are_gone_in_the_middle_leave_nothing_behind(service: Service) -> None:
    for sent in (HEAD + b'Content-Length: 400\r\n\r\n{"texts": ["a"]}', CHUNKED + b"10\r\n{", HEAD, b"POST"):
        assert not service.raw(sent, cut=True).startswith(b"HTTP/1.1 2")
    with pytest.raises(ConnectionError):  # 64 kB of headers are read, and then nothing more
        service.raw(HEAD + b"X: " + b"x" * 10_000_000, cut=False)
    assert service.ask({"texts": ["a b"]})[0] == 200 and service.get("/health")["waiting"] == 0


def test_a_body_that_does_not_come_and_a_translation_that_takes_too_long_end_in_time(small_run: Path) -> None:
    with serving(small_run, *SLOW, "timeout=1") as service:
        begin = time.monotonic()
        with socket.create_connection(("127.0.0.1", service.port), timeout=60) as connection:
            connection.sendall(HEAD + b'Content-Length: 400\r\n\r\n{"texts": ')
            assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
        status, answer = service.ask({"texts": ["a b c"] * 64, "max_length": 100_000, "beam_size": 8})
        assert status == 504 and "64 texts took longer than 1 s: send fewer, or come again later" in answer["error"]
        assert service.ask({"texts": ["a"], "max_length": 2})[0] == 200, "the model is free again"
        assert time.monotonic() - begin < 30


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_lets_what_is_asked_be_answered(small_run: Path, number: signal.Signals, code: int) -> None:
    with serving(small_run, *SLOW, "timeout=120", "decode.max_length=2000") as service, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(service.ask, {"texts": ["a b c d"] * n}) for n in (1, 3)]
        while not (health := service.get("/health"))["waiting"] and not health["done"]:
            assert not any(one.done() for one in asked), "too fast for this test"
            time.sleep(0.01)
        service.process.send_signal(number)
        assert [one.result()[0] for one in asked] == [200, 200]
        ended, said = service.ended()
        assert ended == code and "serve: 4 texts translated\n" in said
        with pytest.raises(ConnectionRefusedError):
            service.ask({"texts": ["a"]})


def test_requests_that_wait_are_decoded_together_but_only_where_they_ask_for_the_same(
    small_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, calls = load(str(small_run)), []
    translations = TranslationModel.translations
    monkeypatch.setattr(
        TranslationModel, "translations", lambda own, lines: calls.append([*lines]) or translations(own, calls[-1])
    )
    translator = Translator(model, ServeOptions(window=0, max_waiting=6, max_texts=6))
    greedy, beam = DecodeOptions(beam_size=1, num_best=1), DecodeOptions(beam_size=2, num_best=2)
    asked = [
        Asked([text] * n, how, False, False) for text, n, how in (("a", 1, greedy), ("b", 2, beam), ("c", 2, greedy))
    ]
    answers: list[Future] = [translator.put(one) for one in asked]
    with pytest.raises(Refused, match=r"5 texts are waiting, and 6 at most may: come again later") as refused:
        translator.put(asked[1])
    assert refused.value.status == 503
    gone = translator.put(Asked(["gone"], greedy, False, False))
    gone.cancel()
    translator.work()
    translator.work()
    assert calls == [["a", "c", "c"], ["b", "b"]] and translator.num_waiting == 0
    sources = [[own["source"] for own in answer.result(0)["translations"]] for answer in answers]
    assert sources == [one.texts for one in asked]
    assert [len(answer.result(0)["translations"][0]["hypotheses"]) for answer in answers] == [1, 2, 1]


def test_a_failure_is_that_of_its_requests_alone(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(load(str(small_run)), ServeOptions(window=0))
    asked = Asked(["a"], DecodeOptions(beam_size=1, num_best=1), False, False)
    with monkeypatch.context() as patch:
        patch.setattr(TranslationModel, "translations", lambda *_: 1 / 0)
        failed = translator.put(asked)
        translator.work()
    with pytest.raises(ZeroDivisionError):
        failed.result(0)
    answer = translator.put(asked)
    threading.Thread(target=translator.work).start()
    assert answer.result(60)["translations"][0]["source"] == "a"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["port=70000"], "port (70000) must be at most 65535"),
        (["max_texts=9", "max_waiting=8"], "max_texts (9) of one request must not exceed max_waiting (8) of all"),
        (["host=256.1.1.1"], "is not to be had"),
        (["decode.sample=true", "port=0"], "decode.sample (True) draws at random"),
        (["ckpt=[A,B]", "port=0"], "ckpt names 2 models: add ensemble=true"),
    ],
)
def test_what_cannot_be_served_is_a_users_mistake(
    typed: list[str], message: str, small_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    assert run("serve", [f"ckpt={small_run}", *typed]) == 2
    for number, handler in handlers.items():
        signal.signal(number, handler)
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_named_before_the_model_is_loaded(
    small_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2see.commands.shell.listen", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run("serve", ["ckpt=nowhere", f"port={port}"]) == 2
    assert re.search(
        rf"port \({port}\) at host \(127\.0\.0\.1\) is not to be had \(.*in use.*\)", capsys.readouterr().err
    )


def test_a_checkpoint_alone_is_served_without_a_page(small_run: Path, tmp_path: Path) -> None:
    alone = tmp_path / "model.ckpt"
    alone.write_bytes((small_run / "checkpoints" / "best.ckpt").read_bytes())
    with serving(alone) as service:
        status, answer = service.ask(path="/", method="GET")
        assert status == 404 and "this service has no page" in answer["error"]
        assert service.get("/model")["scores"] == {} and service.ask({"texts": ["a"]})[0] == 200
