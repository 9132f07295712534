"""Counts the ops, tensors and other arguments of a dump.json, independently of the Go reader.

Usage: count_dump.py DUMP_JSON... prints one line per file: ops tensors others payloads nans, separated by tabs.
"""
import json
import math
import sys

SECTIONS = ("input_args", "input", "input_kwargs", "output", "parameters")


def leaves(value):
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict) and not (
        isinstance(value.get("type"), str) or value.get("class_type") == "torch.distributed.P2POp"
    ):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def is_tensor(leaf):
    return isinstance(leaf, dict) and "shape" in leaf


def count(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)["data"]
    tensors = others = payloads = nans = 0
    for entry in data.values():
        for leaf in leaves(entry):
            if is_tensor(leaf):
                tensors += 1
                payloads += "data_name" in leaf
                nans += any(isinstance(v, float) and math.isnan(v) for v in leaf.values())
            else:
                others += 1
    return len(data), tensors, others, payloads, nans


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(*count(name), sep="\t")
