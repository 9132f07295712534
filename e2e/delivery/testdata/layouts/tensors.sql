SELECT run, rank, step, op, role, path, dtype, shape, value_min, value_max, value_mean, value_l2
FROM tap.tensors WHERE run != 'live' ORDER BY run, rank, step, seq, role, path
