# Serves the models in /models:  docker run --read-only -v "$PWD/models:/models:ro" -p 127.0.0.1:8000:8000 -e REGARD_API_KEY=… regard de-en
FROM python:3.13-slim

RUN useradd --create-home --uid 10001 regard
WORKDIR /app
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY regard ./regard
RUN pip install --no-cache-dir --constraint constraints.txt ".[serve]"
USER 10001
WORKDIR /models
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=3)"]
ENTRYPOINT ["regard", "serve", "--host", "0.0.0.0"]
