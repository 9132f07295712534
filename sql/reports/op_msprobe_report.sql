-- Question: what does msProbe's own compare say of one op?
-- Grain: one row per tensor or other argument of the op, as msProbe lists them
-- Reads: tap.msprobe_results
-- Empty when: the problem run does not have the op at that rank and step, or the bench run lacks the step
-- Parameter problem: name of the run under suspicion.
-- Parameter bench: name of the run it is held against.
-- Parameter op: full name of the op, as the problem calls it.
-- Parameter rank = 0: rank of the problem.
-- Parameter step = 0: step of the problem.
-- Parameter step_offset = 0: the bench's step is the problem's plus this.
SELECT
    r.role AS role,
    r.path AS path,
    toString(r.msprobe_result) AS msprobe_result,
    if(r.msprobe_message = '[]', '', r.msprobe_message) AS msprobe_message
FROM tap.msprobe_results(problem = {problem:String}, bench = {bench:String}, rank = {rank:Int64}, first_step = {step:Int64}, last_step = {step:Int64}, step_offset = {step_offset:Int64}) AS r
WHERE r.op_id = xxh3(concat({op:String}, char(31)))
ORDER BY
    r.seq,
    role,
    path
