package torchfile_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// safetensors is a file of that header and so many bytes behind it.
func safetensors(header string, elements int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, elements)...)
}

func TestHostileSafetensorsAreRefused(t *testing.T) {
	t.Parallel()
	entry := func(fields string) []byte { return safetensors(`{"a":{`+fields+`}}`, 16) }
	for reason, file := range map[string][]byte{
		"cannot unmarshal string":            entry(`"dtype":"F32","shape":"4","data_offsets":[0,16]`),
		"neither a file of torch.save":       append([]byte{0, 0, 0, 0, 0, 0, 0, 1}, `{"a":1}`...),
		"a header of 8 bytes in a file of 9": append([]byte{8, 0, 0, 0, 0, 0, 0, 0}, '{'),
		"unexpected end of JSON":             safetensors(`{"a":`, 4),
		"0 tensors, want 1":                  safetensors(`{"__metadata__":{}}`, 4),
		`dtype "F33" is not known`:           entry(`"dtype":"F33","shape":[4],"data_offsets":[0,16]`),
		`unknown field "stride"`:             entry(`"dtype":"F32","shape":[4],"data_offsets":[0,16],"stride":[9]`),
		"from byte 0 to 17 of 16":            entry(`"dtype":"F32","shape":[4],"data_offsets":[0,17]`),
		"from byte -4 to 12":                 entry(`"dtype":"F32","shape":[4],"data_offsets":[-4,12]`),
		"from byte 16 to 0":                  entry(`"dtype":"F32","shape":[0],"data_offsets":[16,0]`),
		"last element would be number 4":     entry(`"dtype":"F32","shape":[5],"data_offsets":[0,16]`),
		"do not take the bytes":              entry(`"dtype":"F32","shape":[3],"data_offsets":[0,16]`),
		"do not take":                        entry(`"dtype":"F32","shape":[0,1099511627776,1099511627776],"data_offsets":[0,16]`),
		"negative size":                      entry(`"dtype":"F32","shape":[-4],"data_offsets":[0,16]`),
		"more than 1125899906842624":         entry(`"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]`),
		"cannot unmarshal number":            entry(`"dtype":"F32","shape":[1e400],"data_offsets":[0,16]`),
		"limit 64":                           entry(`"dtype":"F32","shape":[1` + strings.Repeat(",1", 64) + `],"data_offsets":[0,16]`),
	} {
		tensor, err := torchfile.Open(bytes.NewReader(file), int64(len(file)))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Open(%.80q) = %v, %v, want an error with %q", file, tensor, err, reason)
		}
	}
}
