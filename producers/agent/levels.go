package agent

// Levels are those that record a model without a change of its code.
func Levels() []string { return []string{"L0", "L1", "mix", "aten", "tokens"} }
