-- Question: which checksum had each parameter of a run after each update, by the name that it has without adapters?
-- Grain: one row per version, name
-- Reads: tap.weights
-- Empty when: the run told of no checksums of its weights
-- Parameter run: name of the run.
-- A parameter that an adapter wraps has its name of before. The latest checksum counts.
SELECT
    version,
    replaceOne(replaceRegexpOne(w.name, '^base_model[.]model[.]', ''), '.base_layer.', '.') AS name,
    argMax((w.checksum, w.description), (w.event_time_ns, w.rank)).1 AS checksum,
    argMax((w.checksum, w.description), (w.event_time_ns, w.rank)).2 AS description,
    extract(name, '^(.+?)[.](?:lora_|adapter)') AS adapter_of,
    if(adapter_of = '', extract(name, '^(.*)[.]'), adapter_of) AS module,
    adapter_of = '' AND max(adapter_of != '') OVER (PARTITION BY version, module) AS is_adapted
FROM tap.weights AS w
WHERE run_id = xxh3(concat({run:String}, char(31)))
GROUP BY
    version,
    name
