package msprobedump

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

// longestName is what file systems take, with room for a suffix.
const longestName = 240

// FileName is what msProbe calls the file of a value's raw tensor. A name that is no name of a file is made one.
func (v *Value) FileName(o *Op) string {
	parts := []string{o.Name}
	switch v.Role {
	case kwargRole:
		parts = append(parts, "kwargs")
	case parameterRole:
		parts = append(parts, "parameters")
	case inputRole, outputRole:
		parts = append(parts, v.Role)
	}
	if v.Path != "" {
		parts = append(parts, v.Path)
	}
	name := strings.Join(parts, ".")
	plain := strings.NewReplacer("/", "_", "\x00", "_").Replace(name)
	if plain != name || len(plain) > longestName {
		plain = fmt.Sprintf("%.200s.%016x", strings.ToValidUTF8(plain, "_"), xxh3.HashString(name))
	}
	return plain + ".pt"
}
