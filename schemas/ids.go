package schemas

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Ids are xxh3-64 (seed 0) of canonical bytes: the fields in a fixed order,
// each as UTF-8 with separator after it. They need no coordination and are the
// same in every run, so problem and bench join on one integer. Separators
// inside a field are escaped, so that other fields are other bytes. Only the
// ids of a single name are plain, since SQL computes them too. Text is hashed
// as rows have it, which is valid UTF-8: a row alone tells whether its id is its own.
const (
	separator = '\x1f'
	escape    = '\x1b'
	// These stand behind an escape.
	escapeItself = '0'
	separatorIs  = '1'
	between      = '2' // what separates the words of a list
	emptyWord    = '3' // the only word of a list
)

// RunID is the id of the run of that name.
func RunID(name string) uint64 { return hashName(name) }

// OpID is the id of the op of that full name.
func OpID(name string) uint64 { return hashName(name) }

// SiteID is the id of one tensor of an op. Nested paths are joined by dots.
func SiteID(opID uint64, role, path string) uint64 {
	var stack [256]byte
	canonical := appendID(stack[:0], opID)
	canonical = appendField(canonical, role)
	return xxh3.Hash(appendField(canonical, path))
}

// LayoutID is the id of a layout; its own LayoutID field is not looked at.
func LayoutID(l *LayoutRow) uint64 {
	return hashFields(l.Kind, l.Dtype, formatShape(l.Shape), l.StrideClass, l.DeviceKind,
		formatRequiresGrad(l.RequiresGrad), l.Placement, l.Literal)
}

// StackID is the id of a call stack, frames innermost first.
func StackID(frames []string) uint64 { return hashFields(frames...) }

// DescriptionID is the hash of a row that describes a run, without its time: ranks with equal descriptions, and a
// dump copied to another host, are one description.
func DescriptionID(row RunRow) uint64 {
	row.FirstEventTimeNs = 0
	text, err := json.Marshal(row) // keys of maps are sorted
	if err != nil {
		return row.RunID // a row holds nothing that JSON lacks
	}
	return xxh3.Hash(text)
}

// FileEpoch is the epoch of the rows of a step of a rank that were read from files, by the hash of what these hold. Other
// steps may hold the same, and after a replacement the same may come back.
func FileEpoch(content uint64, step, generation uint32) uint64 {
	return hashFields(FormatID(content), strconv.FormatUint(uint64(step), 10), strconv.FormatUint(uint64(generation), 10))
}

// ProgramHasher computes the id of a program op by op. The zero value is ready.
type ProgramHasher struct {
	hasher xxh3.Hasher
	buffer []byte
}

// Add appends the op at the next position; parent 0 means none.
func (h *ProgramHasher) Add(opID, parentOpID uint64) {
	h.buffer = appendID(h.buffer[:0], opID)
	h.buffer = appendID(h.buffer, parentOpID)
	_, _ = h.hasher.Write(h.buffer) // a hash never fails
}

// ID is the id of the program so far.
func (h *ProgramHasher) ID() uint64 { return h.hasher.Sum64() }

// SignatureID is the id of an op with its inputs and outputs; its own SignatureID field is not looked at.
func SignatureID(s *SignatureRow) uint64 {
	return hashFields(s.OpName, JoinWords(s.Inputs, '\n'), JoinWords(s.Outputs, '\n'))
}

// TallyID is the id of the calls of a step; it ignores the TallyID fields of the rows.
func TallyID(rows []TallyRow) uint64 {
	var canonical []byte
	for _, r := range rows {
		canonical = appendField(canonical, FormatID(r.SignatureID))
		canonical = appendField(canonical, r.ModulePath)
		canonical = appendField(canonical, strconv.FormatUint(r.CallCount, 10))
	}
	return xxh3.Hash(canonical)
}

// DeclaredComparisonID is the id of a comparison by its question: it ignores the row's own ComparisonID and the time.
func DeclaredComparisonID(c *DeclaredComparisonRow) uint64 {
	const between = '\x1e'
	fields := []string{
		c.Problem, JoinWords(c.Benches, between), strconv.FormatFloat(c.Tolerance, 'g', -1, 64),
		JoinWords(c.Tolerances, between), JoinWords(c.Exceptions, between), strconv.FormatInt(c.StepOffset, 10),
		c.Mapping, FormatID(c.Payloads), FormatID(c.Rules),
	}
	if c.Calibration != "" { // comparisons from before calibrations keep their ids
		fields = append(fields, c.Calibration)
	}
	return hashFields(fields...)
}

// FormatID is an id as text: 16 lower-case hex digits.
func FormatID(id uint64) string {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], id)
	return hex.EncodeToString(bytes[:])
}

// ParseID reads the text that FormatID wrote.
func ParseID(text string) (uint64, error) {
	if len(text) != 16 {
		return 0, fmt.Errorf("id %q: want 16 hex digits", text)
	}
	id, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("id %q: want 16 hex digits", text)
	}
	return id, nil
}

func hashName(name string) uint64 {
	var stack [256]byte
	return xxh3.Hash(append(append(stack[:0], validText(name)...), separator))
}

func hashFields(fields ...string) uint64 {
	var stack [256]byte
	canonical := stack[:0]
	for _, f := range fields {
		canonical = appendField(canonical, f)
	}
	return xxh3.Hash(canonical)
}

func appendField(canonical []byte, field string) []byte {
	return append(appendEscaped(canonical, validText(field), separator, separatorIs), separator)
}

// appendEscaped appends text in which special is written as an escape and as.
func appendEscaped(to []byte, text string, special, as byte) []byte {
	if strings.IndexByte(text, escape) < 0 && strings.IndexByte(text, special) < 0 {
		return append(to, text...)
	}
	for _, c := range []byte(text) {
		switch c {
		case escape:
			to = append(to, escape, escapeItself)
		case special:
			to = append(to, escape, as)
		default:
			to = append(to, c)
		}
	}
	return to
}

// JoinWords makes one text of words, which SplitWords takes apart again: other words are another text.
func JoinWords(words []string, separator byte) string {
	if len(words) == 1 && words[0] == "" {
		return string([]byte{escape, emptyWord})
	}
	var text []byte
	for i, word := range words {
		if i > 0 {
			text = append(text, separator)
		}
		text = appendEscaped(text, word, separator, between)
	}
	return string(text)
}

// appendID appends a field that FormatID would make.
func appendID(canonical []byte, id uint64) []byte {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], id)
	return append(hex.AppendEncode(canonical, bytes[:]), separator)
}

// SplitWords returns the words of a text of JoinWords.
func SplitWords(text string, separator byte) []string {
	switch text {
	case "":
		return nil
	case string([]byte{escape, emptyWord}):
		return []string{""}
	}
	plain := strings.NewReplacer(string([]byte{escape, escapeItself}), string(rune(escape)), string([]byte{escape, between}), string(rune(separator)))
	words := strings.Split(text, string(rune(separator)))
	for i := range words {
		words[i] = plain.Replace(words[i])
	}
	return words
}

func formatShape(shape []int64) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, n := range shape {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	b.WriteByte(']')
	return b.String()
}

func formatRequiresGrad(requires *uint8) string {
	switch {
	case requires == nil:
		return ""
	case *requires == 0:
		return "false"
	default:
		return "true"
	}
}
