"""Programs that differ in their model, or in how it computes."""

from __future__ import annotations

import torch
from same.showing import MLP, batches, program, show, show_state, train
from torch import Tensor, nn
from torch.nn import functional as F


@program
def mlp() -> None:
    train(MLP(), batches(4, 8))


@program
def convolutions_with_batch_norm() -> None:
    train(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(2)), batches(2, 3, 8, 8))


@program
def lstm() -> None:
    model = nn.LSTM(4, 6, 2, dropout=0.5, batch_first=True, bidirectional=True)
    for x in batches(2, 5, 4):
        output, (hidden, cell) = model(x)
        (output.sum() + hidden.sum() + cell.sum()).backward()
        show("output", output, hidden, cell)
    show_state(model)


@program
def gru_of_packed_sequences() -> None:
    model = nn.GRU(4, 6)
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 3, 4), torch.tensor([5, 3, 2]))
    output, hidden = model(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output)
    (padded.sum() + hidden.sum()).backward()
    show("output", padded, lengths, hidden)
    show_state(model)


@program
def rnn_cells() -> None:
    cell, state = nn.LSTMCell(4, 4), None
    for x in batches(2, 4):
        state = cell(x, state)
    state[0].sum().backward()
    show("state", *state)
    show_state(cell)


@program
def multihead_attention() -> None:
    model = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1)
    x = torch.randn(2, 5, 8)
    output, weights = model(x, x, x)
    output.sum().backward()
    show("training", output, weights)
    model.eval()
    with torch.no_grad():
        show("no_grad", *model(x, x, x, need_weights=False), *model(x, x, x, key_padding_mask=torch.zeros(2, 5, dtype=torch.bool)))
    model.requires_grad_(False)
    show("frozen", *model(x, x, x, need_weights=False))


def _encoder(**more: object) -> nn.TransformerEncoder:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **more), 2)


@program
def transformer_encoder_in_training() -> None:
    train(_encoder(), batches(2, 5, 8))


@program
def transformer_encoder_in_evaluation() -> None:
    model, x = _encoder().eval(), torch.randn(2, 5, 8)
    for _ in range(2):
        show("with gradients", model(x))
    with torch.no_grad():
        for _ in range(2):
            show("no_grad", model(x))
    with torch.inference_mode():
        show("inference_mode", model(x))
    model.requires_grad_(False)
    show("frozen", model(x))


@program
def transformer_encoder_of_padded_batches() -> None:
    model, x = _encoder(activation="gelu").eval(), torch.randn(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        show("padded", model(x, src_key_padding_mask=padding))
        show("causal", model(x, mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True))


@program
def transformer_encoder_with_norm_first() -> None:
    model, x = _encoder(norm_first=True).eval(), torch.randn(2, 5, 8)
    with torch.no_grad():
        show("norm first", model(x))


@program
def transformer_encoder_with_a_hook_of_its_own() -> None:
    model, x = _encoder().eval(), torch.randn(2, 5, 8)
    model.layers[0].linear1.register_forward_hook(lambda module, args, result: result * 2)
    with torch.no_grad():
        show("hooked", model(x))


@program
def transformer_decoder() -> None:
    model = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1)
    memory, target = torch.randn(2, 4, 8), torch.randn(2, 3, 8)
    model(target, memory, tgt_mask=nn.Transformer.generate_square_subsequent_mask(3)).sum().backward()
    show_state(model)
    with torch.inference_mode():
        show("evaluated", model.eval()(target, memory))


@program
def whole_transformer() -> None:
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    model(torch.randn(2, 4, 8), torch.randn(2, 3, 8)).sum().backward()
    show_state(model)


class _Attends(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor, causal: bool = False, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)


@program
def scaled_dot_product_attention() -> None:
    model, x = _Attends(), torch.randn(2, 5, 8)
    for given in ({}, {"causal": True}, {"mask": torch.ones(5, 5).tril().bool()}):
        model(x, **given).sum().backward()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        show("math", model(x))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION), torch.no_grad():
        show("flash", model(x))
    show_state(model)


