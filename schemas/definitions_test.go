package schemas

import (
	"fmt"
	"testing"
)

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

// BenchmarkCheckDefinitions checks a message of 1,000 ops; beside it the decoding that each consumer does.
func BenchmarkCheckDefinitions(b *testing.B) {
	rows := NewBuilder[OpRow]()
	for i := range 1000 {
		row := ParseOpName(fmt.Sprintf("Module.model.layers.%d.mlp.down_proj.Linear.forward.%d", i%32, i))
		rows.Append(&row)
	}
	m, err := rows.Message(Identity{RunID: 1})
	if err != nil {
		b.Fatal(err)
	}
	for name, work := range map[string]func() error{
		"check":  m.CheckDefinitions,
		"decode": func() error { _, err := m.Record(); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
