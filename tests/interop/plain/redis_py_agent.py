# SPDX-License-Identifier: MIT
"""redis-py's Lock in a process of its own, talked to by lines, as tests/agent is.

redis_py_agent.py hold  SOCKET KEY TTL_MS         asking; held; then answers lines on its input:
                                                    release -> released | lost
                                                    owned   -> owned | not-owned
redis_py_agent.py renew SOCKET KEY TTL_MS         the same, and a thread reacquires it every third of its time
redis_py_agent.py try   SOCKET KEY TTL_MS N       tries N times, 20 ms apart, without waiting: busy, or held and it ends
redis_py_agent.py count SOCKET KEY TTL_MS FILE N  asking; N times, 10 ms apart, under the lock: FILE's number + 1; did NUMBER
"""
import os
import sys
import threading
import time

import redis


def say(line):
    os.write(1, (line + "\n").encode())


def renew(lock, seconds, stop):
    while not stop.wait(seconds / 3):
        try:
            lock.reacquire()
        except redis.exceptions.LockError:
            return


def hold(lock, seconds, watched):
    say("asking")
    lock.acquire()
    say("held")
    stop = threading.Event()
    if watched:
        threading.Thread(target=renew, args=(lock, seconds, stop), daemon=True).start()
    for line in sys.stdin:
        if line.strip() == "release":
            stop.set()
            try:
                lock.release()
                say("released")
            except redis.exceptions.LockError:
                say("lost")
        else:
            say("owned" if lock.owned() else "not-owned")


def count(lock, file, rounds):
    fresh = f"{file}.{os.getpid()}"
    say("asking")
    for _ in range(rounds):
        with lock:  # reading and writing are two steps on purpose, with time for others in between
            with open(file, encoding="ascii") as old:
                number = int(old.read()) + 1
            time.sleep(0.003)
            with open(fresh, "w", encoding="ascii") as new:
                new.write(str(number))
            os.rename(fresh, file)
            say(f"did {number}")
        time.sleep(0.01)


def main(verb, socket, key, ttl, *rest):
    seconds = int(ttl) / 1000
    lock = redis.Redis(unix_socket_path=socket).lock(
        key, timeout=seconds, thread_local=False
    )
    if verb in ("hold", "renew"):
        hold(lock, seconds, verb == "renew")
    elif verb == "try":
        for _ in range(int(rest[0])):
            if lock.acquire(blocking=False):
                say("held")
                return
            say("busy")
            time.sleep(0.02)
    else:
        count(lock, rest[0], int(rest[1]))


main(*sys.argv[1:])
