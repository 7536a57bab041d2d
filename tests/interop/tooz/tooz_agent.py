# SPDX-License-Identifier: MIT
"""A lock of tooz in a process of its own, talked to by lines, as tests/agent is.

tooz_agent.py hold  URL NAME         asking; held; released at the end of the input
tooz_agent.py try   URL NAME         held | busy
tooz_agent.py count URL NAME FILE N  asking; N times under the lock: FILE's number + 1; did NUMBER
"""
import os
import sys
import time

from tooz import coordination


def say(line):
    os.write(1, (line + "\n").encode())


def count(lock, file, rounds):
    fresh = f"{file}.{os.getpid()}"
    say("asking")
    for _ in range(rounds):
        while not lock.acquire(blocking=False):  # its own waiting doubles its pauses up to a minute
            time.sleep(0.005)
        with open(file, encoding="ascii") as old:  # reading and writing are two steps on purpose
            number = int(old.read()) + 1
        time.sleep(0.002)
        with open(fresh, "w", encoding="ascii") as new:
            new.write(str(number))
        os.rename(fresh, file)
        lock.release()
        say(f"did {number}")
        time.sleep(0.002)


def main():
    verb, url, name = sys.argv[1:4]
    member = f"worker-{os.getpid()}".encode()
    coordinator = coordination.get_coordinator(url, member)
    coordinator.start(start_heart=True)
    lock = coordinator.get_lock(name.encode())
    if verb == "count":
        count(lock, sys.argv[4], int(sys.argv[5]))
    elif verb == "try":
        say("held" if lock.acquire(blocking=False) else "busy")
    else:
        say("asking")
        while not lock.acquire(blocking=False):
            time.sleep(0.02)
        say("held")
        for _ in sys.stdin:
            pass
        lock.release()
    coordinator.stop()


main()