@program
def composite_operations_in_inference_mode() -> None:
    attends, decoder = _Attends(), nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    x, weight = torch.randn(2, 5, 8), attends.qkv.weight
    with torch.inference_mode():
        show("attention", attends(x, causal=True), decoder(x, x))
        parts = (weight.reshape(-1), weight.mT, *weight.tensor_split(2), weight.expand_as(weight), torch.linalg.diagonal(weight))
        print([part.requires_grad for part in parts], [part.is_inference() for part in parts])
        with torch.autocast("cpu", torch.bfloat16):
            show("autocast", torch.einsum("bij,bkj->bik", x, x), torch.tensordot(x, x, 3), torch.linalg.multi_dot([x[0], x[0].mT, x[0]]), torch.cov(x[0]), F.cosine_similarity(x, x), attends(x))


@program
def flexible_attention() -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = MLP()(torch.randn(1, 2, 16, 8)).expand(3, 2, 16, 8).unsqueeze(1).detach()
    causal = create_block_mask(lambda b, h, i, j: i >= j, None, None, 16, 16, device="cpu")
    show("attention", flex_attention(q, k, v, block_mask=causal), flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + j - i))


@program
def embedding_bags() -> None:
    model = nn.EmbeddingBag(10, 4, mode="mean", sparse=True)
    model(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])).sum().backward()
    torch.optim.SparseAdam(model.parameters()).step()
    show_state(model)


@program
def weight_norm_and_spectral_norm() -> None:
    old = nn.utils.weight_norm(nn.Linear(8, 8))
    new = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    spectral = nn.utils.spectral_norm(nn.Linear(8, 8))
    orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(8, 8))
    train(nn.Sequential(old, new, spectral, nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)), orthogonal), batches(4, 8))


class _Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


@program
def parametrized_weights() -> None:
    layer = nn.Linear(8, 8)
    nn.utils.parametrize.register_parametrization(layer, "weight", _Doubled())
    train(nn.Sequential(layer), batches(4, 8))
    with nn.utils.parametrize.cached():
        show("cached", layer(torch.ones(1, 8)))
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    show_state(layer)


@program
def pruned_weights() -> None:
    from torch.nn.utils import prune

    model = MLP(p=0.0)
    prune.l1_unstructured(model.first, "weight", amount=0.3)
    train(model, batches(4, 8))
    prune.remove(model.first, "weight")
    show_state(model)
    print(prune.is_pruned(model), sorted(model.first.__dict__))


@program
def in_place_operations_and_views() -> None:
    x = torch.randn(4, 6, requires_grad=True)
    y = x * 2
    view = y[1:3].view(-1)
    view.add_(1).mul_(3)
    y[0, ::2] = 0
    y.t()[2].exp_()
    z = torch.as_strided(y, (2, 3), (6, 2))
    (y.sum() + z.prod()).backward()
    show("in place", y, z, x.grad, x.detach().masked_fill_(x > 0, 7).index_add_(0, torch.tensor([1]), torch.ones(1, 6)))


@program
def complex_numbers() -> None:
    x = torch.randn(4, 8, dtype=torch.complex64, requires_grad=True)
    y = torch.fft.ifft(torch.fft.fft(x) * torch.view_as_complex(torch.randn(8, 2))).conj()
    y.abs().sum().backward()
    show("complex", y, x.grad, torch.linalg.eigvals(x.detach()[:, :4]), y.real.neg())
    MLP()(y.abs())
    show("inverse", torch.linalg.pinv(x), torch.linalg.pinv(x.detach()))


@program
def sparse_tensors() -> None:
    x = torch.eye(4).to_sparse().requires_grad_()
    y = torch.sparse.mm(x, torch.randn(4, 3))
    y.sum().backward()
    show("sparse", y, x.grad, torch.randn(3, 3).relu().to_sparse_csr() @ torch.ones(3, 2), x.detach().coalesce().indices())


@program
def quantized_model() -> None:
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4)), {nn.Linear}, dtype=torch.qint8)
    show("dynamic", model(torch.randn(2, 8)))
    x = torch.quantize_per_tensor(torch.randn(4), 0.1, 3, torch.quint8)
    show("tensor", x, x.dequantize())


