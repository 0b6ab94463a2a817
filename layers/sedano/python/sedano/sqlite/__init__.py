"""Every port over one SQLite file: a whole deployment on one machine, for any number of processes, without a server.

Each port call is one short transaction (`sedano.sqlite.store`), and each write is conditional: the condition of `sedano.aws.expressions`
is in the WHERE of the statement, with the same conjuncts; the docstring of each module says which statement is which write. A value that a
condition compares, or a search reads, is a column; the rest is the JSON text of the existing codecs.

A confirmed change survives the end of its process, SIGKILL included: a transaction is in the write-ahead log before its call returns. A
change that was not committed leaves no trace. A computer that loses power may lose the last transactions, never a part of one:
the file is written with `synchronous=NORMAL`, which does not wait for the disk. Time is the clock that is passed in.
"""
