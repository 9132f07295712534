SELECT run, rank, complete, explanation FROM tap.completeness WHERE run != 'live' ORDER BY run, rank
