package msprobecsv

import (
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
)

const (
	notApplicable = "N/A"
	unsupported   = "unsupported"
)

// row is one row of the result.
type row struct {
	*msprobecompare.Row
	mode      msprobecompare.Mode
	hasStacks bool
}

// header names the columns, which depend on what was recorded.
func (r *row) header() []string {
	names := strings.Split("NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU Requires_grad,Bench Requires_grad", ",")
	const statistics = "NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm"
	switch r.mode {
	case msprobecompare.MD5:
		names = append(names, "NPU MD5", "BENCH MD5")
	case msprobecompare.Tensor:
		names = append(names, strings.Split("Cosine,EucDist,MaxAbsErr,MaxRelativeErr,One Thousandth Err Ratio,Five Thousandths Err Ratio,"+statistics, ",")...)
	default:
		names = append(names, strings.Split("Max diff,Min diff,Mean diff,L2norm diff,MaxRelativeErr,MinRelativeErr,MeanRelativeErr,NormRelativeErr,"+statistics, ",")...)
	}
	names = append(names, "Requires_grad Consistent", "Result", "Err_message")
	if r.hasStacks {
		names = append(names, "NPU_Stack_Info")
	}
	if r.mode == msprobecompare.Tensor {
		names = append(names, "Data_name")
	}
	return names
}

// cells appends what stands below the header.
func (r *row) cells(to []string) []string {
	p, b := &r.Problem, &r.Bench
	to = append(to, p.Name, b.Name, p.Dtype, b.Dtype, p.Shape, b.Shape, p.Grad, b.Grad)
	switch r.mode {
	case msprobecompare.MD5:
		to = append(to, p.Checksum, b.Checksum)
	case msprobecompare.Tensor:
		to = r.statistics(r.metrics(to))
	default:
		to = r.statistics(r.errors(to))
	}
	to = append(to, truth(p.Grad == b.Grad), string(r.Result), r.Message)
	if r.hasStacks {
		to = append(to, r.stack())
	}
	if r.mode == msprobecompare.Tensor {
		to = append(to, pyrepr.Texts([]string{fileOr(p.File, "-1"), r.benchFile()}))
	}
	return to
}

func (r *row) stack() string {
	if len(r.Frames) == 0 {
		return notApplicable
	}
	return pyrepr.Texts(r.Frames)
}

func (r *row) benchFile() string {
	if !r.Paired {
		return notApplicable
	}
	return fileOr(r.Bench.File, "-1")
}

func fileOr(file, otherwise string) string {
	if file == "" {
		return otherwise
	}
	return file
}

func truth(is bool) string { //nolint:revive // flag-parameter: it is printed
	if is {
		return "True"
	}
	return "False"
}
