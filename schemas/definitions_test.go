package schemas

import "testing"

// TestEachKindOfDefinitionIsHeldTrueOrSaysWhyNot has who adds a kind decide what of it a producer could forge.
func TestEachKindOfDefinitionIsHeldTrueOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		r, has := definitionRules()[table.Kind()]
		if has != (table.Class == Definition) || has && (r.check == nil) == (r.none == "") {
			t.Errorf("%s: class %d, rule %v, reason %q: want a rule of each definition, or why it has none", table.Kind(), table.Class, r.check != nil, r.none)
		}
	}
}
