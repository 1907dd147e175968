"""A grammar that says the same thing in English, German and French, and knows which word says what.

One meaning, three sentences; a file imports only from the lines above it:

tables.py                        reads the word tables, words/*.txt, and knows the regular endings
vocabulary.py                    the words with all their forms, and sentences that no grammar makes
frames.py                        who can do what, where and when
meaning.py                       who does what, where and when, in no language
think.py                         chooses a meaning at random
pieces.py                        words with the pieces of the meaning they carry: the alignment
english.py german.py french.py   a clause in words
say.py                           a whole sentence in words
"""
