// SPDX-License-Identifier: MIT

// agent mutex|election ENDPOINT NAME: locks by Go's concurrency package, and says "held REVISION"; releases at a line
// on its input, and says "released". agent count-mutex|count-election ENDPOINT NAME FILE N: N times, while it holds that,
// FILE's number + 1.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func addOne(file string) {
	text, err := os.ReadFile(file)
	must(err)
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(err)
	must(os.WriteFile(file, []byte(strconv.Itoa(number+1)+"\n"), 0o644))
}

func number(text string) int {
	out, err := strconv.Atoi(text)
	must(err)
	return out
}

func main() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[2]}})
	must(err)
	defer client.Close()
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	must(err)
	defer session.Close()
	name := os.Args[3]
	wait := func() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }
	switch os.Args[1] {
	case "mutex":
		mutex := concurrency.NewMutex(session, name)
		must(mutex.Lock(ctx))
		fmt.Println("held", mutex.Header().Revision, mutex.Key())
		wait()
		must(mutex.Unlock(ctx))
		fmt.Println("released")
	case "election":
		election := concurrency.NewElection(session, name)
		must(election.Campaign(ctx, "go"))
		fmt.Println("held", election.Rev(), election.Key())
		wait()
		must(election.Resign(ctx))
		fmt.Println("released")
	case "count-mutex":
		for left := number(os.Args[5]); left > 0; left-- {
			mutex := concurrency.NewMutex(session, name)
			must(mutex.Lock(ctx))
			addOne(os.Args[4])
			must(mutex.Unlock(ctx))
		}
	case "count-election":
		for left := number(os.Args[5]); left > 0; left-- {
			election := concurrency.NewElection(session, name)
			must(election.Campaign(ctx, "go"))
			addOne(os.Args[4])
			must(election.Resign(ctx))
		}
	}
}
