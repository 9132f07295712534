package schemas

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The spool hands the events of a model's process to the agent: a folder of files, read while they
// are written and readable after the process was killed. The layout stands here once; Go readers,
// the Python writer's offsets and the C kernel's header are generated from it.

// Sizes of the spool's files.
const (
	SpoolVersion          = 5 // tokens at places of the model have records, which an agent of before does not know
	SpoolUncheckedVersion = 1 // its records have no checksum
	SpoolUnplacedVersion  = 2 // their checksum does not hold their place
	SpoolMagic            = "TAPSPOOL"
	SpoolHeaderBytes      = 4096
	SpoolRecordBytes      = 64
	SpoolCommitOffset     = 60      // u32 of each record: 0 until the rest of the record is written, then its kind and checksum
	SpoolKindMask         = 0xff    // of the commit word; the other bits are those of the checksum, a CRC-32 that begins with the kind and the place
	SpoolSegmentRows      = 1 << 15 // records of a full-sized segment: 2 MiB
	SpoolAgentOffset      = 1024    // of the header page: fields of the agent
	SpoolControlOffset    = 2048    // of the header page: request of the agent to the process
	SpoolControlBytes     = 1776    // of the text behind that, at most
	SpoolAnswerOffset     = 3840    // of the header page: answer of the process
	SpoolAnswerBytes      = 224     // of the text behind that, at most
)

// SpoolPlace returns what the checksums of a segment's records begin with beside their kind: another for each segment
// of each process, so that no segment passes for another.
func SpoolPlace(epoch uint64, segment uint32) uint32 {
	place := binary.LittleEndian.AppendUint64(nil, epoch)
	place = binary.LittleEndian.AppendUint32(place, segment)
	return crc32.ChecksumIEEE(place) &^ SpoolKindMask
}

// SpoolCommit returns the commit word of a record of that kind in that place, by the bytes before the word.
func SpoolCommit(kind, place uint32, record []byte) uint32 {
	return kind | crc32.Update(kind|place, crc32.IEEETable, record[:SpoolCommitOffset])&^SpoolKindMask
}

// Answers of a process to a request.
const (
	SpoolRecording uint32 = 1  // it records as asked, from that step on
	SpoolAwaiting  uint32 = 2  // it will, once a step of a request that is meant comes
	SpoolStopped   uint32 = 3  // it records nothing, from that step on
	SpoolResumed   uint32 = 4  // it records as its settings say, from that step on
	SpoolRefused   uint32 = 5  // it cannot, and the text says why
	SpoolTracing   uint32 = 9  // it writes the file that was asked for, which is there once it is whole
	SpoolListening uint32 = 16 // for a debugger, where the text says
)

// Flags of the spool's tensor records beyond the bits of tensor.measured.
const (
	SpoolReused      uint32 = 1 << 16 // the same elements were read before in this step and have not changed since
	SpoolUnsupported uint32 = 1 << 17 // a tensor that could not be read: meta, sparse, nested and so on
	SpoolLiteral     uint32 = 1 << 18 // no tensor: the layout holds the value
)

// Flags of the spool's op records. An op with neither is complete at once: it calls no other recorded op.
// Programs list ops in the order of their completion, as msProbe does: a module follows its calls.
const (
	SpoolOpOpens uint32 = 1 // a record of the same op and seq with SpoolOpEnds follows
	SpoolOpEnds  uint32 = 2 // the op is complete
)

// Events of the spool's step records.
const (
	SpoolStepBegins uint32 = 1
	SpoolStepEnds   uint32 = 2
)

// States of the spool's records of collectives.
const (
	SpoolCalled    uint32 = 1
	SpoolScheduled uint32 = 2
	SpoolFailed    uint32 = 3
	SpoolCompleted uint32 = 4
)

// Flags of the spool's records of sequences: which of their numbers are known.
const (
	SpoolEntropies   uint32 = 1 // of the tokens that follow
	SpoolTemperature uint32 = 2
)

// SpoolTokensOfRecord is how many tokens a record of them holds.
const SpoolTokensOfRecord = 4

// SpoolType is the type of a field of a record.
type SpoolType uint8

// The types, all little-endian.
const (
	SpoolU32 SpoolType = iota
	SpoolU64
	SpoolI64
	SpoolF32
	SpoolF64
	SpoolF32x8
)

// Bytes is the width of a field of the type.
func (t SpoolType) Bytes() int {
	switch t {
	case SpoolU32, SpoolF32:
		return 4
	case SpoolF32x8:
		return 32
	default:
		return 8
	}
}

