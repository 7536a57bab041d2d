// SPDX-License-Identifier: MIT
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator as bench/peer_process.hpp wants it: {@code java Pairs HOST:PORT}.
 *
 * <p>"run LOCKS SECONDS" on its input: that many locks at once, each with a thread of its own that takes and releases it again
 * and again, because Curator's locks block. "pass WAITERS SECONDS": that many threads that queue for one lock again and again;
 * what counts is each time that another one than before has it, once every one has had it.
 */
public final class Pairs {
  private final CuratorFramework curator;

  private Pairs(CuratorFramework curator) {
    this.curator = curator;
  }

  private interface Round {
    void go(int who) throws Exception;
  }

  /** Rounds of so many threads, until the time is over. It begins when each has done one. */
  private void all(int threads, double seconds, AtomicLong count, Round round) throws InterruptedException {
    final CountDownLatch warm = new CountDownLatch(threads);
    final CountDownLatch running = new CountDownLatch(threads);
    final boolean[] over = new boolean[1];
    for (int i = 0; i < threads; ++i) {
      final int who = i;
      final Thread thread =
          new Thread(
              () -> {
                try {
                  round.go(who);
                  warm.countDown();
                  while (!isOver(over)) {
                    round.go(who);
                  }
                  running.countDown();
                } catch (Exception error) {
                  fail(error);
                }
              });
      thread.setDaemon(true);
      thread.start();
    }
    warm.await();
    count.set(0);
    final long begin = System.nanoTime();
    Thread.sleep((long) (1e3 * seconds));
    final double took = (System.nanoTime() - begin) / 1e9;
    final long counted = count.get();
    synchronized (over) {
      over[0] = true;
    }
    running.await();
    say("pairs " + counted + " " + took);
  }

  private static boolean isOver(boolean[] over) {
    synchronized (over) {
      return over[0];
    }
  }

  private void atOnce(int locks, double seconds) throws InterruptedException {
    final InterProcessMutex[] each = new InterProcessMutex[locks];
    for (int i = 0; i < locks; ++i) {
      each[i] = new InterProcessMutex(curator, "/curator/" + i);
    }
    final AtomicLong pairs = new AtomicLong();
    all(
        locks,
        seconds,
        pairs,
        who -> {
          each[who].acquire();
          each[who].release();
          pairs.incrementAndGet();
        });
  }

  private void passing(int waiters, double seconds) throws InterruptedException {
    // One each: threads that share one are all woken whenever one of them may be next.
    final InterProcessMutex[] each = new InterProcessMutex[waiters];
    for (int i = 0; i < waiters; ++i) {
      each[i] = new InterProcessMutex(curator, "/curator/passed");
    }
    final AtomicLong passed = new AtomicLong();
    final int[] last = {-1}; // guarded by the lock
    all(
        waiters,
        seconds,
        passed,
        who -> {
          each[who].acquire();
          if (last[0] != who) {
            passed.incrementAndGet();
          }
          last[0] = who;
          each[who].release();
        });
  }

  private static void say(String line) {
    System.out.println(line.replace('\n', ' '));
    System.out.flush();
  }

  private static void fail(Throwable error) {
    say("failed " + error);
    Runtime.getRuntime().halt(1);
  }

  public static void main(String[] given) throws Exception {
    // A long session: between its turns this process is stopped.
    final CuratorFramework curator =
        CuratorFrameworkFactory.newClient(given[0], 40_000, 10_000, new ExponentialBackoffRetry(100, 5));
    curator.start();
    if (!curator.blockUntilConnected(10, TimeUnit.SECONDS)) {
      throw new IllegalStateException("not connected");
    }
    final Pairs all = new Pairs(curator);
    say("ready");
    try (Scanner lines = new Scanner(System.in)) {
      while (lines.hasNextLine()) {
        final String[] words = lines.nextLine().split(" ");
        final int number = Integer.parseInt(words[1]);
        final double seconds = Double.parseDouble(words[2]);
        if (words[0].equals("pass")) {
          all.passing(number, seconds);
        } else {
          all.atOnce(number, seconds);
        }
      }
    } catch (Exception error) {
      fail(error);
    }
    Runtime.getRuntime().halt(0);
  }
}
