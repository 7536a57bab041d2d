// SPDX-License-Identifier: MIT

// pairs is Go's concurrency.Mutex as bench/peer_process.hpp wants it: pairs [handoff] ADDRESS. "run LOCKS SECONDS" on
// its input: that many goroutines, each taking and releasing a lock of its own; "pairs NUMBER SECONDS" is the answer.
// One alone answers as if every pair had taken as long as the median one. With "handoff" they all want the same lock,
// and what is counted is how often it changed hands.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// While it is not its turn this program is stopped, and renews nothing.
const leaseSeconds = 600

func must(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

func pairs(mutex *concurrency.Mutex, end time.Time) (count int64) {
	ctx := context.Background()
	for time.Now().Before(end) {
		must(mutex.Lock(ctx))
		must(mutex.Unlock(ctx))
		count++
	}
	return count
}

func runPairs(session *concurrency.Session, count int, seconds float64) (int64, time.Duration) {
	var total atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	for i := 0; i < count; i++ {
		mutex := concurrency.NewMutex(session, fmt.Sprint("go/", i))
		all.Add(1)
		go func() {
			defer all.Done()
			total.Add(pairs(mutex, end))
		}()
	}
	all.Wait()
	return total.Load(), time.Since(begin)
}

func runLone(session *concurrency.Session, seconds float64) (int64, time.Duration) {
	mutex := concurrency.NewMutex(session, "go/lone")
	var all []time.Duration
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for begin := time.Now(); begin.Before(end); begin = time.Now() {
		must(mutex.Lock(context.Background()))
		must(mutex.Unlock(context.Background()))
		all = append(all, time.Since(begin))
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return int64(len(all)), time.Duration(len(all)) * all[len(all)/2]
}

// Goroutines of one session would be one owner to the package, so each has its own.
type crowd struct {
	sessions []*concurrency.Session
	client   *clientv3.Client
}

func (c *crowd) grow(count int) {
	for len(c.sessions) < count {
		session, err := concurrency.NewSession(c.client, concurrency.WithTTL(leaseSeconds))
		must(err)
		c.sessions = append(c.sessions, session)
	}
}

// Counted is when all have had the time to queue, as with interlock: bench/crowd.hpp.
func (c *crowd) run(count int, seconds float64) (int64, time.Duration) {
	c.grow(count)
	ctx, stop := context.WithCancel(context.Background())
	var changes, last atomic.Int64
	var all sync.WaitGroup
	last.Store(-1)
	for i := 0; i < count; i++ {
		mutex := concurrency.NewMutex(c.sessions[i], "go/crowd")
		who := int64(i)
		all.Add(1)
		go func() {
			defer all.Done()
			for mutex.Lock(ctx) == nil {
				if last.Swap(who) != who {
					changes.Add(1)
				}
				must(mutex.Unlock(context.Background()))
			}
		}()
	}
	time.Sleep(500*time.Millisecond + time.Duration(count)*4*time.Millisecond)
	before, begin := changes.Load(), time.Now()
	window := time.Duration(seconds * float64(time.Second))
	for time.Since(begin) < window || (changes.Load()-before < 5 && time.Since(begin) < 30*time.Second) {
		time.Sleep(5 * time.Millisecond) // longer where nothing moves
	}
	done, took := changes.Load()-before, time.Since(begin)
	stop()
	all.Wait()
	return done, took
}

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[len(os.Args)-1]}, Logger: zap.NewNop()})
	must(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(leaseSeconds))
	must(err)
	many := &crowd{client: client}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var count int
		var seconds float64
		_, err := fmt.Sscanf(lines.Text(), "run %d %g", &count, &seconds)
		must(err)
		var done int64
		var took time.Duration
		switch {
		case os.Args[1] == "handoff":
			done, took = many.run(count, seconds)
		case count == 1:
			done, took = runLone(session, seconds)
		default:
			done, took = runPairs(session, count, seconds)
		}
		fmt.Println("pairs", done, took.Seconds())
	}
}