// SpoolField is one value of a record. Fields follow each other without gaps, each at a multiple of its width (of 8 at most).
type SpoolField struct {
	Name string
	Type SpoolType
	Doc  string
}

// SpoolRecord is one kind of record of 64 bytes; the last four bytes are the commit word.
type SpoolRecord struct {
	Name   string
	Kind   uint32 // in the commit word
	Doc    string
	Fields []SpoolField
}

// Offset returns where the field begins.
func (r SpoolRecord) Offset(field int) int {
	at := 0
	for _, f := range r.Fields[:field] {
		at += f.Type.Bytes()
	}
	return at
}

// SpoolRecords returns every kind of record. Local ids are ordinals from 1, given by the definitions; 0 means none.
func SpoolRecords() []SpoolRecord {
	return []SpoolRecord{
		spoolOp(), spoolTensor(), spoolNumber(), spoolCounts(), spoolSketch(), spoolDigest(),
		spoolStep(), spoolMemory(), spoolComponent(), spoolFailure(), spoolUnseen(), spoolTally(), spoolPayload(), spoolRequest(), spoolCollective(), spoolSequence(), spoolTokens(), spoolWeight(), spoolTokenSites(), spoolPad(),
	}
}

func spoolOp() SpoolRecord {
	return SpoolRecord{Name: "op", Kind: 1, Doc: "An op begins, written before it runs; or, with flag ends, it is complete.", Fields: []SpoolField{
		{"op", SpoolU32, "The op's definition."},
		{"parent", SpoolU32, "The module that called it."},
		{"seq", SpoolU32, "The rank's order of observation, from 1."},
		{"stack", SpoolU32, "The call stack's definition."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"micro_step", SpoolU32, "Micro step within the step."},
		{"flags", SpoolU32, "1 opens, 2 ends, 0 both at once."},
	}}
}

func spoolTensor() SpoolRecord {
	return SpoolRecord{Name: "tensor", Kind: 2, Doc: "One argument of an op; as many extension records as extra says follow it.", Fields: []SpoolField{
		{"site", SpoolU32, "Which argument of which op (definition)."},
		{"layout", SpoolU32, "What it is (definition)."},
		{"seq", SpoolU32, "Seq of the op's record."},
		{"flags", SpoolU32, "Bits of tensor.measured, and flags above them."},
		{"value_min", SpoolF32, "Least finite element, rounded; exact in counts where that follows."},
		{"value_max", SpoolF32, "Greatest finite element, likewise."},
		{"value_mean", SpoolF64, "Mean of the finite elements."},
		{"value_m2", SpoolF64, "Sum of squared deviations of the finite elements."},
		{"value_l1", SpoolF64, "Sum of absolute values of the finite elements."},
		{"zero_count", SpoolU64, "Elements that are 0 or -0."},
		{"extra", SpoolU32, "Extension records that follow at once."},
	}}
}

func spoolNumber() SpoolRecord {
	return SpoolRecord{Name: "number", Kind: 14, Doc: "One argument of an op that is a number. It is here and in no definition, as it may be another in each step.", Fields: []SpoolField{
		{"site", SpoolU32, "Which argument of which op (definition)."},
		{"layout", SpoolU32, "Of which kind and type (definition, without a literal)."},
		{"whole", SpoolI64, "The value of kind int."},
		{"real", SpoolF64, "The value of kind float."},
		{"seq", SpoolU32, "Seq of the op's record."},
	}}
}

func spoolCounts() SpoolRecord {
	return SpoolRecord{Name: "counts", Kind: 3, Doc: "Extension of a tensor: non-finite and subnormal elements, and extremes that float32 cannot hold.", Fields: []SpoolField{
		{"nan_count", SpoolU64, "Elements that are not a number."},
		{"positive_infinity_count", SpoolU64, "Elements that are +Inf."},
		{"negative_infinity_count", SpoolU64, "Elements that are -Inf."},
		{"subnormal_count", SpoolU64, "Elements too small for a normal number of their dtype."},
		{"value_min", SpoolF64, "Least finite element."},
		{"value_max", SpoolF64, "Greatest finite element."},
	}}
}

func spoolSketch() SpoolRecord {
	return SpoolRecord{Name: "sketch", Kind: 4, Doc: "Extension of a tensor: eight buckets of its sketch.", Fields: []SpoolField{
		{"buckets", SpoolF32x8, "The sums."},
		{"first", SpoolU32, "Index of the first of them: 0 or 8."},
	}}
}

