SELECT problem, benches, verdict, complete, paired_count, equal_count, within_count, agrees_count, diverged_count
FROM tap.comparisons ORDER BY ALL
