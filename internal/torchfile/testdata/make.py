"""Makes the tensors in this folder with torch, and want.tsv, which says what they hold.

Run by hand with torch 2.9: python make.py
"""
import collections
import pathlib

import numpy
import safetensors.torch
import torch

HERE = pathlib.Path(__file__).parent
DTYPES = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
]
FLOAT8 = [name for name in DTYPES if name.startswith("float8")]


def values(name):
    """Twelve values of the dtype, its extremes among them."""
    dtype = getattr(torch, name)
    if name == "bool":
        return torch.tensor([True, False, False] * 4)
    if dtype.is_complex:
        return torch.complex(torch.linspace(-3, 3, 12).double(), torch.linspace(7, -2, 12).double()).to(dtype)
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        return torch.from_numpy(numpy.array([info.min, info.max, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55], dtype=name))
    info = torch.finfo(dtype)
    numbers = [info.max, info.min, info.tiny, 0.0, -0.0, float("nan"), 1.5, -2.25, 0.1, 1e-3, 3.0, info.eps]
    return torch.tensor(numbers, dtype=torch.float64).to(dtype)


def numbers(tensor):
    """The elements in row-major order as float64, complex ones as two."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.contiguous().to(torch.float64).numpy().tobytes().hex()


def raw(tensor):
    return tensor.resolve_conj().contiguous().view(-1).view(torch.uint8).numpy().tobytes().hex() if tensor.numel() else ""


class Corpus:
    def __init__(self):
        self.rows = []

    def add(self, name, tensor, **options):
        torch.save(tensor, HERE / f"{name}.pt", **options)
        self.note(f"{name}.pt", tensor.detach())

    def note(self, file, tensor):
        shape = ",".join(map(str, tensor.shape))
        dtype = str(tensor.dtype).removeprefix("torch.")
        self.rows.append("\t".join([file, dtype, shape, raw(tensor.reshape(-1)), numbers(tensor)]))


def add_safetensors(corpus):
    """What the library of that format writes, of every dtype that it shares with torch, and of no elements or dimensions."""
    tensors = {name: values(name).reshape(3, 4) for name in DTYPES if name != "complex128" and not name.endswith("fnuz")}
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.empty(0, 3)}
    for name, tensor in tensors.items():
        safetensors.torch.save_file({"a/../b": tensor}, HERE / f"st_{name}.safetensors", metadata={"op": "α"})
        corpus.note(f"st_{name}.safetensors", tensor)


def main():
    torch.manual_seed(7)
    corpus = Corpus()
    for name in DTYPES:
        corpus.add(f"dtype_{name}", values(name).reshape(3, 4))
    for name in FLOAT8:  # all bit patterns
        corpus.add(f"patterns_{name}", torch.arange(256, dtype=torch.int16).to(torch.uint8).view(getattr(torch, name)))
    whole = torch.arange(24, dtype=torch.float32)
    corpus.add("layout_scalar", torch.tensor(2.5))
    corpus.add("layout_empty", torch.empty(0, 3))
    corpus.add("layout_transposed", whole.reshape(4, 6).t())
    corpus.add("layout_offset", whole[5:11])
    corpus.add("layout_step", whole[1::3])
    corpus.add("layout_expanded", whole[:3].reshape(3, 1).expand(3, 4))
    corpus.add("layout_channels_last", whole.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last))
    corpus.add("layout_permuted_slice", whole.reshape(2, 3, 4).permute(2, 0, 1)[1:3])
    corpus.add("kind_parameter", torch.nn.Parameter(torch.tensor([1.0, 2.0])))
    with_state = torch.nn.Parameter(torch.tensor([3.0]))
    with_state.note = "kept by some libraries"
    corpus.add("kind_parameter_with_state", with_state)
    with_state = torch.tensor([4.0])
    with_state.note = "kept by some libraries"
    corpus.add("kind_tensor_with_state", with_state)
    corpus.add("kind_protocol4", whole[:4], pickle_protocol=4)
    corpus.add("kind_protocol5", whole[:4], pickle_protocol=5)
    for name in ("float32", "bfloat16", "int64", "bool"):
        corpus.add(f"legacy_{name}", values(name).reshape(3, 4), _use_new_zipfile_serialization=False)
    corpus.add("legacy_transposed", whole.reshape(4, 6).t(), _use_new_zipfile_serialization=False)
    for name, array in {
        "c_order": whole.reshape(4, 6), "f_order": whole.reshape(4, 6), "float16": values("float16"), "int64": values("int64"),
        "scalar": torch.tensor(2.5), "bool": values("bool"), "complex64": values("complex64"),
    }.items():
        made = numpy.asfortranarray(array.numpy()) if name == "f_order" else array.numpy()
        numpy.save(HERE / f"numpy_{name}.npy", made)
        corpus.note(f"numpy_{name}.npy", array)
    add_safetensors(corpus)
    (HERE / "want.tsv").write_text("\n".join(corpus.rows) + "\n")

    refused = {
        "refused_dict": {"a": whole}, "refused_pair": (whole[:2], whole[2:4]), "refused_number": 3, "refused_conjugate": torch.tensor([1j]).conj(),
        "refused_sparse": torch.eye(2).to_sparse(), "refused_module": torch.nn.Linear(1, 1), "refused_ordered": collections.OrderedDict(a=1),
        "refused_quantized": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.quint8),
    }
    for name, what in refused.items():
        torch.save(what, HERE / f"{name}.pt")
    safetensors.torch.save_file({"a": whole, "b": torch.ones(2)}, HERE / "refused_two.safetensors")
    numpy.save(HERE / "refused_object.npy", numpy.array([{}], dtype=object), allow_pickle=True)
    numpy.save(HERE / "refused_big_endian.npy", numpy.array([1.0], dtype=">f4"))


if __name__ == "__main__":
    main()