@program
def nested_tensors() -> None:
    nested = torch.nested.nested_tensor([torch.randn(2, 8), torch.randn(3, 8)])
    layer = nn.Linear(8, 4)
    show("nested", torch.nested.to_padded_tensor(layer(nested), 0.0))


@program
def losses_of_all_kinds() -> None:
    x, classes = torch.randn(6, 5, requires_grad=True), torch.randint(5, (6,))
    for loss in (
        F.cross_entropy(x, classes, label_smoothing=0.1),
        F.nll_loss(x.log_softmax(1), classes),
        F.binary_cross_entropy_with_logits(x, torch.rand(6, 5)),
        F.huber_loss(x, torch.zeros(6, 5)),
        F.kl_div(x.log_softmax(1), torch.rand(6, 5).softmax(1), reduction="batchmean"),
        F.cosine_embedding_loss(x, torch.randn(6, 5), torch.ones(6)),
        F.triplet_margin_loss(x, torch.randn(6, 5), torch.randn(6, 5)),
        F.ctc_loss(x.view(6, 1, 5).log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([6]), torch.tensor([2])),
        F.multi_margin_loss(x, classes),
        F.gaussian_nll_loss(x, torch.zeros(6, 5), torch.ones(6, 5)),
    ):
        x.grad = None
        loss.backward()
        show("loss", loss, x.grad)


@program
def linear_algebra() -> None:
    x = torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
    spd = x @ x.mT + torch.eye(5)
    results = (*torch.linalg.svd(x), torch.linalg.cholesky(spd), torch.linalg.solve(spd, x), torch.linalg.det(x), torch.linalg.eigh(spd)[0], spd.logdet())
    sum(result.sum() for result in results).backward()
    show("linear algebra", results, x.grad, torch.einsum("ij,jk->ik", x, x), x.std(), x.prod(), x.cumsum(0), torch.cdist(x, x))


@program
def gradients_of_functions_with_rare_formulas() -> None:
    x = (torch.rand(4, 4) + 0.1).requires_grad_()
    index = torch.randint(4, (4, 4))
    for value in (x.std(0), x.var(), x.prod(1), x.cumprod(0), x.norm(3), x.gather(1, index), x.where(x > 0.5, 2 * x), x.masked_fill(x > 0.5, 0), x.logcumsumexp(0), x.sort(0)[0], x.topk(2)[0], x.renorm(2, 0, 1), x.index_put((torch.tensor([0]),), x[1]), x.unfold(0, 2, 1), x.trace(), x.median(), x.pow(x), torch.cdist(x, x + 1), x.triu().tile(2), x.diff(), x.erfinv(), F.grid_sample(x.view(1, 1, 4, 4), torch.zeros(1, 2, 2, 2), align_corners=False), F.interpolate(x.view(1, 1, 4, 4), scale_factor=2, mode="bilinear"), F.fold(x.view(1, 4, 4), (3, 3), (2, 2)), F.embedding(index, x), F.max_pool2d(x.view(1, 4, 4), 2), F.adaptive_avg_pool1d(x, 2), F.gumbel_softmax(x, hard=True), F.glu(x), F.rrelu(x, training=True)):
        (gradient,) = torch.autograd.grad(value.sum(), x)
        show("gradient", value, gradient)


@program
def functions_that_ask_whether_there_is_a_mode() -> None:
    x = MLP(5)(torch.randn(5, 5))
    for value in (-x.min(), -x.max(), -x.median(), x.prod(), x.triu().prod(), x.masked_fill(x.detach() > 0, x.sum()), x.cumprod(0)):
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        show("gradient", gradient, *torch.autograd.grad(gradient.sum(), x, allow_unused=True, retain_graph=True) if gradient.requires_grad else ())
    with torch.no_grad():
        show("values", torch.linalg.svdvals(x), torch.linalg.eigvalsh(x @ x.mT), torch.linalg.matrix_norm(x, 2), torch.linalg.cond(x))
