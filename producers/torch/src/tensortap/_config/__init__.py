"""What is recorded: settings, where they come from, and what they choose."""
