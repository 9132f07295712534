"""Prints what json.dumps makes of texts: code points in hexadecimal, a tab, the JSON. dumped.tsv is its output."""

import json

ODD = (0x7FF, 0x800, 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x1F9F5, 0x10FFFF)
WORDS = ("", 'a"b\\c/d\n\t\r\b\f\x00\x1b\x7f', "measure \u6d4b\u8bd5 \U0001f9f5 \u00e9", "</script>&<>'")

for text in (*map(chr, range(0x180)), *map(chr, ODD), *WORDS):
    print(" ".join(f"{ord(letter):x}" for letter in text), json.dumps(text), sep="\t")
