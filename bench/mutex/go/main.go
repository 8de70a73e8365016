// A counter under a lock, and goroutines that add to it, or mostly read it.
package main

import (
	"sync"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		threads, rounds := job.Number("threads"), job.Number("rounds")
		each := rounds / threads
		count := uint64(0)
		// One loop for each: a call through a variable would cost as much as the lock.
		var mutex sync.Mutex
		share := func() {
			for range each {
				mutex.Lock()
				count++
				mutex.Unlock()
			}
		}
		if job.Text("lock") == "rwlock" {
			var lock sync.RWMutex
			share = func() {
				for round := range each {
					if round%100 == 99 {
						lock.Lock()
						count++
						lock.Unlock()
					} else {
						lock.RLock()
						_ = count
						lock.RUnlock()
					}
				}
			}
		}
		return job.Time(each*threads, func() uint64 {
			var all sync.WaitGroup
			for range threads {
				all.Add(1)
				go func() {
					defer all.Done()
					share()
				}()
			}
			all.Wait()
			return uint64(each * threads)
		})
	})
}
