// A goroutine that blocks in a receive is woken by one that goes on computing: another P has to wake up and take it.
package main

import (
	"sync/atomic"
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		wakes := job.Number("wakes")
		return job.Repeat(func() gomeasure.Sample { return measure(wakes) })
	})
}

func measure(wakes int) gomeasure.Sample {
	start := time.Now()
	now := func() int64 { return time.Since(start).Nanoseconds() + 1 }
	var ran atomic.Int64
	calls := make(chan struct{}, 1)
	go func() {
		for range calls {
			ran.Store(now())
		}
	}()
	figures := make([]float64, 0, wakes)
	for range wakes {
		// About 500 us: the other P finds nothing to do and goes to sleep.
		gomeasure.Burn(1, 500_000)
		ran.Store(0)
		called := now()
		calls <- struct{}{}
		for ran.Load() == 0 {
		}
		figures = append(figures, float64(ran.Load()-called))
	}
	close(calls)
	extra := map[string]float64{"p99_ns": gomeasure.Percentile(figures, 99)}
	return gomeasure.NewSample(gomeasure.Percentile(figures, 50), uint64(len(figures)), extra)
}
