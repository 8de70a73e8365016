// One goroutine that selects from several unbuffered channels, and one that sends on each in turn. The cases are written
// out, as a Go programmer would; reflect.Select is many times slower.
package main

import "raddle/bench/gomeasure"

func main() {
	gomeasure.Main(func(job *gomeasure.Job) []gomeasure.Sample {
		count, rounds := job.Number("channels"), job.Number("rounds")
		receive := map[int]func([]chan uint64, int) uint64{2: select2, 8: select8, 64: select64}[count]
		return job.Time(rounds, func() uint64 {
			channels := make([]chan uint64, count)
			for place := range channels {
				channels[place] = make(chan uint64)
			}
			go func() {
				for number := range rounds {
					channels[number%count] <- uint64(number)
				}
			}()
			return receive(channels, rounds)
		})
	})
}
func select2(channels []chan uint64, rounds int) uint64 {
	sum, number := uint64(0), uint64(0)
	for range rounds {
		select {
		case number = <-channels[0]:
		case number = <-channels[1]:
		}
		sum += number
	}
	return sum
}

func select8(channels []chan uint64, rounds int) uint64 {
	sum, number := uint64(0), uint64(0)
	for range rounds {
		select {
		case number = <-channels[0]:
		case number = <-channels[1]:
		case number = <-channels[2]:
		case number = <-channels[3]:
		case number = <-channels[4]:
		case number = <-channels[5]:
		case number = <-channels[6]:
		case number = <-channels[7]:
		}
		sum += number
	}
	return sum
}

func select64(channels []chan uint64, rounds int) uint64 {
	sum, number := uint64(0), uint64(0)
	for range rounds {
		select {
		case number = <-channels[0]:
		case number = <-channels[1]:
		case number = <-channels[2]:
		case number = <-channels[3]:
		case number = <-channels[4]:
		case number = <-channels[5]:
		case number = <-channels[6]:
		case number = <-channels[7]:
		case number = <-channels[8]:
		case number = <-channels[9]:
		case number = <-channels[10]:
		case number = <-channels[11]:
		case number = <-channels[12]:
		case number = <-channels[13]:
		case number = <-channels[14]:
		case number = <-channels[15]:
		case number = <-channels[16]:
		case number = <-channels[17]:
		case number = <-channels[18]:
		case number = <-channels[19]:
		case number = <-channels[20]:
		case number = <-channels[21]:
		case number = <-channels[22]:
		case number = <-channels[23]:
		case number = <-channels[24]:
		case number = <-channels[25]:
		case number = <-channels[26]:
		case number = <-channels[27]:
		case number = <-channels[28]:
		case number = <-channels[29]:
		case number = <-channels[30]:
		case number = <-channels[31]:
		case number = <-channels[32]:
		case number = <-channels[33]:
		case number = <-channels[34]:
		case number = <-channels[35]:
		case number = <-channels[36]:
		case number = <-channels[37]:
		case number = <-channels[38]:
		case number = <-channels[39]:
		case number = <-channels[40]:
		case number = <-channels[41]:
		case number = <-channels[42]:
		case number = <-channels[43]:
		case number = <-channels[44]:
		case number = <-channels[45]:
		case number = <-channels[46]:
		case number = <-channels[47]:
		case number = <-channels[48]:
		case number = <-channels[49]:
		case number = <-channels[50]:
		case number = <-channels[51]:
		case number = <-channels[52]:
		case number = <-channels[53]:
		case number = <-channels[54]:
		case number = <-channels[55]:
		case number = <-channels[56]:
		case number = <-channels[57]:
		case number = <-channels[58]:
		case number = <-channels[59]:
		case number = <-channels[60]:
		case number = <-channels[61]:
		case number = <-channels[62]:
		case number = <-channels[63]:
		}
		sum += number
	}
	return sum
}
