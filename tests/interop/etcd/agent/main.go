// SPDX-License-Identifier: MIT

// agent mutex|election ENDPOINT NAME: locks by Go's concurrency package, and says "held REVISION"; releases at a line
// on its input, and says "released". agent count ENDPOINT NAME FILE N: N times under the mutex, FILE's number + 1.
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

func count(session *concurrency.Session, name, file string, times int) {
	ctx := context.Background()
	for i := 0; i < times; i++ {
		mutex := concurrency.NewMutex(session, name)
		must(mutex.Lock(ctx))
		text, err := os.ReadFile(file)
		must(err)
		number, err := strconv.Atoi(strings.TrimSpace(string(text)))
		must(err)
		must(os.WriteFile(file, []byte(strconv.Itoa(number+1)+"\n"), 0o644))
		must(mutex.Unlock(ctx))
	}
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
	case "count":
		times, err := strconv.Atoi(os.Args[5])
		must(err)
		count(session, name, os.Args[4], times)
	}
}
