"""Delimited text that must be refused: what is no text, what is no table, and what is too much of one."""

from __future__ import annotations

import pickle

import numpy as np

from tests.hostile.making import Case, graphml, zipped

ROWS = b"".join(b"i%d,%d\n" % (k, k) for k in range(1000))

REFUSED = [
    Case("empty", "a.csv", lambda: b"", "is empty"),
    Case("blank", "a.csv", lambda: b" \r\n\t\n", "is blank"),
    Case("only a mark", "a.csv", lambda: b"\xef\xbb\xbf", "is blank"),
    Case("header only", "a.csv", lambda: b"id,x\n", "header but no rows"),
    Case("one column", "a.csv", lambda: b"x\n1\n2\n", "one column"),
    Case("one line", "a.csv", lambda: b"hello world", "one column"),
    Case("nul", "a.csv", lambda: b"id,x\na,1\nb,\x00\n", "NUL byte in line 3"),
    Case("nul in the header", "a.csv", lambda: b"id,x\x00\na,1\n", "NUL byte in line 1"),
    Case("pdf", "a.csv", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "is a PDF document, not a table"),
    Case("png", "a.csv", lambda: b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is a PNG image"),
    Case("jpeg", "a.csv", lambda: b"\xff\xd8\xff\xe0\x00\x10JFIF", "is a JPEG image"),
    Case("exe", "a.csv", lambda: b"MZ\x90\x00\x03" + bytes(200), "is a Windows program"),
    Case("elf", "a.csv", lambda: b"\x7fELF\x02\x01\x01" + bytes(50), "is a program"),
    Case("gzip", "a.csv.gz", lambda: b"\x1f\x8b\x08\x00abc", "is a gzip archive"),
    Case("zip", "a.zip", lambda: zipped(a=b"id,x\n"), "is a zip archive"),
    Case("ods", "a.ods", lambda: zipped(mimetype=b"application/vnd.oasis.opendocument"), "LibreOffice"),
    Case("old excel", "a.xls", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "is an old Excel"),
    Case("sqlite", "a.db", lambda: b"SQLite format 3\x00" + bytes(100), "is an SQLite database"),
    Case("pickle", "a.csv", lambda: pickle.dumps({"id": [1]}, protocol=4), "pickle, which is never opened"),
    Case("html", "a.csv", lambda: b"<!DOCTYPE html><html><body>404</body></html>", "is a web page"),
    Case("xml", "a.csv", lambda: b"<?xml version='1.0'?><rows><row/></rows>", "XML file of another kind"),
    Case("rtf", "a.csv", lambda: b"{\\rtf1 hello}", "is an RTF document"),
    Case("more cells", "a.csv", lambda: b"id,x\na,1\nb,2,3\nc,4\n", "3 cells in row 3 where 2 are expected"),
    Case("fewer cells", "a.csv", lambda: b"id,x,y\na,1,2\nb,2\nc,4,5\n", "2 cells in row 3 where 3 are expected"),
    Case("many ragged", "a.csv", lambda: b"id,x\na,1\n" + b"b,2,3\n" * 50 + b"a,1\n" * 60, "49 more rows differ"),
    Case("two ragged", "a.csv", lambda: b"id,x\nb\na,1,2\n" + ROWS, "1 cell in row 2 .* and 1 more row differs"),
    Case("open quote", "a.csv", lambda: b'id,x\na,"1\n' + ROWS, "quote that is never closed"),
    Case("too many columns", "a.csv", lambda: b",".join(b"c%d" % k for k in range(20_001)) + b"\n", "20,001 columns"),
    Case("million columns", "a.csv", lambda: b"1," * 1_000_000 + b"1\n", "1,000,001 columns"),
    Case("long line", "a.csv", lambda: b"id,x\na," + b"9" * (17 * 2**20) + b"\n", r"a line of 17 MB \(line 2\)"),
    Case("no line end", "a.csv", lambda: b"a" * (20 * 2**20), "a line of 20 MB"),
    Case("too many rows", "a.csv", lambda: b"id,x\n" + b"a,1\n" * 2_000_001, "2,000,001 rows"),
    Case("mixed encodings", "a.csv", lambda: "id,x\né,ü\nß,ö\n".encode() + b"\xe9,1\n", "mixes encodings .line 4"),
    Case("no encoding", "a.csv", lambda: b"id,x\n\x81\x8d,1\n", "no text in UTF-8, UTF-16 or cp1252 .line 2"),
    Case("cut UTF-16", "a.csv", lambda: "id,x\na,1\n".encode("utf-16")[:-1], "not the UTF-16-LE text"),
    Case("random", "a.csv", lambda: np.random.default_rng(0).bytes(5000), "NUL byte|no text"),
    Case("graphml", "a.graphml", lambda: graphml("<node id='a'/>"), "is a graph"),
    Case("a matrix", "a.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n1 1 0\n", "is a graph"),
    Case("xz", "a.csv.xz", lambda: b"\xfd7zXZ\x00" + bytes(60), "is an xz archive"),
    Case("7z", "a.csv", lambda: b"7z\xbc\xaf\x27\x1c" + bytes(60), "is a 7z archive"),
    Case("rar", "a.csv", lambda: b"Rar!\x1a\x07\x00" + bytes(60), "is a RAR archive"),
    Case("numpy", "a.csv", lambda: b"\x93NUMPY\x01\x00" + bytes(60), "is a NumPy array"),
    Case("hdf5", "a.csv", lambda: b"\x89HDF\r\n\x1a\n" + bytes(60), "is an HDF5 file"),
    Case("gif", "a.csv", lambda: b"GIF89a" + bytes(60), "is a GIF image"),
    Case("old pickle", "a.csv", lambda: pickle.dumps({"id": [1], "x": [2]}, protocol=0), "one column|pickle|cells in"),
    Case("utf-32", "a.csv", lambda: "id,x\na,1\n".encode("utf-32")[:-2], "not the UTF-(16|32)"),
    Case(
        "odd UTF-16",
        "a.csv",
        lambda: "id,x\n\ud800,1\n".encode("utf-16-le", "surrogatepass"),
        "not the UTF-16|NUL|no text",
    ),
    Case("only delimiters", "a.csv", lambda: b",,,\n,,,\n,,,\n", "blank|no row|empty|one column"),
    Case("only line ends", "a.csv", lambda: b"\n" * 100_000, "is blank"),
    Case("only quotes", "a.csv", lambda: b'"' * 10_001, "quote|one column|no rows"),
    Case("one huge line of cells", "a.csv", lambda: b"1," * 9_000_000, "a line of 17 MB"),
    Case("45 MB in one line", "a.csv", lambda: b"x" * (45 * 2**20), "a line of 45 MB"),
    Case("more than may be uploaded", "a.csv", lambda: bytes(51 * 2**20), "is larger than 50 MB"),
    Case("ragged in the middle", "a.csv", lambda: b"id,x\n" + b"a,1\n" * 5000 + b"b\n" + b"a,1\n" * 5000, "row 5,002"),
    Case(
        "46,000,000 cells", "a.csv", lambda: b"c," * 199 + b"c\n" + (b"," * 199 + b"\n") * 230_000, "46,000,000 cells"
    ),
    Case(
        "51 million cells", "a.csv", lambda: b"c," * 199 + b"c\n" + (b"," * 199 + b"\n") * 257_000, "51,400,000 cells"
    ),
]
