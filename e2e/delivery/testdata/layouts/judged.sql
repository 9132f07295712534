SELECT rank, step, bench_rank, bench_step, provisional, paired_count, equal_count, agrees_count, diverged_count, argument_count, greatest_error
FROM tap.judged_steps ORDER BY ALL
