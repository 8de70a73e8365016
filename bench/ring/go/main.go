// A ring of goroutines that passes a token round.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		processes, rounds := job.Number("processes"), job.Number("rounds")
		return job.Time(processes*rounds, func() uint64 { return ring(processes, rounds) })
	})
}

func ring(processes, rounds int) uint64 {
	first := make(chan uint64)
	last := first
	for range processes - 1 {
		left, right := last, make(chan uint64)
		go func() {
			for number := range left {
				right <- number + 1
			}
			close(right)
		}()
		last = right
	}
	number := uint64(0)
	for range rounds {
		first <- number + 1
		number = <-last
	}
	close(first)
	<-last
	return number
}
