SELECT position, origin, rank, step, op, module, role, path, kind, verdict, evidence, error, tolerance FROM tap.findings ORDER BY ALL
