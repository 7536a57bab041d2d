// SPDX-License-Identifier: MIT
// node-redlock in a process of its own, talked to by lines, as tests/agent is; see redis_py_agent.py for the verbs.
// NODE_PATH leads to the packages; the first argument is which: redlock4 or redlock5. Several sockets, with commas in
// between, are so many masters.
'use strict';
const fs = require('fs');
const readline = require('readline');
const {setTimeout: pause} = require('timers/promises');

const [library, verb, sockets, key, ttlText, ...rest] = process.argv.slice(2);
const ttl = Number(ttlText);
const newer = library === 'redlock5';
const say = (line) => fs.writeSync(1, line + '\n');

const Redis = require('ioredis');
const servers = sockets.split(',').map((path) => new Redis({path}));
const Redlock = newer ? require('redlock5').default : require('redlock4');
const patient = new Redlock(servers, {retryCount: 10000, retryDelay: 200, retryJitter: 100});
const hasty = new Redlock(servers, {retryCount: 0});
for (const one of [patient, hasty]) one.on(newer ? 'error' : 'clientError', () => {});

const acquire = (by) => (newer ? by.acquire([key], ttl) : by.lock(key, ttl));
// Released through the one that does not try again: a lock that is not ours any more is not waited for.
const release = (lock) => (newer ? hasty.release(lock) : hasty.unlock(lock));

async function hold(renewed) {
  say('asking');
  let lock = await acquire(patient);
  say('held');
  let renewing = Promise.resolve();
  const timer = renewed && setInterval(() => {
    renewing = lock.extend(ttl).then((next) => { lock = next; }, () => clearInterval(timer));
  }, ttl / 3);
  for await (const line of readline.createInterface({input: process.stdin})) {
    if (line === 'release') {
      clearInterval(timer);
      await renewing;
      await release(lock).then(() => say('released'), () => say('lost'));
    } else {
      say(await servers[0].get(key) === lock.value ? 'owned' : 'not-owned');
    }
  }
  clearInterval(timer);
}

async function count(file, rounds) {
  const fresh = `${file}.${process.pid}`;
  say('asking');
  for (let i = 0; i < rounds; ++i) {
    const lock = await acquire(patient);
    const number = Number(fs.readFileSync(file, 'ascii')) + 1;  // reading and writing are two steps on purpose
    await pause(3);
    fs.writeFileSync(fresh, String(number));
    fs.renameSync(fresh, file);
    say(`did ${number}`);
    await release(lock);
    await pause(10);
  }
}

async function attempt(times) {
  for (let i = 0; i < times; ++i) {
    if (await acquire(hasty).then(() => true, () => false)) return say('held');
    say('busy');
    await pause(20);
  }
}

async function main() {
  if (verb === 'hold' || verb === 'renew') await hold(verb === 'renew');
  else if (verb === 'try') await attempt(Number(rest[0]));
  else await count(rest[0], Number(rest[1]));
  for (const one of servers) one.disconnect();
}
main().catch((error) => { say(`failed ${error}`); process.exit(1); });
