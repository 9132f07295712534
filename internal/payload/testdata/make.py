"""Makes msprobe_pairs.tar.gz, pairs of tensors, and msprobe_pairs.tsv, what msProbe 26.2 says of them.

Run by hand with torch 2.9 and mindstudio-probe 26.2: python make.py
"""
import gzip
import io
import pathlib
import tarfile

import torch
from msprobe.core.common.const import CompareConst
from msprobe.core.compare.npy_compare import CompareResult, ValidateTensor, compare_ops_apply
from msprobe.pytorch.compare.utils import _prepare_tensor_for_numpy

HERE = pathlib.Path(__file__).parent
COLUMNS = [
    CompareConst.COSINE, CompareConst.EUC_DIST, CompareConst.MAX_ABS_ERR, CompareConst.MAX_RELATIVE_ERR,
    CompareConst.ONE_THOUSANDTH_ERR_RATIO, CompareConst.FIVE_THOUSANDTHS_ERR_RATIO,
]


def near(shape, dtype, error):
    bench = torch.randn(shape, dtype=torch.float64)
    problem = bench * (1 + error * torch.randn(shape, dtype=torch.float64))
    return problem.to(dtype), bench.to(dtype)


def whole(dtype, low, high):
    bench = torch.randint(low, high, (64,))
    return (bench + torch.randint(0, 2, (64,))).clamp(low, high - 1).to(dtype), bench.to(dtype)


def pairs():
    torch.manual_seed(11)
    for name in ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"):
        for error in (1e-1, 3e-3, 1e-4):
            yield f"{name}_{error:g}", *near((4, 5, 6), getattr(torch, name), error)
    for name, low, high in (("uint8", 0, 255), ("int8", -128, 127), ("int16", -9999, 9999), ("int32", -10**9, 10**9), ("int64", -2**60, 2**60)):
        yield name, *whole(getattr(torch, name), low, high)
    yield "bool", torch.tensor([True, False, True, True]), torch.tensor([True, True, False, True])
    yield "bool_scalar", torch.tensor(True), torch.tensor(False)
    x, y = near((3, 7), torch.float32, 1e-3)
    yield "mixed_half", x.half(), y
    yield "mixed_double", x.double(), y
    yield "mixed_integer", x, y.mul(10).int()
    yield "squeezed", x.reshape(1, 3, 1, 7), y
    yield "other_shape", x.reshape(7, 3), y
    yield "equal", y, y
    yield "scalar", x[0, 0], y[0, 0]
    yield "one_element", x[:1, :1], y[:1, :1]
    yield "scalar_nan", torch.tensor(float("nan")), torch.tensor(1.0)
    yield "scalar_infinite", torch.tensor(float("inf")), torch.tensor(1.0)
    yield "empty", x[:0], y[:0]
    yield "zeros", torch.zeros(5), torch.zeros(5)
    yield "zero_problem", torch.zeros(5), torch.ones(5)
    yield "zero_bench", torch.ones(5), torch.zeros(5)
    yield "some_zero_half", torch.tensor([0.0, 1e-7, 1.0]).half(), torch.tensor([0.0, 0.0, 0.0]).half()
    yield "some_zero_double", torch.tensor([0.0, 1e-20, 1.0]).double(), torch.tensor([0.0, 0.0, 1.0]).double()
    nan, inf = float("nan"), float("inf")
    yield "same_places", torch.tensor([nan, inf, -inf, 2.0]), torch.tensor([nan, inf, -inf, 1.0])
    yield "other_places", torch.tensor([nan, 1.0]), torch.tensor([1.0, nan])
    yield "one_side", torch.tensor([inf, 1.0]), torch.tensor([1.0, 1.0])
    yield "other_sign", torch.tensor([inf, 1.0]), torch.tensor([-inf, 1.0])
    yield "great", torch.tensor([3e38, 1.0]), torch.tensor([-3e38, 1.0])
    yield "tiny", torch.tensor([1e-40, 1.0]), torch.tensor([2e-40, 1.0])


def judge(problem, bench):
    n, b = (_prepare_tensor_for_numpy(t).numpy().copy().squeeze() for t in (problem, bench))
    checked = ValidateTensor().check_tensor(CompareResult(n, b, False, ""))
    numbers, message = compare_ops_apply(checked.n_value, checked.b_value, checked.error_flag, checked.err_msg, COLUMNS)
    return [repr(v) if isinstance(v, str) else repr(float(v)) for v in numbers] + [message.strip()]


def main():
    rows, packed = [], io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, *sides in pairs():
            for side, tensor in zip(("problem", "bench"), sides):
                content = io.BytesIO()
                torch.save(tensor.clone().contiguous(), content)
                member = tarfile.TarInfo(f"{name}.{side}.pt")
                member.size, member.mode = len(content.getvalue()), 0o644
                archive.addfile(member, io.BytesIO(content.getvalue()))
            rows.append("\t".join([name, *judge(*sides)]))
    (HERE / "msprobe_pairs.tar.gz").write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))
    (HERE / "msprobe_pairs.tsv").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
