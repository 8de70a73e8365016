// A runtime that has worked and now has nothing to do.
package main

import (
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		done := make(chan uint64)
		go func() { done <- gomeasure.Burn(1, 1000) }()
		checksum := <-done
		seconds := job.Number("seconds")
		before := gomeasure.ProcessorNs()
		time.Sleep(time.Duration(seconds) * time.Second)
		percent := float64(gomeasure.ProcessorNs()-before) / float64(seconds) / 1e7
		return []gomeasure.Sample{gomeasure.NewSample(percent, checksum, nil)}
	})
}
