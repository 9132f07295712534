package schemas

// KnownException is a place where values that look wrong are none.
func KnownException() Table {
	return Table{
		Name: "known_exception", Version: 1, Class: Definition,
		Key: []string{"api", "role", "path", "sort"},
		Doc: "One row per place, added by a user to the built-in ones, where NaN, infinity or chance values are no fault.",
		Columns: []Column{
			{Name: "api", Type: String, Unit: None, Doc: "Regular expression over the class or API of the op."},
			{Name: "role", Type: String, Unit: None, Doc: "input, kwarg, output and so on; empty for all."},
			{Name: "path", Type: String, Unit: None, Doc: "Regular expression over the place within the role; empty for all."},
			{Name: "sort", Type: String, Unit: None, Doc: "Values that are no fault there: uninitialised (any value), negative_infinity, not_finite, identifier (any value), or cast (any value, in runs of different dtypes)."},
			{Name: "why", Type: String, Unit: None, Doc: "Why, for the reader of the report."},
		},
	}
}
