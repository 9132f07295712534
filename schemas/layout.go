package schemas

// Layout describes an argument, apart from its values.
func Layout() Table {
	return Table{
		Name: "layout", Version: 1, Class: Definition,
		Key: []string{"layout_id"},
		Doc: "One row per distinct dtype, shape and placement of a tensor, or literal of another argument.",
		Columns: []Column{
			{Name: "layout_id", Type: Uint64, Unit: Hash, Doc: "Hash of all other columns."},
			{Name: "kind", Type: String, Unit: None, Doc: "tensor, int, float, bool, str, none, size, dtype, device, slice, group or other."},
			{Name: "dtype", Type: String, Unit: None, Doc: "As the source spells it, as torch.float32; for kind other the type; else empty."},
			{Name: "shape", Type: Int64s, Unit: None, Doc: "Sizes of the dimensions, -1 where one is not known; empty for a scalar and for other arguments."},
			{Name: "stride_class", Type: String, Unit: None, Doc: "contiguous, channels_last, strided and so on; empty when not known."},
			{Name: "device_kind", Type: String, Unit: None, Doc: "cpu, cuda, npu and so on; empty when not known."},
			{Name: "requires_grad", Type: Uint8, Unit: None, Nullable: true, Doc: "1 when it does; null when not known."},
			{Name: "placement", Type: String, Unit: None, Doc: "Placement of a sharded tensor over its mesh; empty when not sharded."},
			{Name: "literal", Type: String, Unit: None, Doc: "The value of an argument that is no tensor; the class of a tensor that is no plain one."},
		},
	}
}
