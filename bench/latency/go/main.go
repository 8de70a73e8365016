// From wake to run under full load: 4 goroutines a worker compute in slices and yield; one of them wakes a
// sleeper before a slice once the sleeper has answered.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		wakes, steps, load := job.Number("wakes"), uint64(job.Number("steps")), 4*job.Workers
		return job.Repeat(func() gomeasure.Sample { return measure(wakes, steps, load) })
	})
}

func measure(wakes int, steps uint64, load int) gomeasure.Sample {
	var over, waiting atomic.Bool
	var all sync.WaitGroup
	calls := make(chan time.Time, 1)
	figures := make([]float64, 0, wakes)
	all.Add(load + 1)
	go func() {
		defer all.Done()
		for range wakes {
			waiting.Store(true)
			called := <-calls
			figures = append(figures, float64(time.Since(called).Nanoseconds()))
		}
		over.Store(true)
	}()
	for index := range load {
		go func() {
			defer all.Done()
			for !over.Load() {
				if index == 0 && waiting.CompareAndSwap(true, false) {
					calls <- time.Now()
				}
				gomeasure.Burn(1, steps)
				runtime.Gosched()
			}
		}()
	}
	all.Wait()
	extra := map[string]float64{"p99_ns": gomeasure.Percentile(figures, 99)}
	return gomeasure.NewSample(gomeasure.Percentile(figures, 50), uint64(len(figures)), extra)
}