func spoolDigest() SpoolRecord {
	return SpoolRecord{Name: "digest", Kind: 5, Doc: "Extension of a tensor: hash of its elements' bytes.", Fields: []SpoolField{
		{"digest", SpoolU64, "The hash."},
		{"digest_kind", SpoolU32, "As tensor.digest_kind."},
	}}
}

func spoolStep() SpoolRecord {
	return SpoolRecord{Name: "step", Kind: 6, Doc: "A step begins or ends. Records between the two are of that step.", Fields: []SpoolField{
		{"step", SpoolU32, "Step of the rank."},
		{"event", SpoolU32, "1 begins, 2 ends."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"op_count", SpoolU64, "At the end: ops observed."},
		{"tensor_count", SpoolU64, "At the end: tensor records written."},
		{"dropped_count", SpoolU64, "At the end: records lost because the spool was full or the write failed."},
		{"token_count", SpoolU64, "At the end: tokens, plus one; 0 when not known."},
		{"request_count", SpoolU32, "At the end: requests, plus one; 0 when not known."},
		{"phase", SpoolU32, "Text: train, evaluate, prefill, decode and so on."},
		{"global_step", SpoolU32, "At the end: the trainer's own count of steps, plus one; 0 when not known."},
	}}
}

func spoolMemory() SpoolRecord {
	return SpoolRecord{Name: "memory", Kind: 7, Doc: "Memory counters, at the end of a step or after a module.", Fields: []SpoolField{
		{"op", SpoolU32, "The op after which; 0 at the end of a step."},
		{"device", SpoolU32, "Text: cpu, cuda:0 and so on."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"allocated_bytes", SpoolU64, "Of the device's allocator."},
		{"reserved_bytes", SpoolU64, "Of the device's allocator."},
		{"peak_bytes", SpoolU64, "Greatest allocated since the step began."},
		{"device_free_bytes", SpoolU64, "Of the device, for all processes."},
		{"host_resident_bytes", SpoolU64, "Resident set of the process."},
		{"retries", SpoolU32, "Allocations retried and refused: retries + 65536 x refusals, each at most 65535."},
	}}
}

func spoolComponent() SpoolRecord {
	return SpoolRecord{Name: "component", Kind: 17, Doc: "What a part of the memory is for, at the end of a step.", Fields: []SpoolField{
		{"component", SpoolU32, "Text: as memory.component."},
		{"basis", SpoolU32, "Text: as memory.basis."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"allocated_bytes", SpoolU64, "In use, plus one; 0 when not known."},
		{"reserved_bytes", SpoolU64, "Capacity, plus one; 0 when it has none."},
		{"peak_bytes", SpoolU64, "Greatest since the step began, plus one; 0 when not known."},
		{"device", SpoolU32, "Text: cpu, cuda:0 and so on."},
	}}
}

func spoolFailure() SpoolRecord {
	return SpoolRecord{Name: "failure", Kind: 8, Doc: "An op raised.", Fields: []SpoolField{
		{"op", SpoolU32, "The op."},
		{"seq", SpoolU32, "Seq of its record."},
		{"type", SpoolU32, "Text: class of the exception."},
		{"message", SpoolU32, "Text: its message, cut at 4,096 bytes."},
		{"inputs", SpoolU32, "Text: layouts of the inputs."},
		{"stack", SpoolU32, "The call stack's definition."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"module", SpoolU32, "Text: path of the module that it ran in, or that it is."},
	}}
}

