// A server with a goroutine for each connection. The client is the runner's executable.
package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"sync/atomic"

	"raddle/bench/gomeasure"
)

func echo(peer net.Conn) {
	defer peer.Close()
	bytes := make([]byte, 512)
	for {
		n, err := peer.Read(bytes)
		if err != nil {
			return
		}
		if _, err := peer.Write(bytes[:n]); err != nil {
			return
		}
	}
}

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			gomeasure.Fail("%v", err)
		}
		go func() {
			for {
				peer, err := listener.Accept()
				if err != nil {
					return
				}
				go echo(peer)
			}
		}()
		var over atomic.Bool
		if job.NumberOr("busy", 0) == 1 {
			go func() {
				for !over.Load() {
					gomeasure.Burn(1, 10000)
				}
			}()
		}
		samples := job.Repeat(func() gomeasure.Sample { return measure(listener.Addr().String(), job) })
		over.Store(true)
		return samples
	})
}

func measure(address string, job *gomeasure.Job) gomeasure.Sample {
	gap := "0"
	if job.Text("form") == "half" {
		gap = job.Text("gap_ns")
	}
	client := exec.Command(os.Getenv("BENCH_CLIENT"), "socket-client", job.Text("form"), address,
		job.Text("connections"), job.Text("requests"), gap)
	client.Stderr = os.Stderr
	line, err := client.Output()
	if err != nil {
		gomeasure.Fail("the client: %v", err)
	}
	var sample gomeasure.Sample
	if err := json.Unmarshal(line, &sample); err != nil {
		gomeasure.Fail("the client said %s: %v", line, err)
	}
	return sample
}
