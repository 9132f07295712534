"""The files that a process hands to the agent, as SPOOL.md says."""
