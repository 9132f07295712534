package recorded

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// opsOfSmallRank is how many ops each rank of WriteRanks has, and each has three tensors.
const opsOfSmallRank = 12

// TensorsOfSmallRank is how many tensors each rank of WriteRanks has.
const TensorsOfSmallRank = 3 * opsOfSmallRank

// WriteRanks writes a dump of one step, as msProbe lays it out, of that many ranks below the folder. All run the same
// small program, and each has values of its own.
func WriteRanks(dir string, ranks int) error {
	var names, parents []string
	for i := range opsOfSmallRank {
		names = append(names, fmt.Sprintf("Module.layers.%d.Linear.forward.0", i))
		parents = append(parents, fmt.Sprintf("%q: null", names[i]))
	}
	same := map[string]string{
		"construct.json": "{" + strings.Join(parents, ", ") + "}",
		"stack.json":     fmt.Sprintf(`{"0": [["%s"], ["File /train/model.py, line 69, in forward, \n x = self.layers(x)"]]}`, strings.Join(names, `", "`)),
	}
	for rank := range ranks {
		folder := filepath.Join(dir, "step0", fmt.Sprintf("rank%d", rank))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		same["dump.json"] = smallDump(names, rank)
		for name, text := range same {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func smallDump(names []string, rank int) string {
	var ops []string
	for i, name := range names {
		value := float64(i) + float64(rank)/1e6
		tensor := fmt.Sprintf(`{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4, 8], "Max": %[1]v, "Min": -%[1]v, "Mean": 0.0, "Norm": %[1]v, "requires_grad": true}`, value)
		ops = append(ops, fmt.Sprintf(`%q: {"input_args": [%s], "input_kwargs": {}, "output": [%s], "parameters": {"weight": %s}}`, name, tensor, tensor, tensor))
	}
	return `{"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": null, "data": {` + strings.Join(ops, ", ") + "}}"
}
