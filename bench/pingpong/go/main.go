// Two goroutines that send a number there and back over two unbuffered channels.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		rounds := job.Number("rounds")
		return job.Time(rounds, func() uint64 {
			there, back := make(chan uint64), make(chan uint64)
			go func() {
				for number := range there {
					back <- number + 1
				}
			}()
			number := uint64(0)
			for range rounds {
				there <- number
				number = <-back
			}
			close(there)
			return number
		})
	})
}
