"""From a tensor to numbers: in C, in Triton's kernels on CUDA, else by torch."""
