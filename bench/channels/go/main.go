// Messages through Go's channels. A select over 64 is written out: reflect.Select costs several times as much.
package main

import (
	"sync"

	"raddle/bench/gomeasure"
)

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		form, count := job.Text("form"), uint64(job.Number("count"))
		ends, width := uint64(job.Number("ends")), uint64(job.Number("width"))
		capacity := uint64(job.Number("capacity"))
		return job.Time(int(count), func() uint64 {
			switch form {
			case "pingpong":
				return pingpong(count)
			case "flow", "mpsc":
				return flow(count, ends, width, capacity)
			case "pool":
				return pool(count, ends, capacity, width)
			case "ready":
				return ready(count, width)
			default:
				return wait(count, width)
			}
		})
	})
}

func pingpong(count uint64) uint64 {
	there, back := make(chan uint64), make(chan uint64)
	go func() {
		for number := range there {
			back <- number + 1
		}
	}()
	number := uint64(0)
	for range count {
		there <- number
		number = <-back
	}
	close(there)
	return number
}

func flow(count, senders, receivers, capacity uint64) uint64 {
	c := make(chan uint64, capacity)
	sums := make([]uint64, receivers)
	var sending, receiving sync.WaitGroup
	for i := range receivers {
		receiving.Go(func() {
			for n := range c {
				sums[i] += n
			}
		})
	}
	each := count / senders
	for part := range senders {
		sending.Go(func() {
			for n := part * each; n < (part+1)*each; n++ {
				c <- n
			}
		})
	}
	sending.Wait()
	close(c)
	receiving.Wait()
	sum := uint64(0)
	for _, part := range sums {
		sum += part
	}
	return sum
}

// Jobs of so many steps through a channel to a pool, and what comes of them through another one.
func pool(count, goroutines, capacity, steps uint64) uint64 {
	jobs, results := make(chan uint64, capacity), make(chan uint64, capacity)
	var working sync.WaitGroup
	for range goroutines {
		working.Go(func() {
			for job := range jobs {
				gomeasure.Burn(job, steps)
				results <- job
			}
		})
	}
	go func() {
		for job := range count {
			jobs <- job
		}
		close(jobs)
		working.Wait()
		close(results)
	}()
	sum := uint64(0)
	for job := range results {
		sum += job
	}
	return sum
}

func channels(width uint64, capacity int) []chan uint64 {
	all := make([]chan uint64, width)
	for i := range all {
		all[i] = make(chan uint64, capacity)
	}
	return all
}

func selectOver(c []chan uint64) uint64 {
	switch len(c) {
	case 2:
		return select2(c)
	case 8:
		return select8(c)
	default:
		return select64(c)
	}
}

func ready(count, width uint64) uint64 {
	c, sum := channels(width, 1), uint64(0)
	for n := range count {
		c[n%width] <- n
		sum += selectOver(c)
	}
	return sum
}

func wait(count, width uint64) uint64 {
	c, sum := channels(width, 0), uint64(0)
	go func() {
		for n := range count {
			c[n%width] <- n
		}
	}()
	for range count {
		sum += selectOver(c)
	}
	return sum
}

func select2(c []chan uint64) uint64 {
	select {
	case v := <-c[0]:
		return v
	case v := <-c[1]:
		return v
	}
}

func select8(c []chan uint64) uint64 {
	select {
	case v := <-c[0]:
		return v
	case v := <-c[1]:
		return v
	case v := <-c[2]:
		return v
	case v := <-c[3]:
		return v
	case v := <-c[4]:
		return v
	case v := <-c[5]:
		return v
	case v := <-c[6]:
		return v
	case v := <-c[7]:
		return v
	}
}

func select64(c []chan uint64) uint64 {
	select {
	case v := <-c[0]:
		return v
	case v := <-c[1]:
		return v
	case v := <-c[2]:
		return v
	case v := <-c[3]:
		return v
	case v := <-c[4]:
		return v
	case v := <-c[5]:
		return v
	case v := <-c[6]:
		return v
	case v := <-c[7]:
		return v
	case v := <-c[8]:
		return v
	case v := <-c[9]:
		return v
	case v := <-c[10]:
		return v
	case v := <-c[11]:
		return v
	case v := <-c[12]:
		return v
	case v := <-c[13]:
		return v
	case v := <-c[14]:
		return v
	case v := <-c[15]:
		return v
	case v := <-c[16]:
		return v
	case v := <-c[17]:
		return v
	case v := <-c[18]:
		return v
	case v := <-c[19]:
		return v
	case v := <-c[20]:
		return v
	case v := <-c[21]:
		return v
	case v := <-c[22]:
		return v
	case v := <-c[23]:
		return v
	case v := <-c[24]:
		return v
	case v := <-c[25]:
		return v
	case v := <-c[26]:
		return v
	case v := <-c[27]:
		return v
	case v := <-c[28]:
		return v
	case v := <-c[29]:
		return v
	case v := <-c[30]:
		return v
	case v := <-c[31]:
		return v
	case v := <-c[32]:
		return v
	case v := <-c[33]:
		return v
	case v := <-c[34]:
		return v
	case v := <-c[35]:
		return v
	case v := <-c[36]:
		return v
	case v := <-c[37]:
		return v
	case v := <-c[38]:
		return v
	case v := <-c[39]:
		return v
	case v := <-c[40]:
		return v
	case v := <-c[41]:
		return v
	case v := <-c[42]:
		return v
	case v := <-c[43]:
		return v
	case v := <-c[44]:
		return v
	case v := <-c[45]:
		return v
	case v := <-c[46]:
		return v
	case v := <-c[47]:
		return v
	case v := <-c[48]:
		return v
	case v := <-c[49]:
		return v
	case v := <-c[50]:
		return v
	case v := <-c[51]:
		return v
	case v := <-c[52]:
		return v
	case v := <-c[53]:
		return v
	case v := <-c[54]:
		return v
	case v := <-c[55]:
		return v
	case v := <-c[56]:
		return v
	case v := <-c[57]:
		return v
	case v := <-c[58]:
		return v
	case v := <-c[59]:
		return v
	case v := <-c[60]:
		return v
	case v := <-c[61]:
		return v
	case v := <-c[62]:
		return v
	case v := <-c[63]:
		return v
	}
}
