// A line of goroutines, each of which takes a number from its left, adds 1 and hands it to its right.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		stages, messages := job.Number("stages"), job.Number("messages")
		slots := job.NumberOr("slots", 0)
		return job.Time(stages*messages, func() uint64 { return line(stages, messages, slots) })
	})
}

func line(stages, messages, slots int) uint64 {
	first := make(chan uint64, slots)
	last := first
	for range stages {
		left, right := last, make(chan uint64, slots)
		go func() {
			for number := range left {
				right <- number + 1
			}
			close(right)
		}()
		last = right
	}
	go func() {
		for number := range messages {
			first <- uint64(number)
		}
		close(first)
	}()
	sum := uint64(0)
	for number := range last {
		sum += number
	}
	return sum
}
