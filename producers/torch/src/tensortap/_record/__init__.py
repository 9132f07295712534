"""What hooks write through: names, arguments, tensors and stacks of ops become records, and what is not seen is counted."""
