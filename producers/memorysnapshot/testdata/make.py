"""Constructs snapshots as torch.cuda.memory._dump_snapshot writes them. No GPU is used: the structure is PyTorch's, the values are made up.

make.py leak FOLDER      four snapshots of each of two ranks; on rank 1, one stack keeps 50 MiB more each time, a MiB a step
make.py traps FILE       a trace that begins with the free of what it never saw allocated, blocks that wait for another stream
make.py large FILE N     N events
make.py old FILE         blocks with a history in place of frames, protocol 2
make.py hostile FILE     a snapshot that asks for os.system when it is unpickled
"""

import pickle
import sys
from pathlib import Path

MIB = 1 << 20
START = 0x7F0000000000


def frame(filename, line, name):
    return {"filename": filename, "line": line, "name": name}


FORWARD = [frame("/opt/torch/nn/modules/linear.py", 125, "forward"), frame("/home/user/model.py", 10, "forward")]
LEAK = [frame("/home/user/model.py", 42, "keep"), frame("/home/user/train.py", 7, "main")]
LOAD = [frame("/home/user/loader.py", 3, "load_weights"), frame("/home/user/train.py", 2, "main")]
NOWHERE = []


class Allocator:
    """A caching allocator of one segment, which keeps a ring of what it did."""

    def __init__(self, total, entries=100000):
        self.total, self.entries = total, entries
        self.blocks, self.trace, self.time = {}, [], 1767323045000000
        self.event("segment_alloc", START, total, NOWHERE)

    def event(self, action, address, size, frames, **more):
        self.time += 10
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time, "frames": frames, **more})

    def alloc(self, place, requested, frames):
        self.blocks[START + place] = [requested, frames, "active_allocated"]
        self.event("alloc", START + place, requested, frames)

    def request_free(self, place):
        block = self.blocks[START + place]
        block[2] = "active_awaiting_free"
        self.event("free_requested", START + place, block[0], block[1])

    def free(self, place):
        if self.blocks[START + place][2] == "active_allocated":
            self.request_free(place)
        requested, frames, _ = self.blocks.pop(START + place)
        self.event("free_completed", START + place, requested, frames)

    def segment(self):
        blocks, at = [], START
        for address in sorted(self.blocks):
            requested, frames, state = self.blocks[address]
            if address > at:
                blocks.append(gap(at, address))
            blocks.append({"address": address, "size": up(requested), "requested_size": requested, "state": state, "frames": frames})
            at = address + up(requested)
        if at < START + self.total:
            blocks.append(gap(at, START + self.total))
        held = {s: sum(b["size"] for b in blocks if b["state"] == s) for s in ("active_allocated", "active_awaiting_free")}
        return {"device": 0, "address": START, "total_size": self.total, "allocated_size": held["active_allocated"], "active_size": sum(held.values()),
                "requested_size": sum(b["requested_size"] for b in blocks), "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                "is_expandable": False, "frames": NOWHERE, "blocks": blocks}

    def snapshot(self):
        return {"segments": [self.segment()], "device_traces": [self.trace[-self.entries:], []],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0},
                "external_annotations": []}


def gap(begin, end):
    return {"address": begin, "size": end - begin, "requested_size": 0, "state": "inactive", "frames": []}


def up(size):
    return -(-size // 512) * 512


def dump(snapshot, path, protocol=4):
    Path(path).write_bytes(pickle.dumps(snapshot, protocol))


def leak(folder):
    for rank in range(2):
        allocator = Allocator(256 * MIB)
        allocator.alloc(0, 8 * MIB, LOAD)
        for step in range(4):
            allocator.alloc(8 * MIB, 2 * MIB, FORWARD)
            if rank == 1:
                allocator.alloc((10 + 50 * step) * MIB, 50 * MIB, LEAK)
            allocator.free(8 * MIB)
            dump(allocator.snapshot(), Path(folder) / f"rank{rank}_step{step * 50}.pickle")


def traps(path):
    allocator = Allocator(64 * MIB, entries=9)
    allocator.alloc(0, 8 * MIB, LOAD)  # older than the ring
    allocator.alloc(8 * MIB, 2 * MIB, FORWARD)  # older, and freed in it
    allocator.alloc(16 * MIB, 1000, FORWARD)
    allocator.alloc(20 * MIB, 3 * MIB, FORWARD)  # the peak
    allocator.free(20 * MIB)
    allocator.free(8 * MIB)
    allocator.alloc(30 * MIB, MIB, LEAK)
    allocator.request_free(30 * MIB)
    allocator.trace.append({"action": "oom", "size": 1 << 40, "stream": 0, "time_us": allocator.time + 10, "device_free": 5 * MIB, "frames": FORWARD})
    dump(allocator.snapshot(), path)


def large(path, count):
    allocator, stacks = Allocator(1 << 40), [[frame(f"/home/user/part{i % 50}.py", j, f"call{i}") for j in range(20)] for i in range(500)]
    for i in range(int(count) // 3):
        allocator.alloc((i % 4096) * MIB, 1000 + i % 100000, stacks[i % 500])
        if i >= 4000:
            allocator.free(((i - 4000) % 4096) * MIB)
    dump(allocator.snapshot(), path)


def old(path):
    allocator = Allocator(4 * MIB)
    allocator.alloc(0, 1000, FORWARD)
    snapshot = allocator.snapshot()
    for block in snapshot["segments"][0]["blocks"]:
        frames, size = block.pop("frames"), block.pop("requested_size")
        if frames:
            block["history"] = [{"addr": block["address"], "frames": frames, "real_size": size}]
    for event in snapshot["device_traces"][0]:
        del event["time_us"]
    dump(snapshot, path, protocol=2)


class Hostile:
    def __reduce__(self):
        import os
        return os.system, ("touch /tmp/tensortap-was-here",)


def hostile(path):
    allocator = Allocator(4 * MIB)
    allocator.alloc(0, 1000, FORWARD)
    dump({**allocator.snapshot(), "external_annotations": Hostile()}, path)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