func spoolUnseen() SpoolRecord {
	return SpoolRecord{Name: "unseen", Kind: 9, Doc: "Something was not observed, and why; written at the end of the step.", Fields: []SpoolField{
		{"reason", SpoolU32, "Text: filtered, compiled, other thread, unsupported tensor, sampled and so on."},
		{"subject", SpoolU32, "Text: module, API or kind of tensor; 0 when there is no one."},
		{"count", SpoolU64, "How often."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
	}}
}

func spoolPayload() SpoolRecord {
	return SpoolRecord{Name: "payload", Kind: 12, Doc: "A raw tensor was kept in a file.", Fields: []SpoolField{
		{"site", SpoolU32, "Which argument of which op (definition)."},
		{"seq", SpoolU32, "Seq of the op's record."},
		{"location", SpoolU32, "Text: path of the file below the folder of payloads."},
		{"digest_kind", SpoolU32, "As tensor.digest_kind."},
		{"size_bytes", SpoolU64, "Of the file."},
		{"digest", SpoolU64, "Hash of the elements' bytes."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
	}}
}

func spoolRequest() SpoolRecord {
	return SpoolRecord{Name: "request", Kind: 13, Doc: "A part of a request is served in the step under way.", Fields: []SpoolField{
		{"name", SpoolU32, "Text: the engine's name of the request; 0 beyond the number of names that are kept."},
		{"phase", SpoolU32, "Text: prefill, decode and so on."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"prompt_hash", SpoolU64, "Hash of the ids of the prompt's tokens; 0 when not known."},
		{"first_position", SpoolU64, "Position of the first token in the request, plus one; 0 when not known."},
		{"token_count", SpoolU64, "Tokens of the request in the step."},
		{"row_offset", SpoolU64, "Row of the step's tensors in which they begin, plus one; 0 when not known."},
		{"prompt_token_count", SpoolU32, "Tokens of the prompt, plus one; 0 when not known."},
	}}
}

func spoolCollective() SpoolRecord {
	return SpoolRecord{Name: "collective", Kind: 16, Doc: "A collective begins, written before it runs, or has come further.", Fields: []SpoolField{
		{"group", SpoolU32, "The process group's definition."},
		{"name", SpoolU32, "Text: all_reduce and so on."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"called_ns", SpoolI64, "When it began."},
		{"number", SpoolU64, "Of the call within the group, from 1; messages have their own."},
		{"inputs", SpoolU32, "Text: dtypes and shapes of what is given."},
		{"outputs", SpoolU32, "Text: of what is received."},
		{"stack", SpoolU32, "The call stack's definition."},
		{"state", SpoolU32, "1 called, 2 scheduled (it has returned, and is not known to be done), 3 failed, 4 completed."},
		{"is_message", SpoolU32, "1 for a send or receive."},
	}}
}

func spoolSequence() SpoolRecord {
	return SpoolRecord{Name: "sequence", Kind: 18, Doc: "What the records of tokens that follow, up to the next of these, have in common.", Fields: []SpoolField{
		{"prompt_hash", SpoolU64, "As token.prompt_hash."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"number", SpoolU32, "Of the sequence in the process, from 1."},
		{"sample", SpoolU32, "As token.sample."},
		{"phase", SpoolU32, "Text: prefill, decode, train and so on."},
		{"step", SpoolU32, "Step of the rank."},
		{"global_step", SpoolU32, "The trainer's step, plus one; 0 when not told."},
		{"weights_version", SpoolU32, "As token.weights_version, plus one; 0 when not told."},
		{"cached_token_count", SpoolU32, "As token.cached_token_count, plus one; 0 when not told."},
		{"temperature", SpoolF32, "As token.temperature."},
		{"flags", SpoolU32, "1 entropies are known, 2 the temperature is."},
		{"row_count", SpoolU32, "As token_site.row_count."},
	}}
}

// SpoolSitesOfRecord is how many tokens a record of what they are at a place holds.
const SpoolSitesOfRecord = 3

func spoolTokenSites() SpoolRecord {
	fields := []SpoolField{
		{"sequence", SpoolU32, "Number of the sequence."},
		{"site", SpoolU32, "Tokens, 1 to 3 + 256 x place + 65536 x layer."},
		{"position", SpoolU32, "Of the first; those of the others follow it."},
	}
	for i := range SpoolSitesOfRecord {
		for _, of := range []SpoolField{
			{"norm", SpoolF32, "As token_site.norm_bits."},
			{"mean", SpoolF32, "As token_site.mean_bits."},
			{"sums_low", SpoolU32, "sum_0 + 65536 x sum_1; token_site.nan_count where the norm is not finite, which then has no sums."},
			{"sums_high", SpoolU32, "sum_2 + 65536 x sum_3."},
		} {
			fields = append(fields, SpoolField{fmt.Sprintf("%s_%d", of.Name, i), of.Type, of.Doc})
		}
	}
	return SpoolRecord{Name: "token_sites", Kind: 21, Doc: "What up to three tokens of the last sequence, at neighbouring positions, are at a place of the model.", Fields: fields}
}

func spoolTokens() SpoolRecord {
	fields := []SpoolField{
		{"sequence", SpoolU32, "Number of the sequence."},
		{"position", SpoolU32, "Of the first; those of the others follow it."},
		{"token_count", SpoolU32, "How many tokens, 1 to 4."},
	}
	for _, of := range []SpoolField{
		{"token", SpoolU32, "Its id."}, {"log_probability", SpoolF32, "As token.log_probability."}, {"entropy", SpoolF32, "As token.entropy."},
	} {
		for i := range SpoolTokensOfRecord {
			fields = append(fields, SpoolField{fmt.Sprintf("%s_%d", of.Name, i), of.Type, of.Doc})
		}
	}
	return SpoolRecord{Name: "tokens", Kind: 19, Doc: "Up to four tokens of the last sequence, at neighbouring positions.", Fields: fields}
}

func spoolWeight() SpoolRecord {
	return SpoolRecord{Name: "weight", Kind: 20, Doc: "A parameter, as the program says that the weights are those of an update.", Fields: []SpoolField{
		{"name", SpoolU32, "Text: path of the parameter."},
		{"description", SpoolU32, "Text: dtype and shape."},
		{"checksum", SpoolU64, "Hash of its elements' bytes."},
		{"time_ns", SpoolI64, "UTC, by the process's clock."},
		{"version", SpoolU32, "The update."},
		{"step", SpoolU32, "Step of the rank."},
	}}
}

func spoolTally() SpoolRecord {
	return SpoolRecord{Name: "tally", Kind: 10, Doc: "So many calls of a step had one signature; written at the end of the step.", Fields: []SpoolField{
		{"signature", SpoolU32, "The signature's definition."},
		{"module", SpoolU32, "Text: path of the module that made the first of them in this process; 0 outside of modules."},
		{"call_count", SpoolU64, "How many calls."},
	}}
}

func spoolPad() SpoolRecord {
	return SpoolRecord{Name: "pad", Kind: 15, Doc: "Nothing; fills a segment whose rest is too short for a tensor with its extensions."}
}

// SpoolHeader returns the fields of the header page, which begins with the magic of 8 bytes.
func SpoolHeader() []SpoolField {
	return []SpoolField{
		{"version", SpoolU32, "Of this layout."},
		{"state", SpoolU32, "1 running, 2 ended by itself."},
		{"pid", SpoolU64, "Of the process."},
		{"epoch", SpoolU64, "Random, one per start."},
		{"started_ns", SpoolI64, "UTC, by the process's clock."},
		{"heartbeat_ns", SpoolI64, "UTC; moved on about once a second while the process lives."},
		{"current_time_ns", SpoolI64, "When the current op began."},
		{"current_op", SpoolU32, "Op under way; the last one when none is; 0 at first."},
		{"current_seq", SpoolU32, "Its seq."},
		{"step", SpoolU32, "Step under way."},
		{"segment_rows", SpoolU32, "Records of a segment."},
		{"first_segment", SpoolU32, "Oldest segment that the process has not given up."},
		{"next_segment", SpoolU32, "One more than the newest segment."},
		{"dropped_count", SpoolU64, "Records lost so far."},
		{"current_call", SpoolU32, "Definition of the call of the current op, where ops are counted; 0 or stale where they are not."},
		{"debugged", SpoolU32, "Whether a person holds the process up: 1 it waits for a debugger, 2 one is attached, 3 it stands at a prompt of pdb; 0 nobody does."},
		{"debugged_since_ns", SpoolI64, "UTC; since when."},
		{"idle_since_ns", SpoolI64, "UTC; since when no step is under way, be it recorded or not; 0 while one is, and of earlier collectors."},
	}
}

// SpoolAskedFields returns the fields of the agent's request to the process, at SpoolControlOffset. Behind them is
// the request, JSON.
func SpoolAskedFields() []SpoolField {
	return []SpoolField{
		{"sequence", SpoolU32, "Of the request, written last; 0 when there was none yet."},
		{"length", SpoolU32, "Bytes of its text."},
		{"checksum", SpoolU32, "CRC-32C of its text."},
		{"poke", SpoolU32, "Changed to ask where the process's threads are, which the file stacks then says."},
	}
}

// SpoolAnsweredFields returns the fields of the process's answer, at SpoolAnswerOffset. Behind them is a text.
func SpoolAnsweredFields() []SpoolField {
	return []SpoolField{
		{"sequence", SpoolU32, "Of the request that it has looked at last, written last."},
		{"outcome", SpoolU32, "1 recording, 2 awaiting such a step, 3 stopped, 4 resumed, 5 refused, 9 a file is being written, 16 listening for a debugger."},
		{"step", SpoolU32, "From which step on."},
		{"poked", SpoolU32, "The poke that the file stacks answers."},
		{"length", SpoolU32, "Bytes of the text, which says why a request is refused, or where the process listens."},
	}
}
