"""What a process says of itself: that it lives, where its threads are, its memory and its place among the ranks."""
