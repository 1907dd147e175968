"""A grammar that says the same thing in English, German and French, and knows which word says what.

One meaning, three sentences; a file imports only from the lines above it:

tables.py                                 how the word tables are read
nouns.py adjectives.py verbs.py times.py  the words, with all their forms
frames.py                                 who can do what, and where
meaning.py                                who does what, where and when, in no language
think.py                                  chooses a meaning at random
pieces.py                                 words with the pieces of the meaning they carry: the alignment
english.py german.py french.py            a clause in words
say.py                                    a whole sentence in words
everyday.py                               sentences that no grammar makes, as they are
"""
