// A tree of goroutines, each of which makes its children and waits for their sums.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		leaves, children := job.Number("leaves"), job.Number("children")
		return job.Time(size(leaves, children), func() uint64 { return grow(0, leaves, children) })
	})
}

// How many goroutines the tree has, the root included.
func size(leaves, children int) int {
	if leaves <= 1 {
		return 1
	}
	return leaves + size(leaves/children, children)
}

// The sum of the numbers of its leaves.
func grow(first, leaves, children int) uint64 {
	if leaves <= 1 {
		return uint64(first)
	}
	part := leaves / children
	sums := make(chan uint64)
	for at := range children {
		go func() { sums <- grow(first+at*part, part, children) }()
	}
	sum := uint64(0)
	for range children {
		sum += <-sums
	}
	return sum
}
