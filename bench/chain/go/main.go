// Goroutines in a ring that pass one token through unbuffered channels.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		processes, rounds := job.Number("processes"), job.Number("rounds")
		return job.Time(processes*rounds, func() uint64 { return ring(processes, rounds) })
	})
}

// The caller is the last of the ring.
func ring(processes, rounds int) uint64 {
	first := make(chan uint64)
	left := first
	for range processes - 1 {
		right := make(chan uint64)
		go func(left, right chan uint64) {
			for range rounds {
				right <- <-left + 1
			}
		}(left, right)
		left = right
	}
	token := uint64(0)
	for range rounds {
		first <- token
		token = <-left + 1
	}
	return token
}
