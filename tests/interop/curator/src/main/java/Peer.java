// SPDX-License-Identifier: MIT
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's locks in a process of its own, talked to by lines, as tests/agent is.
 *
 * Peer hold  HOST:PORT PATH KIND         KIND: mutex, write, read, latch or permit:LIMIT; asking; held; lets go at the end of
 *                                        its input
 * Peer try   HOST:PORT PATH KIND         held | busy
 * Peer count HOST:PORT PATH KIND FILE N  asking; N times under the lock: FILE's number + 1; did NUMBER
 */
public final class Peer {
  private interface Lock {
    boolean take(long milliseconds) throws Exception;

    void give() throws Exception;
  }

  private static Lock of(CuratorFramework curator, String path, String kind) throws Exception {
    if (kind.equals("latch")) {
      final LeaderLatch[] latch = new LeaderLatch[1];
      return new Lock() {
        public boolean take(long milliseconds) throws Exception {
          latch[0] = new LeaderLatch(curator, path, "a Curator process");
          latch[0].start();
          if (latch[0].await(milliseconds, TimeUnit.MILLISECONDS)) return true;
          latch[0].close();
          return false;
        }

        public void give() throws Exception {
          latch[0].close();
        }
      };
    }
    if (kind.startsWith("permit:")) {
      final var semaphore = new InterProcessSemaphoreV2(curator, path, Integer.parseInt(kind.substring(7)));
      final Lease[] lease = new Lease[1];
      return new Lock() {
        public boolean take(long milliseconds) throws Exception {
          lease[0] = semaphore.acquire(milliseconds, TimeUnit.MILLISECONDS);
          return lease[0] != null;
        }

        public void give() throws Exception {
          lease[0].close();
        }
      };
    }
    final var both = new InterProcessReadWriteLock(curator, path);
    final InterProcessMutex mutex =
        kind.equals("write") ? both.writeLock() : kind.equals("read") ? both.readLock() : new InterProcessMutex(curator, path);
    return new Lock() {
      public boolean take(long milliseconds) throws Exception {
        return mutex.acquire(milliseconds, TimeUnit.MILLISECONDS);
      }

      public void give() throws Exception {
        mutex.release();
      }
    };
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static void count(Lock lock, Path file, int rounds) throws Exception {
    final Path fresh = Path.of(file + "." + ProcessHandle.current().pid());
    say("asking");
    for (int i = 0; i < rounds; ++i) {
      if (!lock.take(60_000)) throw new IllegalStateException("not within a minute");
      try { // reading and writing are two steps on purpose, with time for others in between
        final int number = Integer.parseInt(Files.readString(file).trim()) + 1;
        Thread.sleep(2);
        Files.writeString(fresh, Integer.toString(number));
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
        say("did " + number);
      } finally {
        lock.give();
      }
    }
  }

  public static void main(String[] words) throws Exception {
    final CuratorFramework curator =
        CuratorFrameworkFactory.newClient(words[1], 3_000, 5_000, new ExponentialBackoffRetry(100, 5));
    curator.start();
    if (!curator.blockUntilConnected(10, TimeUnit.SECONDS)) throw new IllegalStateException("not connected");
    final Lock lock = of(curator, words[2], words[3]);
    switch (words[0]) {
      case "count" -> count(lock, Path.of(words[4]), Integer.parseInt(words[5]));
      case "try" -> say(lock.take(300) ? "held" : "busy");
      default -> {
        say("asking");
        if (!lock.take(60_000)) throw new IllegalStateException("not within a minute");
        say("held");
        while (System.in.read() >= 0) {
        }
        lock.give();
      }
    }
    curator.close();
  }
}
