// Goroutines that are all alive and blocked at once.
package main

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	// Collections during creation would be counted as creation; the figure is the goroutines' own.
	debug.SetGCPercent(-1)
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		// No warm-up: goroutines and stacks that existed before would be reused.
		return []gomeasure.Sample{alive(job.Number("count"))}
	})
}

func alive(count int) gomeasure.Sample {
	resident, tables := memory()
	var blocked atomic.Int64
	release, done := make(chan struct{}), make(chan uint64, 64)
	start := time.Now()
	for i := range count {
		go func() {
			blocked.Add(1)
			<-release
			done <- uint64(i)
		}()
	}
	for blocked.Load() < int64(count) {
		runtime.Gosched()
	}
	created := time.Since(start)
	residentThen, tablesThen := memory()
	start = time.Now()
	close(release)
	sum := uint64(0)
	for range count {
		sum += <-done
	}
	joined := time.Since(start)
	each := func(total float64) float64 { return total / float64(count) }
	createNs, joinNs := each(float64(created.Nanoseconds())), each(float64(joined.Nanoseconds()))
	return gomeasure.NewSample(createNs+joinNs, sum, map[string]float64{
		"create_ns": createNs, "join_ns": joinNs,
		"resident_bytes": each(residentThen - resident), "page_table_bytes": each(tablesThen - tables),
	})
}

func memory() (float64, float64) {
	return gomeasure.StatusBytes("/proc/self/smaps_rollup", "Rss"), gomeasure.StatusBytes("/proc/self/status", "VmPTE")
}
