// Work that two cores can share.
package main

import (
	"runtime"
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		form, steps := job.Text("form"), uint64(job.Number("steps"))
		return job.Repeat(func() gomeasure.Sample {
			start := time.Now()
			var sum uint64
			switch form {
			case "a":
				sum = spawned(4, 5, steps)
			case "b":
				done := make(chan uint64)
				go func() { done <- gomeasure.Burn(1, steps) }()
				sum = gomeasure.Burn(0, steps) + <-done
			default:
				sum = spawned(8, 1, steps)
			}
			return gomeasure.NewSample(float64(time.Since(start).Nanoseconds())/1e6, sum, nil)
		})
	})
}

// spawned runs count goroutines of so many slices, with a yield after each but the last.
func spawned(count, slices int, steps uint64) uint64 {
	done := make(chan uint64)
	for seed := range count {
		go func() {
			x := uint64(seed)
			for slice := range slices {
				if slice > 0 {
					runtime.Gosched()
				}
				x = gomeasure.Burn(x, steps)
			}
			done <- x
		}()
	}
	sum := uint64(0)
	for range count {
		sum += <-done
	}
	return sum
}
