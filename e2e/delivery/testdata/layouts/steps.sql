SELECT r.name AS run, s.rank AS rank, s.step AS step, s.op_count AS ops, s.tensor_count AS tensors, s.complete AS complete
FROM tap.steps AS s INNER JOIN tap.runs AS r ON r.run_id = s.run_id WHERE run != 'live' ORDER BY run, rank, step
