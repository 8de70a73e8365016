// A runtime that has worked and now has nothing to do.
package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		done := make(chan uint64)
		go func() { done <- gomeasure.Burn(1, 1000) }()
		checksum := <-done
		seconds := job.Number("seconds")
		before := processorNs()
		time.Sleep(time.Duration(seconds) * time.Second)
		percent := float64(processorNs()-before) / float64(seconds) / 1e7
		return []gomeasure.Sample{gomeasure.NewSample(percent, checksum, nil)}
	})
}

// processorNs is the processor time of all threads so far.
func processorNs() int64 {
	paths, _ := filepath.Glob("/proc/self/task/*/schedstat")
	total := int64(0)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			gomeasure.Fail("cannot read %s: %v", path, err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			gomeasure.Fail("%s holds no number: %v", path, err)
		}
		total += ns
	}
	return total
}
