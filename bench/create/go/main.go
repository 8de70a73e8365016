// Goroutines created and joined: one by one with a channel, many with a WaitGroup.
package main

import (
	"sync"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		count, batch := job.Number("count"), job.Number("batch")
		if batch == 1 {
			return job.Time(count, func() uint64 { return oneByOne(count) })
		}
		return job.Time(count, func() uint64 { return inBatches(count, batch) })
	})
}

func oneByOne(count int) uint64 {
	sum := uint64(0)
	done := make(chan uint64)
	for i := range count {
		go func() { done <- uint64(i) }()
		sum += <-done
	}
	return sum
}

func inBatches(count, batch int) uint64 {
	sum := uint64(0)
	results := make([]uint64, batch)
	var all sync.WaitGroup
	for first := 0; first < count; first += batch {
		all.Add(batch)
		for i := range batch {
			go func() {
				results[i] = uint64(first + i)
				all.Done()
			}()
		}
		all.Wait()
		for _, result := range results {
			sum += result
		}
	}
	return sum
}
