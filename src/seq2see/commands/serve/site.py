"""What is answered over HTTP: everything but the page is JSON, mistakes too."""

import asyncio
import math
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from seq2see.commands.serve.asked import Asked, Refused, most_bytes, read_asked
from seq2see.commands.serve.translator import MOST_WEIGHTS, Translator
from seq2see.options import PATH_KEYS, ServeOptions
from seq2see.options.plain import to_plain
from seq2see.runs.folder import read_result

PATHS = "GET /, GET /health, GET /model and POST /translate"


def site_of(translator: Translator, limits: ServeOptions, *, page: str | None) -> Starlette:
    """The application.

    Args:
        translator: whose `work` another thread calls.
        limits: of requests.
        page: what `/` answers; None: there is no page.
    """
    model = described(translator, limits)

    async def translate(request: Request) -> Response:
        asked = await _read(request, limits, translator)
        try:
            async with asyncio.timeout(limits.timeout):
                return JSONResponse(await asyncio.wrap_future(translator.put(asked)))
        except TimeoutError as error:
            raise Refused(
                504, f"{len(asked.texts)} texts took longer than {limits.timeout:g} s: send fewer, or come again later"
            ) from error

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "waiting": translator.num_waiting, "done": translator.num_done})

    async def what(request: Request) -> Response:
        return JSONResponse(model)

    async def home(request: Request) -> Response:
        if page is None:
            raise Refused(404, f"/: this service has no page: use {PATHS}")
        return HTMLResponse(page)

    return Starlette(
        routes=[
            Route("/", home),
            Route("/health", health),
            Route("/model", what),
            Route("/translate", translate, methods=["POST"]),
        ],
        exception_handlers={
            Refused: _refused,
            HTTPException: _not_there,
            ClientDisconnect: _gone,
            Exception: _failed,
        },
    )


def described(translator: Translator, limits: ServeOptions) -> dict[str, Any]:
    """What model it is and what may be asked of it, in plain values, without the names of files."""
    trained, run = translator.model, translator.model.run
    options, decode = trained.model.options, trained.options.decode.filled()
    sides = {"source": trained.source_tokenizer, "target": trained.target_tokenizer}
    scores: dict[str, float] = {}
    if run is not None and (run / "result.json").is_file() and limits.average is None and trained.ensemble is None:
        scores = {name: score for name, score in read_result(run)["test"].items() if math.isfinite(score)}
    task = to_plain(trained.options.task)
    return {
        "name": run.name if run is not None else None,
        "task": {name: value for name, value in task.items() if f"task.{name}" not in PATH_KEYS},
        "step": trained.step,
        "parameters": sum(own.numel() for own in trained.predictor.parameters()),
        "model": to_plain(options),
        **{side: {"tokenizer": own.kind.value, "symbols": own.vocab_size} for side, own in sides.items()},
        "tag_separator": trained.source_tokenizer.tag_separator,
        "longest_source": trained.longest_source,
        "scores": scores,
        "alignment_from": str(translator.head),
        "decode": {"beam_size": decode.beam_size, "num_best": decode.num_best, "length_penalty": decode.length_penalty},
        "limits": {
            **{name: getattr(limits, name) for name in ("max_texts", "max_length", "max_beam_size", "timeout")},
            "max_bytes": most_bytes(limits),
            "max_weights": MOST_WEIGHTS,
        },
    }


async def _read(request: Request, limits: ServeOptions, translator: Translator) -> Asked:
    kind, most = request.headers.get("content-type", ""), most_bytes(limits)
    if kind.split(";")[0].strip().lower() != "application/json":
        raise Refused(415, f"content-type ({kind:.40}) must be application/json: say that it is")
    body = bytearray()
    try:
        async with asyncio.timeout(limits.timeout):
            async for part in request.stream():
                body += part
                if len(body) > most:
                    raise Refused(413, f"the body has more than {most:,} bytes: send the texts in several requests")
    except TimeoutError as error:
        raise Refused(408, f"the body ({len(body):,} bytes so far) took longer than {limits.timeout:g} s") from error
    return read_asked(bytes(body), limits=limits, own=translator.model.options.decode)


def _said(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return _said(error.status, str(error), {"retry-after": "1"} if error.status == 503 else None)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method:.10} {request.url.path:.60}: there is no such thing: use {PATHS}"
    return _said(error.status_code, message, dict(error.headers or {}))


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody reads it


async def _failed(request: Request, error: Exception) -> Response:
    return _said(500, "this service made a mistake: its log says which")
