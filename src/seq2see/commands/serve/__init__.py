"""A model that answers over HTTP, with its playground."""

import socket
import sys
from importlib.util import find_spec
from math import ceil
from threading import Thread

from seq2see.commands.attention_playground import playground_of
from seq2see.commands.translate import model_of, speak_utf8
from seq2see.decoding import device_of
from seq2see.options import ServeOptions
from seq2see.runs.folder import RunFailed
from seq2see.runs.signals import defer_signals, stop_if_asked, stop_requested

MOST_CONNECTIONS = 512  # at a time; further ones are answered with 503


def serve(options: ServeOptions) -> None:
    """What `scripts/serve.py` does: answers until a signal comes, and then what is asked already.

    Raises:
        ValueError: the checkpoint or the port is not to be had, or keys contradict each other.
        KeyboardInterrupt: the signal.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        raise ValueError("serve needs starlette and uvicorn, which are not installed: pip install 'seq2see[serve]'")
    import uvicorn

    from seq2see.commands.serve.site import site_of
    from seq2see.commands.serve.translator import Translator

    speak_utf8()
    with _listener(options) as listener:
        model = model_of(options)
        if model.options.decode.sample:
            raise ValueError(
                "decode.sample (True) draws at random, and a service answers the same each time: add "
                "decode.sample=false"
            )
        page = None
        if options.page:
            try:
                page, _ = playground_of(model)
            except ValueError as error:  # there is more to a service than its page
                _say(f"no page at /: {error}")
        model.predictor.to(device_of(options.accelerator))
        translator = Translator(model, options)
        server = uvicorn.Server(
            uvicorn.Config(
                site_of(translator, options, page=page),
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_graceful_shutdown=ceil(options.timeout) + 1,
            )
        )
        thread = Thread(target=server.run, args=([listener],), daemon=True)
        with defer_signals():
            thread.start()
            host, port, *_ = listener.getsockname()
            _say(f"http://{f'[{host}]' if ':' in host else host}:{port}/ serves {model.run or model.path}; Ctrl-C ends")
            while thread.is_alive():
                server.should_exit = server.should_exit or stop_requested()
                translator.work()
        _say(f"{translator.num_done:,} texts translated")
    stop_if_asked()
    raise RunFailed("the server ended, and nobody has asked it to")


def _listener(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"port ({options.port}) at host ({options.host}) is not to be had ({reason}): choose another, or port=0"
        ) from error


def _say(message: str) -> None:
    print(f"serve: {message}", file=sys.stderr, flush=True)
