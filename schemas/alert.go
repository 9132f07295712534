package schemas

// Alert is a change of an alert: a rule's condition came to hold, or holds no more.
func Alert() Table {
	return Table{
		Name: "alert", Version: 1, Class: Definition,
		Key: []string{"fingerprint", "ordinal"},
		Doc: "One row per change of an alert: it fired, or was resolved. Of two rows of the same place either counts.",
		Columns: []Column{
			{Name: "fingerprint", Type: Uint64, Unit: Hash, Doc: "Hash of the rule's name and the labels that its query answered; the same for ever."},
			{Name: "ordinal", Type: Uint64, Unit: Ordinal, Doc: "Place among the changes of the alert, from 1 on: odd when it fired, even when it was resolved."},
			{Name: "state", Type: String, Unit: None, Doc: "firing or resolved."},
			{Name: "changed_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of the change, by the clock of the host that looked."},
			{Name: "since_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time when the condition was first seen to hold, by the same clock."},
			{Name: "rule", Type: String, Unit: None, Doc: "Name of the rule."},
			{Name: "severity", Type: String, Unit: None, Doc: "critical, warning or info."},
			{Name: "run_name", Type: String, Unit: None, Doc: "Name of the run; empty where the alert is about none."},
			{Name: "labels", Type: StringMap, Unit: None, Doc: "Labels that tell the alert from others of its rule, with those that the configuration adds."},
			{Name: "summary", Type: String, Unit: None, Doc: "What is the matter, in one sentence."},
			{Name: "command", Type: String, Unit: None, Doc: "Command to look further."},
		},
	}
}
