"""The HTTP server: all routes in one application, and how it starts and stops. The schedulers compute."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException

from regard import __version__
from regard.errors import FolderError, RegardError
from regard.families import all_families, find_surface
from regard.machine import set_turn, stopped_by_signals
from regard.serve.bulk import BulkProcess, answer_requests
from regard.serve.guard import Guard, error_response, log
from regard.serve.libre import make_libre
from regard.serve.limits import Limits, RequestError
from regard.serve.listen import BACKLOG, listen, room_for_connections
from regard.serve.metrics import Metrics
from regard.serve.openai import make_openai
from regard.serve.own import make_own
from regard.serve.protocol import Protocol, Room
from regard.serve.registry import CostlyError, ModelRegistry

LOOPBACK = {"127.0.0.1", "localhost", "[::1]", "::1"}
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# FastAPI by itself reports every request to OpenTelemetry, if that is set up here or by the environment.
SILENT: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
LONG_QUEUE = 4096  # connections that may wait in the system until they are taken
# New objects are looked through for garbage a few hundred at a time, and the whole heap rarely: a thousand connections
# take 50 ms.
COLLECT = (300, 1, 10_000)
GAUGES = "/gauges"  # a route of the process of costly requests
TURN = 0.0002  # seconds, so that threads of documents give up their core at once
SWITCH = 0.0005  # seconds that a thread keeps the interpreter while the event loop waits; by default 0.005


def make_app(
    registry: ModelRegistry, hosts: set[str], api_key: str | None = None, bulk: BulkProcess | None = None
) -> FastAPI:
    """All routes, behind the guard. bulk: the process of costly requests."""
    app, metrics = _make_routes(registry, api_key is not None, bulk), Metrics()

    @app.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
    async def prometheus() -> str:
        """For Prometheus."""
        others = await bulk.get(GAUGES) if bulk and any(model.forwards for model in registry.models.values()) else {}
        for name, values in _gauges(registry).items():
            metrics.gauges[name] = {
                model: value + others.get(name, {}).get(model, 0) for model, value in values.items()
            }
        return metrics.text()

    app.add_middleware(
        Guard, registry=registry, metrics=metrics, hosts=hosts, api_key=api_key, bulk=bulk, pages=_page_files()
    )
    return app


def answer_costly(connection: socket.socket, folders: Sequence[Path], limits: dict[str, Any]) -> None:
    """What the process of costly requests does."""
    sys.setswitchinterval(SWITCH)
    registry = ModelRegistry(folders, Limits(**limits))
    registry.open_all(is_bulk=True)
    gc.freeze()
    app = _make_routes(registry, False, None)

    @app.get(GAUGES)
    async def gauges() -> dict[str, dict[str, float]]:
        return _gauges(registry)

    @app.exception_handler(Exception)
    async def failed(request: Request, problem: Exception) -> Response:
        return error_response(request, 500, "something went wrong here; the log says what")

    opened = {name: model.opened for name, model in registry.models.items()}
    facts = {name: one.info.to_dict() for name, one in opened.items() if one.engine != "torch"}
    asyncio.run(answer_requests(connection, app, facts))


def _gauges(registry: ModelRegistry) -> dict[str, dict[str, float]]:
    """For each model, what waits and what was done."""
    schedulers = {name: model.scheduler for name, model in registry.models.items()}
    return {
        "queued_tokens": {name: one.queued_tokens for name, one in schedulers.items()},
        "batches_total": {name: one.batches for name, one in schedulers.items()},
        "items_total": {name: one.items for name, one in schedulers.items()},
    }


def _make_routes(registry: ModelRegistry, has_key: bool, bulk: BulkProcess | None) -> FastAPI:
    app = FastAPI(title="regard", version=__version__, docs_url=None, redoc_url=None, telemetry=SILENT)

    @app.get("/health", tags=["operations"])
    async def health() -> dict[str, str]:
        """Alive."""
        return {"status": "ok"}

    @app.get("/ready", tags=["operations"])
    async def ready() -> dict[str, str]:
        """Able to take requests."""
        if registry.is_draining or not registry.is_ready:
            raise RequestError(503, "shutting down" if registry.is_draining else "loading", 1.0)
        return {"status": "ready"}

    for router in (make_libre(registry, has_key), make_openai(registry), make_own(registry)):
        app.router.routes.extend(router.routes)
    _handle_errors(app)

    @app.exception_handler(CostlyError)
    async def forward(request: Request, problem: CostlyError) -> Any:
        return bulk  # which answers as a response would

    return app


def _handle_errors(app: FastAPI) -> None:
    """Every error in the shape the clients of its route know."""

    @app.exception_handler(RequestError)
    async def refused(request: Request, problem: RequestError) -> Response:
        return error_response(request, problem.status, str(problem), problem.retry_after)

    @app.exception_handler(FolderError)
    async def changed(request: Request, problem: FolderError) -> Response:
        return error_response(request, 503, str(problem))

    @app.exception_handler(RegardError)
    async def wrong(request: Request, problem: RegardError) -> Response:
        return error_response(request, 422, str(problem))

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, problem: RequestValidationError) -> Response:
        return error_response(request, 422, "; ".join(f"{one['loc'][-1]}: {one['msg']}" for one in problem.errors()))

    @app.exception_handler(HTTPException)
    async def other(request: Request, problem: HTTPException) -> Response:
        return error_response(request, problem.status_code, str(problem.detail))


@cache
def _page_files() -> dict[str, Response]:
    """The page's own files, those that draw an inspection, and the script of each family under the family's name, as
    the answer to each path.
    """
    found = [one for package in ("regard.look", "regard.serve") for one in files(package).joinpath("page").iterdir()]
    pages = {name: page for name in all_families() if (page := find_surface(name).page)}
    scripts = {name: page.partition(":") for name, page in pages.items()}
    contents = {one.name: one.read_bytes() for one in found if Path(one.name).suffix in KINDS} | {
        f"{name}.js": files(package).joinpath(file).read_bytes() for name, (package, _, file) in scripts.items()
    }
    answers = {
        f"/page/{name}": Response(content, media_type=KINDS[Path(name).suffix], headers={"Cache-Control": "no-cache"})
        for name, content in contents.items()
    }
    return answers | {"/": answers["/page/index.html"]}


class Server(uvicorn.Server):
    """Graceful shutdown: on a signal it takes no more requests, answers those it took, and exits with 0."""

    registry: ModelRegistry

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """SIGINT and SIGTERM alike."""
        loop = asyncio.get_running_loop()
        return stopped_by_signals(lambda: loop.call_soon_threadsafe(self._drain))

    def _drain(self) -> None:
        self.force_exit = self.registry.is_draining  # asked twice
        self.registry.close()
        self.should_exit = True


def serve(
    registry: ModelRegistry,
    host: str,
    port: int,
    names: Sequence[str],
    api_key: str | None,
    ready: Callable[[int], None],
) -> None:
    """Answers until a signal stops it; `ready` is called with the port once the models are loaded. Until then: 503.

    names: host names it answers to, beside its address.
    """
    sockets, limits = listen(host, port), registry.limits
    sys.setswitchinterval(SWITCH)
    set_turn(TURN)
    folders = registry.splitting
    bulk = BulkProcess(answer_costly, folders, asdict(limits)) if folders else None
    app = make_app(registry, LOOPBACK | {name.lower() for name in (host, *names)}, api_key, bulk)
    Protocol.room = Room(room_for_connections(), limits.head_seconds, limits.body_seconds, limits.read_seconds)
    config = uvicorn.Config(
        app, http=Protocol, ws="none", log_level="error", access_log=False, server_header=False, proxy_headers=False,
        timeout_graceful_shutdown=int(limits.seconds) + 5, backlog=BACKLOG,
    )  # fmt: skip
    server = Server(config)
    server.registry = registry

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(_log_trouble())
        serving = asyncio.ensure_future(server.serve(sockets))
        loading = asyncio.ensure_future(_load(registry, bulk))
        try:
            await asyncio.wait({serving, loading}, return_when=asyncio.FIRST_COMPLETED)
            if loading.done() and loading.exception() is None and not registry.is_draining:
                gc.freeze()  # what was loaded stays: looking through it for garbage would delay every request
                gc.set_threshold(*COLLECT)
                for one in sockets:
                    one.listen(LONG_QUEUE)  # uvicorn's backlog is also how many it takes at a time
                ready(sockets[0].getsockname()[1])
        finally:
            server.should_exit = server.should_exit or (loading.done() and not registry.is_ready)
            await serving
            if bulk:
                bulk.close()
        if loading.done():
            loading.result()
        loading.cancel()

    asyncio.run(run())


async def _load(registry: ModelRegistry, bulk: BulkProcess | None) -> None:
    """Opens all models, and those of costly requests at the same time."""
    starting = asyncio.ensure_future(bulk.start()) if bulk else None
    await _in_thread(registry.open_all)
    if bulk and starting:
        await starting
        registry.forward(bulk.facts)
    registry.is_ready = not registry.is_draining


def _in_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Starts work in a daemon thread."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def report(problem: BaseException | None) -> None:
        if not done.done():
            done.set_result(None) if problem is None else done.set_exception(problem)

    def run() -> None:
        problem: BaseException | None = None
        try:
            work()
        except BaseException as trouble:
            problem = trouble
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(report, problem)

    threading.Thread(target=run, daemon=True, name="loading").start()
    return done


def _log_trouble() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """For the loop: asyncio reports every connection that it cannot accept; once a minute is enough."""
    last = -math.inf

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        if not str(context.get("message", "")).startswith("socket.accept()"):
            loop.default_exception_handler(context)
        elif loop.time() - last > 60:
            last = loop.time()
            log.error(json.dumps({"problem": "no more connections can be taken: too many open files"}))

    return report
