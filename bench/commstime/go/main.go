// The occam programmers' commstime: four goroutines in a loop that count, and a consumer.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		loops, parallel := job.Number("loops"), job.Text("delta") == "par"
		return job.Time(4*loops, func() uint64 { return commstime(loops, parallel) })
	})
}

func commstime(loops int, parallel bool) uint64 {
	toDelta, toSucc, toConsumer, toPrefix := make(chan uint64), make(chan uint64), make(chan uint64), make(chan uint64)
	done := make(chan struct{})
	// One loop more than is consumed lies on the way at the end: who sends it is let go.
	send := func(to chan<- uint64, number uint64) bool {
		to <- number
		return true
	}
	go func() { // prefix
		for number := uint64(0); send(toDelta, number); {
			next, open := <-toPrefix
			if !open {
				close(toDelta)
				return
			}
			number = next
		}
	}()
	go func() { // delta
		for consumed := 0; ; consumed++ {
			number, open := <-toDelta
			if !open {
				close(done)
				return
			}
			if consumed == loops {
				close(toSucc)
				continue
			}
			if parallel {
				sent := make(chan struct{})
				go func() {
					toSucc <- number
					close(sent)
				}()
				toConsumer <- number
				<-sent
			} else {
				toSucc <- number
				toConsumer <- number
			}
		}
	}()
	go func() { // successor
		for number := range toSucc {
			toPrefix <- number + 1
		}
		close(toPrefix)
	}()
	sum := uint64(0)
	for range loops {
		sum += <-toConsumer
	}
	<-done
	return sum
}
