// The Transterpreter's replicated PAR: packets that each do rounds of some work and one communication.
package main

import (
	"sync"
	"sync/atomic"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		packets, rounds, grain := job.Number("packets"), job.Number("rounds"), job.Number("grain")
		return job.Time(packets*rounds, func() uint64 {
			var all sync.WaitGroup
			var sum atomic.Uint64
			for packet := range packets {
				all.Add(1)
				go func() {
					defer all.Done()
					sum.Add(run(packet, rounds, grain))
				}()
			}
			all.Wait()
			return sum.Load()
		})
	})
}

func run(packet, rounds, grain int) uint64 {
	array := make([]int32, grain)
	channel := make(chan int)
	received := uint64(0)
	for range rounds {
		var branch sync.WaitGroup
		branch.Add(1)
		go func() {
			defer branch.Done()
			work(array, packet)
			channel <- packet
		}()
		received += uint64(<-channel)
		branch.Wait()
	}
	for _, place := range array {
		received += uint64(place)
	}
	return received
}

//go:noinline
func work(array []int32, packet int) {
	for place := range array {
		array[place] += int32(packet)
	}
}
