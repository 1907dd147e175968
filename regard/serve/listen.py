"""Where the server listens, and how many connections it has room for; bad addresses are refused in words."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress

from regard.errors import ConfigError

MOST_CONNECTIONS = 1000
BACKLOG = 1  # connections that are taken at a time, then requests have their turn; others wait in the system's queue
FILES_KEPT = 300  # beside connections: models, pages, pipes, and what was taken and is not counted yet
PRIVILEGED = 1024


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address of this host name, all on one port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "it is not a host name"
        raise ConfigError(f"--host {host} is not known here ({why}); give an address of this machine") from None
    sockets: list[socket.socket] = []
    trouble: OSError | None = None
    for family, kind, protocol, _, address in dict.fromkeys(found):
        real = sockets[0].getsockname()[1] if sockets else port
        try:
            sockets.append(_bind(family, kind, protocol, (address[0], real, *address[2:])))
        except OSError as problem:
            trouble = problem
            if problem.errno == errno.EADDRINUSE:
                break  # half of a host name is not enough
    if trouble is not None and (not sockets or trouble.errno == errno.EADDRINUSE):
        for one in sockets:
            one.close()
        raise ConfigError(_why_not(host, port, trouble))
    return sockets


def _bind(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(1)  # two may bind to a port, only one listens
    except OSError:
        made.close()
        raise
    return made


def _why_not(host: str, port: int, problem: OSError) -> str:
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if problem.errno == errno.EADDRINUSE:
        other = f"--port {port % 65535 + 1}, or --port 0 for any that is free"
        return f"{where} is in use by another program; stop that, or choose another port: {other}"
    if problem.errno in {errno.EACCES, errno.EPERM} and port < PRIVILEGED:
        return f"{where} is for the system's own services; choose a port of {PRIVILEGED} or above: --port 8000"
    if problem.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; give one that is, such as --host 127.0.0.1"
    return f"{where} cannot be listened on: {problem.strerror}"


def room_for_connections() -> int:
    """How many connections may be open at a time; the limit of open files is raised as far as that needs and may be."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + FILES_KEPT
    if soft == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    if soft < wanted:
        soft_wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft_wanted, hard))
            soft = soft_wanted
    return min(MOST_CONNECTIONS, max(8, soft // 4, soft - FILES_KEPT))
