# SPDX-License-Identifier: MIT
"""Debian's Curator in a process of its own, talked to by lines, as tests/agent is; Peer.java is the same for a newer one.

curator_agent.py hold  HOST:PORT PATH KIND         KIND: mutex, write, read, latch or permit:LIMIT; asking; held; lets go
                                                   at the end of its input
curator_agent.py try   HOST:PORT PATH KIND         held | busy
curator_agent.py count HOST:PORT PATH KIND FILE N  asking; N times under the lock: FILE's number + 1; did NUMBER
"""
import os
import sys
import time

import jpype

JARS = "org.jpype curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop"


def say(line):
    os.write(1, (line + "\n").encode())


def make_lock(curator, path, kind):
    """Two functions: take(milliseconds) -> bool, and give()."""
    recipes = jpype.JPackage("org").apache.curator.framework.recipes
    unit = jpype.JClass("java.util.concurrent.TimeUnit").MILLISECONDS
    if kind == "latch":
        latches = []

        def take_latch(patience):
            latches.append(recipes.leader.LeaderLatch(curator, path, "a Curator process"))
            latches[-1].start()
            if latches[-1].await_(patience, unit):
                return True
            latches.pop().close()
            return False

        return take_latch, lambda: latches.pop().close()
    if kind.startswith("permit:"):
        semaphore = recipes.locks.InterProcessSemaphoreV2(curator, path, int(kind[7:]))
        leases = []

        def take_permit(patience):
            leases.append(semaphore.acquire(patience, unit))
            return leases[-1] is not None or leases.pop() is not None

        return take_permit, lambda: leases.pop().close()
    if kind == "mutex":
        mutex = recipes.locks.InterProcessMutex(curator, path)
    else:
        both = recipes.locks.InterProcessReadWriteLock(curator, path)
        mutex = both.writeLock() if kind == "write" else both.readLock()
    return lambda patience: mutex.acquire(patience, unit), mutex.release


def count(take, give, file, rounds):
    fresh = f"{file}.{os.getpid()}"
    say("asking")
    for _ in range(rounds):
        if not take(60_000):
            raise TimeoutError("not within a minute")
        with open(file, encoding="ascii") as old:  # two steps on purpose, with time for others in between
            number = int(old.read()) + 1
        time.sleep(0.002)
        with open(fresh, "w", encoding="ascii") as new:
            new.write(str(number))
        os.rename(fresh, file)
        give()
        say(f"did {number}")


def main():
    verb, host, path, kind = sys.argv[1:5]
    jpype.startJVM("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                   classpath=[f"/usr/share/java/{one}.jar" for one in JARS.split()])
    retry = jpype.JClass("org.apache.curator.retry.ExponentialBackoffRetry")(100, 5)
    curator = jpype.JClass("org.apache.curator.framework.CuratorFrameworkFactory").newClient(host, 3_000, 5_000, retry)
    curator.start()
    take, give = make_lock(curator, path, kind)
    if verb == "count":
        count(take, give, sys.argv[5], int(sys.argv[6]))
    elif verb == "try":
        say("held" if take(300) else "busy")
    else:
        say("asking")
        if not take(60_000):
            raise TimeoutError("not within a minute")
        say("held")
        for _ in sys.stdin:
            pass
        give()
    curator.close()


main()
