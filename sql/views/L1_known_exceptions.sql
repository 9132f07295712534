-- Question: where are NaN, infinity or chance values no fault?
-- Grain: one row per place, built in or added by a user
-- Reads: tap_store.known_exception
-- Empty when: never
SELECT
    built_in.1 AS api,
    built_in.2 AS role,
    built_in.3 AS path,
    built_in.4 AS sort,
    built_in.5 AS why,
    true AS is_built_in
FROM
(
    SELECT arrayJoin([
        ('^(empty|empty_like|new_empty|empty_strided|new_empty_strided|empty_with_format)$', 'output', '', 'uninitialised', 'memory that nobody wrote yet'),
        ('^(recv|irecv|broadcast|scatter)$', 'input', '', 'uninitialised', 'a buffer that the call fills'),
        ('^(all_gather|all_gather_into_tensor|_all_gather_base|reduce_scatter|reduce_scatter_tensor|_reduce_scatter_base|all_to_all|all_to_all_single|gather)$', 'input', '^0', 'uninitialised', 'a buffer that the call fills'),
        ('^(copy_|fill_|zero_|normal_|uniform_|random_)$', 'input', '^0$', 'uninitialised', 'what the call overwrites'),
        ('^(to|type|type_as|float|double|half|bfloat16)$', '', '', 'cast', 'a cast that only one of two runs of different dtypes needs: the gradient of the other is that of all its uses'),
        ('', '', '(^|[.])(rids?|req_ids?|request_ids?)([.]|$)', 'identifier', 'ids of requests are new in each run'),
        ('', '', '(^|[.])((origin_)?out_cache_loc(_virtual)?|req_pool_indices(_cpu)?|slot_mapping|block_tables?)([.]|$)', 'identifier', 'where an engine keeps a request in its cache is another place in each run'),
        ('^(masked_fill|masked_fill_|full|full_like|new_full|triu|triu_|tril|tril_|where)$', '', '', 'negative_infinity', 'a mask'),
        ('^(softmax|_softmax|log_softmax|scaled_dot_product_attention|npu_fusion_attention)$', 'input', '', 'negative_infinity', 'masked scores'),
        ('^(softmax|_softmax|log_softmax|scaled_dot_product_attention|npu_fusion_attention)$', 'kwarg', '', 'negative_infinity', 'a mask')
    ]) AS built_in
)
UNION ALL
SELECT
    api,
    role,
    path,
    tap_store.known_exception.sort AS sort,
    why,
    false AS is_built_in
FROM tap_store.known_exception FINAL
