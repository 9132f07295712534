package schemas

// Memory holds the counters of a rank's allocator, device and host at one moment.
func Memory() Table {
	return Table{
		Name: "memory", Version: 1, Class: Measurement, Beside: true,
		Key: []string{"run_id", "rank", "step", "seq"},
		Doc: "One row per look at the memory of a rank's device and host: at the end of a step, of all and of each component that is known, or after a module.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the looks within the epoch."},
			Column{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "The module after which it was (op); 0 at the end of the step."},
			Column{Name: "device", Type: String, Unit: None, Doc: "cpu, cuda:0 and so on."},
			Column{Name: "allocated_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "In use, by the device's allocator or of the component; null when it has none that counts."},
			Column{Name: "reserved_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Held by the device's allocator, used or not, or the capacity of kv; null when not measured."},
			Column{Name: "peak_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Greatest allocated_bytes since the step began, of activations beyond what is left at its end; null when not measured."},
			Column{Name: "device_free_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Free on the device, for all processes; null when not known."},
			Column{Name: "host_resident_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Resident set of the process; null when not known."},
			Column{Name: "retry_count", Type: Uint32, Unit: Count, Doc: "Allocations that succeeded only after the allocator gave memory back, since the process began."},
			Column{Name: "oom_count", Type: Uint32, Unit: Count, Doc: "Allocations that were refused, since the process began."},
			Column{Name: "component", Type: String, Unit: None, Doc: "weights, gradients, optimizer, activations, kv or other; empty for all of the device and host. One that cannot be known has no row."},
			Column{Name: "basis", Type: String, Unit: None, Doc: "What the bytes of a component rest on: parameters and buffers, block tables and so on; empty for all."},
		),
	}
}
