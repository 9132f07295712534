package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
)

const (
	calibratedTimes = 2  // the greatest error of a calibration is what a tensor may differ by
	mostCalibrated  = 8  // times the tolerance by dtype and depth: what differs by more has a fault, or other tokens
	fewestMeasured  = 2  // of so many tensors of the bench a calibration measures one
	mostFaults      = 10 // of so many that it measures one may have a fault
)

// others are the runs beside the problem.
func (r *Request) others() []string {
	if r.Calibrate == "" {
		return r.Benches
	}
	return append(slices.Clone(r.Benches), r.Calibrate)
}

// CheckCalibration says what is wrong with a run that calibrates a comparison, which may have a tolerance.
func CheckCalibration(run, problem string, benches []string, tolerance bool) error {
	switch {
	case run == problem || slices.Contains(benches, run):
		return fmt.Errorf("calibrate with %s: it is compared itself; name another run of the bench's program", run)
	case len(benches) >= judge.BandRuns:
		return errors.New("--calibrate does not go with three benches or more: their spread is the tolerance")
	case tolerance:
		return errors.New("--calibrate does not go with --tolerance: it measures one")
	}
	return nil
}

// calibration is another run of the bench's program beside the bench, site by site. Places may be added at the same time.
type calibration struct {
	mutex sync.Mutex
	sites map[uint64]*calibratedSite
	first *judge.Judged // that has a fault
}

// calibratedSite is how far the runs lie apart at a site of the bench.
type calibratedSite struct {
	measured, faulty bool
	error, usual     float64 // the greatest error, and the tolerance by dtype and depth
}

// calibrate judges the run that calibrates against the bench, by dtype and depth, and has the rules tolerate what they differ by.
func (j *Job) calibrate(ctx context.Context, config *judge.Config) error {
	r := &j.request
	if r.Calibrate == "" {
		return nil
	}
	if err := CheckCalibration(r.Calibrate, r.Problem, r.Benches, config.Tolerance >= 0 || len(config.Rules) > 0); err != nil {
		return err
	}
	beside := DefaultRequest()
	beside.Problem, beside.Benches, beside.Merge, beside.Judge.Exceptions = r.Calibrate, r.Benches[:1], r.Merge, config.Exceptions
	job, err := Open(ctx, j.source, beside)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	if own, its := job.problem.MainDtype, job.bench().MainDtype; own != its {
		return fmt.Errorf("calibrate with %s: most of its tensors are %s, those of bench %s %s; want another run of the bench's program", r.Calibrate, own, r.Benches[0], its)
	}
	c := &calibration{sites: map[uint64]*calibratedSite{}}
	if err := job.Judge(ctx, job.steps, c.add); err != nil {
		return fmt.Errorf("calibrate with %s: %w", r.Calibrate, err)
	}
	config.Calibrated, j.calibrated = c.finish(r.Calibrate)
	j.calibrating = slices.DeleteFunc(job.Recorded(), func(run *rows.Run) bool { return run.Name != r.Calibrate })
	if c.first != nil {
		j.calibrated.FirstFault = job.Definitions().Op(job.Definitions().Sites[c.first.Bench.SiteID].OpID).Name
	}
	return c.check(j.calibrated, r.Benches[0])
}

// add takes the verdicts of a place.
func (c *calibration) add(_ pair.Step, judged []judge.Judged) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range judged {
		if one := &judged[i]; one.InBench && one.Bench.Measured != 0 {
			c.addOne(one)
		}
	}
	return nil
}

func (c *calibration) addOne(one *judge.Judged) {
	site := c.sites[one.Bench.SiteID]
	if site == nil {
		site = &calibratedSite{}
		c.sites[one.Bench.SiteID] = site
	}
	switch {
	case one.Class == judge.Equal:
		site.measured = true
	case one.Class == judge.NotFinite && one.Side != judge.SideBoth:
		site.measured = true
		c.blame(site, one)
	case one.Paired() && !one.Structure && !math.IsNaN(one.Error) && !math.IsNaN(one.Tolerance):
		site.measured = true
		site.error, site.usual = max(site.error, one.Error), max(site.usual, one.Tolerance)
		if calibratedTimes*one.Error > mostCalibrated*one.Tolerance {
			c.blame(site, one)
		}
	}
}

func (c *calibration) blame(site *calibratedSite, one *judge.Judged) {
	site.faulty = true
	if first := c.first; first == nil || cmp.Or(cmp.Compare(one.Step, first.Step), cmp.Compare(one.Bench.Seq, first.Bench.Seq), cmp.Compare(one.Rank, first.Rank)) < 0 {
		first := *one
		c.first = &first
	}
}

func (s *calibratedSite) allowed() float64 { return calibratedTimes * s.error }

// finish gives what tensors may differ by, by site of the bench, and the counts.
func (c *calibration) finish(run string) (map[uint64]float64, *report.Calibration) {
	allowed, said := map[uint64]float64{}, &report.Calibration{Run: run, Most: mostCalibrated}
	for id, site := range c.sites {
		switch {
		case !site.measured:
			said.Unmeasured++
			continue
		case site.faulty:
			said.Faulty++
		case site.allowed() > site.usual:
			said.Widened++
			allowed[id] = site.allowed()
			said.Greatest = max(said.Greatest, site.allowed())
		}
		said.Measured++
	}
	return allowed, said
}

// check is an error where the run is not another one of the bench's program.
func (c *calibration) check(said *report.Calibration, bench string) error {
	switch {
	case said.Measured*fewestMeasured < said.Measured+said.Unmeasured || said.Measured == 0:
		return fmt.Errorf("calibrate with %s: only %d of the %d tensors of bench %s have a counterpart of their shape in it; want another run of the bench's program, of the same tokens",
			said.Run, said.Measured, said.Measured+said.Unmeasured, bench)
	case said.Faulty*mostFaults > said.Measured:
		return fmt.Errorf("calibrate with %s: %d of %d tensors differ from bench %s by more than rounding may, %d times the tolerance by dtype and depth, first those of %s; it has a fault, or other weights or tokens",
			said.Run, said.Faulty, said.Measured, bench, mostCalibrated, said.FirstFault)
	}
	return nil
}
