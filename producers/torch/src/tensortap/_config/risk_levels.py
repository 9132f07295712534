"""msProbe's risk levels: CORE keeps APIs that compute sums of products, FOCUS all but those that only move elements."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"(?P<prefix>[^.]+)\.(?P<api>.+?)\.\d+\.")
_ALWAYS_CORE: Final = frozenset(("Distributed", "MindSpeed", "NPU"))

# Names as msProbe 26.2 groups them, but for linear and chain_matmul: a missing comma there makes one name of the two.
CORE: Final = frozenset(
    """
    _batch_norm_impl_index _convolution _fused_adam_ _fused_adamw_ __matmul__ addbmm addbmm_ addmm addmm_ addmv addmv_ addr
    addr_ baddbmm baddbmm_ batch_norm batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
    batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats bilinear bmm
    chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution embedding
    embedding_bag group_norm instance_norm layer_norm linalg.matmul linalg.multi_dot linalg.vecdot linear
    local_response_norm matmul mm multi_head_attention_forward mv scaled_dot_product_attention
    """.split()
)
LOW: Final = frozenset(
    """
    __bool__ align_as align_to arange atleast_1d atleast_2d atleast_3d bfloat16 bool byte cat cfloat char chunk clamp clone
    column_stack concat concatenate diag diag_embed diagflat double dsplit dstack empty empty_like expand expand_as eye
    flatten float full full_like half hsplit hstack identity int linspace logspace long moveaxis movedim numpy ones ones_like
    permute ravel repeat repeat_interleave reshape reshape_as row_stack split split_with_sizes squeeze stack stride swapaxes
    swapdims tensor_split tile to transpose tril tril_indices triu triu_indices type_as unbind unflatten unfold unsafe_chunk
    unsafe_split unsafe_split_with_sizes unsqueeze view view_as vsplit vstack zeros zeros_like
    """.split()
)


def wants(risk: str, name: str) -> bool:
    """Whether an op is recorded at a risk level, by its full name; modules always are."""
    found = _NAME.match(name)
    if risk == "ALL" or found is None or found["prefix"] == "Module":
        return True
    if risk == "FOCUS":
        return found["api"] not in LOW
    return found["prefix"] in _ALWAYS_CORE or found["api"] in CORE
