// Package dumps lists the tools whose dumps are read, and finds the dumps at a path.
package dumps

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/producers/sglangdumper"
	"github.com/tensortap/tensortap/producers/tensorfiles"
)

// Tools are all tools, in the order in which a path is searched for their dumps: any saved tensor is taken last.
func Tools() []producers.Tool {
	return []producers.Tool{msprobe.Tool(), sglangdumper.Tool(), tensorfiles.Tool()}
}

// Find looks for dumps of any tool at a path.
func Find(path string) (producers.Found, error) {
	var none error
	var others []string
	for _, tool := range Tools() {
		found, err := tool.Find(path)
		if !errors.Is(err, tool.NoDump) {
			return found, err
		}
		if none == nil {
			none = err
			continue
		}
		others = append(others, "; nor is there "+tool.Files)
	}
	return producers.Found{}, fmt.Errorf("%w%s", none, strings.Join(others, ""))
}
