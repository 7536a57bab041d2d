// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	pool "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var forever = context.Background()

// lock is what both libraries can do.
type lock interface {
	wait() error        // until it is ours
	try() (bool, error) // without waiting; false: another has it
	extend() error
	release() error // fails if it was not ours any more
	value() string  // what we wrote
}

type redsyncLock struct {
	*redsync.Mutex
}

func (l redsyncLock) wait() error { return l.Lock() }
func (l redsyncLock) try() (bool, error) {
	err := l.TryLock()
	var taken *redsync.ErrTaken
	if errors.As(err, &taken) {
		return false, nil
	}
	return err == nil, err
}
func (l redsyncLock) extend() error  { return really(l.Extend()) }
func (l redsyncLock) release() error { return really(l.Unlock()) }
func (l redsyncLock) value() string  { return l.Value() }

func really(done bool, err error) error {
	if err == nil && !done {
		return errors.New("it was not ours")
	}
	return err
}

type redislockLock struct {
	client *redislock.Client
	key    string
	ttl    time.Duration
	held   *redislock.Lock
}

func (l *redislockLock) obtain(how redislock.RetryStrategy) (err error) {
	// Without a deadline of ours it would wait for one ttl and not longer.
	patience, done := context.WithTimeout(forever, time.Hour)
	defer done()
	l.held, err = l.client.Obtain(patience, l.key, l.ttl, &redislock.Options{RetryStrategy: how, Metadata: "agent"})
	return err
}
func (l *redislockLock) wait() error {
	return l.obtain(redislock.LinearBackoff(100 * time.Millisecond))
}
func (l *redislockLock) try() (bool, error) {
	err := l.obtain(redislock.NoRetry())
	if errors.Is(err, redislock.ErrNotObtained) {
		return false, nil
	}
	return err == nil, err
}
func (l *redislockLock) extend() error  { return l.held.Refresh(forever, l.ttl, nil) }
func (l *redislockLock) release() error { return l.held.Release(forever) }
func (l *redislockLock) value() string  { return l.held.Token() + l.held.Metadata() }

func newLock(library string, servers []*redis.Client, key string, ttl time.Duration) lock {
	if library == "redislock" {
		return &redislockLock{client: redislock.New(servers[0]), key: key, ttl: ttl}
	}
	pools := make([]pool.Pool, 0, len(servers))
	for _, server := range servers {
		pools = append(pools, goredis.NewPool(server))
	}
	return redsyncLock{redsync.New(pools...).NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(10000))}
}
