// SPDX-License-Identifier: MIT
// node-redlock as bench/peer_process.hpp wants it: redlock_pairs.cjs redlock4|redlock5 ADDRESS..., one of one server or
// several for a quorum. "run LOCKS SECONDS" on its input: that many locks at once, each taken and released again and again;
// "pairs NUMBER SECONDS" is the answer.
'use strict';
const fs = require('fs');
const readline = require('readline');

const [library, ...addresses] = process.argv.slice(2);
const newer = library === 'redlock5';
const lease = 30000;
const say = (line) => fs.writeSync(1, line + '\n');

const Redis = require('ioredis');
const servers = addresses.map((one) => {
  const [host, port] = one.split(':');
  return new Redis({host, port: Number(port)});
});
const Redlock = newer ? require('redlock5').default : require('redlock4');
const locks = new Redlock(servers, {retryCount: 0});

async function pairs(name, end) {
  let count = 0;
  for (; performance.now() < end; ++count) {
    const held = await (newer ? locks.acquire([name], lease) : locks.lock(name, lease));
    await (newer ? held.release() : held.unlock());
  }
  return count;
}

async function run(atOnce, seconds) {
  const begin = performance.now();
  const all = Array.from({length: atOnce}, (_, i) => pairs(`redlock/${i}`, begin + 1000 * seconds));
  const total = (await Promise.all(all)).reduce((sum, one) => sum + one, 0);
  say(`pairs ${total} ${(performance.now() - begin) / 1000}`);
}

async function main() {
  await Promise.all(servers.map((one) => one.ping()));
  say('ready');
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [, atOnce, seconds] = line.split(' ');
    await run(Number(atOnce), Number(seconds));
  }
  for (const one of servers) one.disconnect();
}
main().catch((error) => { say(`failed ${error}`); process.exit(1); });
