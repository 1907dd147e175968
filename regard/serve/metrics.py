"""Counters and gauges as Prometheus reads them."""

from __future__ import annotations

from collections import Counter, defaultdict

EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # of the seconds' histogram


class Metrics:
    """What the server has done; one event loop writes, anybody reads."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(EDGES) + 1))
        self._seconds: Counter[str] = Counter()
        self.gauges: dict[str, dict[str, float]] = {}  # name -> value by model

    def count(self, route: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        self._requests[route, status] += 1
        self._buckets[route][next((n for n, edge in enumerate(EDGES) if seconds <= edge), len(EDGES))] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self) -> str:
        """As Prometheus reads it."""
        lines = ["# TYPE regard_requests_total counter"]
        lines += [f'regard_requests_total{{route="{route}",status="{status}"}} {count}'
                  for (route, status), count in sorted(self._requests.items())]  # fmt: skip
        lines.append("# TYPE regard_request_seconds histogram")
        for route, buckets in sorted(self._buckets.items()):
            total = 0
            for edge, count in zip([*map(str, EDGES), "+Inf"], buckets, strict=True):
                total += count
                lines.append(f'regard_request_seconds_bucket{{route="{route}",le="{edge}"}} {total}')
            lines.append(f'regard_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
            lines.append(f'regard_request_seconds_count{{route="{route}"}} {total}')
        for name, values in self.gauges.items():
            lines.append(f"# TYPE regard_{name} gauge")
            lines += [f'regard_{name}{{model="{model}"}} {value:g}' for model, value in values.items()]
        return "\n".join(lines) + "\n"
