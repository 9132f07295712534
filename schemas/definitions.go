package schemas

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// CheckDefinitions holds the rows of a definition against their own ids, and against the run and rank of the message: who may publish
// one run cannot define what others are read by. Rows of measurements have the whole identity in columns, which whoever decodes them
// holds against the header. Its error is a *MalformedError.
func (m Message) CheckDefinitions() (err error) {
	check := definitionRules()[m.Header.Kind].check
	if check == nil {
		return nil
	}
	defer func() { // a record whose buffers are shorter than its rows shows only when they are read
		if r := recover(); r != nil {
			err = &MalformedError{Subject: m.Subject(), Reason: fmt.Sprintf("read rows: %v", r)}
		}
	}()
	record, err := m.Record()
	if err != nil {
		return err
	}
	if reason := check(record, m.Header.Identity); reason != "" {
		return &MalformedError{Subject: m.Subject(), Reason: reason}
	}
	return nil
}

// rule is what holds a kind of definitions true: a check, which answers the reason to refuse a message, or why there is none.
type rule struct {
	check func(record arrow.RecordBatch, id Identity) (reason string)
	none  string
}

// definitionRules is the rule of each kind of definitions. It is asked for each message.
//
//nolint:gochecknoglobals // what it holds is the same for all
var definitionRules = sync.OnceValue(func() map[string]rule {
	judged := rule{none: "it names no run, and no producer may publish it"}
	parted := rule{none: "its id is a hash of rows that may stand in several messages; who reads them looks"}
	return map[string]rule{
		Run().Kind():    each(checkRun),
		Rank().Kind():   each(func(r *RankRow, id Identity) string { return cmp.Or(ofRun(r.RunID, id), ofRank(r.Rank, id)) }),
		Op().Kind():     each(checkOp),
		Site().Kind():   each(checkSite),
		Layout().Kind(): each(func(r *LayoutRow, _ Identity) string { return ownID("layout", r.Kind, r.LayoutID, LayoutID(r)) }),
		Stack().Kind(): each(func(r *StackRow, _ Identity) string {
			return ownID("stack", strings.Join(r.Frames, ", "), r.StackID, StackID(r.Frames))
		}),
		Signature().Kind(): each(func(r *SignatureRow, _ Identity) string {
			return ownID("signature", r.OpName, r.SignatureID, SignatureID(r))
		}),
		Program().Kind():            parted,
		Tally().Kind():              parted,
		ProgramStack().Kind():       each(func(r *ProgramStackRow, id Identity) string { return ofRun(r.RunID, id) }),
		Alert().Kind():              each(func(r *AlertRow, id Identity) string { return ofRun(RunID(r.RunName), id) }),
		Comparison().Kind():         each(func(r *ComparisonRow, id Identity) string { return ofRun(RunID(r.Problem), id) }),
		DeclaredComparison().Kind(): each(checkDeclared),
		PayloadError().Kind():       each(func(r *PayloadErrorRow, id Identity) string { return ofRun(r.ProblemRunID, id) }),
		Baseline().Kind():           each(func(r *BaselineRow, id Identity) string { return ofRun(RunID(r.Name), id) }),
		Audit().Kind():              {check: func(_ arrow.RecordBatch, id Identity) string { return ofRun(0, id) }},
		DeadLetter().Kind():         each(checkLetter),
		Finding().Kind():            judged,
		Origin().Kind():             judged,
		Alignment().Kind():          judged,
		KnownException().Kind():     judged,
	}
})

// each asks of each row. Its check answers the reason to refuse the message; empty where the row is true.
func each[R any, P Row[R]](check func(row *R, id Identity) string) rule {
	return rule{check: func(record arrow.RecordBatch, id Identity) string {
		columns := record.Columns()
		for i := range int(record.NumRows()) {
			var row R
			P(&row).load(columns, i)
			if reason := check(&row, id); reason != "" {
				return reason
			}
		}
		return ""
	}}
}

func ofRun(run uint64, id Identity) string {
	if run == id.RunID {
		return ""
	}
	return fmt.Sprintf("a row is of run %s, its message of %s", FormatID(run), FormatID(id.RunID))
}

func ofRank(rank uint32, id Identity) string {
	if rank == id.Rank {
		return ""
	}
	return fmt.Sprintf("a row is of rank %d, its message of %d", rank, id.Rank)
}

func ownID(what, name string, id, own uint64) string {
	if id == own {
		return ""
	}
	return fmt.Sprintf("%s %.100q has the id %s, which is another's: its own is %s", what, name, FormatID(id), FormatID(own))
}

func checkRun(r *RunRow, id Identity) string {
	return cmp.Or(ofRun(r.RunID, id), ownID("run", r.Name, r.RunID, RunID(r.Name)))
}

func checkSite(r *SiteRow, _ Identity) string {
	return ownID("site", r.Role+" "+r.Path, r.SiteID, SiteID(r.OpID, r.Role, r.Path))
}

func checkDeclared(r *DeclaredComparisonRow, id Identity) string {
	return cmp.Or(ofRun(RunID(r.Problem), id), ownID("comparison of", r.Problem, r.ComparisonID, DeclaredComparisonID(r)))
}

// checkLetter lets consumers tell of every message, under no run, and a publisher of those of its own run.
func checkLetter(r *DeadLetterRow, id Identity) string {
	if run, _ := RunOfSubject(r.Subject); id.RunID != 0 {
		return ofRun(run, id)
	}
	return ""
}

// checkOp holds an op against its name, from which all other columns follow. Two of them a source may know better: the phase of an op
// that runs again, and the layer of a value that was saved in one.
func checkOp(r *OpRow, _ Identity) string {
	want := ParseOpName(r.Name)
	if reason := ownID("op", r.Name, r.OpID, want.OpID); reason != "" {
		return reason
	}
	if r.Phase == PhaseRecompute && want.Phase == PhaseForward {
		want.Phase = PhaseRecompute
	}
	if want.LayerIndex < 0 {
		want.LayerIndex = r.LayerIndex
	}
	if *r != want {
		return fmt.Sprintf("op %.100q is not described as its name says", r.Name)
	}
	return ""
}
