"""Runs code with so much memory and no more."""

import subprocess
import sys


def run_within(megabytes: int, code: str, *words: object) -> subprocess.CompletedProcess:
    """A new process that has so many megabytes of addresses after its imports; its last line is what it raised."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from regard.errors import CorpusError\n"
        "from regard.text.corpus import PairFiles, verify_pairs\n"
        "from regard.text.lines import read_lines\n"
        "from regard.text.running import TextFiles, verify_documents\n"
        "try:\n    import pyarrow.parquet, pyarrow.ipc, zstandard\nexcept ImportError:\n    pass\n"
        "path = Path(sys.argv[1])\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (now + {megabytes} * 2**20,) * 2)\n"
        f"try:\n    {code}\n    print('read')\n"
        "except CorpusError as problem:\n    print('refused:', problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()
