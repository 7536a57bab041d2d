# SPDX-License-Identifier: MIT
"""kazoo's locks in a process of its own, talked to by lines, as tests/agent is.

kazoo_agent.py hold  HOST:PORT PATH KIND         KIND: lock, write or read; asking; held; released at the end of the input
kazoo_agent.py try   HOST:PORT PATH KIND         held | busy
kazoo_agent.py count HOST:PORT PATH KIND FILE N  asking; N times under the lock: FILE's number + 1; did NUMBER
"""
import logging
import os
import sys
import time

from kazoo.client import KazooClient


def say(line):
    os.write(1, (line + "\n").encode())


def count(lock, file, rounds):
    fresh = f"{file}.{os.getpid()}"
    say("asking")
    for _ in range(rounds):
        with lock:  # reading and writing are two steps on purpose, with time for others in between
            with open(file, encoding="ascii") as old:
                number = int(old.read()) + 1
            time.sleep(0.002)
            with open(fresh, "w", encoding="ascii") as new:
                new.write(str(number))
            os.rename(fresh, file)
        say(f"did {number}")


def main():
    logging.disable(logging.CRITICAL)
    verb, host, path, kind = sys.argv[1:5]
    client = KazooClient(hosts=host, timeout=3.0)
    client.start()
    make = {"lock": client.Lock, "write": client.WriteLock, "read": client.ReadLock}[kind]
    lock = make(path, "a kazoo process")
    if verb == "count":
        count(lock, sys.argv[5], int(sys.argv[6]))
    elif verb == "try":
        say("held" if lock.acquire(blocking=False) else "busy")
    else:
        say("asking")
        lock.acquire()
        say("held")
        for _ in sys.stdin:
            pass
        lock.release()
    client.stop()
    client.close()


main()
