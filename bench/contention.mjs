// `node bench/contention.mjs`: measures concurrent creations of TLD entries and zones with distinct
// names on PostgreSQL. Prints the rate and the durations for each number of callers, and fails if a
// response is not 201. `--program` measures another build.
import { Agent, request } from 'node:http';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { postgresHarness } from './harness.mjs';
import { ownToken, startService } from './service.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    callers: { type: 'string', default: '4,30,64' },
    program: { type: 'string' },
  },
});
const { startPostgres, createDatabase } = await postgresHarness();
const server = await startPostgres({ fsync: 'on', synchronous_commit: 'on' });
try {
  for (const callers of values.callers.split(',').map(Number)) {
    const database = await createDatabase(server.url, `contention-${callers}`);
    await measure(database, callers);
  }
} finally {
  await server.remove();
}
process.exit();

async function measure(database, callers) {
  const service = await startService({
    database,
    ...(values.program === undefined ? {} : { program: resolve(values.program) }),
  });
  const headers = await ownToken(service, 'project');
  const agent = new Agent({ keepAlive: true });
  const send = (path, body) => sendOn(agent, service.url + path, headers, JSON.stringify(body));
  const durations = [];
  const statuses = {};
  const cpu = service.cpu();
  const began = performance.now();
  const until = began + Number(values.seconds) * 1000;
  const call = async (caller) => {
    for (let turn = 0; performance.now() < until; turn += 1) {
      const label = `caller${caller}-turn${turn}`;
      for (const [path, body] of [
        ['/v2/tlds', { name: label }],
        ['/v2/zones', { name: `example.${label}.`, email: 'a@example.org' }],
      ]) {
        const start = performance.now();
        const status = await send(path, body);
        durations.push(performance.now() - start);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      if (turn % 1000 === 999) service.emptyLog();
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  const seconds = (performance.now() - began) / 1000;
  durations.sort((one, other) => one - other);
  const at = (part) => durations[Math.floor(part * durations.length)].toFixed(1);
  process.stdout.write(
    `${callers} callers: ${Math.round(durations.length / seconds)} /s, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ` +
      `${Math.round((service.cpu() - cpu) / durations.length)} µs of CPU, responses ${JSON.stringify(statuses)}\n`,
  );
  if (Object.keys(statuses).join() !== '201') process.exitCode = 1;
  agent.destroy();
  await service.stop();
}

/** Sends a POST request, and returns the status of the response. */
function sendOn(agent, url, headers, body) {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        agent,
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => response.resume().on('end', () => resolve(response.statusCode)),
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
