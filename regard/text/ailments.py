"""What a corpus can suffer from: what it is, whether it hurts, what training does about it, and how to mend it."""

LONGEST_WORDS, LONGEST_LETTERS = 256, 4000  # of a line that is not long

# kind -> what it is, whether it hurts, what training does about it, how to mend it
WORDS: dict[str, tuple[str, str, str, str]] = {
    "not utf-8": (
        "bytes that are not UTF-8",
        "yes",
        "stops, and names the line",
        "iconv -f latin1 -t UTF-8, or mend the line",
    ),
    "nul": (
        "NUL bytes",
        "yes",
        "stops, and names the line",
        "tr -d '\\000' < old > new",
    ),
    "control": (
        "control characters",
        "a little",
        "learns them as they are",
        "tr -d '\\001-\\010\\013\\014\\016-\\037'",
    ),
    "line separator": (
        "U+2028, U+2029 or U+0085 inside a line: other tools end the line there",
        "if other tools wrote the file",
        "keeps them inside the line",
        "sed 's/\\xe2\\x80[\\xa8\\xa9]\\|\\xc2\\x85/ /g'",
    ),
    "carriage return": (
        "carriage returns inside a line",
        "if lines were meant to end there",
        "keeps them",
        "tr '\\r' '\\n'",
    ),
    "windows": (
        "line ends of Windows",
        "no",
        "takes them off",
        "nothing to do",
    ),
    "mark": (
        "a byte order mark",
        "no at the start of a file, a little elsewhere",
        "takes it off at the start",
        "sed '1s/^\\xef\\xbb\\xbf//'",
    ),
    "replaced": (
        "U+FFFD: characters somebody else lost",
        "a little",
        "learns them as they are",
        "go back to where the text came from",
    ),
    "empty": (
        "lines with nothing on one side",
        "no",
        "leaves them out, and counts them",
        "nothing to do",
    ),
    "copy": (
        "pairs whose two sides are the same",
        "yes, if there are many: the model learns to copy",
        "learns them",
        "leave out pairs with equal sides",
    ),
    "repeated": (
        "lines that were there before",
        "a little: they count twice",
        "learns them",
        "sort -u, or paste, sort -u, cut",
    ),
    "ratio": (
        "pairs one side of which is far longer than usual",
        "yes: they are often no translations",
        "learns them",
        "look at the examples; leave such pairs out",
    ),
    "long": (
        f"lines of more than {LONGEST_WORDS} words or {LONGEST_LETTERS} characters",
        "no",
        "leaves pairs out that have more than text.max_length tokens, and counts them",
        "split them into sentences",
    ),
    "swapped": (
        "lines in the language of the other side",
        "yes",
        "learns them",
        "swap the sides of these pairs, or leave them out",
    ),
    "language": (
        "lines that look like another language than the rest",
        "yes",
        "learns them",
        "leave them out",
    ),
    "scripts": (
        "words of letters from two scripts",
        "a little: often a look-alike letter",
        "learns them",
        "mend the letters",
    ),
    "markup": (
        "tags or entities left in",
        "yes: they will be said",
        "learns them",
        "take tags off, turn entities into characters",
    ),
    "overlap": (
        "lines that are also in the text to validate or test on",
        "yes: scores will flatter",
        "learns them",
        "leave them out of the training text",
    ),
    "columns": (
        "lines without two texts: too few columns, or no JSON object with both",
        "yes",
        "stops, and names the line",
        "mend the lines, or choose others with --columns or --keys",
    ),
    "unequal": (
        "two files with different numbers of lines",
        "yes: nothing after the shift belongs together",
        "stops",
        "find the extra line near the place named, and take it out",
    ),
}
