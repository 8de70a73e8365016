// Package gomeasure is raddle-measure's side in Go: the arguments of a benchmark program, calibrated repetition,
// and samples as lines of JSON. What each means is said in crates/raddle-measure.
package gomeasure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Sample is one measured figure with its checksum and side figures.
type Sample struct {
	NsPerOp  float64            `json:"ns_per_op"`
	Checksum string             `json:"checksum"`
	Extra    map[string]float64 `json:"extra"`
}

// NewSample makes a sample; extra may be nil.
func NewSample(nsPerOp float64, checksum uint64, extra map[string]float64) Sample {
	if extra == nil {
		extra = map[string]float64{}
	}
	return Sample{nsPerOp, strconv.FormatUint(checksum, 10), extra}
}

// A Job is what the runner asked for.
type Job struct {
	Workers  int
	samples  int
	runNsMin int64
	params   map[string]string
}

// Main is the whole main of a program: GOMAXPROCS is the number of workers.
func Main(body func(job *Job) []Sample) {
	job := parse(os.Args[1:])
	runtime.GOMAXPROCS(job.Workers)
	out := json.NewEncoder(os.Stdout)
	for _, sample := range body(job) {
		if err := out.Encode(sample); err != nil {
			Fail("cannot print a sample: %v", err)
		}
	}
}

// Fail ends the program with a message.
func Fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// Text is the parameter name.
func (job *Job) Text(name string) string {
	value, ok := job.params[name]
	if !ok {
		Fail("wants --params %s=...", name)
	}
	return value
}

// Number is the parameter name as a whole number.
func (job *Job) Number(name string) int { return int(number(name, job.Text(name))) }

// NumberOr is the parameter name as a whole number, or otherwise if the runner did not give it.
func (job *Job) NumberOr(name string, otherwise int) int {
	if _, ok := job.params[name]; !ok {
		return otherwise
	}
	return job.Number(name)
}

// Time times body, which performs operations operations a call and returns their checksum.
func (job *Job) Time(operations int, body func() uint64) []Sample {
	checksum := body()
	timed := func(calls int) int64 {
		start := time.Now()
		for range calls {
			if got := body(); got != checksum {
				Fail("the checksum was %d in the first run and %d in a later one", checksum, got)
			}
		}
		return time.Since(start).Nanoseconds()
	}
	calls := 1
	for timed(calls) < job.runNsMin {
		calls *= 2
	}
	var samples []Sample
	for range job.samples {
		samples = append(samples, NewSample(float64(timed(calls))/float64(calls*operations), checksum, nil))
	}
	return samples
}

// Repeat takes samples from a body that measures by itself, after one call to warm up.
func (job *Job) Repeat(body func() Sample) []Sample {
	body()
	var samples []Sample
	for range job.samples {
		samples = append(samples, body())
	}
	return samples
}

// Percentile is the smallest figure that at least percent per cent do not exceed.
func Percentile(figures []float64, percent float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	rank := int(percent/100*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Burn is raddle_measure::work::burn.
//
//go:noinline
func Burn(seed, steps uint64) uint64 {
	for range steps {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

// ProcessorNs is the processor time of all threads so far.
func ProcessorNs() int64 {
	paths, _ := filepath.Glob("/proc/self/task/*/schedstat")
	total := int64(0)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			Fail("cannot read %s: %v", path, err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			Fail("%s holds no number: %v", path, err)
		}
		total += ns
	}
	return total
}

// StatusBytes is a field of a file of /proc, given there in kB.
func StatusBytes(path, field string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		Fail("cannot read %s: %v", path, err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			return float64(number(field, strings.TrimSpace(strings.TrimSuffix(rest, "kB")))) * 1024
		}
	}
	Fail("%s has no %s", path, field)
	return 0
}

func parse(arguments []string) *Job {
	job := &Job{Workers: 1, samples: 3, runNsMin: 20_000_000, params: map[string]string{}}
	for i := 0; i+1 < len(arguments); i += 2 {
		option, value := arguments[i], arguments[i+1]
		switch option {
		case "--workers":
			job.Workers = int(number(option, value))
		case "--samples":
			job.samples = int(number(option, value))
		case "--run-ns":
			job.runNsMin = number(option, value)
		case "--params":
			for _, pair := range strings.Split(value, ",") {
				name, text, _ := strings.Cut(pair, "=")
				job.params[name] = text
			}
		default:
			Fail("unknown option %s", option)
		}
	}
	return job
}

func number(name, text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		Fail("%s is %q, expected a whole number", name, text)
	}
	return value
}
