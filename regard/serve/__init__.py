"""serve: models behind HTTP, for programs and for people."""
