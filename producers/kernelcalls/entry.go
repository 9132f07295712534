package kernelcalls

import (
	"encoding/json"
	"errors"
	"strings"
)

// entry is what is told of a call at its begin or its end.
type entry struct {
	Function string `json:"function_name"`
	Sequence uint64 `json:"call_sequence"`
	Began    string `json:"timestamp"`
	Process  int64  `json:"process_id"`
	Status   string `json:"execution_status"`
	Folder   string `json:"dump_dir"`
	Inputs   keys   `json:"input_tensor_keys"`
	Outputs  keys   `json:"output_tensor_keys"`
	Tensors  struct {
		Inputs  keys `json:"input_tensor_keys"`
		Outputs keys `json:"output_tensor_keys"`
	} `json:"tensor_info"`
	Details map[string]detail `json:"tensor_details"`
	Raised  *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"exception"`
}

type keys []string

// detail is what is told of a tensor.
type detail struct {
	Shape  []json.Number `json:"shape"`
	Stride []json.Number `json:"stride"`
	Dtype  string        `json:"dtype"`
	Device string        `json:"device"`
}

// What becomes of calls.
const (
	begun     = "inputs_saved"
	completed = "completed"
	raised    = "exception"
)

func parse(text []byte) (*entry, error) {
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	if e.Function == "" || e.Status == "" {
		return nil, errors.New("it has no function_name and execution_status")
	}
	return &e, nil
}

// engine is who wrote the entry: FlashInfer's name tensors under tensor_info.
func (e *entry) engine() string {
	if len(e.Tensors.Inputs)+len(e.Tensors.Outputs) > 0 {
		return "flashinfer"
	}
	return "sglang"
}

// inputs describes each tensor among the arguments, as "arg_0: bfloat16[8, 128] strides [128, 1] cuda:0".
func (e *entry) inputs() []string {
	var lines []string
	for _, key := range append(e.Inputs, e.Tensors.Inputs...) {
		line := key
		if d, known := e.Details[key]; known {
			line += ": " + d.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// outputs describes the results in the same way, without their names.
func (e *entry) outputs() []string {
	var lines []string
	for _, key := range append(e.Outputs, e.Tensors.Outputs...) {
		line := key
		if d, known := e.Details[key]; known {
			line = d.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// String is the tensor in the words of level aten.
func (d detail) String() string {
	text := strings.TrimPrefix(d.Dtype, "torch.") + numbers(d.Shape)
	if d.Stride != nil {
		text += " strides " + numbers(d.Stride)
	}
	if d.Device != "" {
		text += " " + d.Device
	}
	return text
}

func numbers(list []json.Number) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = n.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
