// Very many that sleep at once.
package main

import (
	"time"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		count, rounds := job.Number("count"), job.Number("rounds")
		before := gomeasure.ProcessorNs()
		done := make(chan []float64, 64)
		for i := range count {
			go func() {
				late := make([]float64, 0, rounds)
				for round := range rounds {
					pause := time.Duration(100_000_000 + (i+round*count)*7_777_777_777%900_000_000)
					begun := time.Now()
					time.Sleep(pause)
					late = append(late, float64((time.Since(begun)-pause).Nanoseconds())/1e3)
				}
				done <- late
			}()
		}
		var late []float64
		for range count {
			late = append(late, <-done...)
		}
		used := float64(gomeasure.ProcessorNs() - before)
		return []gomeasure.Sample{gomeasure.NewSample(used/float64(len(late)), uint64(len(late)), map[string]float64{
			"late_p50_us": gomeasure.Percentile(late, 50), "late_p99_us": gomeasure.Percentile(late, 99),
		})}
	})
}
