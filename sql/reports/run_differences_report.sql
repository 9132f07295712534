-- Question: what else differs between the two runs?
-- Grain: one row per property that differs, those first that are known to change numbers; an empty value is not known
-- Reads: tap.run_properties, tap.ranks
-- Empty when: nothing recorded about the runs differs
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameters of the model are told if both runs have their checksums: one where all ranks agree, else that of each rank.
WITH
    both AS (
        SELECT
            run_id,
            rank,
            parameters
        FROM tap.ranks
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31)))) AND notEmpty(parameters)
    ),
    said AS (
        SELECT
            run_id,
            property,
            value
        FROM tap.run_properties
        WHERE run_id IN (xxh3(concat({problem:String}, char(31))), xxh3(concat({bench:String}, char(31))))
        UNION ALL
        SELECT
            run_id,
            concat('parameter ', name) AS property,
            if(uniqExact(checksum) = 1, any(checksum), arrayStringConcat(arrayMap(each -> concat('rank ', toString(each.1), ': ', each.2), arraySort(groupArray((rank, checksum)))), ', ')) AS value
        FROM both
        ARRAY JOIN
            mapKeys(parameters) AS name,
            mapValues(parameters) AS checksum
        WHERE (
            SELECT uniqExact(run_id)
            FROM both
        ) = 2
        GROUP BY
            run_id,
            name
    )
SELECT
    property,
    anyIf(value, run_id = xxh3(concat({problem:String}, char(31)))) AS problem,
    anyIf(value, run_id = xxh3(concat({bench:String}, char(31)))) AS bench,
    multiIf(
        match(property, '^(model|framework_version|engine|engine_version|world_size|dtype|tensor dtype|seed|commit|parameter .*|config (optimizer.*|deterministic algorithms|cudnn.*|float32 matmul precision|tf32 .*|reduced precision .*|gpu|gpu driver|cuda|hip|nccl|cpu|code|torch threads)|config package (torch|triton|vllm|sglang|transformers|numpy|flash-attn|flashinfer.*|xformers|transformer-engine.*|megatron.*|deepspeed|apex|accelerate|nvidia-.*))$'), 'changes numbers',
        match(property, '^(framework|config|label .*|config (command line|python|env .*|package .*|sglang .*|vllm .*))$'), 'may change numbers',
        'not known to change numbers') AS effect
FROM said
GROUP BY property
HAVING problem != bench
ORDER BY
    effect,
    startsWith(property, 'parameter '),
    property
