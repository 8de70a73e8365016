// Two goroutines that hand control to each other through unbuffered channels; a hand-off is one message.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		rounds := job.Number("rounds")
		return job.Time(2*rounds, func() uint64 {
			there, back := make(chan uint64), make(chan uint64)
			go func() {
				for range rounds {
					back <- <-there + 1
				}
			}()
			sum := uint64(0)
			for range rounds {
				there <- sum + 1
				sum = <-back
			}
			return sum
		})
	})
}
