package main

import (
	"context"
	"os"
	"path/filepath"
)

// measureTensorBoard has a browser look at the same two dumps in msProbe's plug-in of TensorBoard and in a file of ours.
func measureTensorBoard(ctx context.Context, e *env) (section, error) {
	var s section
	if os.Getenv("TENSORTAP_MSPROBE") == "" {
		s.note("Not measured: TENSORTAP_MSPROBE does not name the executable of msProbe (`make msprobe`).")
		return s, nil
	}
	var dumps [2]string
	for i, name := range []string{"B02_weight_mix", "B00_golden_mix"} {
		folder, err := e.unpack(name, filepath.Join(e.folder, "pictures"))
		if err != nil {
			return s, err
		}
		dumps[i] = filepath.Join(folder, "dump")
	}
	s.note("The recorded dumps B02_weight_mix and B00_golden_mix; ours compares all their steps, msProbe's one. TensorBoard's picture is there once its graph shows the model, ours once it names the op at which they begin to differ.")
	return s, e.inBrowser(ctx, "beside", &s, "TENSORTAP_BINARY="+e.binary, "TENSORTAP_PROBLEM="+dumps[0], "TENSORTAP_BENCH="+dumps[1])
}
