package schemas

// Signature is an ATen op with its inputs and outputs, apart from numbers.
func Signature() Table {
	return Table{
		Name: "signature", Version: 1, Class: Definition,
		Key: []string{"signature_id"},
		Doc: "One row per distinct ATen op with dtypes, shapes and strides of its input and output tensors.",
		Columns: []Column{
			{Name: "signature_id", Type: Uint64, Unit: Hash, Doc: "Hash of all other columns."},
			{Name: "op_name", Type: String, Unit: None, Doc: "The op as torch prints it, as aten.mm.default."},
			{Name: "inputs", Type: Strings, Unit: None, Doc: "Each tensor among the arguments, as mat2: float32[256, 512] strides [512, 1] cpu."},
			{Name: "outputs", Type: Strings, Unit: None, Doc: "Each tensor of the result, as in inputs but without a name; raised and the class of the exception where the op raised one."},
		},
	}
}
