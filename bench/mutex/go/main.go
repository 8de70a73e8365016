// A counter under a mutex, and goroutines that add to it.
package main

import (
	"sync"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		threads, rounds := job.Number("threads"), job.Number("rounds")
		each := rounds / threads
		var mutex sync.Mutex
		count := uint64(0)
		return job.Time(each*threads, func() uint64 {
			var all sync.WaitGroup
			for range threads {
				all.Add(1)
				go func() {
					defer all.Done()
					for range each {
						mutex.Lock()
						count++
						mutex.Unlock()
					}
				}()
			}
			all.Wait()
			return uint64(each * threads)
		})
	})
}
