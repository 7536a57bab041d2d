// SPDX-License-Identifier: MIT

// pairs is redsync as bench/peer_process.hpp wants it: pairs ADDRESS..., one of one server or several for a quorum.
// "run LOCKS SECONDS" on its input: that many goroutines, each taking and releasing a lock of its own;
// "pairs NUMBER SECONDS" is the answer.
package main

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func fail(err error) {
	fmt.Println("failed", err)
	os.Exit(1)
}

func pairs(mutex *redsync.Mutex, end time.Time) (count int64) {
	for time.Now().Before(end) {
		if err := mutex.TryLock(); err != nil {
			fail(err)
		}
		if released, err := mutex.Unlock(); err != nil || !released {
			fail(fmt.Errorf("not released: %w", err))
		}
		count++
	}
	return count
}

func run(locks *redsync.Redsync, count int, seconds float64) (int64, time.Duration) {
	var total atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	for i := range count {
		mutex := locks.NewMutex(fmt.Sprint("redsync/", i), redsync.WithExpiry(30*time.Second))
		all.Go(func() { total.Add(pairs(mutex, end)) })
	}
	all.Wait()
	return total.Load(), time.Since(begin)
}

func main() {
	var pools []redsyncredis.Pool
	for _, address := range os.Args[1:] {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: address})))
	}
	locks := redsync.New(pools...)
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var count int
		var seconds float64
		if _, err := fmt.Sscanf(lines.Text(), "run %d %g", &count, &seconds); err != nil {
			fail(err)
		}
		done, took := run(locks, count, seconds)
		fmt.Println("pairs", done, took.Seconds())
	}
}
