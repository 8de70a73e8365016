// Goroutines that only yield.
package main

import (
	"runtime"
	"sync"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		processes, rounds := job.Number("processes"), job.Number("rounds")
		return job.Time(processes*rounds, func() uint64 {
			done := make([]uint64, processes)
			var all sync.WaitGroup
			for i := range done {
				all.Add(1)
				go func() {
					defer all.Done()
					count := uint64(0)
					for range rounds {
						runtime.Gosched()
						count++
					}
					done[i] = count
				}()
			}
			all.Wait()
			sum := uint64(0)
			for _, count := range done {
				sum += count
			}
			return sum
		})
	})
}
