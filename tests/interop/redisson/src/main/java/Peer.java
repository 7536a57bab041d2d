// SPDX-License-Identifier: MIT
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson, told what to do by lines: {@code java Peer single|cluster ADDRESS WATCHDOG_MS}.
 *
 * <p>A line is THREAD VERB OBJECT NAME [ARGUMENT...]; a thread does its lines one after the other, and each is answered by
 * a line that begins with the thread. Locks belong to the thread that took them. Objects: lock, fenced, read, write, fair,
 * semaphore, latch.
 *
 * <pre>
 *   lock    [PERMIT_LEASE_MS]                         held [TOKEN]   (waits for ever; locks are renewed by the watchdog)
 *   try     [WAIT_MS]                                 held [TOKEN] | busy
 *   unlock                                            released
 *   mine                                              yes | no
 *   permits NUMBER                                    set | there
 *   count   FILE TIMES                                counted
 *   inside  COUNTER LIMIT TIMES                       most NUMBER   (the most that were inside at a time)
 *   setup   COUNT                                     set | there   (latch, as the following)
 *   down    [TIMES]                                   counted
 *   await   [WAIT_MS]                                 open | shut   (without a time: for ever)
 *   left                                              NUMBER
 * </pre>
 */
public final class Peer {
  private static final long PERMIT_LEASE_MS = 30_000;

  private final RedissonClient redisson;
  private final Map<String, ExecutorService> threads = new HashMap<>();

  private Peer(RedissonClient redisson) {
    this.redisson = redisson;
  }

  /** What one thread has taken of semaphores, newest last; by name. */
  private static final ThreadLocal<Map<String, Deque<String>>> PERMITS = ThreadLocal.withInitial(HashMap::new);

  private RLock lock(String object, String name) {
    return switch (object) {
      case "lock" -> redisson.getLock(name);
      case "fenced" -> redisson.getFencedLock(name);
      case "read" -> redisson.getReadWriteLock(name).readLock();
      case "write" -> redisson.getReadWriteLock(name).writeLock();
      case "fair" -> redisson.getFairLock(name);
      default -> throw new IllegalArgumentException("no object " + object);
    };
  }

  private String take(String object, String name, long waitMs) throws InterruptedException {
    return take(object, name, waitMs, PERMIT_LEASE_MS);
  }

  private String take(String object, String name, long waitMs, long permitMs) throws InterruptedException {
    if (object.equals("semaphore")) {
      RPermitExpirableSemaphore gate = redisson.getPermitExpirableSemaphore(name);
      String permit = waitMs < 0
          ? gate.acquire(permitMs, TimeUnit.MILLISECONDS)
          : gate.tryAcquire(waitMs, permitMs, TimeUnit.MILLISECONDS);
      if (permit == null) {
        return "busy";
      }
      PERMITS.get().computeIfAbsent(name, n -> new ArrayDeque<>()).addLast(permit);
      return "held";
    }
    RLock lock = lock(object, name);
    if (waitMs < 0) {
      lock.lock();
    } else if (!lock.tryLock(waitMs, TimeUnit.MILLISECONDS)) {
      return "busy";
    }
    return lock instanceof RFencedLock fenced ? "held " + fenced.getToken() : "held";
  }

  private String give(String object, String name) {
    if (object.equals("semaphore")) {
      redisson.getPermitExpirableSemaphore(name).release(PERMITS.get().get(name).removeLast());
    } else {
      lock(object, name).unlock();
    }
    return "released";
  }

  // Read and write are two steps on purpose: only the lock makes them one.
  private String count(String object, String name, Path file, int times) throws Exception {
    Path fresh = file.resolveSibling(file.getFileName() + ".java" + Thread.currentThread().getId());
    for (int i = 0; i < times; ++i) {
      take(object, name, -1);
      long number = Files.exists(file) ? Long.parseLong(Files.readString(file).trim()) : 0;
      Files.writeString(fresh, Long.toString(number + 1));
      Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
      give(object, name);
    }
    return "counted";
  }

  private String inside(String object, String name, String counter, int times) throws Exception {
    long most = 0;
    for (int i = 0; i < times; ++i) {
      take(object, name, -1);
      most = Math.max(most, redisson.getAtomicLong(counter).incrementAndGet());
      redisson.getAtomicLong(counter).decrementAndGet();
      give(object, name);
    }
    return "most " + most;
  }

  private String down(String name, int times) {
    for (int i = 0; i < times; ++i) {
      redisson.getCountDownLatch(name).countDown();
    }
    return "counted";
  }

  private String await(String name, long waitMs) throws InterruptedException {
    RCountDownLatch latch = redisson.getCountDownLatch(name);
    if (waitMs < 0) {
      latch.await();
      return "open";
    }
    return latch.await(waitMs, TimeUnit.MILLISECONDS) ? "open" : "shut";
  }

  private String answer(List<String> words) throws Exception {
    String object = words.get(2);
    String name = words.get(3);
    return switch (words.get(1)) {
      case "lock" -> take(object, name, -1, words.size() > 4 ? Long.parseLong(words.get(4)) : PERMIT_LEASE_MS);
      case "try" -> take(object, name, words.size() > 4 ? Long.parseLong(words.get(4)) : 0);
      case "unlock" -> give(object, name);
      case "mine" -> lock(object, name).isHeldByCurrentThread() ? "yes" : "no";
      case "permits" ->
          redisson.getPermitExpirableSemaphore(name).trySetPermits(Integer.parseInt(words.get(4))) ? "set" : "there";
      case "count" -> count(object, name, Path.of(words.get(4)), Integer.parseInt(words.get(5)));
      case "inside" -> inside(object, name, words.get(4), Integer.parseInt(words.get(5)));
      case "setup" -> redisson.getCountDownLatch(name).trySetCount(Long.parseLong(words.get(4))) ? "set" : "there";
      case "down" -> down(name, words.size() > 4 ? Integer.parseInt(words.get(4)) : 1);
      case "await" -> await(name, words.size() > 4 ? Long.parseLong(words.get(4)) : -1);
      case "left" -> Long.toString(redisson.getCountDownLatch(name).getCount());
      default -> "what is " + words.get(1) + "?";
    };
  }

  private static void say(String line) {
    synchronized (System.out) {
      System.out.println(line.replace('\n', ' '));
      System.out.flush();
    }
  }

  private void obey(List<String> words) {
    String said;
    try {
      said = answer(words);
    } catch (Exception error) {
      said = "failed " + error;
    }
    say(words.get(0) + " " + said);
  }

  private void listen() {
    Scanner lines = new Scanner(System.in);
    while (lines.hasNextLine()) {
      List<String> words = Arrays.asList(lines.nextLine().split(" "));
      threads.computeIfAbsent(words.get(0), t -> Executors.newSingleThreadExecutor()).execute(() -> obey(words));
    }
  }

  public static void main(String[] given) {
    Config config = new Config();
    config.setLockWatchdogTimeout(Long.parseLong(given[2]));
    if (given[0].equals("cluster")) {
      config.useClusterServers().addNodeAddress(given[1]);
    } else {
      config.useSingleServer().setAddress(given[1]);
    }
    Peer peer = new Peer(Redisson.create(config));
    say("ready");
    peer.listen();
    Runtime.getRuntime().halt(0); // no shutdown: what is held is left as a crash would leave it
  }
}
