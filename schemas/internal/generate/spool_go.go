package main

import (
	"bytes"
	"fmt"

	"github.com/tensortap/tensortap/schemas"
)

// spoolGo reads and writes records in Go.
func spoolGo() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\npackage schemas\n\nimport (\n\t\"encoding/binary\"\n\t\"math\"\n)\n", generatedBy)
	b.WriteString("\n// Values of the commit word.\nconst (\n")
	for _, r := range schemas.SpoolRecords() {
		fmt.Fprintf(&b, "\tSpool%sKind uint32 = %d\n", goName(r.Name), r.Kind)
	}
	b.WriteString(")\n")
	for _, r := range schemas.SpoolRecords() {
		if len(r.Fields) > 0 {
			spoolGoRecord(&b, r, 0)
		}
	}
	spoolGoRecord(&b, headerRecord(), len(schemas.SpoolMagic))
	for _, part := range controlParts() {
		spoolGoRecord(&b, part.record, part.offset)
	}
	return b.Bytes()
}

func spoolGoRecord(b *bytes.Buffer, r schemas.SpoolRecord, base int) {
	name := "Spool" + goName(r.Name)
	if r.Name == "header" {
		name = "SpoolHead"
	}
	fmt.Fprintf(b, "\n// %s is a record of the spool. %s\ntype %s struct {\n", name, r.Doc, name)
	for _, f := range r.Fields {
		fmt.Fprintf(b, "\t%s %s // %s\n", goName(f.Name), spoolGoType(f.Type), f.Doc)
	}
	fmt.Fprintf(b, "}\n\n// Load reads the record's fields.\nfunc (r *%s) Load(b []byte) {\n", name)
	for i, f := range r.Fields {
		spoolGoLoad(b, goName(f.Name), f.Type, base+r.Offset(i))
	}
	fmt.Fprintf(b, "}\n\n// Store writes the record's fields, but not the commit word.\nfunc (r *%s) Store(b []byte) {\n", name)
	for i, f := range r.Fields {
		spoolGoStore(b, goName(f.Name), f.Type, base+r.Offset(i))
	}
	b.WriteString("}\n")
}

func spoolGoType(t schemas.SpoolType) string {
	return map[schemas.SpoolType]string{
		schemas.SpoolU32: "uint32", schemas.SpoolU64: "uint64", schemas.SpoolI64: "int64",
		schemas.SpoolF32: "float32", schemas.SpoolF64: "float64", schemas.SpoolF32x8: "[8]float32",
	}[t]
}

func spoolGoLoad(b *bytes.Buffer, field string, t schemas.SpoolType, at int) {
	forms := map[schemas.SpoolType]string{
		schemas.SpoolU32: "\tr.%s = binary.LittleEndian.Uint32(b[%d:])\n",
		schemas.SpoolU64: "\tr.%s = binary.LittleEndian.Uint64(b[%d:])\n",
		schemas.SpoolI64: "\tr.%s = int64(binary.LittleEndian.Uint64(b[%d:]))\n",
		schemas.SpoolF32: "\tr.%s = math.Float32frombits(binary.LittleEndian.Uint32(b[%d:]))\n",
		schemas.SpoolF64: "\tr.%s = math.Float64frombits(binary.LittleEndian.Uint64(b[%d:]))\n",
		schemas.SpoolF32x8: "\tfor i := range r.%s {\n" +
			"\t\tr.%[1]s[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[%[2]d+4*i:]))\n\t}\n",
	}
	fmt.Fprintf(b, forms[t], field, at)
}

func spoolGoStore(b *bytes.Buffer, field string, t schemas.SpoolType, at int) {
	forms := map[schemas.SpoolType]string{
		schemas.SpoolU32: "\tbinary.LittleEndian.PutUint32(b[%[2]d:], r.%[1]s)\n",
		schemas.SpoolU64: "\tbinary.LittleEndian.PutUint64(b[%[2]d:], r.%[1]s)\n",
		schemas.SpoolI64: "\tbinary.LittleEndian.PutUint64(b[%[2]d:], uint64(r.%[1]s))\n",
		schemas.SpoolF32: "\tbinary.LittleEndian.PutUint32(b[%[2]d:], math.Float32bits(r.%[1]s))\n",
		schemas.SpoolF64: "\tbinary.LittleEndian.PutUint64(b[%[2]d:], math.Float64bits(r.%[1]s))\n",
		schemas.SpoolF32x8: "\tfor i := range r.%[1]s {\n" +
			"\t\tbinary.LittleEndian.PutUint32(b[%[2]d+4*i:], math.Float32bits(r.%[1]s[i]))\n\t}\n",
	}
	fmt.Fprintf(b, forms[t], field, at)
}
