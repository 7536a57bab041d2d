// SPDX-License-Identifier: MIT
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson as bench/peer_process.hpp wants it: {@code java Pairs HOST:PORT}.
 *
 * <p>"run LOCKS SECONDS" on its input: that many locks at once through the asynchronous interface, each taken and released
 * again and again; one lock alone through the blocking one. "pairs NUMBER SECONDS" is the answer.
 */
public final class Pairs {
  private final RedissonClient redisson;

  private Pairs(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** One lock that is taken and released until the time is over. */
  private static final class Busy {
    private final RLock lock;
    private final long owner;
    private final long end;
    private final AtomicLong pairs;
    private final CountDownLatch running;

    Busy(RLock lock, long owner, long end, AtomicLong pairs, CountDownLatch running) {
      this.lock = lock;
      this.owner = owner;
      this.end = end;
      this.pairs = pairs;
      this.running = running;
    }

    void next() {
      lock.tryLockAsync(owner).thenCompose(this::release).whenComplete(this::released);
    }

    private CompletionStage<Void> release(boolean held) {
      return held
          ? lock.unlockAsync(owner)
          : CompletableFuture.failedFuture(new IllegalStateException("a lock that nobody else wants was refused"));
    }

    private void released(Void nothing, Throwable error) {
      if (error != null) {
        fail(error);
      }
      pairs.incrementAndGet();
      if (System.nanoTime() < end) {
        next();
      } else {
        running.countDown();
      }
    }
  }

  private long atOnce(int locks, long end) throws InterruptedException {
    AtomicLong pairs = new AtomicLong();
    CountDownLatch running = new CountDownLatch(locks);
    for (int i = 0; i < locks; ++i) {
      new Busy(redisson.getLock("redisson/" + i), i + 1L, end, pairs, running).next();
    }
    running.await();
    return pairs.get();
  }

  private long alone(long end) {
    RLock lock = redisson.getLock("redisson/0");
    long pairs = 0;
    for (; System.nanoTime() < end; ++pairs) {
      if (!lock.tryLock()) {
        throw new IllegalStateException("a lock that nobody else wants was refused");
      }
      lock.unlock();
    }
    return pairs;
  }

  private static void say(String line) {
    System.out.println(line.replace('\n', ' '));
    System.out.flush();
  }

  private static void fail(Throwable error) {
    say("failed " + error);
    Runtime.getRuntime().halt(1);
  }

  public static void main(String[] given) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + given[0]);
    Pairs all = new Pairs(Redisson.create(config));
    say("ready");
    try (Scanner lines = new Scanner(System.in)) {
      while (lines.hasNextLine()) {
        String[] words = lines.nextLine().split(" ");
        int locks = Integer.parseInt(words[1]);
        long begin = System.nanoTime();
        long end = begin + (long) (1e9 * Double.parseDouble(words[2]));
        long pairs = locks == 1 ? all.alone(end) : all.atOnce(locks, end);
        say("pairs " + pairs + " " + (System.nanoTime() - begin) / 1e9);
      }
    } catch (Exception error) {
      fail(error);
    }
    Runtime.getRuntime().halt(0);
  }
}
