package msprobecsv

import (
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
)

const (
	notApplicable = "N/A"
	unsupported   = "unsupported"

	modeTensor = "tensor"
	modeMD5    = "md5"

	statisticCount = 4
)

// row is one row of the result, as the view has it.
type row struct {
	place                       Place
	mode                        string
	paired, compared, hasStacks bool
	problem, bench              side
	differences, relatives      [statisticCount]number
	result, message             string
	unlike                      string   // why two raw tensors could not be compared
	frames                      []string // of the op, at its first row

	cosine, distance, absolute, relative  number
	thousandthRatio, fiveThousandthsRatio number
}

// side is what one run has there.
type side struct {
	name, dtype, shape, grad string
	value                    string // of an argument that is no tensor
	checksum, file           string
	statistics               [statisticCount]number
}

// number is a number, if it is known.
type number struct {
	value float64
	known bool
}

// header names the columns, which depend on what was recorded.
func (r *row) header() []string {
	names := strings.Split("NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU Requires_grad,Bench Requires_grad", ",")
	const statistics = "NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm"
	switch r.mode {
	case modeMD5:
		names = append(names, "NPU MD5", "BENCH MD5")
	case modeTensor:
		names = append(names, strings.Split("Cosine,EucDist,MaxAbsErr,MaxRelativeErr,One Thousandth Err Ratio,Five Thousandths Err Ratio,"+statistics, ",")...)
	default:
		names = append(names, strings.Split("Max diff,Min diff,Mean diff,L2norm diff,MaxRelativeErr,MinRelativeErr,MeanRelativeErr,NormRelativeErr,"+statistics, ",")...)
	}
	names = append(names, "Requires_grad Consistent", "Result", "Err_message")
	if r.hasStacks {
		names = append(names, "NPU_Stack_Info")
	}
	if r.mode == modeTensor {
		names = append(names, "Data_name")
	}
	return names
}

// cells appends what stands below the header.
func (r *row) cells(to []string) []string {
	p, b := &r.problem, &r.bench
	to = append(to, p.name, b.name, p.dtype, b.dtype, p.shape, b.shape, p.grad, b.grad)
	switch r.mode {
	case modeMD5:
		to = append(to, p.checksum, b.checksum)
	case modeTensor:
		to = r.statistics(r.metrics(to))
	default:
		to = r.statistics(r.errors(to))
	}
	to = append(to, truth(p.grad == b.grad), r.result, r.message)
	if r.hasStacks {
		to = append(to, r.stack())
	}
	if r.mode == modeTensor {
		to = append(to, pyrepr.Texts([]string{fileOr(p.file, "-1"), r.benchFile()}))
	}
	return to
}

func (r *row) stack() string {
	if len(r.frames) == 0 {
		return notApplicable
	}
	return pyrepr.Texts(r.frames)
}

func (r *row) benchFile() string {
	if !r.paired {
		return notApplicable
	}
	return fileOr(r.bench.file, "-1")
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
