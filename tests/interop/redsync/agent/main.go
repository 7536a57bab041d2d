// SPDX-License-Identifier: MIT

// agent is a lock library for Go in a process of its own, talked to by lines; ../../plain/redis_py_agent.py says which
// verbs there are.
//
//	agent redsync|redislock VERB SOCKET KEY TTL_MS [ARGUMENT...]
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func say(words ...any) { os.Stdout.WriteString(fmt.Sprintln(words...)) }

func must(err error) {
	if err != nil {
		say("failed", err)
		os.Exit(1)
	}
}

// renew extends it every third of its time, until told to stop or it is lost; the channel it returns is closed then.
func renew(one lock, ttl time.Duration, stop <-chan struct{}) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		ticks := time.NewTicker(ttl / 3)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
				if one.extend() != nil {
					return
				}
			}
		}
	}()
	return over
}

func hold(one lock, current func() string, ttl time.Duration, renewed bool) {
	say("asking")
	must(one.wait())
	say("held")
	stop, over := make(chan struct{}), (<-chan struct{})(nil)
	if renewed {
		over = renew(one, ttl, stop)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch {
		case lines.Text() != "release":
			if current() == one.value() {
				say("owned")
			} else {
				say("not-owned")
			}
		default:
			if over != nil {
				close(stop)
				<-over
				over = nil
			}
			if one.release() == nil {
				say("released")
			} else {
				say("lost")
			}
		}
	}
}

func attempt(one lock, times int) {
	for range times {
		held, err := one.try()
		must(err)
		if held {
			say("held")
			return
		}
		say("busy")
		time.Sleep(20 * time.Millisecond)
	}
}

func count(one lock, file string, rounds int) {
	fresh := fmt.Sprint(file, ".", os.Getpid())
	say("asking")
	for range rounds { // reading and writing are two steps on purpose, with time for others in between
		must(one.wait())
		old, err := os.ReadFile(file)
		must(err)
		number, err := strconv.Atoi(strings.TrimSpace(string(old)))
		must(err)
		time.Sleep(3 * time.Millisecond)
		must(os.WriteFile(fresh, []byte(strconv.Itoa(number+1)), 0o600))
		must(os.Rename(fresh, file))
		say("did", number+1)
		must(one.release())
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	library, verb, sockets, key, rest := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[6:]
	milliseconds, err := strconv.Atoi(os.Args[5])
	must(err)
	ttl := time.Duration(milliseconds) * time.Millisecond
	servers := []*redis.Client{} // several sockets, with commas in between, are so many masters
	for _, socket := range strings.Split(sockets, ",") {
		servers = append(servers, redis.NewClient(&redis.Options{Network: "unix", Addr: socket}))
	}
	one := newLock(library, servers, key, ttl)
	switch verb {
	case "hold", "renew":
		hold(one, func() string { return servers[0].Get(forever, key).Val() }, ttl, verb == "renew")
	case "try":
		times, err := strconv.Atoi(rest[0])
		must(err)
		attempt(one, times)
	default:
		rounds, err := strconv.Atoi(rest[1])
		must(err)
		count(one, rest[0], rounds)
	}
}
