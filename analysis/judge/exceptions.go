package judge

import (
	"fmt"
	"regexp"
	"slices"
)

// Sorts of exceptions: values that are no fault at a place.
const (
	SortUninitialised    = "uninitialised"     // any value: memory that nobody wrote yet
	SortNegativeInfinity = "negative_infinity" // masks
	SortNotFinite        = "not_finite"
	SortIdentifier       = "identifier" // any value: new in each run
	SortCast             = "cast"       // any value, in runs of different dtypes
)

// Exception is a place where NaN, infinity or chance values are no fault.
type Exception struct {
	API  string // regular expression over the class or API of the op
	Role string // empty for all
	Path string // regular expression over the place within the role
	Sort string
	Why  string // for the reader of a report
}

// BuiltInExceptions are those that hold in every comparison.
func BuiltInExceptions() []Exception {
	const softmax = `^(softmax|_softmax|log_softmax|scaled_dot_product_attention|npu_fusion_attention)$`
	return []Exception{
		{`^(empty|empty_like|new_empty|empty_strided|new_empty_strided|empty_with_format)$`, "output", "", SortUninitialised, "memory that nobody wrote yet"},
		{`^(recv|irecv|broadcast|scatter)$`, "input", "", SortUninitialised, "a buffer that the call fills"},
		{
			`^(all_gather|all_gather_into_tensor|_all_gather_base|reduce_scatter|reduce_scatter_tensor|_reduce_scatter_base|all_to_all|all_to_all_single|gather)$`,
			"input", "^0", SortUninitialised, "a buffer that the call fills",
		},
		{`^(copy_|fill_|zero_|normal_|uniform_|random_)$`, "input", "^0$", SortUninitialised, "what the call overwrites"},
		{
			`^(to|type|type_as|float|double|half|bfloat16)$`, "", "", SortCast,
			"a cast that only one of two runs of different dtypes needs: the gradient of the other is that of all its uses",
		},
		{"", "", `(^|[.])(rids?|req_ids?|request_ids?)([.]|$)`, SortIdentifier, "ids of requests are new in each run"},
		{
			"", "", `(^|[.])((origin_)?out_cache_loc(_virtual)?|req_pool_indices(_cpu)?|slot_mapping|block_tables?)([.]|$)`, SortIdentifier,
			"where an engine keeps a request in its cache is another place in each run",
		},
		{`^(masked_fill|masked_fill_|full|full_like|new_full|triu|triu_|tril|tril_|where)$`, "", "", SortNegativeInfinity, "a mask"},
		{softmax, "input", "", SortNegativeInfinity, "masked scores"},
		{softmax, "kwarg", "", SortNegativeInfinity, "a mask"},
	}
}

// MalformedExceptionError says that an exception has an invalid regular expression, so that nothing can be judged by
// it. Its caller tells the user how to remove it.
type MalformedExceptionError struct {
	Exception Exception
	Cause     error
}

// Error implements error.
func (e *MalformedExceptionError) Error() string {
	return fmt.Sprintf("an exception has no regular expression in api %q or path %q (role %q, sort %q): %v",
		e.Exception.API, e.Exception.Path, e.Exception.Role, e.Exception.Sort, e.Cause)
}

// Unwrap gives the cause.
func (e *MalformedExceptionError) Unwrap() error { return e.Cause }

// exception is an exception with compiled patterns.
type exception struct {
	api, path *regexp.Regexp
	role      string
	sort      string
}

func compileExceptions(written []Exception) ([]exception, error) {
	compiled := make([]exception, len(written))
	for i, w := range written {
		api, err := compile(w.API)
		if err != nil {
			return nil, &MalformedExceptionError{Exception: w, Cause: err}
		}
		path, err := compile(w.Path)
		if err != nil {
			return nil, &MalformedExceptionError{Exception: w, Cause: err}
		}
		compiled[i] = exception{api: api, path: path, role: w.Role, sort: w.Sort}
	}
	return compiled, nil
}

// compile reads an expression as the database does, where a dot fits the end of a line, too.
func compile(expression string) (*regexp.Regexp, error) {
	compiled, err := regexp.Compile("(?s)" + expression)
	if err == nil {
		return compiled, nil
	}
	if _, plain := regexp.Compile(expression); plain != nil {
		err = plain // names the expression as it was written
	}
	return nil, err
}

// place is the part of a tensor's op that exceptions match. There are few places, however many ops
// there are.
type place struct{ api, role, path string }

// sorts are the sorts of all matching exceptions, in order, none twice.
func (r *Rules) sorts(at place) []string {
	if known := r.places.get(at); known != nil {
		return *known
	}
	var sorts []string
	for _, e := range r.exceptionsOf(at.api) {
		if (e.role == "" || e.role == at.role) && e.path.MatchString(at.path) && !slices.Contains(sorts, e.sort) {
			sorts = append(sorts, e.sort)
		}
	}
	return *r.places.put(at, sorts)
}

func (r *Rules) exceptionsOf(api string) []exception {
	if known := r.apis.get(api); known != nil {
		return *known
	}
	var fitting []exception
	for _, e := range r.exceptions {
		if e.api.MatchString(api) {
			fitting = append(fitting, e)
		}
	}
	return *r.apis.put(api, fitting)
}

// Excused are the sorts of all exceptions that hold at a site, whether or not a program has its op; none where the site
// or its op is not known.
func (r *Rules) Excused(siteID uint64) []string {
	site, ok := r.definitions.Sites[siteID]
	if !ok {
		return nil
	}
	op := r.definitions.Ops[site.OpID]
	if op == nil {
		return nil
	}
	return r.sorts(place{op.ClassOrAPI, site.Role, site.Path})
}

// excusesAnyValue says whether numbers count for nothing where an exception of that sort holds.
func excusesAnyValue(sort string) bool {
	switch sort {
	case SortUninitialised, SortCast, SortIdentifier:
		return true
	}
	return false
}
