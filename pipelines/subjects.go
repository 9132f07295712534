package pipelines

// Subjects of what is said to processes that live, and that no stream keeps.
const (
	// ControlSubjects is where agents listen for requests; the last word is the id of the run.
	ControlSubjects = "tensortap.control."
	// HealSubject is where a running system is asked to mend its stores.
	HealSubject = "tensortap.heal"
	// MeasureSubject is where processes that store the stream are asked what it holds.
	MeasureSubject = "tensortap.measure"
)
