package torchfile

import (
	"errors"
	"fmt"
	"math"
)

// global is a class or function that a pickle names. It is a name here, and nothing more.
type global struct {
	role  role
	dtype Dtype // of a storage or dtype; 0 for a storage of bytes
}

// role is the use that a name may have.
type role uint8

const (
	roleStorage role = iota + 1
	roleDtype
	roleClass
	roleOrderedDict
	roleTensor    // makes a tensor of a storage
	roleTensorV3  // the same, with a dtype
	roleParameter // makes of a tensor the same tensor: its first argument
	roleTyped     // makes a tensor with a role above, its class and attributes
)

// findGlobal refuses every name that no tensor needs.
func findGlobal(module, name string) (global, error) {
	roles := map[string]role{
		"collections.OrderedDict":                             roleOrderedDict,
		"torch.Tensor":                                        roleClass,
		"torch.nn.parameter.Parameter":                        roleClass,
		"torch._utils._rebuild_tensor":                        roleTensor,
		"torch._utils._rebuild_tensor_v2":                     roleTensor,
		"torch._utils._rebuild_tensor_v3":                     roleTensorV3,
		"torch._utils._rebuild_parameter":                     roleParameter,
		"torch._utils._rebuild_parameter_with_state":          roleParameter,
		"torch._utils._rebuild_device_tensor_from_cpu_tensor": roleParameter,
		"torch._tensor._rebuild_from_type_v2":                 roleTyped,
		"torch.storage.UntypedStorage":                        roleStorage,
	}
	if role, ok := roles[module+"."+name]; ok {
		return global{role: role}, nil
	}
	if module == "torch" && name != "" {
		if dtype := dtypeWith(func(f dtypeFacts) bool { return f.storage == name }); dtype != 0 {
			return global{role: roleStorage, dtype: dtype}, nil
		}
		if dtype := dtypeWith(func(f dtypeFacts) bool { return f.name == name }); dtype != 0 {
			return global{role: roleDtype, dtype: dtype}, nil
		}
	}
	return global{}, fmt.Errorf("it asks for %.100q of %.100q, which is refused: only tensors are read", name, module)
}

// storage is the stored elements that a pickle refers to.
type storage struct {
	dtype Dtype // 0: bytes
	key   string
	count int64
}

func (s *storage) bytes() int64 {
	if s.dtype == 0 {
		return s.count
	}
	return s.count * s.dtype.Size()
}

// newStorage reads a reference: ("storage", class, key, device, count of elements), and in old files a view of another.
func newStorage(reference any) (*storage, error) {
	parts, ok := reference.(tuple)
	if !ok || len(parts) < 5 || len(parts) > 6 {
		return nil, fmt.Errorf("a reference to a storage that is %s of %d parts", kindOf(reference), len(parts))
	}
	kind, _ := parts[0].(string)
	class, _ := parts[1].(global)
	key, isText := parts[2].(string)
	count, isNumber := parts[4].(int64)
	if kind != "storage" || class.role != roleStorage || !isText || !isNumber || count < 0 || count > math.MaxInt64/16 {
		return nil, errors.New("a reference that is not to a storage")
	}
	if len(parts) == 6 && parts[5] != nil {
		return nil, errors.New("a storage that is a view of another, which is not read")
	}
	return &storage{dtype: class.dtype, key: key, count: count}, nil
}

// described is a tensor whose storage is not found yet.
type described struct {
	tensor  *Tensor
	storage *storage
}

// call makes a tensor, if the pickle asks for one.
func call(function, arguments any) (any, error) {
	f, isGlobal := function.(global)
	args, isTuple := arguments.(tuple)
	if !isGlobal || !isTuple {
		return nil, fmt.Errorf("a call of %s with %s", kindOf(function), kindOf(arguments))
	}
	switch f.role {
	case roleOrderedDict:
		if len(args) == 0 {
			return &dict{}, nil
		}
	case roleTensor:
		return rebuild(args, 0, 6)
	case roleTensorV3:
		if len(args) > 6 {
			if class, ok := args[6].(global); ok && class.role == roleDtype {
				return rebuild(args, class.dtype, 7)
			}
		}
	case roleParameter:
		if len(args) > 0 {
			if made, ok := args[0].(*described); ok {
				return made, nil
			}
		}
	case roleTyped:
		return rebuildTyped(args)
	case roleStorage, roleDtype, roleClass:
	}
	return nil, fmt.Errorf("a call with %d arguments that makes no tensor", len(args))
}

// rebuildTyped reads (function, class, arguments, attributes).
func rebuildTyped(args tuple) (any, error) {
	if len(args) < 3 {
		return nil, fmt.Errorf("a tensor with a class of %d parts", len(args))
	}
	f, isGlobal := args[0].(global)
	class, isClass := args[1].(global)
	if !isGlobal || f.role == roleTyped || !isClass || class.role != roleClass {
		return nil, errors.New("a tensor of a class that is not read")
	}
	return call(f, args[2])
}

// rebuild reads (storage, offset, shape, stride …), and behind the known arguments marks like conj, which change the
// meaning of the elements.
func rebuild(args tuple, dtype Dtype, known int) (*described, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("a tensor of %d parts", len(args))
	}
	from, isStorage := args[0].(*storage)
	offset, isNumber := args[1].(int64)
	shape, isShape := integers(args[2])
	stride, isStride := integers(args[3])
	if !isStorage || !isNumber || !isShape || !isStride {
		return nil, errors.New("a tensor whose storage, offset, shape or stride is something else")
	}
	for _, extra := range args[min(known, len(args)):] {
		if marks, ok := extra.(*dict); extra != nil && (!ok || len(marks.items) > 0) {
			return nil, errors.New("a tensor that is stored as the conjugate or negative of its elements, which is not read")
		}
	}
	if dtype == 0 {
		dtype = from.dtype
	}
	if dtype == 0 || (from.dtype != 0 && from.dtype != dtype) {
		return nil, fmt.Errorf("a tensor of %s in a storage of %s", dtype, from.dtype)
	}
	return &described{&Tensor{Dtype: dtype, Shape: shape, Stride: stride, Offset: offset}, from}, nil
}

func integers(value any) ([]int64, bool) {
	items, ok := value.(tuple)
	numbers := make([]int64, len(items))
	for i, item := range items {
		n, isNumber := item.(int64)
		ok = ok && isNumber
		numbers[i] = n
	}
	return numbers, ok
}

// unpickle reads the pickle of one tensor.
func unpickle(in *input) (*described, error) {
	value, err := (&machine{in: in}).run()
	if err != nil {
		return nil, err
	}
	return onlyTensor(value)
}

func onlyTensor(value any) (*described, error) {
	made, ok := value.(*described)
	if !ok {
		return nil, fmt.Errorf("it holds %s, not a tensor", kindOf(value))
	}
	return made, nil
}
