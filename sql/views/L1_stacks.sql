-- Question: which Python call stacks occur, and from which line of the user's own code?
-- Grain: one row per distinct stack
-- Reads: tap_store.stack
-- Empty when: nothing was published
-- Code of others is what is installed, Python's own library, and a source tree of torch by its known folders and files.
SELECT
    stack_id,
    frames,
    arrayFirst(frame -> NOT match(frame, 'site-packages|dist-packages|/lib/python[0-9.]+/|File <(frozen |string>)|/torch/(_|nn/|autograd/|utils/|distributed/|multiprocessing/|optim/|amp/|cuda/|fx/|jit/|func/|ao/|functional[.]py|overrides[.]py)'), frames) AS user_frame
FROM tap_store.stack FINAL
