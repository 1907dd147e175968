"""Files that hold text but are not text (Word, PDF, spreadsheets, archives): what they are, and how to get text out."""

from pathlib import Path

PANDOC = "pandoc --to plain --wrap none {name} --output {stem}.txt makes text of it"
SOFFICE = "soffice --headless --convert-to {to} {name} (LibreOffice) makes text of it"
SPREADSHEET = "save it as CSV (UTF-8) in the program that opens it, and name that file"
PACKED = "unpack it, and name the files in it"

# By the first bytes, and by the ending where these are the same; "" is for any other ending.
DOCUMENTS: dict[bytes, dict[str, tuple[str, str]]] = {
    b"%PDF-": {"": ("a PDF", "pdftotext {name} {stem}.txt makes text of it (a scan has none: it needs OCR)")},
    b"{\\rtf": {"": ("a document in RTF", PANDOC)},
    b"PK\x03\x04": {
        ".docx": ("a Word document", PANDOC),
        ".odt": ("a document of LibreOffice", PANDOC),
        ".epub": ("an e-book", PANDOC),
        ".pptx": ("a presentation", SOFFICE.replace("{to}", "pdf") + ", with pdftotext after it"),
        ".odp": ("a presentation", SOFFICE.replace("{to}", "pdf") + ", with pdftotext after it"),
        ".xlsx": ("a spreadsheet", SPREADSHEET),
        ".xlsm": ("a spreadsheet", SPREADSHEET),
        ".ods": ("a spreadsheet", SPREADSHEET),
        "": ("a ZIP archive", PACKED),
    },
    b"\xd0\xcf\x11\xe0": {
        ".xls": ("a spreadsheet", SPREADSHEET),
        "": ("a document of old Microsoft Office", SOFFICE.replace("{to}", "txt:Text")),
    },
    b"7z\xbc\xaf\x27\x1c": {"": ("a 7-Zip archive", PACKED)},
    b"PAR1": {"": ("a Parquet file", "give it a name that ends in .parquet")},
    b"ARROW1": {"": ("an Arrow file (Feather)", "write it as .parquet, which is read")},
    b"SQLite format 3\0": {"": ("a database", "export the table as CSV, and name that file")},
}


def find_document(path: Path, head: bytes) -> tuple[str, str] | None:
    """What kind of document a file is, and how to get text out of it; None if it is none of these."""
    for magic, kinds in DOCUMENTS.items():
        if head.startswith(magic):
            kind, remedy = kinds.get(path.suffix.lower(), kinds.get("", ("", "")))
            return kind, remedy.format(name=path.name, stem=path.stem)
    return None
