package schemas

// Allocation is memory that one call stack holds, at one moment of a snapshot of the allocator.
func Allocation() Table {
	return Table{
		Name: "allocation", Version: 1, Class: Measurement, Beside: true,
		Key: []string{"run_id", "rank", "step", "device", "moment", "state", "stack_id"},
		Doc: "One row per call stack and state of memory in a snapshot of a rank's allocator, at its end and at its peak.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank, or the number of the snapshot in the order of time where no step is known."},
			Column{Name: "device", Type: String, Unit: None, Doc: "cuda:0 and so on."},
			Column{Name: "moment", Type: String, Unit: None, Doc: "end (when the snapshot was taken) or peak (of what was allocated, within its trace)."},
			Column{Name: "state", Type: String, Unit: None, Doc: "active, awaiting free (used on another stream) or inactive (held by the allocator)."},
			Column{Name: "component", Type: String, Unit: None, Doc: "weights, activations, kv, graphs, communication or other, by the stack; empty when it says nothing."},
			Column{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "Call stack that allocated (stack); 0 when not known."},
			Column{Name: "allocation_count", Type: Uint64, Unit: Count, Doc: "Blocks."},
			Column{Name: "size_bytes", Type: Uint64, Unit: Bytes, Doc: "Their size as the allocator rounds it."},
			Column{Name: "requested_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Their size as asked for; null when not known."},
		),
	}
}
