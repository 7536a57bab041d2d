// SPDX-License-Identifier: MIT

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.support.Observers;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Peer mutex|election ADDRESS NAME: locks by jetcd, that is by etcd's own lock and election services, and says "held
 * REVISION KEY"; releases at a line on its input, and says "released". Peer count-mutex|count-election ADDRESS NAME FILE N:
 * N times, while it holds that, FILE's number + 1.
 */
public final class Peer {
  private final Client client;
  private final long lease;
  private final ByteSequence name;

  private Peer(Client client, String name) throws Exception {
    this.client = client;
    this.name = bytes(name);
    lease = client.getLeaseClient().grant(10).get().getID();
    client.getLeaseClient().keepAlive(lease, Observers.observer(answer -> {}));
  }

  private static ByteSequence bytes(String text) {
    return ByteSequence.from(text, StandardCharsets.UTF_8);
  }

  private static void say(String text) {
    System.out.println(text);
    System.out.flush();
  }

  private static void awaitLine() throws Exception {
    new BufferedReader(new InputStreamReader(System.in)).readLine();
  }

  private void mutex() throws Exception {
    var held = client.getLockClient().lock(name, lease).get();
    say("held " + held.getHeader().getRevision() + " " + held.getKey());
    awaitLine();
    client.getLockClient().unlock(held.getKey()).get();
    say("released");
  }

  private void election() throws Exception {
    var held = client.getElectionClient().campaign(name, lease, bytes("jetcd")).get();
    say("held " + held.getLeader().getRevision() + " " + held.getLeader().getKey());
    awaitLine();
    client.getElectionClient().resign(held.getLeader()).get();
    say("released");
  }

  private static void addOne(Path file) throws Exception {
    int number = Integer.parseInt(Files.readString(file).trim());
    Files.writeString(file, (number + 1) + "\n");
  }

  private void countMutex(Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      var held = client.getLockClient().lock(name, lease).get();
      addOne(file);
      client.getLockClient().unlock(held.getKey()).get();
    }
  }

  private void countElection(Path file, int times) throws Exception {
    for (int i = 0; i < times; i++) {
      var held = client.getElectionClient().campaign(name, lease, bytes("jetcd")).get();
      addOne(file);
      client.getElectionClient().resign(held.getLeader()).get();
    }
  }

  public static void main(String[] words) throws Exception {
    try (Client client = Client.builder().endpoints("http://" + words[1]).build()) {
      var peer = new Peer(client, words[2]);
      switch (words[0]) {
        case "mutex" -> peer.mutex();
        case "election" -> peer.election();
        case "count-mutex" -> peer.countMutex(Path.of(words[3]), Integer.parseInt(words[4]));
        case "count-election" -> peer.countElection(Path.of(words[3]), Integer.parseInt(words[4]));
        default -> throw new IllegalArgumentException(words[0]);
      }
      client.getLeaseClient().revoke(peer.lease).get();
    }
    System.exit(0); // some of its threads go on
  }
}
